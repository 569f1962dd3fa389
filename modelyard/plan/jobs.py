"""Whether jobs can ever run: on a node, as many workers as they ask for, within their team's quota."""

from collections.abc import Iterable, Iterator

from modelyard.cluster.state import Node
from modelyard.findings import Finding, Severity
from modelyard.plan.asks import Ask, ask_of
from modelyard.plan.job_nodes import Kinds, Unplaced, unplaced
from modelyard.plan.job_quotas import check_bare_quotas, check_resource_quotas, flavors_for, missing_level, short_of
from modelyard.sizing import Sized
from modelyard.stack.config import Stack
from modelyard.stack.pool import Team
from modelyard.workloads.quotas import Quotas


def check_job_room(
    stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node], growth: Iterable[Node] = ()
) -> Iterator[Finding]:
    """The findings about jobs with a command; without nodes nobody says what there is.

    Time grows with the jobs, and with the kinds of nodes for each different size of a job.

    Args:
        stack: whose jobs they are.
        everything: its resources, as ``sizing.sized`` gives them.
        nodes: of the cluster.
        growth: nodes of the kinds that may be added, one of each.
    """
    config = stack.config
    everything = tuple(everything)
    quotas = Quotas(config)
    teams = {team.name: team for team in config.teams}
    yield from check_bare_quotas(stack, everything)
    yield from check_resource_quotas(stack, everything, teams, quotas)
    if not any(job.command for job in config.jobs):
        return
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    kinds = Kinds(nodes, config.flavors, growth, {pool.name: pool.gpus for pool in config.node_pools})
    told: dict[Ask, Unplaced | None] = {}
    for index, job in enumerate(config.jobs):
        one = by_job.get(id(job))
        if not job.command or one is None or one.resource.remote is not None:
            continue
        ask = ask_of(config, job, one)
        team = teams.get(ask.team or "")
        if ask.team is not None and team is None:
            continue  # It is told that there is no such team.
        short = _beyond_quota(stack, index, ask, team, quotas) if team is not None else None
        if short is not None:
            yield short
        elif kinds.there and not (team is not None and team.clusters):  # Nobody knows the nodes of other clusters.
            if ask not in told:
                told[ask] = unplaced(ask, kinds, flavors_for(config, ask, team) if team is not None else None)
            if (problem := told[ask]) is not None:
                yield stack.finding(
                    "RES212",
                    Severity.WARNING,
                    ("jobs", index),
                    f"job {job.name} can never run: {problem.summary}",
                    "ask for less, or add such nodes; where an autoscaler adds them there is nothing to do",
                    detail=problem.detail,
                )


def _beyond_quota(stack: Stack, index: int, ask: Ask, team: Team, quotas: Quotas) -> Finding | None:
    """That the queue of a job's team would never admit a run of it."""
    job = stack.config.jobs[index]
    if (level := missing_level(stack.config, ask, team)) is not None:
        return stack.finding(
            "RES215",
            Severity.ERROR,
            ("jobs", index, "together"),
            f"job {job.name} wants its workers together by {job.together}, and no flavor of team {team.name} that "
            "it may take has that level",
            level[0],
            detail=level[1],
        )
    if (short := short_of(stack.config, quotas, ask, team)) is not None:
        return stack.finding(
            "RES213",
            Severity.ERROR,
            ("jobs", index),
            f"job {job.name} asks for {short.wanted} at once, and team {ask.team} never has more than {short.most}",
            short.remedy,
            detail=short.why,
        )
    return None
