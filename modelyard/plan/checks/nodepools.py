"""Checks pools of GPU nodes: unknown machine types, limits, flavors that no pool provides."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware import GpuModel, near_gpus, not_one_gpu, products, resolve
from modelyard.hardware.instances import by_type, machines, offered, product_on, region_names, whole
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, HARDWARE_FILE, MACHINE_LABEL, NODE_POOL_LABEL, PRODUCT_LABEL
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.names import instead, named_twice
from modelyard.stack.pool import Cloud, NodePool
from modelyard.stack.words import did_you_mean, few, plural
from modelyard.workloads.facts.pool import (
    NODE_CLASSES,
    gives,
    is_for_pools,
    node_labels,
    only_in_other_clusters,
    own_labels,
    types_of,
)
from modelyard.workloads.training import active

_ZONE: Final[Mapping[Cloud, str]] = {"aws": "a", "azure": "-1", "gcp": "-a"}
"""The part of a zone's name that follows the region's name."""


def check_node_pools(stack: Stack, nodes: Iterable[Node]) -> Iterator[Finding]:
    """The findings about node pools, and about flavors for the nodes that they add."""
    pools = stack.config.node_pools
    yield from named_twice(stack, "QUE001", "nodePools")
    sound = True
    for index, pool in enumerate(pools):
        wrong = tuple(_machines(stack, pool, ("nodePools", index)))
        yield from wrong
        sound = sound and not wrong
        if not wrong:
            yield from _sizes(stack, pool, ("nodePools", index))
    if pools and sound:
        yield from _flavors(stack, tuple(nodes))


def possible_nodes(pools: Iterable[NodePool]) -> tuple[Node, ...]:
    """A node of each machine type of pools, with the machine's full size, even if the pool's limit has no room for it;
    what the node's own system uses is unknown.
    """
    found = []
    for pool in pools:
        taints = ({"key": GPU_RESOURCE, "value": "present", "effect": "NoSchedule"},) if pool.taint else ()
        for name in types_of(pool):
            one = by_type().get(name)
            if one is None or one.gpus is None or one.vcpu is None or one.memory_gib is None:
                continue
            labels = {**own_labels(pool), NODE_POOL_LABEL: pool.name, MACHINE_LABEL: name}
            amounts = {"cpu": one.vcpu, "memory": int(one.memory_gib * 2**30), GPU_RESOURCE: one.gpus}
            found.append(
                Node(f"{pool.name}/{name}", labels, taints, {key: Fraction(value) for key, value in amounts.items()})
            )
    return tuple(found)


def _machines(stack: Stack, pool: NodePool, where: StackPath) -> Iterator[Finding]:
    """Whether machines with the pool's GPU exist, and one label identifies them."""
    gpu = resolve(pool.gpu)
    if gpu is None:
        summary = f"node pool {pool.name}: {not_one_gpu(pool.gpu)}"
        yield stack.finding("QUE020", Severity.ERROR, (*where, "gpu"), summary, near_gpus(pool.gpu))
        return
    regions = region_names(pool.cloud)
    if pool.region is not None and regions and pool.region not in regions:
        summary = f"{pool.cloud} has no region {pool.region}"
        yield stack.finding(
            "QUE020", Severity.ERROR, (*where, "region"), summary, instead(pool.region, set(regions), "regions")
        )
        return
    there = {one.type for one in machines(pool.cloud, gpu, pool.region)}
    if gpu.source:
        # The tables have no machine with a GPU that the project defines.
        there = set(pool.types) - by_type().keys()
        if not there:
            summary = f"the machine types with the {gpu.short} are unknown: {HARDWARE_FILE} defines it"
            if pool.types:
                summary += f", and {few(pool.types, 3)} {'has' if len(pool.types) == 1 else 'have'} another GPU"
            remedy = f"set types of the pool to the machine types with the {gpu.short}"
            yield stack.finding("QUE020", Severity.ERROR, (*where, "gpu"), summary, remedy)
            return
    place = f" in {pool.region}" if pool.region is not None else ""
    if not there:
        summary = f"{pool.cloud} offers no machine with a whole {gpu.short}{place}"
        remedy, detail = _instead_of(pool, gpu)
        yield stack.finding("QUE020", Severity.ERROR, (*where, "gpu"), summary, remedy, detail=detail)
        return
    yield from _zones(stack, pool, where, regions)
    yield from _types(stack, pool, where, gpu=gpu, there=there, place=place)
    if PRODUCT_LABEL not in pool.labels and product_on(pool.cloud, gpu) is None:
        if gpu.members:
            remedy = f"name the variant, or set the product in the pool's labels: {PRODUCT_LABEL}"
        else:
            value = "one of the values" if products(gpu) else "the value"
            remedy = f"set {value} in the pool's labels: {PRODUCT_LABEL}"
        yield stack.finding(
            "QUE021",
            Severity.ERROR,
            (*where, "gpu"),
            f"{PRODUCT_LABEL} has {len(products(gpu)) or 'no known'} values for {gpu.short}, "
            "but a node pool needs exactly one",
            remedy,
            detail=f"values of the product label: {', '.join(products(gpu)) or 'none known'}",
        )


