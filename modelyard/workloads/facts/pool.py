"""Facts of the GPU pool: flavors, teams with their quotas and clusters, priorities, partitions and node pools."""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from modelyard import quantity
from modelyard.hardware import products, resolve
from modelyard.hardware.partitions import RESERVED, Slice
from modelyard.names import GPU_RESOURCE, MACHINE_LABEL, NODE_POOL_LABEL, PRESENT_LABEL, PRODUCT_LABEL
from modelyard.stack.config import Config
from modelyard.stack.pool import (
    Capacity,
    Cloud,
    Flavor,
    NodePool,
    Partition,
    PartitionMode,
    Reclaim,
    Team,
    TeamQuota,
    Within,
)
from modelyard.workloads.facts.fact import Fact, flag, written

_GPU_LABELS: Final = "nvidia.com/gpu."
_RECLAIM: Final[Mapping[Reclaim | Within, str]] = {"any": "Any", "lower": "LowerPriority", "never": "Never"}


def node_labels(flavor: Flavor) -> dict[str, str]:
    """Returns the labels of a flavor's nodes. If nodes name its GPU in several ways, ``labels`` must set the name."""
    gpu = resolve(flavor.gpu) if flavor.gpu is not None else None
    names = products(gpu) if gpu is not None else ()
    product = {PRODUCT_LABEL: names[0]} if len(names) == 1 else {}
    return {**product, **flavor.labels}


def namespace_of(team: Team) -> str:
    """Returns the namespace of a team's jobs."""
    return team.namespace or team.name


def namespaces(config: Config) -> tuple[str, ...]:
    """Returns the namespaces that may have runs: the teams' and the platform's."""
    return tuple(dict.fromkeys((*(namespace_of(one) for one in config.teams), config.platform.namespace)))


def has_gpus(flavor: Flavor) -> bool:
    """Whether the nodes of a flavor have GPUs, as far as the stack file says."""
    return flavor.gpu is not None or any(label.startswith(_GPU_LABELS) for label in flavor.labels)


def gpu_flavors(
    config: Config, team: Team, product_names: Collection[str] = (), resource: str | None = None
) -> tuple[Flavor, ...]:
    """Returns the flavors whose GPUs a team has or may borrow, in the order of its quotas.

    Nodes may give the GPU one of ``product_names`` (empty: any GPU), and pods request it as ``resource``: whole GPUs or
    slices (None: either).
    """
    lent = {
        (quota.flavor, quota.resource)
        for other in config.teams
        if other.cohort == team.cohort is not None
        for quota in other.quotas
        if quota.gpus and quota.lend != 0
    }
    names = {
        quota.flavor
        for quota in team.quotas
        if resource in (None, quota.resource)
        and (quota.gpus or (quota.borrow != 0 and (quota.flavor, quota.resource) in lent))
    }
    known = {flavor.name: flavor for flavor in config.flavors}
    ordered = dict.fromkeys(quota.flavor for quota in team.quotas if quota.flavor in names & known.keys())
    return tuple(
        flavor
        for flavor in map(known.__getitem__, ordered)
        if not product_names or node_labels(flavor).get(PRODUCT_LABEL) in (None, *product_names)
    )


def apart(team: Team) -> frozenset[str]:
    """Returns the flavors of which a team has only GPUs: CPU and memory are counted separately, on any nodes."""
    return frozenset(quota.flavor for quota in team.quotas) - {one.flavor for one in team.quotas if one.cpu is not None}


def takes_any_place(config: Config, team: Team, gpus: int, product_names: Collection[str], resource: str) -> bool:
    """Whether pods must declare that any place of a topology is fine.

    A flavor with a topology takes only pods that ask for a place, unless every flavor of the queue has a topology. The
    pods, with ``gpus`` GPUs each, wait in the team's queue; the other arguments are as for :func:`gpu_flavors`.
    """
    found = gpu_flavors(config, team, product_names, resource) if gpus else ()
    return bool(found) and all(flavor.topology for flavor in found)


