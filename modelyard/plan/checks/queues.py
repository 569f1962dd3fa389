"""Checks the pool that teams share: flavors, quotas, whether the nodes have what the quotas promise, and the teams of
worker clusters.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hardware import near_gpus, not_one_gpu, products, resolve
from modelyard.hardware.gpu_models import exact_name
from modelyard.hardware.nodes import meant_product
from modelyard.hardware.partitions import CONFIG_LABEL, mig_resource, slices
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, NODE_POOL_LABEL, PRODUCT_LABEL, is_gpu, is_slice
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config, Stack, StackPath
from modelyard.stack.names import instead, named_twice, repeated
from modelyard.stack.pool import Flavor, Partition, Team
from modelyard.stack.words import few, listed, plural
from modelyard.workloads import node_labels
from modelyard.workloads.facts.pool import apart, gives, is_for_pools, only_in_other_clusters

MANY = 4
"""The number of nodes that a finding names; it counts the rest."""
HOST: Final = "kubernetes.io/hostname"
"""The narrowest level that a topology can have."""
_FIXED: Final = {"ResourceFlavor": ("nodeLabels", "tolerations", "topologyName"), "Topology": ("levels",)}
"""The fields of a flavor that Kueue does not allow to change once the flavor has a topology."""


def check_queues(stack: Stack, nodes: Iterable[Node]) -> Iterator[Finding]:
    """The findings about flavors, teams and priorities; without known nodes, nodes are not checked."""
    config = stack.config
    for section in ("flavors", "teams", "priorities"):
        yield from named_twice(stack, "QUE001", section)
    for index, flavor in enumerate(config.flavors):
        yield from _gpu(stack, index, flavor)
        yield from _topology(stack, index, flavor)
    known = {flavor.name for flavor in config.flavors}
    there = tuple(nodes)
    unknown = unknown_resources(config, there)
    for index, team in enumerate(config.teams):
        yield from _quotas(stack, index, team, known)
        yield from _slices(stack, index, team, unknown, there)
        yield from _basics(stack, index, team)
    if there:
        yield from _capacity(stack, there, unknown)


def _gpu(stack: Stack, index: int, flavor: Flavor) -> Iterator[Finding]:
    """Whether one label identifies the flavor's GPU."""
    if flavor.gpu is None:
        return
    gpu = resolve(flavor.gpu)
    if gpu is None:
        yield stack.finding(
            "QUE002",
            Severity.ERROR,
            ("flavors", index, "gpu"),
            f"flavor {flavor.name}: {not_one_gpu(flavor.gpu)}",
            near_gpus(flavor.gpu),
        )
        return
    names = products(gpu)
    if len(names) != 1 and not any(name.startswith("nvidia.com/gpu.") for name in flavor.labels):
        have = ", ".join(names) or "none known"
        yield stack.finding(
            "QUE002",
            Severity.ERROR,
            ("flavors", index, "gpu"),
            f"{PRODUCT_LABEL} has {len(names) or 'no known'} values for {gpu.short}, but a flavor needs exactly one",
            f"set {'one of them' if names else 'the value'} in the flavor's labels: {PRODUCT_LABEL}",
            detail=f"values of the product label: {have}",
        )


def check_fixed(stack: Stack, targets: Iterable[TargetPlan]) -> Iterator[Finding]:
    """The findings about flavors with changes that Kueue does not allow."""
    places = {flavor.name: index for index, flavor in enumerate(stack.config.flavors)}
    for target in targets:
        before: dict[str, Any] = (target.before.reveal() or {}).get("spec", {})
        after: dict[str, Any] = target.after.reveal().get("spec", {})
        if target.key.kind not in _FIXED or (target.key.kind == "ResourceFlavor" and "topologyName" not in before):
            continue
        name = target.key.name.removeprefix("topology-") if target.key.kind == "Topology" else target.key.name
        changed = [key for key in _FIXED[target.key.kind] if before.get(key) != after.get(key)]
        if before and after and changed and name in places:
            yield stack.finding(
                "QUE009",
                Severity.ERROR,
                ("flavors", places[name]),
                f"{' and '.join(changed)} of {target.key.kind} {target.key.name} cannot be changed",
                f"rename the flavor here and in the quotas, such as to {name}-2",
                target=target.name,
                detail="Kueue has placed running pods by these fields; under a new name, the old flavor is "
                "deleted once no queue names it",
            )


