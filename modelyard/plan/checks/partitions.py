"""Checks partitions: whether nodes have their labels and advertise their slices, and quotas count the slices."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from modelyard.findings import Finding, Severity
from modelyard.hardware import products
from modelyard.hardware.partitions import CONFIG_LABEL, MIG_LABEL, partition_gpu, replaceable, slices
from modelyard.kube.state import ClusterState, Node
from modelyard.names import COUNT_LABEL, GPU_RESOURCE, PRODUCT_LABEL, is_gpu, is_slice
from modelyard.plan.checks.queues import unknown_resources
from modelyard.stack.config import Config, Stack
from modelyard.stack.pool import Partition
from modelyard.stack.words import few, plural
from modelyard.workloads import node_labels
from modelyard.workloads.sizing import Sized

STRATEGY_LABEL: Final = "nvidia.com/mig.strategy"
"""The label with which feature discovery shows how a node names its MIG slices."""
STATE_LABEL: Final = "nvidia.com/mig.config.state"
"""The label with which the MIG manager shows whether it has applied a node's layout."""


def check_partitions(stack: Stack, state: ClusterState) -> Iterator[Finding]:
    """The findings about partitions and the nodes that have them; none without known nodes."""
    busy = _busy(state)
    for index, partition in enumerate(stack.config.partitions):
        for node in state.nodes:
            if node.labels.get(CONFIG_LABEL) == partition.name:
                yield from _made(stack, index, partition, node, busy[node.name])
    if state.nodes:
        yield from _overlaps(stack, state.nodes)


def without_nodes(stack: Stack, state: ClusterState) -> dict[str, Finding]:
    """The findings about partitions that no node has, by the partition's name; empty without known nodes."""
    if not state.nodes:
        return {}
    busy = _busy(state)
    there = {node.labels.get(CONFIG_LABEL) for node in state.nodes}
    return {
        partition.name: _unlabelled(stack, index, partition, state, busy)
        for index, partition in enumerate(stack.config.partitions)
        if partition.name not in there
    }


def _busy(state: ClusterState) -> Counter[str]:
    """The pods with GPUs of each node."""
    return Counter(pod.node for pod in state.pods if any(is_gpu(name) for name in pod.requests))


def check_slice_quotas(stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node]) -> Iterator[Finding]:
    """The findings about teams whose quotas do not count the slices that their pods request."""
    config = stack.config
    unknown = unknown_resources(config, nodes)
    teams = {team.name: team for team in config.teams}
    positions = {id(resource): index for index, resource in enumerate(config.resources)}
    for one in everything:
        if one.part is None or one.resource.remote is not None:
            continue
        for name in dict.fromkeys(job.team or one.resource.team for job, _ in one.jobs):
            team = teams.get(name or "")
            if team is None:
                continue
            counted = {quota.resource for quota in team.quotas}
            if counted & unknown:
                continue  # Another finding reports a resource that may be a misspelled one of these.
            whole = (GPU_RESOURCE,) if replaceable(config, one.resource) is not None else ()
            for wanted in dict.fromkeys((one.part.resource, *whole)):
                if wanted in counted:
                    continue
                yield stack.finding(
                    "PAR017",
                    Severity.ERROR,
                    ("resources", positions[id(one.resource)], "partition"),
                    f"resource {one.resource.name} {'asks for' if wanted == one.part.resource else 'may grow to'} "
                    f"{wanted}, of which team {team.name} has no quota",
                    "add a quota of it to the team, or remove the team from the resource and its jobs",
                    detail="Kueue admits no pod that asks for a resource without a quota in its queue.",
                )


def _could_be(config: Config, partition: Partition, node: Node) -> bool:
    """Whether a node without the partition's label could have the partition."""
    flavor = next((one for one in config.flavors if one.name == partition.flavor), None)
    if flavor is not None:
        wanted = {key: value for key, value in node_labels(flavor).items() if key != CONFIG_LABEL}
        return wanted.items() <= node.labels.items()
    gpu = partition_gpu(config, partition)
    return gpu is not None and node.labels.get(PRODUCT_LABEL) in products(gpu) and CONFIG_LABEL not in node.labels


def _unlabelled(
    stack: Stack, index: int, partition: Partition, state: ClusterState, busy: Mapping[str, int]
) -> Finding:
    """The finding that no node has the partition, with how to give it to a node."""
    labels = f"{CONFIG_LABEL}={partition.name}"
    if partition.mode == "mig":
        labels += f" {MIG_LABEL}={partition.name}"
    names = {node.name for node in state.nodes if _could_be(stack.config, partition, node)}
    running = sum(busy.get(name, 0) for name in names)
    where = f"nodes that you can label: {few(sorted(names))}" if names else "no node has its GPU or its flavor's labels"
    stops = f"; {_run(running)} on their GPUs now and would be stopped" if running else ""
    return stack.finding(
        "PAR015",
        Severity.WARNING,
        ("partitions", index),
        f"no node has the label of partition {partition.name}, so its slices do not exist",
        f"{'drain a node' if names else 'add such a node'}, then kubectl label node NODE {labels}; "
        f"or {_makers(stack.config, partition)}",
        detail=where + stops,
    )


