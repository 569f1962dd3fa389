"""The objects that a submission of a job creates, and the findings about it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Final

from modelyard import quantity
from modelyard.catalog import Library, Selected
from modelyard.findings import Finding, Severity, loud
from modelyard.hardware.partitions import slice_of
from modelyard.hiding import Confidential
from modelyard.runs.jobs.environment import job_environment
from modelyard.runs.jobs.template import Submission, check_growth, chosen_template, submission
from modelyard.stack.config import Stack, StackPath, about_entries
from modelyard.stack.jobs import Engine, Job, Resource, Spark
from modelyard.stack.names import fresh, lasting, repeated
from modelyard.stack.waivers import waive
from modelyard.workloads import every_workload, job_facts, stack_facts
from modelyard.workloads.environments.rules import NAME_AN_IMAGE, has_image
from modelyard.workloads.facts.environments import environment_named, run_environment
from modelyard.workloads.facts.jobs import deployment_of, is_deployed, team_of_resource
from modelyard.workloads.facts.spark import LEAST_HEAP, LEAST_OVERHEAD, driver_of, heap_of, kind_of
from modelyard.workloads.sizing import Sized, check_jobs, sized, sizes_by_job, slice_findings, unfit_resource

TEMPLATES: Final[Mapping[Engine, str]] = {"job": "job-run", "ray": "job-ray", "spark": "job-spark"}
"""The patch that a job is rendered from, by the engine that runs its workers."""
LONGEST_RUN: Final = 54
"""The most characters of a run's name: pods add an index and an ending, and a label has at most 63."""


def run_name(job: str, *, shown: bool = False) -> str:
    """A name for a new run: the job's name and five random characters; if the run is only shown, the job's name."""
    return lasting(job, LONGEST_RUN, "run") if shown else fresh(job, LONGEST_RUN, "run")


def job_submission(stack: Stack, library: Library, name: str, run: str, today: date | None = None) -> Submission:
    """The objects that a submission of a job creates.

    Args:
        stack: the job's stack.
        library: the project's patches.
        name: name of the job.
        run: name of the run, see :func:`run_name`.
        today: the date for waivers; None: no waiver applies.
    """
    index, job = next((index, job) for index, job in enumerate(stack.config.jobs) if job.name == name)
    everything = sized(stack.config)
    found = findings_about(stack, (job,), everything, today)
    resource = _resource(stack, job)
    home = resource is None or resource.remote is None
    # No waiver can make missing packages appear, nor a job able to run.
    environment, problems = job_environment(stack, job) if home else (None, ())
    unfit_job = unfit_for_run(stack, index, job)
    if unfit_job is not None and all((one.field, one.summary) != (unfit_job.field, unfit_job.summary) for one in found):
        problems = (unfit_job, *problems)
    if problems or any(one.blocks for one in found):
        return Submission(Confidential(()), (*found, *problems))
    known = stack_facts(stack, every_workload(stack.config), everything)
    on = sizes_by_job(everything)[id(job)]
    given = job_facts(stack.config, job, on, run, stack.name)
    if resource is None or resource.remote is None:
        made = submission(stack, library, TEMPLATES[job.engine], given, known)
        needs = (environment,) if environment is not None else ()
        return made._replace(findings=(*found, *made.findings), environments=needs, apart=job.trials is not None)
    from modelyard.workloads.remote.cluster import cluster_run, unfit

    if (wrong := unfit(stack.config, resource, job, given["run"]["workers"])) is not None:
        finding = stack.finding("RES214", Severity.ERROR, ("jobs", index), f"job {job.name} {wrong[0]}", wrong[1])
        return Submission(Confidential(()), (finding,))
    there = {"run": {**given["run"], **cluster_run(stack.config, resource, job)}}
    made = submission(stack, library, TEMPLATES[job.engine], there, known)
    return made._replace(findings=(*found, *made.findings), remote=resource.name)


