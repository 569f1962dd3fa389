"""Where the pods of a cluster run once their owners have the pods that they ask for.

The scheduler decides where pods land, not the plan. So running pods keep their nodes, replaced pods go back to theirs
as long as these accept them, and others go to the first nodes by name that have room: one possible outcome, always the
same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.kube.merge.path import Path
from modelyard.kube.scheduling.capacity import on_node
from modelyard.kube.scheduling.pods import Pods, pod_places, pods_of, replicas_of
from modelyard.kube.scheduling.room import room_of
from modelyard.kube.state import ClusterState, Node, ObjectKey, Pod


class WantedPods(NamedTuple):
    """Identical pods that an owner asks for; a Ray cluster asks for those of its head and of each group."""

    namespace: str
    owner: str
    """Name of the object, as in ``kube.state.Pod``."""
    pods: Pods
    number: int
    running: Mapping[str, Fraction]
    """What one of its running pods requests."""
    replaced: bool
    """Whether the running pods are replaced."""


def wanted_of(
    key: ObjectKey, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, *, replaced: bool
) -> Iterator[tuple[Path, WantedPods]]:
    """Yields what an object asks for, by the place of its pods; a deleted object asks for no pods."""
    for place in pod_places(after):
        pods = pods_of(after, place)
        # One pod is the API server's default.
        number = 1 if (found := replicas_of(after, place)) is None else found
        if not after or pods.spec:
            yield (
                place,
                WantedPods(
                    namespace=key.namespace,
                    owner=key.name,
                    pods=pods,
                    number=number if after else 0,
                    running=pods_of(before, place).requests if before else pods.requests,
                    replaced=replaced,
                ),
            )


def placed(state: ClusterState, wanted: Iterable[WantedPods]) -> tuple[ClusterState, tuple[Mapping[str, int], ...]]:
    """Returns the cluster once these owners have their pods, and for each entry the number of its pods by node.

    Pods of other owners stay. Pods without room on any node are left out.
    """
    wanted = tuple(wanted)
    kept, homes, leaving = _running(state, wanted)
    missing = [one.number - here.total() for one, here in zip(wanted, homes, strict=True)]
    state = state._replace(pods=kept)
    if not any(missing):
        return state, homes
    room = room_of(state)
    taken = {name: list(owners.values()) for name, owners in room.taken.items()}
    accepting = [
        {node.name: node for node in room.open_to(one.pods)} if more else {}
        for one, more in zip(wanted, missing, strict=True)
    ]
    added: list[Pod] = []

    def put(at: int, node: Node, most: int) -> None:
        one = wanted[at]
        requests = one.pods.requests
        free, _ = on_node(requests, node, taken.get(node.name, ()))
        if number := min(free, most, missing[at]):
            missing[at] -= number
            homes[at][node.name] += number
            taken.setdefault(node.name, []).extend([requests] * number)
            added.extend([Pod(node.name, one.owner, requests, one.namespace)] * number)

    for at, nodes in enumerate(accepting):
        for name in sorted(leaving[at].keys() & nodes.keys()):
            put(at, nodes[name], leaving[at][name])
    for at, nodes in enumerate(accepting):
        for node in nodes.values():
            if not missing[at]:
                break
            put(at, node, missing[at])
    return state._replace(pods=(*kept, *added)), homes


def _running(
    state: ClusterState, wanted: tuple[WantedPods, ...]
) -> tuple[tuple[Pod, ...], tuple[Counter[str], ...], tuple[Counter[str], ...]]:
    """The pods that stay; then for each entry its pods that stay and those that are replaced, by node."""
    kept: list[Pod] = []
    staying, leaving = (tuple(Counter[str]() for _ in wanted) for _ in range(2))
    for pod, mine, at in zip(state.pods, *_entries(state, wanted), strict=True):
        if at is None and not mine:
            kept.append(pod)
        elif at is not None and wanted[at].replaced:
            leaving[at][pod.node] += 1
        elif at is not None:
            staying[at][pod.node] += 1
            kept.append(pod)
    return tuple(kept), staying, leaving


def _entries(state: ClusterState, wanted: tuple[WantedPods, ...]) -> tuple[list[Sequence[int]], list[int | None]]:
    """For each running pod the entries of its owner, and the one that it counts for; None if its owner asks for fewer.

    Pods of a Ray cluster do not say whose they are, but what they request does; others take what is left.
    """
    of_owner: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(wanted):
        of_owner.setdefault((one.namespace, one.owner), []).append(at)
    # Recordings of earlier versions do not have the namespace.
    namespaces = {one.owner: one.namespace for one in wanted}
    mine: list[Sequence[int]] = [
        of_owner.get((pod.namespace or namespaces.get(pod.owner, ""), pod.owner), ()) for pod in state.pods
    ]
    alike = [
        [at for at in entries if wanted[at].running == pod.requests] if len(entries) > 1 else []
        for pod, entries in zip(state.pods, mine, strict=True)
    ]
    left = [one.number for one in wanted]
    taken: list[int | None] = [None] * len(mine)
    for number in sorted(range(len(mine)), key=lambda number: not alike[number]):
        entry = next((one for one in alike[number] or mine[number] if left[one]), None)
        if entry is not None:
            taken[number] = entry
            left[entry] -= 1
    return mine, taken
