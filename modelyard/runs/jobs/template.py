"""Renders a template of mode ``submitted`` to the objects of a submission, and checks whether its run can grow."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from modelyard.catalog import Library, PatchVersion, Selected, select_for_job, version_of
from modelyard.cluster.pool_objects import USER
from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, key_of
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Stack
from modelyard.stack.environments import Environment
from modelyard.workloads import Facts, every_workload, stack_facts
from modelyard.workloads.facts.jobs import products_for
from modelyard.workloads.facts.pool import takes_any_place
from modelyard.workloads.sizing import Sized


class Submission(NamedTuple):
    """The objects of a submission, or why there are none."""

    objects: Confidential[tuple[dict[str, Any], ...]]
    """The first object owns the others, which are deleted with it, unless they are ``apart``."""
    findings: tuple[Finding, ...]
    template: str = ""
    """The patch version that the objects were rendered from."""
    environments: tuple[Environment, ...] = ()
    """Python environments that must be built first."""
    apart: bool = False
    """Whether each object ends on its own, as the trials of a search do."""
    remote: str = ""
    """Name of the remote resource whose cluster the run is for; empty: the home cluster."""

    @property
    def first(self) -> Confidential[dict[str, Any]]:
        """The first object."""
        return Confidential(self.objects.reveal()[0])

    def with_user(self, user: str) -> "Submission":
        """The submission with a label of the user on each object; unchanged without a user."""
        if not user:
            return self
        made = copy.deepcopy(self.objects.reveal())
        for body in made:
            body["metadata"].setdefault("labels", {})[USER] = user
        return self._replace(objects=Confidential(made))

    @property
    def key(self) -> ObjectKey:
        """The first object's key."""
        return key_of(self.first.reveal(), "")


def submission(stack: Stack, library: Library, template: str, given: Facts, known: Facts | None = None) -> Submission:
    """The objects rendered from a template.

    Args:
        stack: the stack, which may pin the template's version, as of every patch.
        library: the project's patches.
        template: name of a patch with ``mode: submitted``.
        given: facts of the submission, in addition to the stack's.
        known: the stack's facts, if the caller already has them.
    """
    chosen, findings = chosen_template(stack, library, template, given, known)
    if chosen is None:
        return Submission(Confidential(()), (*library.findings, *findings))
    made = chosen.render_base()
    found = (*library.findings, *findings, *made.findings)
    objects = () if any(one.blocks for one in found) else tuple(document.body.reveal() for document in made.documents)
    return Submission(Confidential(objects), found, chosen.patch.id)


def chosen_template(
    stack: Stack, library: Library, template: str, given: Facts, known: Facts | None = None
) -> tuple[Selected | None, tuple[Finding, ...]]:
    """The version of a template that a stack uses, with its parameters; None if the findings say why not.

    The arguments are those of :func:`submission`.
    """
    known = stack_facts(stack, every_workload(stack.config)) if known is None else known
    chosen, findings = select_for_job(library, stack, {**known, **given}, template)
    run = given.get("run", {})
    if chosen is not None and template == RAY_TEMPLATE and run["leastWorkers"] is not None:
        wrong = tuple(starts_whole(stack, run["job"], chosen.patch))
        return None if wrong else chosen, (*findings, *wrong)
    return chosen, findings


RAY_TEMPLATE: Final = "job-ray"
"""Name of the patch that runs a job on Ray."""


def check_growth(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The errors about jobs that grow in a flavor with a topology.

    In such a flavor, Kueue 0.19.2 looks for room for all workers again, including those that run, unless its feature
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
        if job.grows and job.command and (patch := version_of(library, stack, RAY_TEMPLATE)) is not None:
            yield from starts_whole(stack, job.name, patch)


def starts_whole(stack: Stack, name: str, patch: PatchVersion) -> Iterator[Finding]:
    """The error about a job, by name, that is to grow with a version of the template; None if the version can grow."""
    if "leastWorkers" not in (patch.base or ""):
        remedy = f"pin no version of {patch.name} under patches, or drop leastWorkers"
        yield _finding(stack, name, f"{patch.id} starts a Ray cluster with all its workers", remedy)


def _finding(stack: Stack, name: str, why: str, remedy: str) -> Finding:
    index = next(index for index, job in enumerate(stack.config.jobs) if job.name == name)
    where = ("jobs", index, "leastWorkers")
    return stack.finding("RES211", Severity.ERROR, where, f"job {name} cannot have leastWorkers: {why}", remedy)