def is_dispatched(config: Config, team: str | None) -> bool:
    """Whether a team's jobs run in clusters other than the stack's own."""
    return any(one.name == team and one.clusters for one in config.teams)


def teams_here(config: Config) -> tuple[Team, ...]:
    """Returns the teams whose jobs run in the stack's own cluster."""
    return tuple(team for team in config.teams if not team.clusters)


def only_in_other_clusters(config: Config, flavor: Flavor) -> bool:
    """Whether all quotas of a flavor are in other clusters, whose nodes are unknown here."""
    users = [team for team in config.teams if any(quota.flavor == flavor.name for quota in team.quotas)]
    return bool(users) and all(team.clusters for team in users)


def _flavor(flavor: Flavor) -> dict[str, Any]:
    return {
        "name": flavor.name,
        "labels": node_labels(flavor),
        "tolerations": [
            {key: value for key, value in one._asdict().items() if value is not None} for one in flavor.tolerations
        ],
        "topology": list(flavor.topology),
    }


def _teams(config: Config) -> list[dict[str, Any]]:
    flavors = {flavor.name: flavor for flavor in config.flavors}
    return [_team(team, flavors) for team in config.teams]


def _team(team: Team, flavors: Mapping[str, Flavor]) -> dict[str, Any]:
    return {
        "name": team.name,
        "namespace": namespace_of(team),
        "cohort": team.cohort,
        "reclaim": _RECLAIM[team.reclaim],
        "within": _RECLAIM[team.within],
        "clusters": list(team.clusters),
        "groups": _groups(team, flavors),
    }


def _groups(team: Team, flavors: Mapping[str, Flavor]) -> list[dict[str, Any]]:
    """Returns resources that a pod gets together from one flavor, with the flavors in the order of trial."""
    if alone := apart(team):
        gpus = [quota for quota in team.quotas if quota.flavor in alone]
        rest = [quota for quota in team.quotas if quota.flavor not in alone]
        return [_group((), gpus, _counted(gpus)), *([_group(("cpu", "memory"), rest, ())] if rest else [])]

    def spares(quota: TeamQuota) -> bool:
        flavor = flavors.get(quota.flavor)
        return not quota.gpus and flavor is not None and not has_gpus(flavor)

    # Pods without GPUs fit everywhere: nodes without GPUs come first, to keep GPU nodes free.
    ordered = sorted(team.quotas, key=lambda quota: not spares(quota))
    return [_group(("cpu", "memory"), ordered, _counted(ordered))]


def _counted(quotas: Iterable[TeamQuota]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(quota.resource for quota in quotas))


def _group(basic: tuple[str, ...], quotas: Iterable[TeamQuota], counted: tuple[str, ...]) -> dict[str, Any]:
    """Returns one group; a resource without a quota in a flavor has quota 0 there."""
    by_flavor: dict[str, list[TeamQuota]] = {}
    for quota in quotas:
        by_flavor.setdefault(quota.flavor, []).append(quota)
    return {
        "resources": [*basic, *counted],
        "flavors": [
            {
                "name": name,
                "resources": [
                    *(_amount(key, next(filter(None, (getattr(one, key) for one in found)))) for key in basic),
                    *(_gpus(resource, found) for resource in counted),
                ],
            }
            for name, found in by_flavor.items()
        ],
    }


def _gpus(resource: str, quotas: Iterable[TeamQuota]) -> dict[str, Any]:
    for quota in quotas:
        if quota.resource == resource:
            return _amount(resource, quota.gpus, quota.borrow, quota.lend)
    return _amount(resource, 0)


def _amount(name: str, quota: str | int, borrow: int | None = None, lend: int | None = None) -> dict[str, Any]:
    # As text: Kueue's webhook turns numbers into text, so a plan would always show a change.
    amounts = {"quota": quota, "borrow": borrow, "lend": lend}
    return {"name": name, **{key: None if value is None else str(value) for key, value in amounts.items()}}


