"""Where the pods of a cluster run once their owners have the pods that they ask for.

The scheduler decides where pods land, not the plan. So running pods keep their nodes, replaced pods go back to theirs
as long as these accept them, and others go to the first nodes by name that have room: one possible outcome, always the
same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from modelyard.kube.scheduling.capacity import on_node
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.scheduling.room import room_of
from modelyard.kube.state import ClusterState, Node, Pod


class Wanted(NamedTuple):
    """Identical pods that an owner asks for; a Ray cluster asks for those of its head and of each group."""

    namespace: str
    owner: str
    """Name of the object, as in ``kube.state.Pod``."""
    pods: Pods
    number: int
    replaced: bool
    """Whether the running pods are replaced."""


def placed(state: ClusterState, wanted: Iterable[Wanted]) -> tuple[ClusterState, tuple[Mapping[str, int], ...]]:
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
        namespace, owner, pods, _, _ = wanted[at]
        free, _ = on_node(pods.requests, node, taken.get(node.name, ()))
        if number := min(free, most, missing[at]):
            missing[at] -= number
            homes[at][node.name] += number
            taken.setdefault(node.name, []).extend([pods.requests] * number)
            added.extend([Pod(node.name, owner, pods.requests, namespace)] * number)

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
    state: ClusterState, wanted: tuple[Wanted, ...]
) -> tuple[tuple[Pod, ...], tuple[Counter[str], ...], tuple[Counter[str], ...]]:
    """The pods that stay; then for each entry its pods that stay and those that are replaced, by node."""
    entries: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(wanted):
        entries.setdefault((one.namespace, one.owner), []).append(at)
    namespaces = {one.owner: one.namespace for one in wanted}
    left = [one.number for one in wanted]
    kept: list[Pod] = []
    staying, leaving = (tuple(Counter[str]() for _ in wanted) for _ in range(2))
    for pod in state.pods:
        mine = entries.get((pod.namespace or namespaces.get(pod.owner, ""), pod.owner))
        if mine is None:
            kept.append(pod)
            continue
        # Pods of a Ray cluster do not say whose they are, but what they request does.
        equal = [at for at in mine if wanted[at].pods.requests == pod.requests]
        for at in [at for at in equal or mine if left[at]][:1]:
            left[at] -= 1
            if wanted[at].replaced:
                leaving[at][pod.node] += 1
            else:
                staying[at][pod.node] += 1
                kept.append(pod)
    return tuple(kept), staying, leaving
