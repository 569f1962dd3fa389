"""The objects of a pipeline's run: every stage, suspended, and the pod that starts one stage after another."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from modelyard.catalog import Library
from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import (
    KEPT,
    LATER,
    PIPELINE,
    PIPELINE_RUN,
    QUEUE,
    RELEASED,
    RUN,
    STAGE,
    WAITING_QUEUE,
)
from modelyard.files import parse_json
from modelyard.findings import Finding, Severity, loud
from modelyard.hiding import Confidential
from modelyard.kube.kinds import KINDS, RAY, SPARK
from modelyard.kube.state import annotations_of
from modelyard.patterns import regex
from modelyard.runs.jobs import TEMPLATES, Submission, findings_about, job_environment, submission, unfit_for_run
from modelyard.runs.pipelines.graph import behind, in_order
from modelyard.runs.pipelines.rules import check_pipelines
from modelyard.stack.config import Config, Stack, about_entries
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Pipeline, Stage
from modelyard.stack.names import fresh, lasting
from modelyard.stack.remote import BucketPart
from modelyard.workloads import (
    Facts,
    deployment_of,
    every_workload,
    job_facts,
    namespace_of_job,
    namespace_of_resource,
    stack_facts,
)
from modelyard.workloads.sizing import Sized, sized


# Where the artifacts of stages are, and how a stage gets their addresses.
def address(config: Config, place: BucketPart, *below: str) -> str | None:
    """The address of a place in a bucket, or of something below it; None if there is no such bucket."""
    url = next((bucket.url for bucket in config.buckets if bucket.name == place.bucket), None)
    return None if url is None else "/".join((url, place.prefix, *below))


class PipelineRun(NamedTuple):
    """A run of a pipeline, and what it takes from earlier runs."""

    name: str
    kept: Mapping[str, str] = {}
    """The artifacts that it does not write again, and the run that wrote each."""


def artifact(config: Config, pipeline: Pipeline, name: str, run: PipelineRun) -> str | None:
    """The address of an artifact in a run: an input's own place, or else below the run's name; None if it has none."""
    if name in pipeline.inputs:
        return address(config, pipeline.inputs[name])
    written_by = run.kept.get(name, run.name)
    return None if pipeline.artifacts is None else address(config, pipeline.artifacts, written_by, name)


def variables(config: Config, pipeline: Pipeline, stage: Stage, run: PipelineRun) -> dict[str, str]:
    """The environment variables of a stage: the run, and the addresses of what the stage reads and writes."""
    found = {"PIPELINE_RUN": run.name}
    for kind, names in (("INPUT", stage.reads), ("OUTPUT", stage.writes)):
        for name in names:
            where = artifact(config, pipeline, name, run)
            if where is not None:
                found[f"{kind}_{name.replace('-', '_').upper()}"] = where
    return found


TEMPLATE: Final = "pipeline-run"
"""The patch for the pod that starts the stages."""
MODEL: Final = "modelyard.dev/model"
"""Annotation of the pods that serve a model: the model's address."""
RUN_NAME: Final = regex(r"[a-z0-9]([a-z0-9-]{0,52}[a-z0-9])?")
"""Allowed names of runs."""
_LONGEST: Final = 54
"""Characters of the longest name of a stage's run, as of every job's."""
_STARTED: Final = (("batch/v1", "Job"), (RAY, "RayJob"), (SPARK, "SparkApplication"), ("apps/v1", "Deployment"))
_PLURALS: Final[Mapping[str, tuple[str, str]]] = {one[1]: (one[0], KINDS[one].plural) for one in _STARTED}
"""API version and plural of the objects that are started or rolled out, by kind."""


class Since(NamedTuple):
    """The stage with which a run begins that continues an earlier run."""

    stage: str
    """A stage of the pipeline: this stage and all stages that need it run again."""
    run: str
    """Name of the earlier run, which has the artifacts of the other stages."""
    kept: Mapping[str, str] = {}
    """Of these artifacts, those that the earlier run took from still earlier runs, and the run that wrote each."""


