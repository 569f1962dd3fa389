"""Whether jobs can ever run (on a node, with all their workers, within their team's quota), and whether they end."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.kube.state import Node
from modelyard.plan.checks.job_nodes import Kinds, Unplaced, unplaced
from modelyard.plan.checks.job_quotas import (
    Short,
    check_bare_quotas,
    check_resource_quotas,
    flavors_for,
    missing_level,
    short_of,
)
from modelyard.plan.run_requests import Ask, ask_of
from modelyard.stack.config import Config, Path, Stack
from modelyard.stack.pool import Flavor, Team
from modelyard.stack.words import few, plural
from modelyard.workloads.facts.jobs import deployment_of, is_deployed
from modelyard.workloads.facts.nodepools import most_gpus
from modelyard.workloads.facts.pool import Quotas
from modelyard.workloads.sizing import Sized

_ENDS: Final = ("data-sink", "dataset", "training", "batch-prediction")
"""Types whose work ends."""
_SMALLER: Final = "request less, or add such nodes; waive RES212 if an autoscaler adds them"


def check_job_room(
    stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node], growth: Iterable[Node] = ()
) -> Iterator[Finding]:
    """The findings about jobs with a command; without known nodes, nodes are not checked.

    The running time grows with the number of jobs and, for each distinct size of a job, with the number of quotas and
    kinds of nodes.

    Args:
        stack: the stack of the jobs.
        everything: the stack's resources, from ``sizing.sized``.
        nodes: the nodes of the cluster.
        growth: the nodes that may be added, one of each kind.
    """
    config = stack.config
    everything = tuple(everything)
    yield from check_bare_quotas(stack, everything)
    yield from check_resource_quotas(stack, everything, {team.name: team for team in config.teams}, Quotas(config))
    for index, ask, why in _verdicts(config, everything, nodes, growth):
        yield from _findings(stack, ("jobs", index), f"job {config.jobs[index].name}", ask, why)


def check_job_nodes(
    stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node], growth: Iterable[Node] = ()
) -> Iterator[Finding]:
    """The findings of :func:`check_job_room` about nodes."""
    for index, _, why in _verdicts(stack.config, everything, nodes, growth):
        if why.unplaced is not None:
            yield _without_node(stack, ("jobs", index), f"job {stack.config.jobs[index].name}", why.unplaced)


def _verdicts(
    config: Config, everything: Iterable[Sized], nodes: Iterable[Node], growth: Iterable[Node]
) -> Iterator[tuple[int, Ask, "_Verdict"]]:
    """The position, the request and the verdict of each job with a command that runs in this cluster."""
    if not any(job.command for job in config.jobs):
        return
    quotas = Quotas(config)
    teams = {team.name: team for team in config.teams}
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    kinds = Kinds(nodes, config.flavors, growth, most_gpus(config))
    judged: dict[Ask, _Verdict] = {}
    for index, job in enumerate(config.jobs):
        one = by_job.get(id(job))
        if not job.command or one is None or one.resource.remote is not None:
            continue
        ask = ask_of(config, job, one)
        if ask not in judged:
            judged[ask] = _verdict(config, ask, teams, quotas, kinds)
        yield index, ask, judged[ask]


def check_endless(stack: Stack, everything: Iterable[Sized]) -> Iterator[Finding]:
    """Finds work that ends, in a Deployment that does not."""
    places = {id(job): index for index, job in enumerate(stack.config.jobs)}
    for one in everything:
        waiting = [job for job, _ in one.jobs if not job.command]
        if waiting and one.resource.type in _ENDS and is_deployed(stack.config, one):
            pods = plural(one.size.workers, "pod")
            yield stack.finding(
                "RES226",
                Severity.WARNING,
                ("jobs", places[id(waiting[0])]),
                f"job {waiting[0].name} has no command: Deployment {deployment_of(one)} runs {pods} without end",
                "give it a command, and submit it: modelyard job submit; or waive RES226 if the image runs the jobs "
                "that the environment variable JOBS lists",
                detail="Kubernetes starts the pods again when they end"
                + (f"; jobs: {few([job.name for job in waiting])}" if len(waiting) > 1 else ""),
            )


def check_pod_room(
    stack: Stack,
    where: Path,
    what: str,
    ask: Ask,
    flavor: Flavor | None,
    nodes: Iterable[Node],
    growth: Iterable[Node],
    note: str = "",
) -> Iterator[Finding]:
    """The errors about a single pod that belongs to no job of the stack; without known nodes, nodes are not checked.

    For a job, it is a warning if no node takes the pod. Here it is an error, because a user waits for the pod.

    Args:
        stack: the stack with the quotas and node pools.
        where: the path in the stack file that sets the pod's size.
        what: the pod, in words.
        ask: the pod's request.
        flavor: the flavor whose nodes the pod uses; None: any nodes that it asks for.
        nodes: the nodes of the cluster.
        growth: the nodes that may be added, one of each kind.
        note: added to the detail of a finding about nodes.
    """
    config = stack.config
    team = next((one for one in config.teams if one.name == ask.team), None)
    kinds = Kinds(nodes, config.flavors, growth, most_gpus(config))
    short = short_of(config, Quotas(config), ask, team) if team is not None else None
    found = unplaced(ask, kinds, None if flavor is None else (flavor,)) if kinds.there else None
    if short is None and found is not None:
        warning = _without_node(stack, where, what, found)
        yield warning._replace(severity=Severity.ERROR, remedy=_SMALLER, detail=warning.detail + note)
    else:
        yield from _findings(stack, where, what, ask, _Verdict(short=short))


class _Verdict(NamedTuple):
    """Why a run never gets what it requests; if several fields are set, the first applies."""

    level: tuple[str, str] | None = None
    """See :func:`missing_level`."""
    short: Short | None = None
    stuck: Short | None = None
    """What the run lacks for all workers that it may grow to."""
    unplaced: Unplaced | None = None


def _verdict(config: Config, ask: Ask, teams: Mapping[str, Team], quotas: Quotas, kinds: Kinds) -> _Verdict:
    team = teams.get(ask.team or "")
    if team is None:
        # Another finding reports an undefined team.
        return _Verdict(unplaced=unplaced(ask, kinds, None) if kinds.there and ask.team is None else None)
    if (level := missing_level(config, ask, team)) is not None:
        return _Verdict(level=level)
    if (short := short_of(config, quotas, ask, team)) is not None:
        return _Verdict(short=short)
    if ask.most is not None and (stuck := short_of(config, quotas, ask._replace(workers=ask.most), team)) is not None:
        return _Verdict(stuck=stuck)
    if not kinds.there or team.clusters:  # The nodes of other clusters are unknown.
        return _Verdict()
    return _Verdict(unplaced=unplaced(ask, kinds, flavors_for(config, ask, team)))


def _findings(stack: Stack, where: Path, what: str, ask: Ask, why: _Verdict) -> Iterator[Finding]:
    """The finding about a run that never gets what it requests."""
    if why.level is not None:
        yield stack.finding(
            "RES215",
            Severity.ERROR,
            (*where, "together"),
            f"{what} sets together to {ask.together}, but no flavor that it may use in team {ask.team} has that level",
            why.level[0],
            detail=why.level[1],
        )
    elif why.short is not None:
        short = why.short
        yield stack.finding(
            "RES213",
            Severity.ERROR,
            where,
            f"{what} asks for {short.wanted} at once, but team {ask.team} never has more than {short.most}",
            short.remedy,
            detail=short.why,
        )
    elif why.stuck is not None:
        yield stack.finding(
            "RES213",
            Severity.WARNING,
            where,
            f"{what} may grow to {ask.most} workers, which ask for {why.stuck.wanted}, but team {ask.team} never has "
            f"more than {why.stuck.most}",
            "lower workers of its resource, or raise the team's quota",
            detail="Ray asks for all workers that its tasks need, and Kueue admits a request whole or not at all",
        )
    elif why.unplaced is not None:
        yield _without_node(stack, where, what, why.unplaced)


def _without_node(stack: Stack, where: Path, what: str, why: Unplaced) -> Finding:
    return stack.finding(
        "RES212",
        Severity.WARNING,
        where,
        f"{what} can never run: {why.summary}",
        "request less, or add such nodes; ignore this if an autoscaler adds them",
        detail=why.detail,
    )