def job_templates(stack: Stack, library: Library) -> Iterator[tuple[Job, Selected]]:
    """The template of each job's submission, with a run named like the job.

    Leaves out jobs that have nothing to submit, regardless of waivers.
    """
    config, everything = stack.config, sized(stack.config)
    known = stack_facts(stack, every_workload(config), everything)
    sizes = sizes_by_job(everything)
    # If two resources share a name, it is unclear which one a job means.
    twice = {config.resources[index].name for index in repeated(one.name for one in config.resources)}
    for index, job in enumerate(config.jobs):
        on = sizes.get(id(job))
        if not job.command or on is None or job.resource in twice or unfit_for_run(stack, index, job) is not None:
            continue
        given = job_facts(config, job, on, job.name, stack.name)
        if on.resource.remote is not None:
            from modelyard.workloads.remote.cluster import cluster_run, unfit

            if unfit(config, on.resource, job, given["run"]["workers"]) is not None:
                continue
            given = {"run": {**given["run"], **cluster_run(config, on.resource, job)}}
        chosen, _ = chosen_template(stack, library, TEMPLATES[job.engine], given, known)
        if chosen is not None:
            yield job, chosen


def _resource(stack: Stack, job: Job) -> Resource | None:
    return next((one for one in stack.config.resources if one.name == job.resource), None)


def findings_about(
    stack: Stack, jobs: Iterable[Job], everything: Sequence[Sized], today: date | None
) -> tuple[Finding, ...]:
    """The errors and warnings about jobs and their resources, such as those with which a run would wait forever.

    Args:
        stack: the stack of the jobs.
        jobs: the jobs to run.
        everything: the stack's resources from ``sizing.sized``.
        today: the date for waivers; None: no waiver applies. Only a plan checks the waivers themselves, and whether
            they cover anything.
    """
    config, chosen = stack.config, tuple(jobs)
    names, on = {job.name for job in chosen}, {job.resource for job in chosen}
    mine = config.entries(
        *(one for one in config.jobs if one.name in names), *(one for one in config.resources if one.name in on)
    )
    wrong = [
        *check_jobs(stack, everything),
        *check_spark(stack, everything),
        *check_dispatch(stack, everything),
        *check_growth(stack, everything),
    ]
    if any(one.remote is not None for one in config.resources):
        from modelyard.workloads.remote.cluster import check_cluster
        from modelyard.workloads.remote.unread import check_unread

        for index, one in enumerate(everything[: len(config.resources)]):
            wrong += [*check_cluster(stack, index, one), *check_unread(stack, index, one)]
    about = about_entries(wrong, mine)
    return loud(about if today is None else waive(about, stack, today)[0])


def check_images(stack: Stack) -> Iterator[Finding]:
    """The notes about jobs that cannot be submitted because they have no image.

    Leaves out jobs that another finding covers: jobs of remote resources, of unknown resources, and of stages.
    """
    config = stack.config
    staged = {name for pipeline in config.pipelines for name in pipeline.jobs}
    # Of two with one name the first, as everywhere.
    resources = {one.name: one for one in reversed(config.resources)}
    for index, job in enumerate(config.jobs):
        resource = resources.get(job.resource or "")
        if not job.command or job.name in staged or has_image(config, job, resource):
            continue
        if job.resource is None or (resource is not None and resource.remote is None):
            summary = f"job {job.name} has no image, so it cannot be submitted"
            yield stack.finding("RES214", Severity.ADVICE, ("jobs", index), summary, NAME_AN_IMAGE)


def _unfit_slice(stack: Stack, resource: Resource) -> Finding | None:
    """What is wrong with the slice that a resource names."""
    at = stack.config.resources.index(resource)
    return next(iter(slice_findings(stack, at, sized(stack.config)[at])), None)


def unfit_for_run(stack: Stack, index: int, job: Job) -> Finding | None:
    """Why a job cannot have a run, regardless of waivers."""
    resource = _resource(stack, job)
    remote = resource.remote if resource is not None else None
    where: StackPath = ("jobs", index)
    if (wrong := unfit_resource(stack, index, job, resource)) is not None:
        return wrong._replace(code="RES214")
    if resource is not None and remote is not None and remote.cluster is None:
        # The machine has its own command, so this check comes before the check of the job's command.
        where = (*where, "resource")
        summary = f"uses the remote resource {resource.name}, which rents a machine for each job and has no cluster"
        remedy = f"modelyard remote {stack.name} --out-dir DIR writes the files that launch it"
    elif not job.command:
        summary = "has no command, so it has nothing to run once"
        whose = "the pods of its resource do its work" if resource is not None else "it runs forever in its own pods"
        work = f"; without one, {whose}" if remote is None else ""
        remedy = f"give it a command{work}"
    elif resource is not None and (resource.partition or resource.grow) and slice_of(stack.config, resource) is None:
        if (wrong := _unfit_slice(stack, resource)) is not None:
            return wrong._replace(code="RES214")
        where = (*where, "resource")
        summary = f"uses {resource.name}, whose partition has no slice"
        remedy = f"correct it first: modelyard check {stack.name}"
    elif not has_image(stack.config, job, resource):
        summary = "has no image"
        remedy = NAME_AN_IMAGE
    else:
        return None
    return stack.finding("RES214", Severity.ERROR, where, f"job {job.name} {summary}", remedy)