def _makers(config: Config, partition: Partition) -> str:
    """How new nodes get the labels of a partition. Karpenter adds no nodes for slices with their own resource name."""
    names = sorted({one.resource for one in slices(config, partition).values() if is_slice(one.resource)})
    if not names:
        return "add the labels to its node pool"
    return f"add the labels to a node group with permanent nodes: Karpenter adds no nodes for {' or '.join(names)}"


def _run(pods: int) -> str:
    return f"{plural(pods, 'pod')} run{'' if pods > 1 else 's'}"


def _made(stack: Stack, index: int, partition: Partition, node: Node, running: int) -> Iterator[Finding]:
    """Checks whether a node with a partition's label is divided as the partition sets."""
    wanted = _each_gpu(stack.config, partition)
    have = {name: amount for name, amount in node.allocatable.items() if is_gpu(name) and amount}
    labels = node.labels
    problem = remedy = ""
    if partition.mode == "mig" and labels.get(MIG_LABEL) != partition.name:
        other = labels.get(MIG_LABEL)
        problem = f"does not have the label {MIG_LABEL}" if other is None else f"has the label {MIG_LABEL}={other}"
        remedy = f"drain it, then kubectl label node {node.name} --overwrite {MIG_LABEL}={partition.name}"
    elif partition.mode == "mig" and labels.get(STATE_LABEL) in ("failed", "pending"):
        problem = f"reports its layout as {labels[STATE_LABEL]}"
        remedy = "read the log of the MIG manager on that node; it cannot divide GPUs that pods use"
    elif partition.mode == "mig" and labels.get(STRATEGY_LABEL, partition.strategy) != partition.strategy:
        problem = f"has the MIG strategy {labels[STRATEGY_LABEL]}, not {partition.strategy}"
        remedy = f"set mig.strategy of the operator to {partition.strategy}: its setting overrides the configuration's"
    elif missing := sorted(name for name in wanted if not have.get(name)):
        problem = f"advertises no {', '.join(missing)}"
        remedy = f"let the device plugin read the ConfigMap, and wait; the node has {_amounts(have) or 'no GPUs'}"
    elif not _whole(partition, node, wanted):
        problem = f"does not advertise {_amounts(wanted)} of each GPU"
        remedy = f"let the device plugin read the ConfigMap, and wait; the node has {_amounts(have)}"
    if problem:
        yield stack.finding(
            "PAR016",
            Severity.WARNING,
            ("partitions", index),
            f"{node.name} should have partition {partition.name}, but {problem}",
            remedy,
            detail=f"{_run(running)} on its GPUs now: drain the node before its GPUs are divided again."
            if running
            else "",
        )


def _each_gpu(config: Config, partition: Partition) -> Mapping[str, int]:
    """How many slices one GPU of the partition has, by resource name."""
    wanted: dict[str, int] = {}
    for name, one in slices(config, partition).items():
        count = partition.layout[name] if partition.mode == "mig" else partition.replicas or 0
        wanted[one.resource] = wanted.get(one.resource, 0) + count
    return wanted


def _whole(partition: Partition, node: Node, wanted: Mapping[str, int]) -> bool:
    """Whether a node's slices make up its whole GPUs, each divided in this way."""
    gpus = {node.allocatable[name] / count for name, count in wanted.items() if count}
    # With this strategy feature discovery counts slices under the name of GPUs.
    count = "" if partition.strategy == "single" else node.labels.get(COUNT_LABEL, "")
    if count.isdecimal():
        gpus.add(Fraction(count))
    return len(gpus) <= 1 and all(one.denominator == 1 for one in gpus)


def _overlaps(stack: Stack, nodes: Iterable[Node]) -> Iterator[Finding]:
    """Whether the flavors of two partitions select the same node."""
    flavors = {flavor.name: flavor for flavor in stack.config.flavors}
    reported: set[tuple[str, str]] = set()
    named = [
        (index, one, flavors[one.flavor])
        for index, one in enumerate(stack.config.partitions)
        if one.flavor is not None and one.flavor in flavors
    ]
    for node in nodes:
        here = [(index, one) for index, one, flavor in named if node_labels(flavor).items() <= node.labels.items()]
        for index, one in here[1:]:
            first = here[0][1]
            if first.flavor != one.flavor and (first.name, one.name) not in reported:
                reported.add((first.name, one.name))
                yield stack.finding(
                    "PAR008",
                    Severity.ERROR,
                    ("partitions", index, "flavor"),
                    f"partitions {first.name} and {one.name} both divide {node.name}",
                    f"give their flavors different node labels, such as {CONFIG_LABEL}",
                    detail="The device plugin takes one configuration per node, and MPS needs GPUs without MIG.",
                )


def _amounts(have: Mapping[str, Any]) -> str:
    return ", ".join(f"{int(amount)} × {name}" for name, amount in sorted(have.items()))