def check_deleted(stack: Stack, dropped: Iterable[TargetPlan]) -> Iterator[Finding]:
    """The findings about queues that an apply deletes while they have runs; only a live plan knows of runs.

    A ClusterQueue counts the runs that hold its quota; a LocalQueue also counts the runs that wait in it. ``dropped``
    are the objects that the stack no longer asks for in its cluster.
    """
    where = f" --remote {stack.remote}" if stack.remote else ""
    for target in dropped:
        status: dict[str, Any] = (target.before.reveal() or {}).get("status") or {}
        holding, waiting = int(status.get("reservingWorkloads") or 0), int(status.get("pendingWorkloads") or 0)
        if target.action != "delete" or not holding + waiting:
            continue
        if target.key.kind == "ClusterQueue" and holding:
            summary = f"{target.name} is deleted, and {_runs(holding, 'holds', 'hold')} its quota"
            detail = "Kueue keeps the queue until these runs end, and an apply waits up to ten minutes for that."
        elif target.key.kind == "LocalQueue" and waiting:
            summary = f"{target.name} is deleted, and {_runs(waiting, 'waits', 'wait')} in it"
            detail = "Runs without a queue wait forever."
        else:
            continue
        yield Finding(
            "QUE013",
            Severity.WARNING,
            summary,
            target=target.name,
            detail=detail,
            remedy=f"cancel those that are not needed, and wait for the rest: modelyard job list {stack.name}{where}",
        )


def _runs(count: int, one: str, several: str) -> str:
    return f"{plural(count, 'run')} {one if count == 1 else several}"


def _topology(stack: Stack, index: int, flavor: Flavor) -> Iterator[Finding]:
    """Whether Kueue would accept the flavor's topology."""
    levels = flavor.topology
    twice = [levels[number] for number in repeated(levels)]
    if twice:
        problem, remedy = f"names {twice[0]} twice", "drop one of them"
    elif HOST in levels[:-1]:
        problem, remedy = f"has {HOST} before its last level", "move it to the end: a node is the narrowest level"
    elif levels and not node_labels(flavor):
        problem, remedy = "has no node labels", "set gpu or labels, which select the nodes of the topology"
    else:
        return
    summary = f"flavor {flavor.name} has a topology but {problem}"
    yield stack.finding("QUE007", Severity.ERROR, ("flavors", index, "topology"), summary, remedy)


def _basics(stack: Stack, index: int, team: Team) -> Iterator[Finding]:
    """Checks whether a team's quotas count the CPU and memory of every job, and count them only once."""
    alone = apart(team)
    if not alone:
        return
    topologies = {flavor.name for flavor in stack.config.flavors if flavor.topology}
    named = {quota.flavor for quota in team.quotas} - alone
    if not named:
        yield stack.finding(
            "QUE008",
            Severity.ERROR,
            ("teams", index, "quotas"),
            f"team {team.name} has no quota of cpu and memory, which every job needs",
            "set both in its quotas, or add a quota with only cpu and memory, for nodes of any kind",
        )
    for number, quota in enumerate(team.quotas):
        where: StackPath = ("teams", index, "quotas", number)
        if quota.flavor in named and quota.gpus:
            yield stack.finding(
                "QUE008",
                Severity.ERROR,
                (*where, "cpu"),
                f"team {team.name} has cpu and memory with the GPUs of {quota.flavor}, but not with all its GPUs",
                "set both in every quota with GPUs, or in none",
                detail=f"without: {', '.join(sorted(alone))}",
            )
        elif quota.flavor in alone & topologies:
            yield stack.finding(
                "QUE008",
                Severity.ERROR,
                where,
                f"team {team.name} has no cpu and memory of {quota.flavor}, which has a topology",
                "set both: a topology needs one flavor with everything that a pod requests",
            )


