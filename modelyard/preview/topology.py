"""Where a stack's pods run and which queue feeds them, before and after: the data for a picture."""

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from modelyard.hardware.nodes import node_gpus
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.placement import WantedPods, placed, wanted_of
from modelyard.kube.scheduling.pods import ONE_TEMPLATE, Pods, pod_places, pods_of, pods_words
from modelyard.kube.state import ClusterState, Node, ObjectKey
from modelyard.names import GPU_RESOURCE, MIG_PREFIX, is_slice
from modelyard.plan import TargetPlan
from modelyard.plan.autoscaling import most_replicas
from modelyard.plan.keda import bounds
from modelyard.plan.project import Planned
from modelyard.stack.config import Config
from modelyard.workloads import Workload, by_object, workloads
from modelyard.workloads.training import BACKENDS

MANY_NODES = 16
"""The most nodes that are shown one by one; with more, identical ones are shown together."""

GpuUnit = Literal["GPU", "MIG slice", "share", "fraction"]
"""What one unit of a resource is."""


class GpuPlace(NamedTuple):
    """A node's GPUs of one name, or those of identical nodes of a large cluster. A divided node is several places: one
    for each kind of slice, and one for the GPUs that are left whole.
    """

    name: str
    nodes: int
    product: str
    """Name of the nodes' GPUs, such as ``NVIDIA-A30``; empty for nodes without."""
    gpus: int
    """The number that the nodes offer of the resource together."""
    others: int
    """The number of these that pods outside the picture hold."""
    cordoned: bool
    resource: str = GPU_RESOURCE
    """The resource that pods request; empty for nodes without GPUs."""
    unit: GpuUnit = "GPU"
    """What a pod gets for one unit of the resource, whatever its name is."""


class Running(NamedTuple):
    """The pods of one Deployment."""

    name: str
    role: str
    """The workload it is (``rayWorker`` …), empty for a target that belongs to no workload."""
    pods: int
    most: int | None
    """The most pods that an autoscaler may start; None if no autoscaler sets the number."""
    gpus: int
    """GPUs of one pod, or slices."""
    on: tuple[tuple[int, int], ...]
    """Index of a place, and the number of pods there."""
    pending: int
    """Pods that no node has room for."""
    resource: str = GPU_RESOURCE
    """The resource that ``gpus`` counts."""
    unit: GpuUnit = "GPU"
    """The unit that ``gpus`` counts, in a word."""


class Queue(NamedTuple):
    """Where training jobs wait."""

    name: str
    """For Celery, the broker's queue; for Ray, the head that holds the tasks."""
    backend: str
    workload: str
    """The Deployment whose pods take jobs from it."""
    takes_new: bool
    """Whether new training requests go here."""


class Scene(NamedTuple):
    """A stack at one of the two commits."""

    queues: tuple[Queue, ...]
    workloads: tuple[Running, ...]


class Topology(NamedTuple):
    """A stack before and after, on the same nodes."""

    places: tuple[GpuPlace, ...]
    before: Scene | None
    """After the base's plan, None if there is none."""
    after: Scene | None


def topology(base: Planned, head: Planned) -> Topology | None:
    """The picture of a stack at two commits; None if neither could be planned."""
    state = head.state or base.state
    if state is None:
        return None
    before, after = (_asked(planned, state) for planned in (base, head))
    index = _index(state.nodes)
    scenes = (_scene(base, before, state, index), _scene(head, after, state, index))
    if scenes == (None, None):
        return None
    shown = {(one.wanted.namespace, one.wanted.owner) for one in (*before, *after)}
    return Topology(tuple(_places(state, index, shown)), *scenes)


def topology_to_json(picture: Topology | None) -> dict[str, Any] | None:
    """The picture as plain JSON values."""
    if picture is None:
        return None
    return {
        "places": [place._asdict() for place in picture.places],
        "before": _scene_to_json(picture.before),
        "after": _scene_to_json(picture.after),
    }


