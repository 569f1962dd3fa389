"""Whether the nodes have room for a run's pods."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard.kube.scheduling.capacity import obstacle, on_node
from modelyard.kube.scheduling.pods import Pods, pods_of
from modelyard.kube.state import Node, node_of
from modelyard.runs.pool.diagnosis import DiagnosisBuilder, Evidence
from modelyard.runs.pool.kueue import Work
from modelyard.runs.pool.objects import asks_for, spec_of
from modelyard.stack.words import few, plural

# Why pods have no node: node by node, with what runs there now; nodes with one reason are shown together.
_CORDON = "node.kubernetes.io/unschedulable"
"""Key of the taint that a node gets when it is cordoned."""


class Refuses(NamedTuple):
    """Nodes that refuse a pod, for one reason."""

    reason: str
    nodes: tuple[str, ...]
    later: bool
    """Whether the nodes accept the pod when other pods have ended."""


class PodPlaces(NamedTuple):
    """Where pods could go now."""

    room: int
    """Pods that the nodes have room for."""
    empty: int
    """Pods that the nodes would have room for if nothing else ran there."""
    refuses: tuple[Refuses, ...]
    """The refusals: nodes that accept a pod later come first, then the reasons with the most nodes."""
    cordoned: tuple[str, ...]
    """Nodes that could hold a pod if they were not cordoned."""


class Floor:
    """The nodes and what their pods request of them, read once."""

    def __init__(self, nodes: Iterable[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]) -> None:
        self.nodes: tuple[Node, ...] = tuple(sorted(map(node_of, nodes), key=lambda node: node.name))
        self._taken: dict[str, list[Mapping[str, Fraction]]] = {}
        for pod in pods:
            node = spec_of(pod).get("nodeName")
            if node:
                wanted = pods_of({"spec": {"template": {"spec": pod["spec"]}}}).requests
                self._taken.setdefault(node, []).append({**wanted, "pods": Fraction(1)})

    def apart(self, label: str) -> dict[str, tuple[Node, ...]]:
        """The nodes by their value of a label, without nodes that lack it."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            if label in node.labels:
                found.setdefault(node.labels[label], []).append(node)
        return {value: tuple(found[value]) for value in sorted(found)}

    def places(self, spec: Mapping[str, Any], most: int, among: Iterable[Node] | None = None) -> PodPlaces:
        """Where pods of a spec could go; counts up to the wanted number.

        Args:
            spec: the spec of each pod.
            most: the wanted number of pods.
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
        return PodPlaces(
            min(room, most),
            min(empty, most),
            tuple(sorted(found, key=lambda one: (not one.later, -len(one.nodes), one.reason))),
            tuple(cordoned),
        )


def _open(node: Node) -> Node:
    """The node without the taint and setting of a cordon."""
    return node._replace(schedulable=True, taints=tuple(one for one in node.taints if one.get("key") != _CORDON))


_DOMAINS: Final = 6
"""The number of label values that are shown one by one."""


def add_room(work: Work, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds whether the nodes would have room for a run's pods if Kueue admitted them now."""
    floor = floor_of(diagnosis, known)
    for pods in work.pod_sets:
        if floor is not None and asks_for(pods.spec):
            specs = known.queues.with_flavors(pods.spec, work)
            if pods.level is None or not _add_together(floor, specs, pods.number, pods.level, diagnosis):
                add_places(_best(floor.places(one, pods.number) for one in specs), pods.number, diagnosis)


def _best(found: Iterable[PodPlaces]) -> PodPlaces:
    return max(found, key=lambda one: (one.room, one.empty))


def _add_together(
    floor: Floor, specs: Sequence[Mapping[str, Any]], count: int, level: str, diagnosis: DiagnosisBuilder
) -> bool:
    """Adds and returns whether the nodes that share a value of the label ``level`` are too few for all workers."""
    found = {
        value: _best(floor.places(one, count, nodes) for one in specs) for value, nodes in floor.apart(level).items()
    }
    if not found or _best(found.values()).room >= count:
        return False
    order = sorted(found, key=lambda value: (-found[value].room, -found[value].empty, value))
    lines = [f"{value}: {found[value].room} now, {found[value].empty} when empty" for value in order[:_DOMAINS]]
    if len(order) > _DOMAINS:
        lines.append(f"{len(order) - _DOMAINS} others have no more")
    most = max(one.empty for one in found.values())
    workers = plural(count, "worker")
    diagnosis.cause(
        "nodes", f"nodes with the same {level} have room for {_best(found.values()).room} of {workers} now", *lines
    )
    without = "remove `together` from the job"
    if most < count:
        held = f"nodes with the same {level} can hold {most} of {workers} even when empty"
        diagnosis.helps.append(f"{held}: {without}, use fewer or smaller workers, or add nodes there")
    else:
        diagnosis.helps.append(f"wait until nodes with the same {level} have room for {workers}, or {without}")
    return True


def floor_of(diagnosis: DiagnosisBuilder, known: Evidence) -> Floor | None:
    """The nodes and what runs on them; None without the right to read them."""
    if hidden := [name for name in ("nodes", "pods") if name in known.objects.unread]:
        diagnosis.cause(
            "nodes", f"these credentials may not list the cluster's {' and '.join(hidden)}, so free capacity is unknown"
        )
        return None
    return Floor(known.objects.nodes, known.objects.pods)


def add_places(places: PodPlaces, count: int, diagnosis: DiagnosisBuilder) -> None:
    """Adds what is short if not all of ``count`` pods find a place."""
    lines = [f"{few(one.nodes)}: {'each ' * (len(one.nodes) > 1)}{one.reason}" for one in places.refuses]
    if places.room >= count:
        return
    diagnosis.cause("nodes", f"the nodes have room for {places.room} of {plural(count, 'worker')} now", *lines)
    if places.empty < count:
        held = f"the nodes can hold {places.empty} of {plural(count, 'worker')} even when empty"
        open_up = f"uncordon {few(places.cordoned)}, " if places.cordoned else ""
        diagnosis.helps.append(f"{held}: {open_up}add nodes, or request less")