# What is wrong with work that runs in worker clusters, where Kueue makes only the Job.
#
# What Kueue copies comes from its source, version 0.19.2: it has no adapter for a SparkApplication
# (pkg/controller/jobs/sparkapplication) and rejects its workload; it copies a Job, a RayJob and a pod to the worker
# cluster (the `*_multikueue_adapter.go` of pkg/controller/jobs), and nothing that they refer to.
def check_dispatch(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The findings about jobs and resources of teams whose jobs run in worker clusters.

    Args:
        stack: the stack of the jobs.
        everything: its resources from ``sizing.sized``.
    """
    config = stack.config
    sent = {team.name for team in config.teams if team.clusters}
    if not sent:
        return
    sizes = sizes_by_job(everything)
    for index, job in enumerate(config.jobs):
        one = sizes.get(id(job))
        if one is None or not job.command or one.resource.remote is not None:
            continue
        if (job.team or one.resource.team) in sent:
            yield from _run(stack, index, job, one)
    places = {resource.name: ("resources", index) for index, resource in enumerate(config.resources)}
    jobs = {job.name: ("jobs", index) for index, job in enumerate(config.jobs)}
    for one in everything:
        if not is_deployed(config, one) or team_of_resource(one) not in sent:
            continue
        where: StackPath = jobs[one.jobs[0][0].name] if one.own else places[one.resource.name]
        yield stack.finding(
            "QUE011",
            Severity.WARNING,
            where,
            f"the pods of {deployment_of(one)} may run in several worker clusters, where no Service of the "
            "home cluster reaches them",
            "give it a team without clusters; only jobs with a command can use a team with clusters",
        )


def _run(stack: Stack, index: int, job: Job, one: Sized) -> Iterator[Finding]:
    """Why runs of a job in worker clusters do not work as in the home cluster."""
    where: StackPath = ("jobs", index)
    team = job.team or one.resource.team
    if job.engine == "spark":
        yield stack.finding(
            "QUE011",
            Severity.ERROR,
            (*where, "engine"),
            f"job {job.name} runs on Spark, and Kueue cannot send Spark applications to the clusters of team {team}",
            "give it a team without clusters, or another engine",
        )
    elif job.grows:
        yield stack.finding(
            "QUE011",
            Severity.ERROR,
            (*where, "leastWorkers"),
            f"job {job.name} grows on Ray, and Kueue cannot add workers to a run in the clusters of team {team}",
            "drop leastWorkers, so that it starts whole, or give it a team without clusters",
        )
    elif job.engine == "job" and job.trials is None and one.size.workers > 1:
        yield stack.finding(
            "QUE011",
            Severity.ERROR,
            where,
            f"job {job.name} has {one.size.workers} workers that find each other by a Service, "
            f"which Kueue does not copy to the clusters of team {team}",
            "set engine: ray, which creates the Service there; waive this if the workers do not talk to each other",
        )
    found = environment_named(stack.config, job.environment or one.resource.environment)
    if job.engine == "job" and found is not None:
        yield stack.finding(
            "QUE011",
            Severity.WARNING,
            (*where, "environment") if job.environment else where,
            f"job {job.name} uses Python environment {found.name} from the volume {found.claim}, "
            f"which Kueue does not copy to the clusters of team {team}",
            f"provide it in the volume {found.claim} of each cluster, or put the packages into the image",
        )


# What is wrong with jobs that run on Spark.
CONF = ("spark.executor.", "spark.driver.", "spark.task.resource.", "spark.dynamicAllocation.", "spark.kubernetes.")
"""Spark settings that other keys or the resource set; Kueue would not count them in ``conf``."""
_SAID = (
    *("instances", "cores", "memory", "memoryOverhead", "memoryOverheadFactor", "resource.gpu.amount"),
    *("enabled", "minExecutors", "maxExecutors", "executorIdleTimeout"),
    *("executor.request.cores", "driver.request.cores"),
)


def check_spark(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The findings about jobs of engine ``spark``, and about other jobs with settings of Spark.

    Args:
        stack: the stack of the jobs.
        everything: its resources from ``sizing.sized``.
    """
    sizes = sizes_by_job(everything)
    for index, job in enumerate(stack.config.jobs):
        if job.engine != "spark":
            if job.spark != Spark():
                yield stack.finding(
                    "RES220",
                    Severity.ERROR,
                    ("jobs", index, "spark"),
                    f"job {job.name} has Spark settings, but its engine is {job.engine}",
                    "set engine to spark, or drop them",
                )
            continue
        one = sizes.get(id(job))
        for path, what, remedy in (*_wrong(job, one), *_beside(stack, job, one)):
            where: StackPath = ("jobs", index, *path)
            yield stack.finding("RES220", Severity.ERROR, where, f"job {job.name} {what}", remedy)
        yield from _memory(stack, index, job, one)


def _wrong(job: Job, one: Sized | None) -> Iterator[tuple[StackPath, str, str]]:
    """The settings with which a Spark job cannot run: where they are, what is wrong, and what to do."""
    spark = job.spark
    if spark.version is None:
        yield ("spark",), "does not set the Spark version of its image", "set spark.version, such as 3.5.7"
    if not job.command:
        yield (), "is a Spark application without a command", "set command: its main file and its arguments"
    elif kind_of(job) != "Python" and spark.main_class is None:
        what = "has no main class, and its command does not begin with a .py file"
        yield ("command",), what, "begin command with the .py file, without python, or set spark.mainClass"
    for key in spark.conf:
        rest = next((key.removeprefix(prefix) for prefix in CONF if key.startswith(prefix)), "")
        if rest in _SAID:
            remedy = "drop it; set sizes in the resource, and the driver's with driverCpu and driverMemory"
            yield ("spark", "conf", key), f"sets {key}, which modelyard sets", remedy
    most = spark.most_executors
    if most is None:
        return
    team = job.team or (one.resource.team if one is not None else None)
    if team is not None:
        what = f"varies its executors (mostExecutors), but Kueue admits a fixed number for team {team}"
        yield ("spark", "mostExecutors"), what, "drop mostExecutors and set workers of its resource, or drop the team"
    elif most < spark.least_executors:
        what = f"has at most {most} executors and at least {spark.least_executors}"
        yield ("spark", "leastExecutors"), what, f"set leastExecutors to {most} or less"


def _beside(stack: Stack, job: Job, one: Sized | None) -> Iterator[tuple[StackPath, str, str]]:
    """Settings that Spark's pods cannot have and the pods of other jobs can."""
    resource = one.resource if one is not None else None
    named = job.environment or (resource.environment if resource is not None else None)
    if run_environment(stack.config, named) is not None:
        what = f"runs on Spark with Python environment {named}, which is on a volume"
        yield (), what, "build its packages into the image, and name no Python environment"
    if resource is not None and (resource.partition or resource.grow):
        what = f"runs on Spark with GPU slices of {resource.name}, but executors need whole GPUs"
        yield ("resource",), what, "name a resource with whole GPUs"


def _memory(stack: Stack, index: int, job: Job, one: Sized | None) -> Iterator[Finding]:
    """Checks whether the pods have memory for a heap next to the overhead."""
    pods: list[tuple[str, str, Fraction, StackPath]] = [
        ("driver", "has", driver_of(job.spark)["memory"], ("jobs", index, "spark", "driverMemory"))
    ]
    if one is not None:
        pods.append(("executors", "have", one.size.memory, ("jobs", index)))
    for what, verb, memory, where in pods:
        heap, overhead = heap_of(memory, job)
        if heap < LEAST_HEAP:
            yield stack.finding(
                "RES221",
                Severity.ERROR,
                where,
                f"the {what} of job {job.name} {verb} {quantity.memory(memory)}, which leaves Spark a heap of "
                f"{max(heap, 0)}Mi",
                f"set {'spark.driverMemory' if what == 'driver' else 'memory of its resource'} to "
                f"{(LEAST_HEAP + max(overhead, LEAST_OVERHEAD)) // 256 * 256 + 256}Mi or more",
                detail=f"{overhead}Mi are overhead, outside the heap; Spark starts with {LEAST_HEAP}Mi or more",
            )
