"""Finds runs that would wait forever for quota or nodes, before anything is submitted."""

from collections.abc import Collection, Iterable
from datetime import date

from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube.state import Node
from modelyard.plan.checks.jobs import check_job_nodes, check_job_room
from modelyard.plan.checks.nodepools import possible_nodes
from modelyard.plan.checks.partitions import check_slice_quotas
from modelyard.plan.checks.queues import check_queues
from modelyard.runs.jobs import Submission
from modelyard.stack import waive
from modelyard.stack.config import Stack, about_entries
from modelyard.workloads.sizing import sized


def admitted(stack: Stack, made: Submission, names: Collection[str], today: date) -> Submission:
    """The submission, or findings in its place if no quota can ever hold its run. Checks the home cluster only."""
    never = never_admitted(stack, names, today) if not made.remote else ()
    return made._replace(objects=Confidential(()), findings=(*made.findings, *never)) if never else made


def never_admitted(stack: Stack, names: Collection[str], today: date) -> tuple[Finding, ...]:
    """The errors about runs of these jobs that would wait for quota forever, and about their teams. Does not check
    nodes.
    """
    config = stack.config
    jobs = [job for job in config.jobs if job.name in names]
    on = {job.resource for job in jobs}
    resources = [one for one in config.resources if one.name in on]
    of = {one.name: one.team for one in resources}
    names_of_teams = {job.team or of.get(job.resource or "") for job in jobs}
    teams = (one for one in config.teams if one.name in names_of_teams)
    everything = sized(config)
    found = (
        *check_queues(stack, ()),
        *check_job_room(stack, everything, ()),
        *check_slice_quotas(stack, everything, ()),
    )
    about = about_entries(found, config.entries(*jobs, *resources, *teams))
    return tuple(one for one in waive(about, stack, today)[0] if one.blocks)


def never_placed(stack: Stack, names: Collection[str], nodes: Iterable[Node], today: date) -> tuple[Finding, ...]:
    """The warnings about runs of these jobs that no nodes could ever hold; none without known nodes."""
    config = stack.config
    # Only jobs with a command are checked.
    jobs = tuple(job if job.name in names else job._replace(command=()) for job in config.jobs)
    asked = config._replace(jobs=jobs)
    found = check_job_nodes(stack._replace(config=asked), sized(asked), nodes, possible_nodes(config.node_pools))
    return tuple(one for one in waive(found, stack, today)[0] if not one.waived)
