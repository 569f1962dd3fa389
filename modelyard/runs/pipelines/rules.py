"""The rules for a stack's pipelines, independent of the state of its cluster."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.runs.pipelines.graph import before, circle_through, circles
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.jobs import Job, JobType, Pipeline, Stage
from modelyard.stack.names import instead, named_twice, repeated
from modelyard.stack.remote import PLATFORM, BucketPart
from modelyard.stack.words import did_you_mean, listed, nearest, plural
from modelyard.workloads import is_deployed, namespace_of_job, namespace_of_resource
from modelyard.workloads.environments.rules import NAME_AN_IMAGE, has_image
from modelyard.workloads.facts.remote import reachers
from modelyard.workloads.sizing import Sized, sizes_by_job

LOADING: tuple[JobType, ...] = ("data-sink", "dataset")
"""Jobs that load and prepare data."""
SERVING: tuple[JobType, ...] = ("serving", "llm-serving")
"""Jobs that a model is rolled out to."""


def check_pipelines(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The findings about pipelines.

    Args:
        stack: the stack of the pipelines.
        everything: its resources from ``sizing.sized``.
    """
    pipelines = stack.config.pipelines
    yield from named_twice(stack, "PIP001", "pipelines")
    if pipelines:
        known = _Known.of(stack, everything)
        for index, pipeline in enumerate(pipelines):
            yield from _Judge(stack, index, pipeline, known).findings()


class _Known(NamedTuple):
    """The names that stages may use, shared by all pipelines."""

    jobs: Mapping[str, Job]
    runnable: tuple[str, ...]
    """Names of jobs with a command."""
    by_job: Mapping[int, Sized]
    """The resource of each job, by the job's identity."""
    resources: Mapping[str, Sized]
    unclear: frozenset[str]
    """Names of several jobs. Rules that go by name skip them, because another finding reports them."""
    shared: frozenset[str]
    """Names of several resources, likewise."""
    reported: set[str]
    """Names of the buckets whose users have a finding if the platform cannot reach them: one is enough."""

    @classmethod
    def of(cls, stack: Stack, everything: Sequence[Sized]) -> "_Known":
        jobs = stack.config.jobs
        resources = [one for one in everything if not one.own]
        return cls(
            {job.name: job for job in jobs},
            tuple(job.name for job in jobs if job.command),
            sizes_by_job(everything),
            {one.resource.name: one for one in resources},
            frozenset(jobs[index].name for index in repeated(job.name for job in jobs)),
            frozenset(resources[index].resource.name for index in repeated(one.resource.name for one in resources)),
            {
                place.bucket
                for remote in (one.resource.remote for one in resources)
                for place in ((remote.data.shared, remote.data.transfer, remote.model) if remote is not None else ())
                if place is not None
            },
        )


