"""Whether the nodes of a cluster, however empty, hold what a run of a job starts at once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.cluster.state import Node
from modelyard.hardware.partitions import CONFIG_LABEL
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.plan.asks import Ask
from modelyard.plan.capacity import MANY, left_of, obstacle, on_node
from modelyard.plan.checks.queues import HOST
from modelyard.plan.pods import Pods
from modelyard.stack.pool import Flavor
from modelyard.stack.words import plural
from modelyard.workloads import node_labels
from modelyard.workloads.nodepools import POOL


class Unplaced(NamedTuple):
    """Why no nodes hold a run."""

    summary: str
    detail: str
    """Node by node, alike ones together."""


class Kinds:
    """The nodes of a cluster by what jobs can see of them: alike ones are counted, not looked at again.

    Args:
        nodes: that there are.
        flavors: of the stack.
        growth: nodes of the kinds that may be added, one of each.
        most: GPUs that the nodes of each node pool may have together, by its name.
    """

    def __init__(
        self, nodes: Iterable[Node], flavors: Iterable[Flavor], growth: Iterable[Node], most: Mapping[str, int]
    ) -> None:
        self.there, self.growth = tuple(nodes), tuple(growth)
        self.left: Mapping[str, int] = left_of(most, self.there)
        """GPUs that nodes of each node pool may still get."""
        self.flavors: Mapping[str, Flavor] = {flavor.name: flavor for flavor in flavors}
        keys = (key for flavor in self.flavors.values() for key in node_labels(flavor))
        self._keys = frozenset((PRODUCT_LABEL, CONFIG_LABEL, *keys))
        self._by_label: dict[str | None, list[tuple[Node, str, int]]] = {}

    def by(self, label: str | None) -> list[tuple[Node, str, int]]:
        """One node of each kind, its value of the label, and how many such nodes there are."""
        if label not in self._by_label:
            keys = self._keys if label is None else self._keys | {label}
            counts = Counter[Any]()
            first: dict[Any, Node] = {}
            for node in self.there:
                kind = (
                    tuple((key, node.labels.get(key)) for key in sorted(keys)),
                    tuple(node.allocatable.items()),
                    tuple(tuple(taint.items()) for taint in node.taints),
                    node.schedulable,
                )
                counts[kind] += 1
                first.setdefault(kind, node)
            self._by_label[label] = [
                (first[kind], first[kind].labels.get(label or "", ""), count) for kind, count in counts.items()
            ]
        return self._by_label[label]


def unplaced(ask: Ask, kinds: Kinds, theirs: Iterable[Flavor] | None) -> Unplaced | None:
    """Why no nodes, however empty, hold all that a run starts at once; None where some do, or may be added.

    Args:
        ask: what the run asks for.
        kinds: the nodes.
        theirs: the flavors of which its team has such GPUs; None: no team queues it.
    """
    found = _unplaced(ask, kinds, theirs)
    if found is not None or ask.head is None:
        return found
    alone = Ask(ask.team, (*ask.head.requests, (GPU_RESOURCE, Fraction(0))), (), 1, None, None)
    found = _unplaced(alone, kinds, theirs)
    return None if found is None else Unplaced(f"no node takes its {ask.head.what}", found.detail)


def _unplaced(ask: Ask, kinds: Kinds, theirs: Iterable[Flavor] | None) -> Unplaced | None:
    # Pods without a GPU may go where their flavor says nothing.
    flavors: list[Flavor | None] = list(theirs) if theirs is not None and ask.gpus else [None]
    if ask.together is not None:
        flavors = [flavor for flavor in flavors if flavor is None or ask.together in flavor.topology]
    more = _added(ask, flavors, kinds)
    if more is None or more >= ask.workers:
        return None
    reasons = Reasons()
    best = max((_room(ask, flavor, kinds, reasons) for flavor in flavors), default=0)
    if best + more >= min(ask.workers, MANY):
        return None
    if more:
        some = f"the nodes, with those that node pools may add, hold {best + more} of its {ask.workers} workers"
        return Unplaced(some, "counted on empty nodes, and by the GPUs that the pools may have")
    if best:
        place = (
            f"nodes with one {ask.together}"
            if ask.together
            else "nodes of one flavor"
            if theirs is not None
            else "the nodes"
        )
        return Unplaced(f"{place} hold {best} of its {ask.workers} workers", "counted on empty nodes")
    return Unplaced("no node takes a worker", str(reasons) or "no node has the labels of its flavors")


class Reasons:
    """Why kinds of nodes take no worker. Nodes of several flavors count once."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, int]] = {}

    def add(self, reason: str, node: Node, count: int) -> None:
        """Notes it of as many nodes as are like this one."""
        self._nodes.setdefault(reason, {})[node.name] = count

    def __str__(self) -> str:
        """The reasons of the most nodes."""
        counts = Counter({reason: sum(nodes.values()) for reason, nodes in self._nodes.items()})
        return "; ".join(f"{plural(count, 'node')}: {reason}" for reason, count in counts.most_common(4))


def _room(ask: Ask, flavor: Flavor | None, kinds: Kinds, reasons: Reasons) -> int:
    """How many workers the empty nodes of a flavor hold, together as they have to be; ``reasons`` counts the others."""
    groups = Counter[str]()
    pods = _pods(ask, flavor)
    for node, value, count in kinds.by(ask.together):
        if not _is_of(flavor, node):
            continue
        if reason := obstacle(pods, node):
            reasons.add(reason, node, count)
            continue
        room, short = on_node(pods.requests, node, ())
        groups[value] += room * count
        if not room and short is not None:
            reasons.add(short.on_empty, node, count)
    return max(groups.values(), default=0)


def _is_of(flavor: Flavor | None, node: Node) -> bool:
    return flavor is None or node_labels(flavor).items() <= node.labels.items()


def _added(ask: Ask, flavors: Iterable[Flavor | None], kinds: Kinds) -> int | None:
    """How many workers the nodes that may be added take at most; None where no limit says so.

    Only GPUs are counted: it is what the limits are of.
    """
    coming = {node.labels.get(POOL, "") for one in flavors for node in kinds.growth if _comes(ask, one, node)}
    if coming and (not ask.gpus or not coming <= kinds.left.keys()):
        return None
    return sum(kinds.left[pool] // ask.gpus for pool in coming)


def _comes(ask: Ask, flavor: Flavor | None, node: Node) -> bool:
    """Whether a node that may be added would take a worker, or all of them where they have to be on one."""
    if not _is_of(flavor, node):
        return False
    pods = _pods(ask, flavor)
    return not obstacle(pods, node) and on_node(pods.requests, node, ())[0] >= (
        ask.workers if ask.together == HOST else 1
    )


def _pods(ask: Ask, flavor: Flavor | None) -> Pods:
    spec: dict[str, Any] = {"tolerations": [one._asdict() for one in flavor.tolerations] if flavor is not None else []}
    if ask.gpus:
        spec["tolerations"].append({"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"})
    if ask.selector:
        spec["nodeSelector"] = dict(ask.selector)
    if ask.products:
        rule = {"key": PRODUCT_LABEL, "operator": "In", "values": list(ask.products)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return Pods(spec, dict(ask.requests), ask.gpus if ask.resource == GPU_RESOURCE else 0)
