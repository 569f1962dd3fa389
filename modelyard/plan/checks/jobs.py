"""Whether jobs can ever run (on a node, with all their workers, within their team's quota), and whether they end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hardware import GpuModel, products, resolve
from modelyard.hardware.nodes import meant_product
from modelyard.kube.scheduling.capacity import amount
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.plan.checks.job_nodes import Kinds, RunRequest, Unplaced, ask_of, unplaced
from modelyard.stack.config import Config, Stack, StackPath
from modelyard.stack.names import repeated
from modelyard.stack.pool import Flavor, Team
from modelyard.stack.words import few, listed, plural
from modelyard.workloads import node_labels
from modelyard.workloads.facts.jobs import deployment_of, is_deployed
from modelyard.workloads.facts.pool import Quotas, apart, gives, gpu_flavors, has_gpus, most_gpus
from modelyard.workloads.sizing import Sized, lacks_gpus, sizes_by_job

_ENDS: Final = ("data-sink", "dataset", "training", "batch-prediction")
"""Types whose work ends."""
_SMALLER: Final = "request less, or add larger nodes; waive RES212 if an autoscaler adds them"
_LESS: Final = {"cpu": "fewer cores", "memory": "less memory", GPU_RESOURCE: "fewer GPUs"}
NAMED: Final = 4
"""The number of jobs that a finding names; it counts the rest."""


def check_job_room(
    stack: Stack, everything: Sequence[Sized], nodes: Iterable[Node], growth: Iterable[Node] = ()
) -> Iterator[Finding]:
    """The findings about jobs with a command; without known nodes, nodes are not checked.

    The running time grows with the number of jobs and, for each distinct size of a job, with the number of quotas and
    kinds of nodes. ``growth`` are the nodes of node pools, one of each kind.
    """
    config = stack.config
    everything = tuple(everything)
    teams = _sound_teams(config)
    yield from check_bare_quotas(stack, everything, teams)
    yield from check_resource_quotas(stack, everything, teams, Quotas(config))
    for index, ask, why in _verdicts(config, everything, nodes, growth):
        shown = why._replace(unplaced=None) if why.missing else why
        yield from _findings(stack, ("jobs", index), f"job {config.jobs[index].name}", ask, shown)


def check_job_nodes(
    stack: Stack, everything: Sequence[Sized], nodes: Iterable[Node], growth: Iterable[Node]
) -> Iterator[Finding]:
    """The findings of :func:`check_job_room` about nodes."""
    for index, _, why in _verdicts(stack.config, everything, nodes, growth):
        if why.unplaced is not None:
            yield _without_node(stack, ("jobs", index), f"job {stack.config.jobs[index].name}", why.unplaced)


def _verdicts(
    config: Config, everything: Sequence[Sized], nodes: Iterable[Node], growth: Iterable[Node]
) -> Iterator[tuple[int, RunRequest, "_Verdict"]]:
    """The position, the request and the verdict of each job with a command that runs in this cluster."""
    if not any(job.command for job in config.jobs):
        return
    quotas = Quotas(config)
    teams = _sound_teams(config)
    sizes = sizes_by_job(everything)
    kinds = Kinds(nodes, config.flavors, growth, most_gpus(config))
    judged: dict[RunRequest, _Verdict] = {}
    for index, job in enumerate(config.jobs):
        one = sizes.get(id(job))
        if not job.command or one is None or one.resource.remote is not None:
            continue
        ask = ask_of(config, job, one)
        if ask not in judged:
            judged[ask] = _verdict(config, ask, teams, quotas, kinds)
        why = judged[ask]
        # Without GPUs, the job may use fewer nodes.
        yield index, ask, why._replace(missing=True) if lacks_gpus(one) else why


def _sound_teams(config: Config) -> dict[str, Team]:
    """The teams by name, without those that other findings report: with a quota of an undefined flavor, or several of
    one name.
    """
    flavors = {flavor.name for flavor in config.flavors}
    twice = {config.teams[index].name for index in repeated(team.name for team in config.teams)}
    return {
        team.name: team
        for team in config.teams
        if team.name not in twice and all(quota.flavor in flavors for quota in team.quotas)
    }


def check_endless(stack: Stack, everything: Iterable[Sized]) -> Iterator[Finding]:
    """Finds work that ends, in a Deployment that does not; other findings report jobs of stages."""
    places = {id(job): index for index, job in enumerate(stack.config.jobs)}
    staged = {name for pipeline in stack.config.pipelines for name in pipeline.jobs}
    for one in everything:
        waiting = [job for job, _ in one.jobs if not job.command and job.name not in staged]
        if waiting and one.resource.type in _ENDS and is_deployed(stack.config, one):
            pods = plural(one.size.workers, "pod")
            yield stack.finding(
                "RES226",
                Severity.WARNING,
                ("jobs", places[id(waiting[0])]),
                f"job {waiting[0].name} has no command: Deployment {deployment_of(one)} keeps {pods} running forever",
                "give it a command, and submit it: modelyard job submit; or waive RES226 if the image runs the jobs "
                "that the environment variable JOBS lists",
                detail="Kubernetes restarts the pods when they exit"
                + (f"; jobs: {few([job.name for job in waiting])}" if len(waiting) > 1 else ""),
            )


def check_pod_room(
    stack: Stack,
    what: str,
    ask: RunRequest,
    *,
    flavor: Flavor | None,
    nodes: Iterable[Node],
    growth: Iterable[Node],
    note: str,
) -> Iterator[Finding]:
    """The errors about the pod of a notebook or function; without known nodes, nodes are not checked.

    For a job, it is a warning if no node takes the pod. Here it is an error, because a user waits for the pod.

    Args:
        stack: the stack with the quotas and node pools, whose section ``notebooks`` sets the pod's size.
        what: the pod, in words.
        ask: the pod's request.
        flavor: the flavor whose nodes the pod uses; None: any nodes that it asks for.
        nodes: the nodes of the cluster.
        growth: the nodes of node pools, one of each kind.
        note: added to the detail of a finding about nodes.
    """
    config, where = stack.config, ("notebooks",)
    team = next((one for one in config.teams if one.name == ask.team), None)
    kinds = Kinds(nodes, config.flavors, growth, most_gpus(config))
    short = short_of(config, Quotas(config), ask, team) if team is not None else None
    found = unplaced(ask, kinds, None if flavor is None else (flavor,)) if kinds.nodes else None
    if short is None and found is not None:
        error = _without_node(stack, where, what, found, blocks=True)
        yield error._replace(remedy=_SMALLER, detail=error.detail + note)
    else:
        yield from _findings(stack, where, what, ask, _Verdict(short=short))


class Short(NamedTuple):
    """What a run requests beyond its team's quota, in words, and how much of it the team can have."""

    wanted: str
    most: str
    why: str
    remedy: str