POOL: Final[tuple[Fact[Config], ...]] = (
    flag("pool.shared", lambda config: bool(config.teams), ("teams",), "Whether the stack has teams."),
    written("flavors", lambda config: [_flavor(one) for one in config.flavors]),
    written(
        "workerClusters", lambda config: [{"name": one.name, "secret": one.secret} for one in config.worker_clusters]
    ),
    written("teams", _teams),
    written("priorities", lambda config: [one._asdict() for one in config.priorities]),
)
"""The facts of the pool; names of settings are those of Kueue."""


# The most that a team can have of the pool: its quotas, and what its cohort lends.
class Quotas:
    """The quotas of all teams, by cohort, flavor and resource."""

    def __init__(self, config: Config) -> None:
        self._lent: dict[tuple[str, str, str], Fraction] = {}
        for team in config.teams:
            if team.cohort is not None:
                for quota in team.quotas:
                    for resource, amount in _lendable(quota).items():
                        key = (team.cohort, quota.flavor, resource)
                        self._lent[key] = self._lent.get(key, Fraction(0)) + amount

    def most(self, team: Team, flavor: str, resource: str) -> Fraction:
        """Returns the most that a team can have of a flavor's resource: its own quota and what it may borrow."""
        quotas = [quota for quota in team.quotas if quota.flavor == flavor]
        own = sum((_amounts(quota).get(resource, Fraction(0)) for quota in quotas), Fraction(0))
        if team.cohort is None:
            return own
        mine = sum((_lendable(quota).get(resource, Fraction(0)) for quota in quotas), Fraction(0))
        others = self._lent.get((team.cohort, flavor, resource), Fraction(0)) - mine
        limits = [quota.borrow for quota in quotas if quota.resource == resource and quota.borrow is not None]
        return own + min([others, *map(Fraction, limits)])


def _amounts(quota: TeamQuota) -> dict[str, Fraction]:
    found = {quota.resource: Fraction(quota.gpus)}
    if quota.cpu is not None and quota.memory is not None:
        found |= {"cpu": quantity.parse(quota.cpu), "memory": quantity.parse(quota.memory)}
    return found


def _lendable(quota: TeamQuota) -> dict[str, Fraction]:
    kept = {} if quota.lend is None else {quota.resource: Fraction(min(quota.gpus, quota.lend))}
    return {**_amounts(quota), **kept}


# Facts of partitions, and of the slices that jobs request.
_SHARING: Final[dict[PartitionMode, str | None]] = {"mig": None, "mps": "mps", "time-slicing": "timeSlicing"}
"""The device plugin's own names (NVIDIA/k8s-device-plugin v0.17.4 api/config/v1/sharing.go)."""


def gpu_facts(part: Slice | None) -> dict[str, Any]:
    """Returns the resource name of a pod's GPUs and the nodes that have it; whole GPUs if there is no slice."""
    if part is None:
        return {"gpuResource": GPU_RESOURCE, "nodes": {}}
    return {"gpuResource": part.resource, "nodes": part.nodes}


def _plugin_config(partition: Partition) -> dict[str, Any]:
    mig = partition.mode == "mig"
    # Half a configuration would be an error of the device plugin; a finding reports it.
    sharing = _SHARING[partition.mode] if partition.replicas else None
    return {
        "name": partition.name,
        "strategy": partition.strategy if mig else "none",
        "sharing": sharing,
        "rename": partition.rename,
        "oneEach": partition.fail_requests_greater_than_one,
        "replicas": partition.replicas,
        "layout": dict(partition.layout) if mig else {},
    }


def _plugin_configs(config: Config) -> list[dict[str, Any]]:
    # Names are keys of one mapping; a finding reports duplicates.
    named = {one.name: one for one in config.partitions if one.name not in RESERVED}
    return [_plugin_config(one) for one in named.values()]


PARTITIONS: Final[tuple[Fact[Config], ...]] = (
    flag(
        "partitions.declared",
        lambda config: bool(config.partitions),
        ("partitions",),
        "Whether the stack has partitions.",
    ),
    Fact(
        "partitions.configs",
        _plugin_configs,
        ("partitions",),
        meaning="List of the partitions, as configs of the device plugin.",
    ),
)
"""The facts of all partitions."""