def _scene_to_json(scene: Scene | None) -> dict[str, Any] | None:
    if scene is None:
        return None
    return {
        "queues": [
            {"name": one.name, "backend": one.backend, "workload": one.workload, "takesNew": one.takes_new}
            for one in scene.queues
        ],
        "workloads": [{**one._asdict(), "on": [list(pair) for pair in one.on]} for one in scene.workloads],
    }


class _Shown(NamedTuple):
    """Identical pods in the picture."""

    name: str
    role: str
    most: int | None
    wanted: WantedPods


def _asked(planned: Planned, state: ClusterState) -> tuple[_Shown, ...]:
    """The platform's Deployments and everything else that the plan's targets run, after the plan."""
    if planned.plan is None or planned.stack is None:
        return ()
    targets = {target.key: target for target in planned.plan.targets if _has_pods(target.after.reveal())}
    gone = {target.key for target in planned.plan.targets if target.action == "delete"}
    known = by_object(workloads(planned.stack.config))
    bodies = {
        key.name: (key, body)
        for key, body in state.objects.reveal().items()
        if key.kind in WORKLOAD_KINDS
        and key.namespace == planned.plan.namespace
        and key.name in known
        and key not in gone
    }
    bodies |= {target.name: (key, target.after.reveal()) for key, target in targets.items()}
    limits = bounds(planned.plan.targets)
    return tuple(
        one
        for name in (*known, *sorted(bodies.keys() - known.keys()))
        if name in bodies
        for key, body in (bodies[name],)
        for one in _shown(key, name, known.get(name, ()), body=body, target=targets.get(key), limit=limits.get(name))
    )


def _has_pods(body: Mapping[str, Any]) -> bool:
    return any(pods_of(body, place).spec for place in pod_places(body))


def _shown(
    key: ObjectKey,
    name: str,
    those: tuple[Workload, ...],
    *,
    body: Mapping[str, Any],
    target: TargetPlan | None,
    limit: int | None,
) -> Iterator[_Shown]:
    """The pods that an object asks for: of a RayCluster, those of its head and of each worker group."""
    roles = {one.place: one.role for one in those}
    own = those[0].place if those else ONE_TEMPLATE if target is None else target.place
    if target is not None:
        roles.setdefault(own, target.role)
    before = body if target is None else target.before.reveal()
    for place, wanted in wanted_of(key, before, body, replaced=target is not None and target.replaces_pods > 0):
        yield _Shown(
            name=name if place == own else pods_words(name, place),
            role=roles.get(place, ""),
            most=(_most(target) if limit is None else limit) if place == own else None,
            wanted=wanted,
        )


def _most(target: TargetPlan | None) -> int | None:
    return None if target is None or target.replicas[1] is not None else most_replicas(target.after.reveal()) or 0


def _scene(
    planned: Planned,
    shown: tuple[_Shown, ...],
    state: ClusterState,
    index: Mapping[tuple[str, str], int],
) -> Scene | None:
    if planned.stack is None or planned.plan is None:
        return None
    first: dict[str, int] = {}
    for (node, _), place in index.items():
        first[node] = min(place, first.get(node, place))
    gone = (one for one in planned.plan.targets if one.action == "delete" and one.key.kind in WORKLOAD_KINDS)
    left = [wanted for one in gone for _, wanted in wanted_of(one.key, one.before.reveal(), None, replaced=False)]
    _, homes = placed(state, (*(one.wanted for one in shown), *left))
    running = []
    for one, nodes in zip(shown, homes[: len(shown)], strict=True):
        at: dict[int, int] = {}
        resource, each = _asks_for(one.wanted.pods)
        for node, count in nodes.items():
            if node not in first:
                continue
            # A pod without GPUs is somewhere on the node, as is one that runs on what the node no longer offers.
            place = index.get((node, resource), first[node]) if each else first[node]
            at[place] = at.get(place, 0) + count
        running.append(
            Running(
                name=one.name,
                role=one.role,
                pods=one.wanted.number,
                most=one.most,
                gpus=each,
                on=tuple(sorted(at.items())),
                pending=one.wanted.number - sum(at.values()),
                resource=resource,
                unit=_unit(resource),
            )
        )
    return Scene(tuple(_queues(planned.stack.config)), tuple(running))