def missing_level(config: Config, ask: RunRequest, team: Team) -> tuple[str, str] | None:
    """A remedy and the known levels, if no flavor that a run may use has the topology level that the run names."""
    flavors = flavors_for(config, ask, team)
    if ask.together is None or any(ask.together in flavor.topology for flavor in flavors):
        return None
    levels = {flavor.name: ", ".join(flavor.topology) or "none" for flavor in flavors}
    have = [level for flavor in flavors for level in flavor.topology]
    remedy = (
        f"name one of its levels: {' or '.join(dict.fromkeys(have))}"
        if have
        else f"give one of them a topology with {ask.together}"
    )
    return remedy, "; ".join(f"levels of {name}: {has}" for name, has in levels.items())


def flavors_for(config: Config, ask: RunRequest, team: Team) -> tuple[Flavor, ...]:
    """The flavors that a run may use: those from which its team has such GPUs; if none, all flavors of the team."""
    named = {quota.flavor for quota in team.quotas}
    flavors = gpu_flavors(config, team, ask.products, ask.resource) if ask.gpus else ()
    return flavors or tuple(flavor for flavor in config.flavors if flavor.name in named)


def short_of(config: Config, quotas: Quotas, ask: RunRequest, team: Team) -> Short | None:
    """Everything that a run requests but its team can never have at once; None if there is nothing, or it is reported
    already.
    """
    if ask.gpus and _is_uncounted(ask.resource, team):
        return None
    flavors = [flavor.name for flavor in gpu_flavors(config, team, ask.products, ask.resource)] if ask.gpus else []
    if ask.gpus and not flavors and (others := gpu_flavors(config, team, resource=ask.resource)):
        have = ", ".join(f"{one.name} ({node_labels(one).get(PRODUCT_LABEL, 'any GPU')})" for one in others)
        why = f"it asks for {' or '.join(ask.products)}, but its team has quotas of {have} only"
        remedy = "set gpu of the resource to another GPU, or give the team a quota of a flavor with this GPU"
        return Short(_words(ask.resource, Fraction(ask.gpus * ask.workers)), "0", why, remedy)
    lacks = tuple(_lacks(quotas, ask, team, flavors))
    if not lacks:
        return None
    pods = dict.fromkeys((one.pods, one.number) for one in lacks)
    each = {pod: [_words(one.resource, one.each) for one in lacks if (one.pods, one.number) == pod] for pod in pods}
    why = "; ".join(f"{plural(count, what)} of {listed(words, 'and')}" for (what, count), words in each.items())
    return Short(
        listed((_words(one.resource, one.each * one.number) for one in lacks), "and"),
        listed((_words(one.resource, one.most) for one in lacks), "and")
        if len(lacks) > 1
        else amount(lacks[0].resource, lacks[0].most),
        why + "; Kueue admits all of them or none" * any(one.number > 1 for one in lacks),
        _or((*_less(lacks, ask.fewer), _more(team, *(one.resource for one in lacks)))),
    )


