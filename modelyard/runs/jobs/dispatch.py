"""What is wrong with work that is to run in other clusters, where Kueue makes the Job alone.

What Kueue carries over is read from its source, version 0.19.2: it has no adapter for a SparkApplication
(pkg/controller/jobs/sparkapplication) and rejects its workload; of a Job, a RayJob and a pod it makes a copy in the
worker cluster (the ``*_multikueue_adapter.go`` of pkg/controller/jobs), and of nothing that they refer to.
"""

from collections.abc import Iterator, Sequence

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Path, Stack
from modelyard.stack.jobs import Job
from modelyard.workloads.facts.environments import environment_named
from modelyard.workloads.facts.jobs import deployment_of, is_deployed, team_of_resource
from modelyard.workloads.sizing import Sized


def check_dispatch(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The findings about jobs and resources of teams whose jobs run in worker clusters.

    Args:
        stack: whose jobs they are.
        everything: its resources, as ``sizing.sized`` gives them.
    """
    config = stack.config
    sent = {team.name for team in config.teams if team.clusters}
    if not sent:
        return
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    for index, job in enumerate(config.jobs):
        one = by_job.get(id(job))
        if one is None or not job.command or one.resource.remote is not None:
            continue
        if (job.team or one.resource.team) in sent:
            yield from _run(stack, index, job, one)
    places = {resource.name: ("resources", index) for index, resource in enumerate(config.resources)}
    jobs = {job.name: ("jobs", index) for index, job in enumerate(config.jobs)}
    for one in everything:
        if not is_deployed(config, one) or team_of_resource(one) not in sent:
            continue
        where: Path = jobs[one.jobs[0][0].name] if one.own else places[one.resource.name]
        yield stack.finding(
            "QUE011",
            Severity.WARNING,
            where,
            f"the pods of {deployment_of(one)} run in other clusters, each in any of them, and no Service of this one "
            "finds them there",
            "give it a team without clusters; a job with a command may have this one",
        )


def _run(stack: Stack, index: int, job: Job, one: Sized) -> Iterator[Finding]:
    """What keeps the runs of a job from being what they are here."""
    where: Path = ("jobs", index)
    team = job.team or one.resource.team
    if job.engine == "spark":
        yield stack.finding(
            "QUE011",
            Severity.ERROR,
            (*where, "engine"),
            f"job {job.name} runs on Spark, and Kueue sends no application of Spark to the clusters of team {team}",
            "give it a team without clusters, or another engine",
        )
    elif job.engine == "job" and job.trials is None and one.size.workers > 1:
        yield stack.finding(
            "QUE011",
            Severity.ERROR,
            where,
            f"job {job.name} has {one.size.workers} workers that find each other by a Service, "
            f"which does not go to the clusters of team {team} with them",
            "set engine: ray, which makes it there; waive this where the workers do not talk to each other",
        )
    found = environment_named(stack.config, job.environment or one.resource.environment)
    if job.engine == "job" and found is not None:
        yield stack.finding(
            "QUE011",
            Severity.WARNING,
            (*where, "environment") if job.environment else where,
            f"job {job.name} has environment {found.name} from the volume {found.claim}, "
            f"which does not go to the clusters of team {team} with it",
            f"let the volume {found.claim} of each of them have it, or put the packages into the image",
        )