# Facts of node pools: their machine types, the labels of their nodes, their taints.
NODE_CLASSES: Final[Mapping[Cloud, tuple[str, str]]] = {
    "aws": ("karpenter.k8s.aws", "EC2NodeClass"),
    "azure": ("karpenter.azure.com", "AKSNodeClass"),
    "gcp": ("karpenter.k8s.gcp", "GCENodeClass"),
}
"""API group and kind of the node class in each cloud's Karpenter provider."""
CAPACITIES: Final[Mapping[Capacity, tuple[str, ...]]] = {
    "on-demand": ("on-demand",),
    "spot": ("spot",),
    "any": ("on-demand", "spot"),
}
CAPACITY, ZONE = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"


def _pool_facts(pool: NodePool) -> dict[str, Any]:
    group, kind = NODE_CLASSES[pool.cloud]
    return {
        "name": pool.name,
        "labels": own_labels(pool),
        "taint": pool.taint,
        "requirements": [{"key": key, "values": list(values)} for key, values in choices(pool).items()],
        "nodeClass": {"group": group, "kind": kind, "name": pool.node_class},
        "gpus": pool.gpus,
        "idle": f"{pool.idle}s",
    }


NODE_POOLS: Final[tuple[Fact[Config], ...]] = (
    flag("nodePools.any", lambda config: bool(config.node_pools), ("nodePools",), "Whether the stack has node pools."),
    Fact(
        "nodePools.pools",
        lambda config: [_pool_facts(pool) for pool in config.node_pools],
        ("nodePools",),
        meaning="List of the node pools, as Karpenter takes them.",
    ),
)
"""The facts of all node pools."""


def most_gpus(config: Config) -> dict[str, int]:
    """Returns the maximum number of GPUs of each node pool, by its name."""
    return {pool.name: pool.gpus for pool in config.node_pools}


def types_of(pool: NodePool) -> tuple[str, ...]:
    """Returns the machine types that a pool may rent: those that the stack names, else all with the GPU."""
    if pool.types:
        return pool.types
    from modelyard.hardware.instances import machines  # only stacks with pools read the tables of machines

    gpu = resolve(pool.gpu)
    return tuple(sorted(one.type for one in machines(pool.cloud, gpu, pool.region))) if gpu is not None else ()


def own_labels(pool: NodePool) -> dict[str, str]:
    """Returns the labels that every node of a pool has, known in advance to check pods' node selectors against them."""
    from modelyard.hardware.instances import product_on

    gpu = resolve(pool.gpu)
    product = product_on(pool.cloud, gpu) if gpu is not None else None
    return {PRESENT_LABEL: "true", **({PRODUCT_LABEL: product} if product is not None else {}), **pool.labels}


def choices(pool: NodePool) -> dict[str, tuple[str, ...]]:
    """Returns the labels for which each node of a pool has one of several values."""
    found = {
        CAPACITY: CAPACITIES[pool.capacity],
        "kubernetes.io/os": ("linux",),
        MACHINE_LABEL: types_of(pool),
    }
    return {**found, ZONE: pool.zones} if pool.zones else found


def gives(pool: NodePool, wanted: Mapping[str, str]) -> bool:
    """Whether a pool can provide a node with all of these labels."""
    labels, several = own_labels(pool), choices(pool)
    for key, value in wanted.items():
        if key == ZONE and not pool.zones:
            continue  # the node class decides
        if value != (pool.name if key == NODE_POOL_LABEL else labels.get(key)) and value not in several.get(key, ()):
            return False
    return True


def is_for_pools(wanted: Mapping[str, str], pools: Iterable[NodePool]) -> bool:
    """Whether nodes with these labels should come from a pool: the pool is named, or a pool has the GPU."""
    if NODE_POOL_LABEL in wanted:
        return True
    product = wanted.get(PRODUCT_LABEL)
    return product is not None and any(gives(pool, {PRODUCT_LABEL: product}) for pool in pools)
