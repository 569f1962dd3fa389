"""Why pods have no node: node by node, with what runs there now, told once for all nodes that say the same."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.kube.scheduling.capacity import obstacle, on_node
from modelyard.kube.scheduling.pods import Pods, pods_of
from modelyard.kube.state import Node, node_of
from modelyard.runs.pool.objects import NOTHING

_CORDON = "node.kubernetes.io/unschedulable"
"""Key of the taint that a node gets when it is cordoned."""


class Refuses(NamedTuple):
    """Nodes that take no such pod, for one reason."""

    reason: str
    nodes: tuple[str, ...]
    later: bool
    """Whether they take one when others have gone."""


class Places(NamedTuple):
    """Where pods could go now."""

    room: int
    """Pods that the nodes have room for."""
    empty: int
    """The same, if nothing else ran there."""
    refuses: tuple[Refuses, ...]
    """Nodes that take a pod later first, then those of the most nodes."""
    cordoned: tuple[str, ...]
    """Nodes that could hold one, were they not cordoned."""


class Floor:
    """The nodes and what their pods take of them, read once."""

    def __init__(self, nodes: Iterable[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]) -> None:
        self.nodes: tuple[Node, ...] = tuple(sorted(map(node_of, nodes), key=lambda node: node.name))
        self._taken: dict[str, list[Mapping[str, Fraction]]] = {}
        for pod in pods:
            node = (pod.get("spec") or NOTHING).get("nodeName")
            if node:
                wanted = pods_of({"spec": {"template": {"spec": pod["spec"]}}}).requests
                self._taken.setdefault(node, []).append({**wanted, "pods": Fraction(1)})

    def apart(self, label: str) -> dict[str, tuple[Node, ...]]:
        """The nodes by the value that they have of a label, without those that have none."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            if label in node.labels:
                found.setdefault(node.labels[label], []).append(node)
        return {value: tuple(found[value]) for value in sorted(found)}

    def places(self, spec: Mapping[str, Any], most: int, among: Iterable[Node] | None = None) -> Places:
        """Where pods of a spec could go; counted up to as many as are wanted.

        Args:
            spec: of each pod.
            most: pods that are wanted.
            among: the nodes that count; None: all.
        """
        asked = pods_of({"spec": {"template": {"spec": spec}}})
        wanted = {**asked.requests, "pods": Fraction(1)}
        pods = Pods(spec, wanted, asked.gpus)
        room = empty = 0
        reasons: dict[tuple[str, bool], list[str]] = {}
        cordoned = []
        for node in self.nodes if among is None else among:
            if reason := obstacle(pods, node):
                reasons.setdefault((reason, False), []).append(node.name)
                if not node.schedulable and not obstacle(pods, _open(node)) and on_node(wanted, node, ())[0]:
                    cordoned.append(node.name)
                continue
            now, short = on_node(wanted, node, self._taken.get(node.name, ()))
            whole, never = on_node(wanted, node, ())
            room, empty = room + now, empty + whole
            if not now:
                words = str(short) if whole else str(never)
                reasons.setdefault((words, bool(whole)), []).append(node.name)
        found = [Refuses(reason, tuple(names), later) for (reason, later), names in reasons.items()]
        return Places(
            min(room, most),
            min(empty, most),
            tuple(sorted(found, key=lambda one: (not one.later, -len(one.nodes), one.reason))),
            tuple(cordoned),
        )


def _open(node: Node) -> Node:
    """The node as it would be, were it not cordoned."""
    return node._replace(schedulable=True, taints=tuple(one for one in node.taints if one.get("key") != _CORDON))
