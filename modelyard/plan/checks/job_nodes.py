"""What a run of a job requests, and whether a cluster's nodes, even when empty, hold all pods that start at once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.hardware.partitions import CONFIG_LABEL
from modelyard.kube.scheduling.capacity import MANY, amount, gate, left_of, may_be_added, obstacle, on_node, word_of
from modelyard.kube.scheduling.node_index import NodeIndex
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, NODE_POOL_LABEL, PRODUCT_LABEL
from modelyard.plan.checks.queues import HOST
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job
from modelyard.stack.pool import Flavor
from modelyard.workloads import node_labels
from modelyard.workloads.facts.jobs import HeadSize, head_of, products_for
from modelyard.workloads.sizing import Sized

Requests = tuple[tuple[str, Fraction], ...]
"""Requests of one pod: cores, bytes and GPUs by resource."""


class RunRequest(NamedTuple):
    """What a run requests. It is hashable, because jobs with equal requests are checked once."""

    team: str | None
    requests: Requests
    """The requests of one worker."""
    products: tuple[str, ...]
    """Allowed values of the nodes' product label for the run's GPUs; empty: any."""
    workers: int
    """The number of workers, which start together or not at all."""
    together: str | None
    """The node label whose value all workers' nodes must share."""
    head: HeadSize | None
    resource: str = GPU_RESOURCE
    """The resource name of the run's GPUs."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels of the nodes that have the run's slices."""
    most: int | None = None
    """The number of workers to which the run may grow on Ray; None: it keeps the number that it starts with."""
    fewer: tuple[str, ...] = ()
    """What the stack can change so that the run starts with fewer workers, each in the words of a remedy."""

    @property
    def amounts(self) -> Mapping[str, Fraction]:
        """Cores, bytes and GPUs of one worker."""
        return dict(self.requests)

    @property
    def gpus(self) -> int:
        """GPUs or slices of one worker."""
        return int(self.amounts[self.resource])


def ask_of(config: Config, job: Job, sized: Sized) -> RunRequest:
    """What a run of a job with a command requests, on its resource."""
    size, resource, part = sized.size, sized.resource, sized.part
    name = part.resource if part is not None else GPU_RESOURCE
    return RunRequest(
        team=job.team or resource.team,
        requests=(("cpu", size.cpu), ("memory", size.memory), (name, Fraction(size.gpus))),
        products=products_for(config, resource.gpu) if size.gpus and part is None else (),
        # Another finding reports leastWorkers above the workers.
        workers=1 if job.trials is not None else min(job.least_workers or size.workers, size.workers),
        together=job.together,
        head=head_of(job),
        resource=name,
        selector=tuple(part.nodes.items()) if part is not None else (),
        most=size.workers if job.grows else None,
        fewer=_fewer(job),
    )


def _fewer(job: Job) -> tuple[str, ...]:
    if job.least_workers is not None:
        return ("lower leastWorkers",)
    lower = "give its resource fewer workers" if job.resource is not None else "give it a resource with fewer workers"
    # Spark has no leastWorkers, and workers that Ray adds later cannot be placed together.
    some = job.engine != "spark" and (job.engine != "ray" or job.together is None)
    return (lower, "set leastWorkers") if some else (lower,)


class Unplaced(NamedTuple):
    """Why no nodes hold a run."""

    summary: str
    detail: str
    """The reasons node by node, with identical nodes shown together."""


class NodeBucket(NamedTuple):
    """Nodes that flavors and pods can distinguish only by their sizes."""

    number: int
    """The number of the first node, among all nodes."""
    node: Node
    """The first node."""
    nodes: list[tuple[int, Node]]
    """All nodes of the group, with their numbers."""