def pipeline_run_name(pipeline: Pipeline, *, shown: bool = False) -> str:
    """A name for a new run, short enough to add a stage's name; if it is only shown, one that never changes."""
    longest = _LONGEST - 1 - max(len(stage.name) for stage in pipeline.stages)
    return (lasting if shown else fresh)(pipeline.name, longest, "run")


def findings_of(
    stack: Stack, pipeline: Pipeline, everything: tuple[Sized, ...], today: date | None = None
) -> tuple[Finding, ...]:
    """The errors and warnings about a pipeline and the jobs of its stages.

    Args:
        stack: the pipeline's stack.
        pipeline: one of the stack's.
        everything: the stack's resources from ``sizing.sized``.
        today: the date for waivers of findings about jobs; None: no waiver applies.
    """
    own = about_entries(loud(check_pipelines(stack, everything)), stack.config.entries(pipeline))
    names = pipeline.jobs
    jobs = [(index, job) for index, job in enumerate(stack.config.jobs) if job.name in names]
    about = findings_about(stack, (job for _, job in jobs), everything, today)
    # Other requirements of a run are reported only if no other finding covers them.
    blocked = any(one.blocks for one in (*own, *about))
    unfit = () if blocked else (unfit_for_run(stack, index, job) for index, job in jobs)
    return (*own, *about, *(one for one in unfit if one is not None))


def pipeline_submission(
    stack: Stack,
    library: Library,
    pipeline: Pipeline,
    *,
    run: str,
    since: Since | None = None,
    today: date | None = None,
) -> Submission:
    """The objects that a submission of a pipeline creates; the first owns the others, which are deleted with it.

    Args:
        stack: the pipeline's stack.
        library: the project's patches.
        pipeline: one of the stack's.
        run: name of the run, see :func:`pipeline_run_name`.
        since: the stage with which the run begins; None: with the first stages.
        today: the date for waivers; None: no waiver applies.
    """
    config = stack.config
    everything = sized(config)
    facts = stack_facts(stack, every_workload(config), everything)
    about = findings_of(stack, pipeline, everything, today)
    if any(one.blocks for one in about):
        return Submission(Confidential(()), about)
    wanted, whole = in_order(pipeline.stages), PipelineRun(run)
    if since is not None:
        wanted = behind(wanted, since.stage)
        again = {stage.name for stage in wanted}
        kept = (name for stage in pipeline.stages if stage.name not in again for name in stage.writes)
        whole = PipelineRun(run, {name: since.kept.get(name, since.run) for name in kept})
    made = [
        _rollout(config, pipeline, stage, everything, whole)
        if stage.rollout is not None
        else _job_run(stack, library, pipeline, stage=stage, everything=everything, whole=whole, facts=facts)
        for stage in wanted
    ]
    findings = [*about, *(finding for one in made for finding in one.findings)]
    if any(one.blocks for one in findings):
        return Submission(Confidential(()), tuple(dict.fromkeys(findings)))
    steps = [_step(stage, one) for stage, one in zip(wanted, made, strict=True)]
    pipeline_facts = {
        "run": run,
        "pipeline": pipeline.name,
        "stack": stack.name,
        "namespace": made[-1].namespace,
        "image": pipeline.image or config.runtime.image,
        "keep": pipeline.keep,
        "rules": _rules(steps),
        "steps": steps,
    }
    leader = submission(stack, library, TEMPLATE, {"pipelineRun": pipeline_facts}, facts)
    found = tuple(dict.fromkeys((*findings, *leader.findings)))
    if not leader.objects:
        return Submission(Confidential(()), found)
    used = dict.fromkeys((leader.template, *(one.template for one in made if one.template)))
    environments = {one.environment.name: one.environment for one in made if one.environment is not None}
    first, *others = leader.objects.reveal()
    if whole.kept:
        first = _annotated(first, {KEPT: json.dumps(whole.kept, sort_keys=True)})
    objects = (_held(body) for one in made for body in one.objects)
    return Submission(
        objects=Confidential((first, *others, *objects)),
        findings=found,
        template=", ".join(used),
        environments=tuple(environments.values()),
    )