def _quotas(stack: Stack, index: int, team: Team, known: set[str]) -> Iterator[Finding]:
    flavors: set[tuple[str, str]] = set()
    basic: set[str] = set()
    for number, quota in enumerate(team.quotas):
        where: StackPath = ("teams", index, "quotas", number)
        if quota.flavor not in known:
            yield stack.finding(
                "QUE003",
                Severity.ERROR,
                (*where, "flavor"),
                f"team {team.name} has a quota of flavor {quota.flavor}, which is not defined",
                instead(quota.flavor, known, "flavors"),
            )
        if (quota.flavor, quota.resource) in flavors:
            counted = f", each of {quota.resource}" if quota.resource != GPU_RESOURCE else ""
            yield stack.finding(
                "QUE003",
                Severity.ERROR,
                (*where, "flavor"),
                f"team {team.name} has two quotas of {quota.flavor}{counted}",
                "merge them",
            )
        elif quota.cpu is not None and quota.flavor in basic:
            yield stack.finding(
                "QUE003",
                Severity.ERROR,
                (*where, "cpu"),
                f"team {team.name} has cpu and memory of {quota.flavor} twice",
                "set them in one of its quotas",
            )
        flavors.add((quota.flavor, quota.resource))
        if quota.cpu is not None:
            basic.add(quota.flavor)
        if team.cohort is None and (quota.borrow is not None or quota.lend is not None):
            yield stack.finding(
                "QUE004",
                Severity.ERROR,
                (*where, "borrow" if quota.borrow is not None else "lend"),
                f"team {team.name} borrows or lends, but has no cohort",
                "set its cohort, or drop borrow and lend",
            )
        if quota.lend is not None and quota.lend > quota.gpus:
            yield stack.finding(
                "QUE004",
                Severity.ERROR,
                (*where, "lend"),
                f"team {team.name} lends {plural(quota.lend, 'GPU')} of {quota.flavor}, but has {quota.gpus}",
                f"lend at most {quota.gpus}" if quota.gpus else "drop lend",
            )


def _slices(stack: Stack, index: int, team: Team, unknown: Collection[str], nodes: Iterable[Node]) -> Iterator[Finding]:
    """Checks that the resources that a team's quotas count exist."""
    for number, quota in enumerate(team.quotas):
        if quota.resource in unknown and not team.clusters:
            known = _resources(stack.config, nodes) - {GPU_RESOURCE}
            yield stack.finding(
                "QUE003",
                # Nodes that the stack does not divide may come later.
                Severity.ERROR if stack.config.partitions else Severity.WARNING,
                ("teams", index, "quotas", number, "resource"),
                f"team {team.name} has a quota of {quota.resource}, which no node and no partition has",
                instead(quota.resource, known, "resources")
                if known
                else "add a partition with such slices, or drop resource: the quota is then one of whole GPUs",
            )