def _queues(config: Config) -> Iterator[Queue]:
    for _, backend in sorted(BACKENDS.items()):
        if backend.worker in config.platform.without:
            continue
        active = backend.name == config.training
        yield Queue(backend.queue(config), backend.name, backend.target(config).name, active)


def _asks_for(pods: Pods) -> tuple[str, int]:
    """The resource of which a pod has GPUs, or slices, and how many; whole GPUs if it has both."""
    parts = sorted(name for name, amount in pods.requests.items() if is_slice(name) and amount)
    name = GPU_RESOURCE if pods.gpus or not parts else parts[0]
    return name, int(pods.requests.get(name, 0))


def _unit(resource: str, kind: str = "whole") -> GpuUnit:
    """The unit of a resource; for the name of whole GPUs, the node's ``kind`` (``hardware.nodes.Kind``) decides."""
    if resource.startswith(MIG_PREFIX) or (kind == "mig" and not is_slice(resource)):
        return "MIG slice"
    if is_slice(resource) or kind == "shared":
        return "share"
    return "fraction" if kind == "fraction" else "GPU"


class _Offer(NamedTuple):
    """The nodes' amount of one resource; nodes with GPUs come first, and identical offers are one place."""

    bare: bool
    product: str
    resource: str
    gpus: int
    cordoned: bool
    node: str
    """Empty if identical nodes are shown together."""
    unit: GpuUnit = "GPU"


def _offers(node: Node, several: bool) -> list[_Offer]:
    found = node_gpus(node)
    whole = int(node.allocatable.get(GPU_RESOURCE, 0))
    bare = _Offer(True, "", "", 0, not node.schedulable, "" if several else node.name)
    amounts = [*([(GPU_RESOURCE, whole)] if whole else []), *found.slices]
    return [
        bare._replace(
            bare=False, product=found.product, resource=resource, gpus=count, unit=_unit(resource, found.kind)
        )
        for resource, count in amounts
    ] or [bare]


def _index(nodes: tuple[Node, ...]) -> dict[tuple[str, str], int]:
    """The place of each node and resource; nodes with GPUs come first."""
    several = len(nodes) > MANY_NODES
    found = {(node.name, one.resource): one for node in nodes for one in _offers(node, several)}
    at = {offer: number for number, offer in enumerate(sorted(set(found.values())))}
    return {key: at[offer] for key, offer in found.items()}


def _places(
    state: ClusterState, index: Mapping[tuple[str, str], int], shown: Collection[tuple[str, str]]
) -> Iterator[GpuPlace]:
    """The places; ``shown`` are namespace and name of the owners of pods in the picture."""
    nodes = {node.name: node for node in state.nodes}
    names = {name for _, name in shown}
    held: dict[str, list[Mapping[str, Fraction]]] = {}
    for pod in state.pods:
        # Recordings of earlier versions do not have the namespace.
        if (pod.namespace, pod.owner) not in shown if pod.namespace else pod.owner not in names:
            held.setdefault(pod.node, []).append(pod.requests)
    members: dict[int, list[tuple[Node, str]]] = {}
    for (name, resource), at in index.items():
        members.setdefault(at, []).append((nodes[name], resource))
    for _, alike in sorted(members.items()):
        node, resource = alike[0]
        (offer,) = [one for one in _offers(node, False) if one.resource == resource]
        others = sum(requests.get(resource, 0) for one, _ in alike for requests in held.get(one.name, ()))
        name = node.name if len(alike) == 1 else f"{len(alike)} nodes"
        yield GpuPlace(
            name=name,
            nodes=len(alike),
            product=offer.product,
            gpus=offer.gpus * len(alike),
            others=int(others),
            cordoned=offer.cordoned,
            resource=resource,
            unit=offer.unit,
        )