class _Made(NamedTuple):
    """The objects of one stage."""

    namespace: str
    started: list[tuple[str, str]]
    """Kind and name of the object that is started or rolled out at the stage's turn."""
    release: dict[str, Any]
    """The merge patch that starts the stage."""
    objects: tuple[dict[str, Any], ...] = ()
    findings: tuple[Finding, ...] = ()
    template: str = ""
    """The patch version that the objects were rendered from; empty without objects."""
    environment: Environment | None = None


def _rollout(
    config: Config, pipeline: Pipeline, stage: Stage, everything: Sequence[Sized], whole: PipelineRun
) -> _Made:
    """The objects of a stage that rolls a model out to the pods of a resource."""
    one = next(each for each in everything if not each.own and each.resource.name == stage.rollout)
    model = artifact(config, pipeline, stage.reads[0], whole)
    return _Made(
        namespace_of_resource(config, one), [("Deployment", deployment_of(one))], _rolled_out(model, whole.name)
    )


def _job_run(
    stack: Stack,
    library: Library,
    pipeline: Pipeline,
    *,
    stage: Stage,
    everything: Sequence[Sized],
    whole: PipelineRun,
    facts: Facts,
) -> _Made:
    """The objects of a stage that runs a job; ``facts`` are the stack's."""
    config = stack.config
    job, one = next((job, one) for one in everything for job, _ in one.jobs if job.name == stage.job)
    known = job_facts(config, job, one, f"{whole.name}-{stage.name}", stack.name)
    known["run"]["env"] |= variables(config, pipeline, stage, whole)
    environment, wrong = job_environment(stack, job)
    rendered = submission(stack, library, TEMPLATES[job.engine], known, facts)
    objects = tuple(_of_run(body, pipeline, stage, whole.name) for body in rendered.objects.reveal())
    return _Made(
        namespace=namespace_of_job(config, job, one.resource),
        started=[(body["kind"], body["metadata"]["name"]) for body in objects if body["kind"] in _PLURALS],
        release=_started(known["run"]["queue"], whole.name),
        objects=objects,
        findings=(*wrong, *rendered.findings),
        template=rendered.template,
        environment=environment,
    )


def kept_by(starter: Mapping[str, Any]) -> dict[str, str]:
    """The artifacts that a run took from earlier runs, and the run that wrote each.

    Args:
        starter: the Job that starts the run's stages, as in the cluster.
    """
    try:
        kept = parse_json(annotations_of(starter).get(KEPT, "{}"))
    except ValueError:
        return {}
    found = kept.items() if isinstance(kept, dict) else ()
    # Anybody who can edit the Job can write there, and the names become a part of addresses.
    return {artifact: run for artifact, run in found if isinstance(run, str) and RUN_NAME.fullmatch(run)}


def jumping(made: Submission, answers: Sequence[Created]) -> Finding | None:
    """The finding if the cluster would start a stage too early, or never start the pod that starts the stages.

    Args:
        made: a submission.
        answers: the submission's objects as the API server would create them.
    """
    for body, answer in zip(made.objects.reveal(), answers, strict=True):
        labels = body["metadata"].get("labels", {})
        there = answer.labels.get(QUEUE)
        if there != labels.get(QUEUE) and STAGE in labels:
            return Finding(
                "PIP013",
                Severity.ERROR,
                f"the cluster puts {body['kind']} {body['metadata']['name']} into the queue {there}, "
                "which would start it before the stages that it needs",
                remedy="name a team in the jobs of the pipeline, so that they wait for its queue",
            )
    if answers[0].suspended and not answers[0].labels.get(QUEUE):
        return Finding(
            "PIP013",
            Severity.ERROR,
            "the cluster suspends jobs without a queue, including the Job that starts the stages",
            remedy="because Kueue has manageJobsWithoutQueueName, create a LocalQueue named default in the namespace, "
            "and give its ClusterQueue a quota of CPU and memory",
        )
    return None