def _instead_of(pool: NodePool, gpu: GpuModel) -> tuple[str, str]:
    """The remedy and detail of a finding that a cloud has no machine with a GPU: the alternatives."""
    here = {one.gpu.id for one in whole(pool.cloud, pool.region) if one.gpu is not None}
    remedy = f"choose a GPU that is offered there: {_some(here, 12)}"
    regions = {place.region for one in machines(pool.cloud, gpu) for place in offered(one)}
    if regions:
        return f"{remedy}; or another region", f"offered in {_some(regions)}"
    clouds = " and ".join(cloud for cloud in NODE_CLASSES if machines(cloud, gpu))
    return remedy, f"offered by {clouds}" if clouds else ""


def _zones(stack: Stack, pool: NodePool, where: StackPath, regions: Iterable[str]) -> Iterator[Finding]:
    """The findings about zones outside the pool's region; a zone's name begins with its region's name."""
    homes = (pool.region,) if pool.region is not None else tuple(regions)
    # Otherwise eastus2-1 would be a zone of eastus, and europe-west10-a of europe-west1.
    beginnings = tuple(f"{home}{_ZONE[pool.cloud][:-1]}" for home in homes)
    for number, zone in enumerate(pool.zones):
        if homes and not zone.startswith(beginnings):
            place = pool.region if pool.region is not None else f"a region of {pool.cloud}"
            yield stack.finding(
                "QUE020",
                Severity.ERROR,
                (*where, "zones", number),
                f"zone {zone} of node pool {pool.name} is not in {place}",
                f"write zones of {place}, such as {homes[0]}{_ZONE[pool.cloud]}, or leave them out",
            )


def _types(
    stack: Stack, pool: NodePool, where: StackPath, *, gpu: GpuModel, there: set[str], place: str
) -> Iterator[Finding]:
    for number, name in enumerate(pool.types):
        if name in there:
            continue
        known = by_type().get(name)
        has = known.gpu.short if known is not None and known.gpu is not None else "another GPU"
        if known is None:
            why, remedy = "is unknown", did_you_mean(name, there) or f"use one of {_some(there)}"
        elif known.cloud != pool.cloud:
            why, remedy = f"is a machine of {known.cloud}", f"use a type of {pool.cloud}: {_some(there)}"
        elif known.gpu_id not in (gpu.members or (gpu.id,)):
            why, remedy = f"has {has}, not {gpu.short}", f"use a type with {gpu.short}: {_some(there)}"
        else:
            why, remedy = f"has no whole {gpu.short}{place}", f"use one of {_some(there)}"
        summary = f"machine type {name} of node pool {pool.name} {why}"
        yield stack.finding("QUE020", Severity.ERROR, (*where, "types", number), summary, remedy)


def _sizes(stack: Stack, pool: NodePool, where: StackPath) -> Iterator[Finding]:
    """Whether a node fits below the limit, and a worker on a node."""
    sizes = {name: by_type()[name].gpus or 0 for name in types_of(pool) if name in by_type()}
    if not sizes:
        return  # Nothing is known of machines with a GPU that the project defines.
    least = min(sizes.values())
    if pool.gpus < least:
        yield stack.finding(
            "QUE022",
            Severity.ERROR,
            (*where, "gpus"),
            f"node pool {pool.name} is limited to {plural(pool.gpus, 'GPU')}, but its smallest node has {least}",
            f"set gpus to {least} or more, or choose smaller machine types",
            detail=_some(sizes),
        )
        return
    config = stack.config
    wanted = resolve(config.gpu.model)
    mine = resolve(pool.gpu)
    most = max(size for size in sizes.values() if size <= pool.gpus)
    held = active(config).gpus(config)
    if wanted is not None and wanted == mine and held > most:
        yield stack.finding(
            "QUE023",
            Severity.WARNING,
            where,
            f"a worker needs {held} GPUs, but a node of pool {pool.name} has at most {most}",
            "choose larger machine types or a higher limit, or give a worker fewer GPUs",
            detail=_some(sizes),
        )


def _flavors(stack: Stack, nodes: tuple[Node, ...]) -> Iterator[Finding]:
    for index, flavor in enumerate(stack.config.flavors):
        wanted = node_labels(flavor)
        pools = stack.config.node_pools
        if any(gives(pool, wanted) for pool in pools) or not is_for_pools(wanted, pools):
            continue
        if only_in_other_clusters(stack.config, flavor):
            continue
        if any(wanted.items() <= node.labels.items() for node in nodes):
            continue
        yield stack.finding(
            "QUE024",
            Severity.ERROR,
            ("flavors", index),
            f"neither a node nor a node pool has the labels of flavor {flavor.name}",
            "give a pool these labels, or correct the flavor",
            detail=", ".join(f"{key}={value}" for key, value in sorted(wanted.items())),
        )


def _some(names: Iterable[str], most: int = 6) -> str:
    return few(sorted(names), most)