def _capacity(stack: Stack, nodes: tuple[Node, ...], unknown: Collection[str]) -> Iterator[Finding]:
    """Checks whether the nodes of each flavor have the GPUs that the teams' quotas promise."""
    promises: list[_Promise] = []
    shares: dict[str, dict[str, dict[str, int]]] = {}
    for team in stack.config.teams:
        for quota in team.quotas:
            if quota.gpus and not team.clusters and quota.resource not in unknown:
                # Other findings report teams with one name, and two quotas of one flavor.
                shares.setdefault(quota.flavor, {}).setdefault(quota.resource, {}).setdefault(team.name, quota.gpus)
    labelled = {node.labels.get(CONFIG_LABEL) for node in nodes}
    # Other findings report these.
    unmade = {one.name: one for one in stack.config.partitions if one.name not in labelled}
    for index, flavor in enumerate(stack.config.flavors):
        wanted = node_labels(flavor)
        if only_in_other_clusters(stack.config, flavor) or wanted.get(CONFIG_LABEL) in unmade:
            continue
        missing = set(_slice_names(stack.config, unmade.values(), flavor))
        fitting = [node for node in nodes if wanted.items() <= node.labels.items()]
        pools = [pool for pool in stack.config.node_pools if gives(pool, wanted)]
        if not fitting and not pools:
            if is_for_pools(wanted, stack.config.node_pools) and stack.config.node_pools:
                continue  # another finding reports it
            meant = meant_product(wanted.get(PRODUCT_LABEL), nodes)
            gpu = resolve(meant) if meant and PRODUCT_LABEL not in flavor.labels else None
            likely = f"gpu: {exact_name(gpu)}" if gpu is not None else f"{PRODUCT_LABEL}: {meant}"
            yield stack.finding(
                "QUE005",
                Severity.WARNING,
                ("flavors", index),
                f"no node has the labels of flavor {flavor.name}",
                (f"did you mean {likely}? Otherwise add" if meant else "correct the flavor, or add")
                + " such nodes; waive this if an autoscaler adds them outside nodePools",
                detail=", ".join(f"{key}={value}" for key, value in sorted(wanted.items())),
            )
            continue
        # Karpenter may add more nodes than exist now.
        lasting = [node for node in fitting if node.labels.get(NODE_POOL_LABEL) not in {pool.name for pool in pools}]
        for resource, theirs in shares.get(flavor.name, {}).items():
            if resource in missing:
                continue
            have = int(sum(node.allocatable.get(resource, 0) for node in lasting))
            have += sum(pool.gpus for pool in pools) if resource == GPU_RESOURCE else 0
            with_pools = bool(pools) and resource == GPU_RESOURCE
            promised = sum(theirs.values())
            if promised <= have:
                # Flavors that share only nodes without such GPUs share no capacity.
                places = {node.name: node.allocatable[resource] for node in lasting if node.allocatable.get(resource)}
                if resource == GPU_RESOURCE:
                    places |= {f"pool {pool.name}": Fraction(pool.gpus) for pool in pools}
                promises.append(_Promise(index, flavor.name, resource, gpus=promised, places=places, pools=with_pools))
                continue
            names = few((f"{name} {gpus}" for name, gpus in theirs.items()), MANY)
            whose = _places(with_pools)
            what = "GPUs" if resource == GPU_RESOURCE else resource
            yield stack.finding(
                "QUE006",
                Severity.WARNING,
                ("flavors", index),
                f"quotas of flavor {flavor.name} add up to {promised} {what}, but its {whose} have {have}",
                f"{f'lower the quotas to {have} in total' if have else 'drop these quotas'}; waive this if an "
                "autoscaler adds nodes outside nodePools",
                detail=f"quotas: {names}; nodes: {len(fitting)}. Kueue can admit runs whose pods find no node.",
            )
    yield from _together(stack, promises)


def _slice_names(config: Config, partitions: Iterable[Partition], flavor: Flavor) -> Iterator[str]:
    """The resource names of the slices of partitions that nodes of a flavor may have."""
    for partition in partitions:
        if partition.flavor in (None, flavor.name):
            known = slices(config, partition)
            # Other findings report profiles that the GPU does not have.
            names = (*(one.resource for one in known.values()), *map(mig_resource, partition.layout.keys() - known))
            # Without a flavor, slices with the name of whole GPUs may be on other nodes.
            yield from (name for name in names if partition.flavor is not None or is_slice(name))


def unknown_resources(config: Config, nodes: Iterable[Node]) -> frozenset[str]:
    """The resources of quotas that no node and no partition has; none without known nodes."""
    nodes = tuple(nodes)
    # Other findings report profiles that the GPU of a partition does not have.
    if not nodes or any(len(slices(config, one)) < len(one.layout) for one in config.partitions):
        return frozenset()
    counted = {one.resource for team in config.teams if not team.clusters for one in team.quotas if one.gpus}
    return frozenset(counted - _resources(config, nodes) - {GPU_RESOURCE})


def _resources(config: Config, nodes: Iterable[Node]) -> set[str]:
    """The names by which pods request GPUs or slices."""
    divided = {one.resource for partition in config.partitions for one in slices(config, partition).values()}
    return divided | {name for node in nodes for name in node.allocatable if is_gpu(name)}


class _Promise(NamedTuple):
    """What the teams' quotas promise of one flavor."""

    at: int
    """The flavor's place in the stack file."""
    flavor: str
    resource: str
    gpus: int
    places: Mapping[str, Fraction]
    """GPUs of each node, and of each node pool that may add nodes."""
    pools: bool
    """Whether node pools are among the places."""


def _places(with_pools: bool) -> str:
    return "nodes and node pools" if with_pools else "nodes"