def _of_run(body: dict[str, Any], pipeline: Pipeline, stage: Stage, run: str) -> dict[str, Any]:
    """An object of a stage, labelled with its run; so are its pods, which have nothing else that identifies the run."""
    more = {PIPELINE: pipeline.name, PIPELINE_RUN: run, STAGE: stage.name}
    metadata = {**body["metadata"], "labels": {**body["metadata"].get("labels", {}), **more}}
    return {**{key: _labelled(value, more) for key, value in body.items()}, "metadata": metadata}


def _labelled(part: Any, more: Mapping[str, str]) -> Any:
    """A part of an object, with more labels wherever labels name a job's run, as on the pods of every engine."""
    if isinstance(part, list):
        return [_labelled(one, more) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        key: {**value, **more} if key == "labels" and RUN in (value or ()) else _labelled(value, more)
        for key, value in part.items()
    }


def _held(body: dict[str, Any]) -> dict[str, Any]:
    """A waiting stage's object: suspended, in a queue that does not exist, and kept as long as the run."""
    if body["kind"] not in _PLURALS:
        return body
    metadata, spec = body["metadata"], {**body["spec"], "suspend": True}
    if body["kind"] != "RayJob":
        # If it were deleted before later stages run, its success would be unknown. A RayJob deletes only its cluster.
        spec.pop("ttlSecondsAfterFinished", None)
        spec.pop("timeToLiveSeconds", None)
    if queue := metadata["labels"].get(QUEUE):
        metadata = {**metadata, "labels": {**metadata["labels"], QUEUE: WAITING_QUEUE}}
        return _annotated({**body, "metadata": metadata, "spec": spec}, {LATER: queue})
    return {**body, "metadata": metadata, "spec": spec}


def _annotated(body: dict[str, Any], more: Mapping[str, str]) -> dict[str, Any]:
    """An object with more annotations."""
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **more}}}


def _started(queue: str | None, run: str) -> dict[str, Any]:
    """The merge patch that starts a stage: into its team's queue, or at once without one."""
    metadata: dict[str, Any] = {"annotations": {RELEASED: run}}
    if queue is None:
        return {"metadata": metadata, "spec": {"suspend": False}}
    return {"metadata": {**metadata, "labels": {QUEUE: queue}}}


def _rolled_out(model: str | None, run: str) -> dict[str, Any]:
    """The merge patch that replaces the pods which serve a model."""
    annotations = {MODEL: model, "modelyard.dev/model-run": run}
    return {"spec": {"template": {"metadata": {"annotations": annotations}}}}


def _step(stage: Stage, made: _Made) -> dict[str, Any]:
    """A stage in the form that the pod which starts the stages reads."""
    kind = made.started[0][0] if made.started else "Job"
    version, plural = _PLURALS[kind]
    return {
        "name": stage.name,
        "needs": list(dict.fromkeys(stage.needs)),
        "kind": kind,
        "path": f"/apis/{version}/namespaces/{made.namespace}/{plural}",
        "objects": [name for _, name in made.started],
        "release": made.release,
    }


def _rules(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rights of the pod that starts the stages: to read and patch the objects of the run, nothing else."""
    names: dict[str, list[str]] = {}
    for step in steps:
        names.setdefault(step["kind"], []).extend(step["objects"])
    return [
        {"group": _PLURALS[kind][0].partition("/")[0], "resource": _PLURALS[kind][1], "names": sorted(set(found))}
        for kind, found in sorted(names.items())
    ]