def _is_misspelled(config: Config, ask: RunRequest, team: Team, kinds: Kinds) -> bool:
    """Whether only a misspelled label keeps a flavor of the team from having the run's GPUs; another finding reports
    a flavor whose labels no node has.
    """
    if team.clusters or not ask.products or gpu_flavors(config, team, ask.products, ask.resource):
        return False
    named = map(node_labels, gpu_flavors(config, team, resource=ask.resource))
    return any(
        meant_product(labels.get(PRODUCT_LABEL), kinds.nodes) in ask.products
        for labels in named
        if not any(gives(pool, labels) for pool in config.node_pools)
    )


def _is_uncounted(resource: str, team: Team) -> bool:
    """Whether no quota of a team counts slices of this name, which another finding reports."""
    return resource != GPU_RESOURCE and all(quota.resource != resource for quota in team.quotas)


class _Lack(NamedTuple):
    """A resource of which a run's pods request more than their team can ever have."""

    pods: str
    number: int
    resource: str
    each: Fraction
    most: Fraction


def _lacks(quotas: Quotas, ask: RunRequest, team: Team, flavors: Sequence[str]) -> Iterator[_Lack]:
    """What a team can never have of each resource. Cores and memory are counted in the GPUs' flavor or in one for any
    nodes.
    """
    enough = [name for name in flavors if quotas.most(team, name, ask.resource) >= ask.gpus * ask.workers]
    if ask.gpus and not enough:
        most = max((quotas.most(team, name, ask.resource) for name in flavors), default=Fraction(0))
        yield _Lack("worker", ask.workers, ask.resource, Fraction(ask.gpus), most)
    alone = apart(team)
    basic = [name for name in dict.fromkeys(quota.flavor for quota in team.quotas) if name not in alone]
    pods = [("worker", ask.workers, ask.amounts, enough or flavors if ask.gpus and not alone else basic)]
    if ask.head is not None:
        pods.append((ask.head.what, 1, dict(ask.head.requests), basic))
    for resource in ("cpu", "memory"):
        for what, count, each, names in pods:
            most = max((quotas.most(team, name, resource) for name in names), default=Fraction(0))
            if names and each[resource] * count > most:
                yield _Lack(what, count, resource, each[resource], most)
                break


def _less(lacks: Sequence[_Lack], fewer: tuple[str, ...]) -> tuple[str, ...]:
    """How a run can request less: ``fewer`` pods if the quota holds one, otherwise less per pod; empty without a quota,
    and for the head of a Ray cluster, which has a fixed size.
    """
    if any(not one.most or one.pods == "head" for one in lacks):
        return ()
    if all(one.number > 1 and one.each <= one.most for one in lacks):
        return fewer
    less = listed((_LESS.get(one.resource, f"fewer {one.resource}") for one in lacks), "and")
    return (f"request {less}" + " for each worker" * all(one.number > 1 for one in lacks),)


def _more(team: Team, *resources: str) -> str:
    """How the team can get more of some resources: only a limit that the team has can be raised."""
    limited = any(quota.borrow is not None and quota.resource in resources for quota in team.quotas)
    return "raise the team's quota" + (" or its borrow limit" if team.cohort is not None and limited else "")


def _or(changes: Sequence[str]) -> str:
    *first, last = changes
    return f"{', '.join(first)}, or {last}" if first else last


def _words(resource: str, value: Fraction) -> str:
    """An amount of a resource: ``2 GPUs``, ``8 cores``, ``48Gi of memory``."""
    if resource == GPU_RESOURCE:
        return plural(int(value), "GPU")
    unit = {"cpu": "core" if value == 1 else "cores", "memory": "of memory"}.get(resource, resource)
    return f"{amount(resource, value)} {unit}"