def _together(stack: Stack, promises: Iterable[_Promise]) -> Iterator[Finding]:
    """Checks whether flavors that share nodes together promise more than these have: Kueue counts each flavor alone."""
    every = tuple(promises)
    above = list(range(len(every)))

    def first(number: int) -> int:
        """The number that identifies a group."""
        while above[number] != number:
            number = above[number]
        return number

    seen: dict[tuple[str, str], int] = {}
    for number, one in enumerate(every):
        for place in one.places:
            above[first(number)] = first(seen.setdefault((one.resource, place), number))
    groups: dict[int, list[_Promise]] = {}
    for number, one in enumerate(every):
        groups.setdefault(first(number), []).append(one)
    for group in groups.values():
        have = int(sum({place: gpus for one in group for place, gpus in one.places.items()}.values()))
        promised = sum(one.gpus for one in group)
        if len(group) < 2 or promised <= have:
            continue
        names = listed((one.flavor for one in group), "and")
        what = "GPUs" if group[0].resource == GPU_RESOURCE else group[0].resource
        whose = _places(any(one.pools for one in group))
        yield stack.finding(
            "QUE006",
            Severity.WARNING,
            ("flavors", group[-1].at),
            f"flavors {names} share {whose}: quotas of them add up to {promised} {what}, but these {whose} have {have}",
            f"give the flavors different labels, or lower the quotas to {have} in total",
            detail="quotas: " + ", ".join(f"{one.flavor} {one.gpus}" for one in group),
        )


LONGEST: Final = 63 - len("clusters-")
"""Characters in a team's name: the parameters of an AdmissionCheck name the MultiKueueConfig ``clusters-TEAM``, in 63
characters at most (Kueue 0.19.2, AdmissionCheckParametersReference)."""


def check_clusters(stack: Stack) -> Iterator[Finding]:
    """The findings about worker clusters and the teams that name them."""
    known = [cluster.name for cluster in stack.config.worker_clusters]
    yield from named_twice(stack, "QUE001", "workerClusters")
    for index, team in enumerate(stack.config.teams):
        yield from _names(stack, index, team, known)
    yield from _cohorts(stack)


def _names(stack: Stack, index: int, team: Team, known: list[str]) -> Iterator[Finding]:
    twice = repeated(team.clusters)
    for number, name in enumerate(team.clusters):
        where: StackPath = ("teams", index, "clusters", number)
        if name not in known:
            yield stack.finding(
                "QUE010",
                Severity.ERROR,
                where,
                f"team {team.name} sends its jobs to worker cluster {name}, which is not defined",
                instead(name, known, "worker clusters"),
            )
        elif number in twice:
            yield stack.finding(
                "QUE010",
                Severity.ERROR,
                where,
                f"team {team.name} lists {name} twice under clusters",
                "drop one of them",
            )
    if team.clusters and len(team.name) > LONGEST:
        yield stack.finding(
            "QUE010",
            Severity.ERROR,
            ("teams", index, "name"),
            f"the name of team {team.name} has {len(team.name)} characters, but the name of a team with clusters "
            f"can have at most {LONGEST}",
            "give the team a shorter name",
        )


def _cohorts(stack: Stack) -> Iterator[Finding]:
    """Whether teams lend each other GPUs in clusters where the other team's jobs run."""
    first: dict[tuple[str, str], Team] = {}
    reported: set[tuple[str, str]] = set()
    for index, team in enumerate(stack.config.teams):
        if team.cohort is None:
            continue
        for quota in team.quotas:
            other = first.setdefault((team.cohort, quota.flavor), team)
            pair = (other.name, team.name)
            if frozenset(other.clusters) == frozenset(team.clusters) or pair in reported:
                continue
            reported.add(pair)
            yield stack.finding(
                "QUE012",
                Severity.WARNING,
                ("teams", index, "cohort"),
                f"teams {other.name} and {team.name} lend each other {quota.flavor}, but their jobs run in different "
                "clusters",
                "give them the same clusters, or different cohorts",
                detail=f"{other.name}: {_clusters(other)}; {team.name}: {_clusters(team)}",
            )


def _clusters(team: Team) -> str:
    return ", ".join(team.clusters) or "home cluster"