class _Judge:
    """Checks one pipeline."""

    def __init__(self, stack: Stack, index: int, pipeline: Pipeline, known: _Known) -> None:
        self.stack, self.pipeline, self.stages = stack, pipeline, pipeline.stages
        names = [stage.name for stage in self.stages]
        self.repeated = tuple(repeated(names))
        # Names of several stages. Rules that go by name skip them, because another finding reports them.
        self.ambiguous = frozenset(names[number] for number in self.repeated)
        self.where: StackPath = ("pipelines", index)
        self.jobs, self.runnable, self.by_job, self.resources, self.unclear, self.shared, self.reported = known

    def findings(self) -> Iterator[Finding]:
        """All findings, stage by stage."""
        for number in self.repeated:
            yield self._error(
                "PIP001",
                ("stages", number, "name"),
                f"has two stages named {self.stages[number].name}",
                "rename or drop one of them",
            )
        for number, stage in enumerate(self.stages):
            yield from self._runs(number, stage)
            yield from self._needs(number, stage)
        yield from self._circles()
        yield from self._artifacts()
        yield from self._one_namespace()
        if not (self.pipeline.image or self.stack.config.runtime.image):
            yield self._error(
                "PIP010",
                (),
                "has no image for the pod that starts its stages",
                "set its image, or that of modelyard:runtime: any with Python 3",
            )

    def _error(self, code: str, below: StackPath, summary: str, remedy: str, detail: str = "") -> Finding:
        words = f"pipeline {self.pipeline.name} {summary}"
        return self.stack.finding(code, Severity.ERROR, (*self.where, *below), words, remedy, detail=detail)

    def _stage(self, code: str, number: int, key: str, summary: str, remedy: str, *place: int) -> Finding:
        at: StackPath = ("stages", number, key, *place) if key else ("stages", number)
        words = f"stage {self.stages[number].name} of pipeline {self.pipeline.name} {summary}"
        return self.stack.finding(code, Severity.ERROR, (*self.where, *at), words, remedy)

    def _runs(self, number: int, stage: Stage) -> Iterator[Finding]:
        """Checks whether the stage has something to run on this cluster."""
        if stage.job in self.unclear or stage.rollout in self.shared:
            return
        if (stage.job is None) == (stage.rollout is None):
            what = "neither a job nor a rollout" if stage.job is None else "both a job and a rollout"
            yield self._stage("PIP002", number, "", f"has {what}", "give one of the two")
        elif stage.job is not None:
            yield from self._runs_job(number, stage, stage.job)
        elif stage.rollout is not None:
            yield from self._rolls_out(number, stage, stage.rollout)

    def _runs_job(self, number: int, stage: Stage, name: str) -> Iterator[Finding]:
        job = self.jobs.get(name)
        if job is None:
            remedy = instead(name, self.runnable, "jobs with a command")
            summary = f"runs job {name}, which is not defined"
            yield self._stage("PIP002", number, "job", summary, remedy)
            return
        if not job.command:
            served = job.type in SERVING and job.resource is not None
            remedy = "give the job a command" + (f", or replace job by rollout: {job.resource}" if served else "")
            summary = f"runs job {name}, which has no command"
            yield self._stage("PIP002", number, "job", summary, remedy)
        one = self.by_job.get(id(job))
        if one is None or one.resource.name in self.shared:
            return  # Another finding reports the job's resource: undefined, for another type, or several of one name.
        if one.resource.remote is not None:
            verb = "job submit" if one.resource.remote.cluster is not None else "remote"
            yield self._stage(
                "PIP003",
                number,
                "job",
                f"runs job {name} on the remote resource {one.resource.name}, not in the home cluster",
                f"use a resource without remote for the job, and start the remote one by itself: modelyard {verb}",
            )
        elif not has_image(self.stack.config, job, one.resource):
            summary = f"runs job {name}, which has no image"
            yield self._stage("PIP002", number, "job", summary, NAME_AN_IMAGE)
        if not stage.needs and job.type in LOADING and one.size.gpus:
            yield self.stack.finding(
                "PIP009",
                Severity.WARNING,
                (*self.where, "stages", number),
                f"pipeline {self.pipeline.name} begins with {stage.name}, which loads data but asks for {_gpus(one)}",
                f"give job {name} a resource without gpus; use GPUs in later stages",
                detail="loading waits for storage and network, so the GPUs would be idle while others queue for them",
            )

    def _rolls_out(self, number: int, stage: Stage, name: str) -> Iterator[Finding]:
        one = self.resources.get(name)
        served = [known for known, found in self.resources.items() if found.resource.type in SERVING]
        if one is None:
            remedy = instead(name, served, "resources that serve")
            yield self._stage("PIP002", number, "rollout", f"rolls out to {name}, which is not defined", remedy)
        elif one.resource.type not in SERVING:
            remedy = f"name a resource of type {' or '.join(SERVING)}"
            kind = one.resource.type
            yield self._stage("PIP002", number, "rollout", f"rolls out to {name}, which is for {kind} jobs", remedy)
        elif one.resource.remote is not None:
            summary = f"rolls out to the remote resource {name}, not in the home cluster"
            yield self._stage("PIP003", number, "rollout", summary, "name a resource without remote")
        elif not is_deployed(self.stack.config, one):
            image = one.resource.image or self.stack.config.runtime.image
            remedy = f"give it {'' if image else 'an image and '}a job without a command"
            yield self._stage("PIP002", number, "rollout", f"rolls out to {name}, which has no pods", remedy)
        if len(stage.reads) != 1:
            remedy = "list only the artifact with the model in reads"
            yield self._stage("PIP002", number, "reads", f"rolls out {len(stage.reads)} artifacts", remedy)
        if stage.writes:
            yield self._stage("PIP002", number, "writes", "is a rollout but writes artifacts", "drop writes")

    def _needs(self, number: int, stage: Stage) -> Iterator[Finding]:
        names = [one.name for one in self.stages]
        for place, name in enumerate(stage.needs):
            if name in self.ambiguous:
                continue
            if name == stage.name:
                remedy = "drop it from needs"
                yield self._stage("PIP004", number, "needs", "needs itself", remedy, place)
            elif name not in names:
                others = [one for one in names if one != stage.name]
                if self.ambiguous and nearest(name, [one for one in others if one not in self.ambiguous]) is None:
                    continue  # It may be the other name of two stages of one name.
                remedy = instead(name, others, "stages") if others else f"drop it from needs, or add a stage {name}"
                summary = f"needs stage {name}, which is not defined"
                yield self._stage("PIP004", number, "needs", summary, remedy, place)

    def _circles(self) -> Iterator[Finding]:
        clear = [stage for stage in self.stages if stage.name not in self.ambiguous]
        for found in circles(clear):
            number = next(index for index, stage in enumerate(self.stages) if stage.name == found[0])
            yield self._error(
                "PIP005",
                ("stages", number, "needs"),
                f"can never run because its stages form a cycle: {' → '.join((*found, found[0]))}",
                "drop one of these needs",
            )

    def _artifacts(self) -> Iterator[Finding]:
        """Checks whether one earlier stage writes each artifact that a stage reads, to a bucket that pods can reach."""
        pipeline = self.pipeline
        writers: dict[str, str] = {}
        doubled = False
        for number, stage in enumerate(self.stages):
            for place, name in enumerate(stage.writes):
                other = "its inputs" if name in pipeline.inputs else writers.get(name)
                if other is not None and other != stage.name:
                    doubled = True
                    yield self._error(
                        "PIP007",
                        ("stages", number, "writes", place),
                        f"writes artifact {name} twice, in {other} and in {stage.name}; one would overwrite the other",
                        "give one of them another name",
                    )
                writers.setdefault(name, stage.name)
        known = before(self.stages)
        names = {stage.name for stage in self.stages}
        wrong = {stage.name for stage in self.stages if stage.name in stage.needs or not names.issuperset(stage.needs)}
        for number, stage in enumerate(self.stages):
            if stage.name in wrong - self.ambiguous:
                continue  # Another finding reports its needs.
            # Other findings report what these stages need.
            unsure = not (wrong | self.ambiguous).isdisjoint((stage.name, *known[stage.name]))
            for place, name in enumerate(stage.reads):
                if name in pipeline.inputs or writers.get(name) in known[stage.name]:
                    continue
                writer = writers.get(name)
                if writer is not None and (unsure or writer in self.ambiguous):
                    continue
                if writer == stage.name:
                    why, remedy = (
                        " but is the only stage that writes it",
                        "drop it from reads, or let an earlier stage write it",
                    )
                elif writer is not None and (circle := circle_through(self._reading(writers), stage.name, writer)):
                    words, remedy = self._circle(circle, name, writers)
                    why = f" in a cycle: {words}"
                elif writer is None and doubled:
                    continue  # It may be the other name of an artifact that is written twice.
                elif writer is not None:
                    why, remedy = f", and does not need {writer}, which writes it", f"add {writer} to its needs"
                else:
                    why = ", and no stage writes it"
                    remedy = (
                        did_you_mean(name, [*writers, *pipeline.inputs])
                        or f"list {name} in writes of an earlier stage, or under inputs of the pipeline"
                    )
                yield self._stage("PIP006", number, "reads", f"reads {name}{why}", remedy, place)
        if writers and pipeline.artifacts is None:
            yield self._error(
                "PIP008",
                (),
                f"writes {', '.join(sorted(writers))}, but does not set where",
                "set artifacts: a bucket and a prefix",
            )
        if pipeline.artifacts is not None:
            yield from self._reached(("artifacts",), "its artifacts", pipeline.artifacts)
        for name, place_of in pipeline.inputs.items():
            yield from self._reached(("inputs", name), f"the input {name}", place_of)

    def _reading(self, writers: Mapping[str, str]) -> list[Stage]:
        """The stages, each needing the stages whose artifacts it reads."""
        return [
            stage._replace(needs=(*stage.needs, *(writers[name] for name in self._read(stage) if name in writers)))
            for stage in self.stages
        ]

    def _read(self, stage: Stage) -> list[str]:
        return [name for name in stage.reads if name not in self.pipeline.inputs]

    def _circle(self, circle: Sequence[str], artifact: str, writers: Mapping[str, str]) -> tuple[str, str]:
        """Why each stage of a cycle waits for the next, the first for an artifact, and how to break the cycle."""
        stages = {stage.name: stage for stage in self.stages}
        words, readers, others = [f"{circle[0]} reads {artifact} from {circle[1]}"], [circle[0]], list[str]()
        for name, following in pairwise((*circle[1:], circle[0])):
            read = [one for one in self._read(stages[name]) if writers.get(one) == following]
            needs = following in stages[name].needs
            words.append(f"{name} {'needs' if needs else f'reads {read[0]} from'} {following}")
            (readers if read else others).append(name)
        remedy = f"let {listed(readers)} read something else"
        if others:
            remedy += f", or drop what {listed(others)} needs"
        return ", ".join(words), remedy

    def _reached(self, at: StackPath, what: str, place: BucketPart) -> Iterator[Finding]:
        buckets = self.stack.config.buckets
        found = [bucket.reached_by for bucket in buckets if bucket.name == place.bucket]
        if not found:
            remedy = instead(place.bucket, [bucket.name for bucket in buckets], "buckets")
            yield self._error("PIP008", at, f"keeps {what} in bucket {place.bucket}, which is not defined", remedy)
        elif (
            len(found) == 1
            and place.bucket not in self.reported
            and PLATFORM not in found[0]
            and reachers(self.stack.config).issuperset(found[0])
        ):
            # Other findings report two buckets of one name, and an unknown name, which may be a misspelled platform.
            self.reported.add(place.bucket)
            yield self._error(
                "PIP008",
                at,
                f"keeps {what} in bucket {place.bucket}, which the platform cannot reach",
                f"add {PLATFORM} to its reachedBy if pods of the home cluster can use it, or name another bucket",
            )

    def _one_namespace(self) -> Iterator[Finding]:
        """Checks whether one pod can start all stages, because they are in one namespace."""
        places: dict[str, list[str]] = {}
        for stage in self.stages:
            place = self._namespace(stage)
            if place is not None:
                places.setdefault(place, []).append(stage.name)
        if len(places) > 1:
            yield self._error(
                "PIP011",
                ("stages",),
                f"has stages in {len(places)} namespaces, but all stages of a run must be in one",
                "use the same team in the jobs and resources of all stages",
                "; ".join(f"{place}: {', '.join(names)}" for place, names in places.items()),
            )

    def _namespace(self, stage: Stage) -> str | None:
        """The namespace of a stage; None if another finding reports its job, resource or team."""
        config = self.stack.config
        teams = {None, *(team.name for team in config.teams)}
        if stage.job in self.unclear or stage.rollout in self.shared:
            return None
        if stage.job is not None:
            job: Job | None = self.jobs.get(stage.job)
            one = self.by_job.get(id(job)) if job is not None else None
            if job is None or one is None or one.resource.remote is not None or one.resource.name in self.shared:
                return None
            if (job.team or one.resource.team) not in teams:
                return None
            return namespace_of_job(config, job, one.resource)
        found = self.resources.get(stage.rollout or "")
        if found is None or found.resource.remote is not None or found.resource.team not in teams:
            return None
        return namespace_of_resource(config, found)


def _gpus(one: Sized) -> str:
    return plural(one.size.gpus * one.size.workers, "GPU")