class Kinds:
    """The nodes of a cluster, grouped by the properties that matter to jobs; identical nodes are only counted.

    Args:
        nodes: the existing nodes.
        flavors: the flavors of the stack.
        growth: the nodes of node pools, one of each kind.
        most: the GPU limit of each node pool, by its name.
    """

    def __init__(
        self, nodes: Iterable[Node], flavors: Iterable[Flavor], growth: Iterable[Node], most: Mapping[str, int]
    ) -> None:
        self.nodes = tuple(nodes)
        self.left: Mapping[str, int] = left_of(most, self.nodes)
        """GPUs that the nodes of each node pool may still add."""
        added = (node for node in growth if may_be_added(node, self.left))
        self._growth = tuple(NodeBucket(number, node, [(number, node)]) for number, node in enumerate(added))
        self._labels = {flavor.name: node_labels(flavor) for flavor in flavors}
        keys = {PRODUCT_LABEL, CONFIG_LABEL}.union(*self._labels.values())
        groups: dict[Any, NodeBucket] = {}
        for number, node in enumerate(self.nodes):
            kind = (tuple(map(node.labels.get, sorted(keys))), gate(node))
            groups.setdefault(kind, NodeBucket(number, node, [])).nodes.append((number, node))
        self._groups = tuple(groups.values())
        self._places: dict[Any, tuple[tuple[NodeBucket, str], ...]] = {}
        self._sizes: dict[Any, Mapping[str, NodeIndex]] = {}
        self._alone: dict[str, bool] = {}

    def places(
        self, ask: RunRequest, flavor: Flavor | None, growth: bool = False
    ) -> tuple[tuple[NodeBucket, str], ...]:
        """The groups of a flavor's nodes, or all groups, each with the reason why it can never hold the workers; empty
        if it can.

        The workers also have the flavor's tolerations. With ``growth``, the groups are the nodes that may be added, one
        in each group, without the existing nodes.
        """
        name = None if flavor is None else flavor.name
        key = (name, growth, bool(ask.gpus), ask.selector, ask.products)
        if key not in self._places:
            pods, labels = _pods(ask, flavor), {} if name is None else self._labels[name]
            self._places[key] = tuple(
                (group, obstacle(pods, group.node))
                for group in (self._growth if growth else self._groups)
                if labels.items() <= group.node.labels.items()
            )
        return self._places[key]

    def sizes(self, group: NodeBucket, names: tuple[str, ...], label: str | None = None) -> Mapping[str, NodeIndex]:
        """The nodes of a group by their values of a label, if one is given, and their amounts of these resources."""
        key = (group.number, names, label)
        if key not in self._sizes:
            parts: dict[str, list[tuple[int, Node]]] = {}
            for number, node in group.nodes:
                parts.setdefault("" if label is None else node.labels.get(label, ""), []).append((number, node))
            self._sizes[key] = {value: NodeIndex(nodes, names) for value, nodes in parts.items()}
        return self._sizes[key]

    def are_missing(self, ask: RunRequest, theirs: Iterable[Flavor]) -> bool:
        """Whether no node has the partition of the run's slices, or none the labels of a flavor for its GPUs."""
        wanted = dict(ask.selector).get(CONFIG_LABEL)
        if wanted is not None and all(group.node.labels.get(CONFIG_LABEL) != wanted for group in self._groups):
            return True
        flavors = tuple(theirs) if ask.gpus else ()
        growing = (False, True)
        return bool(flavors) and not any(self.places(ask, one, growth) for one in flavors for growth in growing)

    def is_alone(self, label: str) -> bool:
        """Whether every node has its own value of a label, as with hostnames."""
        if label not in self._alone:
            self._alone[label] = len({node.labels.get(label, "") for node in self.nodes}) == len(self.nodes)
        return self._alone[label]


def unplaced(ask: RunRequest, kinds: Kinds, theirs: Iterable[Flavor] | None) -> Unplaced | None:
    """Why no nodes, even when empty, hold everything that a run starts at once; None if some do, or may be added.

    ``theirs`` are the flavors from which the run's team has such GPUs; None if no team queues the run.
    """
    found = _unplaced(ask, kinds, theirs)
    if found is not None or ask.head is None:
        return found
    alone = RunRequest(
        team=ask.team,
        requests=(*ask.head.requests, (GPU_RESOURCE, Fraction(0))),
        products=(),
        workers=1,
        together=None,
        head=None,
    )
    found = _unplaced(alone, kinds, theirs)
    return None if found is None else Unplaced(f"no node can hold its {ask.head.what}", found.detail)


def _unplaced(ask: RunRequest, kinds: Kinds, theirs: Iterable[Flavor] | None) -> Unplaced | None:
    # Pods without a GPU may use nodes that their flavor does not select.
    flavors: list[Flavor | None] = list(theirs) if theirs is not None and ask.gpus else [None]
    if ask.together is not None:
        flavors = [flavor for flavor in flavors if flavor is None or ask.together in flavor.topology]
    more = _added(ask, flavors, kinds)
    if more is None or more >= ask.workers:
        return None
    best = max((_room(ask, flavor, kinds) for flavor in flavors), default=0)
    if best + more >= min(ask.workers, MANY):
        return None
    if more:
        some = f"the nodes, with those that node pools may add, hold {best + more} of its {ask.workers} workers"
        return Unplaced(some, "counted on empty nodes, and by the GPUs that the pools may have")
    if best:
        place = (
            f"nodes with the same {ask.together}"
            if ask.together
            else "nodes of one flavor"
            if theirs is not None
            else "the nodes"
        )
        return Unplaced(f"{place} hold {best} of its {ask.workers} workers", "counted on empty nodes")
    reasons = _reasons(ask, flavors, kinds)
    return Unplaced("no node can hold a worker", reasons or "no node has the labels of the flavors it may take")


