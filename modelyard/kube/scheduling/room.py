"""How many identical pods of a Deployment fit on a cluster's nodes besides what runs there, and what limits them.

Nodes are grouped by what pods see of them, and into groups of similar sizes, so that a query on thousands of nodes
costs little more than on ten.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from modelyard.kube.scheduling.capacity import MANY, Shortage, gate, label_keys, obstacle, on_node, shortage
from modelyard.kube.scheduling.node_index import NodeIndex
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import ClusterState, Node, Quota

_NOBODY: Mapping[str, Mapping[str, Fraction]] = {}
_ZERO = Fraction(0)


class _Sight(NamedTuple):
    """The nodes as some pods see them, regardless of size."""

    closed: Mapping[str, list[int]]
    """Nodes that can never hold these pods, by reason."""
    open: tuple[int, ...]
    """All others."""


class Room:
    """The nodes of a cluster and what is used of them.

    Args:
        nodes: the nodes by name.
        taken: by node, then owner of the pods, then resource.
        quotas: the quotas of its namespaces.
    """

    def __init__(
        self,
        nodes: tuple[Node, ...],
        taken: Mapping[str, Mapping[str, Mapping[str, Fraction]]],
        quotas: tuple[Quota, ...] = (),
    ) -> None:
        self.nodes = nodes
        self.taken = taken
        self.quotas = quotas
        self._groups: dict[Any, tuple[tuple[Node, list[int]], ...]] = {}
        self._sights: dict[str, _Sight] = {}
        self._sizes: dict[Any, NodeIndex] = {}

    def holds(self, pods: Pods, without: Collection[str] = (), upto: int = MANY) -> int:
        """Returns how many of these pods fit without the pods of ``without`` (owners), at most ``upto``."""
        sizes = self._open(pods)
        total = sizes.total(pods.requests) if sizes is not None else 0
        for number in self._left(pods, without):
            total += self._on(number, pods, without)[0] - self._on(number, pods)[0]
        return min(total, upto)

    def limits(self, pods: Pods, without: Collection[str] = ()) -> dict[str, list[str]]:
        """Returns what limits more of these pods on which nodes, by name; the first node's reason comes first."""
        found = {reason: numbers.copy() for reason, numbers in self._sight(pods).closed.items()}
        sizes, left = self._open(pods), self._left(pods, without)
        for one in sizes.limits(pods.requests) if sizes is not None else ():
            wanted = pods.requests.get(one.resource, _ZERO)
            reason = shortage(one.resource, one.free, one.have, wanted) if one.resource else ""
            found.setdefault(reason, []).extend(number for number in one.nodes if number not in left)
        for number in left:
            _, short = self._on(number, pods, without)
            found.setdefault("" if short is None else str(short), []).append(number)
        groups = sorted((sorted(numbers), reason) for reason, numbers in found.items() if numbers)
        return {reason: [self.nodes[number].name for number in numbers] for numbers, reason in groups}

    def open_to(self, pods: Pods) -> Iterator[Node]:
        """Yields the nodes, by name, that could hold the pods if they were empty and large enough."""
        return (self.nodes[number] for number in self._sight(pods).open)

    def _open(self, pods: Pods) -> NodeIndex | None:
        """Returns the nodes that may hold the pods, in their current state; None if there are none."""
        nodes = self._sight(pods).open
        if not nodes:
            return None
        key = (nodes, *pods.requests)
        if key not in self._sizes:
            numbered = ((number, self.nodes[number]) for number in nodes)
            self._sizes[key] = NodeIndex(numbered, pods.requests, self._free)
        return self._sizes[key]

    def _sight(self, pods: Pods) -> _Sight:
        key = pods.rules
        if key not in self._sights:
            closed: dict[str, list[int]] = {}
            for node, numbers in self._apart(label_keys(pods)):
                closed.setdefault(obstacle(pods, node), []).extend(numbers)
            there = closed.pop("", [])
            self._sights[key] = _Sight(closed, tuple(sorted(there)))
        return self._sights[key]

    def _apart(self, keys: tuple[str, ...] | None) -> tuple[tuple[Node, list[int]], ...]:
        """Groups nodes with equal values of these labels, taints and state: the first node, and the numbers of all.

        Without keys, every node counts by itself.
        """
        if keys not in self._groups:
            found: dict[Any, tuple[Node, list[int]]] = {}
            for number, node in enumerate(self.nodes):
                kind = number if keys is None else (self._gates[number], *map(node.labels.get, keys))
                found.setdefault(kind, (node, []))[1].append(number)
            self._groups[keys] = tuple(found.values())
        return self._groups[keys]

    def _left(self, pods: Pods, owners: Collection[str]) -> set[int]:
        """Returns the nodes that may hold the pods and that one of the owners leaves."""
        leaving = {number for owner in owners for number in self._homes.get(owner, ())}
        return leaving & set(self._sight(pods).open) if leaving else leaving

    def _on(self, number: int, pods: Pods, without: Collection[str] = ()) -> tuple[int, Shortage | None]:
        """Returns how many of these pods one node holds, and what limits them."""
        node = self.nodes[number]
        owners = self.taken.get(node.name, _NOBODY)
        return on_node(pods.requests, node, [owners[name] for name in owners if name not in without])

    @cached_property
    def largest(self) -> Mapping[str, Fraction]:
        """The largest allocatable amount of each resource that all nodes have."""
        names = set.intersection(*(set(node.allocatable) for node in self.nodes)) if self.nodes else ()
        return {name: max(node.allocatable[name] for node in self.nodes) for name in names}

    @cached_property
    def _gates(self) -> list[Hashable]:
        """What keeps pods off each node besides its labels."""
        return [gate(node) for node in self.nodes]

    @cached_property
    def _homes(self) -> Mapping[str, list[int]]:
        """The nodes that run the pods of each owner."""
        homes: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for owner in self.taken.get(node.name, _NOBODY):
                homes.setdefault(owner, []).append(number)
        return homes

    @cached_property
    def _free(self) -> Mapping[int, Mapping[str, Fraction]]:
        """What is left of each node that runs pods."""
        free = {}
        for number, node in enumerate(self.nodes):
            if node.name in self.taken:
                left = dict(node.allocatable)
                for theirs in self.taken[node.name].values():
                    for name, amount in theirs.items():
                        left[name] = left.get(name, _ZERO) - amount
                free[number] = left
        return free


def room_of(state: ClusterState) -> Room:
    """Returns the room in a cluster."""
    taken: dict[str, dict[str, dict[str, Fraction]]] = {}
    for pod in state.pods:
        theirs = taken.setdefault(pod.node, {}).setdefault(pod.owner, {})
        for name, value in pod.requests.items():
            theirs[name] = theirs[name] + value if name in theirs else value
    return Room(tuple(sorted(state.nodes, key=lambda node: node.name)), taken, state.quotas)
