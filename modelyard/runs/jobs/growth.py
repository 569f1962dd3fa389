"""What keeps a run on Ray from growing: it starts with the least workers, and Ray's autoscaler adds more."""

from collections.abc import Iterator, Sequence
from typing import Final

from modelyard.catalog import Library, PatchVersion, version_of
from modelyard.findings import Finding, Severity
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Stack
from modelyard.workloads.facts.jobs import products_for
from modelyard.workloads.facts.pool import takes_any_place
from modelyard.workloads.sizing import Sized

TEMPLATE: Final = "job-ray"
"""Name of the patch."""


def check_growth(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The errors about jobs that grow in a flavor with a topology.

    There Kueue 0.19.2 looks for room for all workers once more, also for those that run, unless its feature
    ``ElasticJobsViaWorkloadSlicesWithTAS`` is on, which is alpha (pkg/scheduler/flavorassigner/tas_flavorassigner.go).

    Args:
        stack: the stack of the jobs.
        everything: its resources from ``sizing.sized``.
    """
    config = stack.config
    teams = {team.name: team for team in config.teams}
    for one in everything:
        for job, _ in one.jobs:
            team = teams.get(job.team or one.resource.team or "")
            if not job.grows or not job.command or team is None or one.resource.remote is not None:
                continue
            names = products_for(config, one.resource.gpu) if one.part is None else ()
            resource = one.part.resource if one.part is not None else GPU_RESOURCE
            if takes_any_place(config, team, one.size.gpus, names, resource):
                what = f"the flavors of team {team.name} have a topology, in which Kueue adds no workers to a run"
                yield _finding(stack, job.name, what, "drop leastWorkers, or give the team a flavor without a topology")


def check_template(stack: Stack, library: Library) -> Iterator[Finding]:
    """The errors about jobs that grow, if the stack's version of the template starts Ray with all workers.

    Args:
        stack: the stack of the jobs, which may pin the version.
        library: the project's patches.
    """
    for job in stack.config.jobs:
        if job.grows and job.command and (patch := version_of(library, stack, TEMPLATE)) is not None:
            yield from starts_whole(stack, job.name, patch)


def starts_whole(stack: Stack, name: str, patch: PatchVersion) -> Iterator[Finding]:
    """The error about a job that grows, by its name, with a version of the template; none if the version can grow."""
    if "leastWorkers" not in (patch.base or ""):
        remedy = f"pin no version of {patch.name} under patches, or drop leastWorkers"
        yield _finding(stack, name, f"{patch.id} starts a Ray cluster with all its workers", remedy)


def _finding(stack: Stack, name: str, why: str, remedy: str) -> Finding:
    index = next(index for index, job in enumerate(stack.config.jobs) if job.name == name)
    where = ("jobs", index, "leastWorkers")
    return stack.finding("RES211", Severity.ERROR, where, f"job {name} cannot have leastWorkers: {why}", remedy)