def _room(ask: RunRequest, flavor: Flavor | None, kinds: Kinds) -> int:
    """How many workers the empty nodes of a flavor hold, under the run's rule for placing them together."""
    wanted = ask.amounts
    names = tuple(wanted)
    groups = [group for group, reason in kinds.places(ask, flavor) if not reason]
    if ask.together is None:
        return sum(kinds.sizes(group, names)[""].total(wanted) for group in groups)
    if kinds.is_alone(ask.together):
        return max((kinds.sizes(group, names)[""].best(wanted) for group in groups), default=0)
    rooms = Counter[str]()
    for group in groups:
        for value, sizes in kinds.sizes(group, names, ask.together).items():
            rooms[value] += sizes.total(wanted)
    return max(rooms.values(), default=0)


def _reasons(ask: RunRequest, flavors: Iterable[Flavor | None], kinds: Kinds) -> str:
    """The reasons that keep most nodes from taking a worker; a node counts once even if several flavors select it."""
    wanted = ask.amounts
    names = tuple(wanted)
    counts: dict[str, dict[int, int]] = {}
    """The nodes by reason, then by group."""
    for flavor in flavors:
        found: list[tuple[int, str, int, int]] = []
        for group, reason in kinds.places(ask, flavor):
            if reason:
                found.append((group.number, reason, group.number, len(group.nodes)))
                continue
            ours: dict[str, tuple[int, int]] = {}
            for limit in kinds.sizes(group, names)[""].limits(wanted):
                needs = f"{amount(limit.resource, wanted[limit.resource])} {word_of(limit.resource)}"
                reason = f"has {limit.have} of the {needs} that a pod needs"
                first, count = ours.get(reason, (limit.nodes[0], 0))
                ours[reason] = (min(first, limit.nodes[0]), count + len(limit.nodes))
            found += ((first, reason, group.number, count) for reason, (first, count) in ours.items())
        # Where several reasons cover as many nodes, the first node's reason comes first.
        for _, reason, number, count in sorted(found):
            counts.setdefault(reason, {})[number] = count
    most = Counter({reason: sum(groups.values()) for reason, groups in counts.items()}).most_common(4)
    return "; ".join(f"1 node {reason}" if count == 1 else f"{count:,} nodes: each {reason}" for reason, count in most)


def _added(ask: RunRequest, flavors: Iterable[Flavor | None], kinds: Kinds) -> int | None:
    """The most workers that nodes that may be added can hold; None if no limit applies.

    Only GPUs are counted, because the limits are GPU limits.
    """
    coming = {node.labels.get(NODE_POOL_LABEL, "") for one in flavors for node in _coming(ask, one, kinds)}
    if coming and (not ask.gpus or not coming <= kinds.left.keys()):
        return None
    return sum(kinds.left[pool] // ask.gpus for pool in coming)


def _coming(ask: RunRequest, flavor: Flavor | None, kinds: Kinds) -> Iterator[Node]:
    """The nodes that may be added and would take a worker, or all workers if these must share a node."""
    least = ask.workers if ask.together == HOST else 1
    for group, reason in kinds.places(ask, flavor, growth=True):
        if not reason and on_node(ask.amounts, group.node, ())[0] >= least:
            yield group.node


def _pods(ask: RunRequest, flavor: Flavor | None) -> Pods:
    spec: dict[str, Any] = {"tolerations": [one._asdict() for one in flavor.tolerations] if flavor is not None else []}
    if ask.gpus:
        spec["tolerations"].append({"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"})
    if ask.selector:
        spec["nodeSelector"] = dict(ask.selector)
    if ask.products:
        rule = {"key": PRODUCT_LABEL, "operator": "In", "values": list(ask.products)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return Pods(spec, ask.amounts, ask.gpus if ask.resource == GPU_RESOURCE else 0)