def check_resource_quotas(
    stack: Stack, everything: Iterable[Sized], teams: Mapping[str, Team], quotas: Quotas
) -> Iterator[Finding]:
    """Whether a team can ever have the GPUs for all pods of a resource; Kueue admits each pod separately."""
    config = stack.config
    for index, (resource, one) in enumerate(zip(config.resources, everything, strict=False)):
        team = teams.get(resource.team or "")
        if team is None or not one.size.gpus or not is_deployed(config, one):
            continue
        name = one.part.resource if one.part is not None else GPU_RESOURCE
        if _is_uncounted(name, team):
            continue
        gpu = resolve(resource.gpu or config.gpu.model) if one.part is None else None
        flavors = gpu_flavors(config, team, products(gpu) if isinstance(gpu, GpuModel) else ())
        have = sum((quotas.most(team, flavor.name, name) for flavor in flavors), Fraction(0))
        pods = max(one.size.workers, resource.scale.most if resource.scale is not None else 0)
        wanted = pods * one.size.gpus
        if wanted > have:
            what = "GPUs" if name == GPU_RESOURCE else name
            yield stack.finding(
                "RES218",
                Severity.WARNING,
                ("resources", index),
                f"the {pods} pods of resource {resource.name} ask for {wanted} {what}, "
                f"but team {team.name} never has more than {have}",
                f"lower {'scale.most' if pods > one.size.workers else 'workers'}, or {_more(team, name)}",
                detail="Kueue admits each pod separately: pods beyond the quota stay pending",
            )


def check_bare_quotas(stack: Stack, everything: Iterable[Sized], teams: Mapping[str, Team]) -> Iterator[Finding]:
    """Whether pods without GPUs have a quota of nodes without GPUs, reported once per team."""
    config = stack.config
    bare = [flavor.name for flavor in config.flavors if not has_gpus(flavor)]
    lead = "" if bare else "define a flavor without gpu (flavors: {name: any}), and "
    without: dict[str | None, dict[str, None]] = {}
    for one in everything:
        for job, _ in one.jobs:
            if one.resource.remote is None and (not one.size.gpus or (job.command and job.engine != "job")):
                without.setdefault(job.team or one.resource.team, {})[job.name] = None
    for index, team in enumerate(config.teams):
        flavors = {quota.flavor for quota in team.quotas}
        if team.name in without and team.name in teams and flavors and flavors.isdisjoint(bare):
            yield stack.finding(
                "RES216",
                Severity.ADVICE,
                ("teams", index, "quotas"),
                f"team {team.name} has pods without GPUs, but only quotas of GPU nodes",
                f"{lead}add to the team's quotas {{flavor: {bare[0] if bare else 'any'}, cpu: 16, memory: 64Gi}}",
                detail=f"jobs: {few(without[team.name], NAMED)}",
            )


class _Verdict(NamedTuple):
    """Why a run never gets what it requests; if several fields are set, the first applies."""

    level: tuple[str, str] | None = None
    """See :func:`missing_level`."""
    short: Short | None = None
    stuck: Short | None = None
    """What the run lacks for all workers that it may grow to."""
    unplaced: Unplaced | None = None
    missing: bool = False
    """Whether other findings of a plan report the nodes or GPUs that are missing."""


def _verdict(config: Config, ask: RunRequest, teams: Mapping[str, Team], quotas: Quotas, kinds: Kinds) -> _Verdict:
    team = teams.get(ask.team or "")
    if team is None:
        # Another finding reports an undefined team, or an undefined flavor in its quotas.
        found = unplaced(ask, kinds, None) if kinds.nodes and ask.team is None else None
        return _Verdict(unplaced=found, missing=found is not None and kinds.are_missing(ask, ()))
    if (level := missing_level(config, ask, team)) is not None:
        return _Verdict(level=level)
    if (short := short_of(config, quotas, ask, team)) is not None:
        return _Verdict(missing=True) if _is_misspelled(config, ask, team, kinds) else _Verdict(short=short)
    if ask.most is not None and (stuck := short_of(config, quotas, ask._replace(workers=ask.most), team)) is not None:
        return _Verdict(stuck=stuck)
    if not kinds.nodes or team.clusters:  # The nodes of other clusters are unknown.
        return _Verdict()
    flavors = flavors_for(config, ask, team)
    found = unplaced(ask, kinds, flavors)
    return _Verdict(unplaced=found, missing=found is not None and kinds.are_missing(ask, flavors))


def _findings(stack: Stack, where: StackPath, what: str, ask: RunRequest, why: _Verdict) -> Iterator[Finding]:
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


def _without_node(stack: Stack, where: StackPath, what: str, why: Unplaced, *, blocks: bool = False) -> Finding:
    return stack.finding(
        "RES212",
        Severity.ERROR if blocks else Severity.WARNING,
        where,
        f"{what} has no room: {why.summary}",
        "request less, or add nodes with room; waive this if an autoscaler adds them outside nodePools",
        detail=why.detail,
    )
