"""Facts of node pools: their machine types, the labels of their nodes, their taints."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from modelyard.hardware import resolve
from modelyard.names import MACHINE_LABEL, NODE_POOL_LABEL, PRESENT_LABEL, PRODUCT_LABEL
from modelyard.stack.config import Config
from modelyard.stack.pool import Capacity, Cloud, NodePool
from modelyard.workloads.facts.fact import Fact

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


def _facts(pool: NodePool) -> dict[str, Any]:
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
    Fact("nodePools.any", lambda config: bool(config.node_pools), ("nodePools",)),
    Fact("nodePools.pools", lambda config: [_facts(pool) for pool in config.node_pools], ("nodePools",)),
)
"""The facts of all node pools."""


def most_gpus(config: Config) -> dict[str, int]:
    """Returns the maximum number of GPUs of each node pool, by its name."""
    return {pool.name: pool.gpus for pool in config.node_pools}


def types_of(pool: NodePool) -> tuple[str, ...]:
    """Returns the machine types that a pool may rent: those that the stack names, else all with the GPU."""
    if pool.types:
        return pool.types
    from modelyard.hardware.regions import machines  # only stacks with pools read the tables of machines

    gpu = resolve(pool.gpu)
    return tuple(sorted(one.type for one in machines(pool.cloud, gpu, pool.region))) if gpu is not None else ()


def own_labels(pool: NodePool) -> dict[str, str]:
    """Returns the labels that every node of a pool has, known in advance to check pods' node selectors against them."""
    from modelyard.hardware.regions import product_on

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
    gpu = {key: value for key, value in wanted.items() if key == PRODUCT_LABEL}
    return bool(gpu) and any(gives(pool, gpu) for pool in pools)
