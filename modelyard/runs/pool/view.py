"""The pool at one moment: taken, free, idle and queued GPUs, by product, node, owner and queue."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, NamedTuple

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.kube.scheduling.capacity import obstacle
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import Node, node_of
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL, REPLICAS_LABEL
from modelyard.runs.pool.dispatch import asked_of, taken_in
from modelyard.runs.pool.kueue import Queues, Work, reason_of
from modelyard.runs.pool.objects import asks_for, condition, gpus_of, is_true, spec_of, status_of
from modelyard.runs.pool.owners import owner_of_pod, owner_of_work
from modelyard.runs.pool.usage import PodUsage, Usage
from modelyard.runs.pool.values import Idle, NodeState, NodeUse, PodOwner, ProductUse, QueueUse, Taker, Waiter
from modelyard.runs.pool.words import moment
from modelyard.stack.config import Config

_KUEUE_GATE = "kueue.x-k8s.io/"
_MIG = "-MIG-"
"""Part of the product label of nodes whose GPUs are all divided into slices of one profile that are named like whole
GPUs."""


class PoolView(NamedTuple):
    """The pool, sorted in every part."""

    products: tuple[ProductUse, ...]
    nodes: tuple[NodeUse, ...]
    """The nodes with GPUs, once for each of their resources."""
    takers: tuple[Taker, ...]
    waiters: tuple[Waiter, ...]
    queued: int
    """GPUs that all waiting runs and pods request."""
    queues: tuple[QueueUse, ...]
    """The queues with a quota of GPUs."""
    kueue: bool
    """Whether the cluster has Kueue."""
    unread: tuple[str, ...]
    """Lists that these credentials may not read."""

    def of_team(self, team: str) -> "PoolView":
        """The view of one team: what it has and waits for, and its nodes; the products are unchanged."""
        return self._replace(
            nodes=tuple(one for one in self.nodes if any(owner.team == team for owner in one.owners)),
            takers=tuple(one for one in self.takers if one.owner.team == team),
            waiters=tuple(one for one in self.waiters if one.owner.team == team),
            queues=tuple(one for one in self.queues if team in (one.team, one.name)),
        )

    def of_node(self, name: str) -> "PoolView":
        """The view of one node and its pods; the products are unchanged."""
        return self._replace(
            nodes=tuple(one for one in self.nodes if one.name == name),
            takers=tuple(one for one in self.takers if name in one.nodes),
            waiters=(),
            queues=(),
        )

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams that have something, wait for something, or have a quota."""
        owners = (*(one.owner for one in self.takers), *(one.owner for one in self.waiters))
        named = {owner.team for owner in owners if owner.team is not None}
        return tuple(sorted(named | {one.team or one.name for one in self.queues}))


class _Held(NamedTuple):
    """The GPUs of one resource that one pod has."""

    owner: PodOwner
    node: str
    resource: str
    gpus: int
    idle: Idle
    since: str


def pool_view(objects: PoolObjects, config: Config, usage: Usage | None, now: datetime) -> PoolView:
    """The view of the pool.

    Args:
        objects: from the API server.
        config: the stack's config, which names the teams.
        usage: use of the GPUs; None: not requested.
        now: the present, with a time zone.
    """
    queues = Queues(objects, config)
    nodes = [node_of(body) for body in objects.nodes]
    ready = {str(body["metadata"]["name"]): is_true(body, "Ready") for body in objects.nodes}
    shared = {node.name for node in nodes if _is_shared(node)}
    held = [
        one
        for pod in objects.pods
        if spec_of(pod).get("nodeName")
        for one in _held(pod, queues, None if pod["spec"]["nodeName"] in shared else usage, now)
    ]
    uses = _node_uses(nodes, ready, held)
    waiters = tuple(_waiters(objects.pods, queues, config))
    return PoolView(
        products=_products(uses, _queued(objects, queues, nodes)),
        nodes=uses,
        takers=_takers(
            held, {node.name: node.labels.get(PRODUCT_LABEL, "") for node in nodes}, _on_worker_clusters(queues, config)
        ),
        waiters=waiters,
        queued=sum(one.total for one in waiters),
        queues=tuple(use for use in map(queues.use, sorted(queues.bodies)) if use.quotas),
        kueue=objects.kueue,
        unread=objects.unread,
    )


def _held(pod: Mapping[str, Any], queues: Queues, usage: Usage | None, now: datetime) -> list[_Held]:
    gpus = asks_for(pod["spec"])
    if not gpus:
        return []
    metadata = pod["metadata"]
    owner = owner_of_pod(pod, queues)
    since = str(status_of(pod).get("startTime") or metadata.get("creationTimestamp") or "")
    known = None
    if usage is not None and _long_there(since, usage.minutes, now):
        known = usage.pods.get((str(metadata.get("namespace") or ""), str(metadata["name"])))
    return [
        _Held(
            owner=owner,
            node=pod["spec"]["nodeName"],
            resource=resource,
            gpus=count,
            idle=_idle(resource, count, known),
            since=since,
        )
        for resource, count in gpus.items()
    ]


def _is_shared(node: Node) -> bool:
    """Whether ``nvidia.com/gpu`` is a share on a node, so that the metrics of a GPU cover several pods."""
    shares = node.labels.get(REPLICAS_LABEL, "1") not in ("0", "1")
    return shares or node.labels.get(PRODUCT_LABEL, "").endswith("-SHARED")


def _long_there(since: str, minutes: int, now: datetime) -> bool:
    """Whether a pod existed for the whole time range: a pod that has just started is not idle."""
    began = moment(since)
    return began is not None and now - began >= timedelta(minutes=minutes)


def _idle(resource: str, count: int, known: PodUsage | None) -> Idle:
    # The exporter measures whole GPUs: a slice, or a GPU that several pods share, has no value of its own.
    if known is None or resource != GPU_RESOURCE:
        return Idle(0, count)
    measured = min(known.gpus, count)
    return Idle(min(known.idle, count), count - measured, known.load * measured / known.gpus if known.gpus else 0.0)


def _node_uses(nodes: Iterable[Node], ready: Mapping[str, bool], held: Iterable[_Held]) -> tuple[NodeUse, ...]:
    there: dict[str, dict[str, list[_Held]]] = {}
    for one in held:
        there.setdefault(one.node, {}).setdefault(one.resource, []).append(one)
    found = []
    for node in nodes:
        offered = gpus_of(node.allocatable)
        here = there.get(node.name, {})
        state: NodeState = "ready" if node.schedulable else "cordoned"
        if not ready.get(node.name, False):
            state = "not ready"
        # Pods may still hold what their node no longer offers.
        for resource in sorted({*offered, *here}):
            ours = here.get(resource, [])
            found.append(
                NodeUse(
                    name=node.name,
                    product=node.labels.get(PRODUCT_LABEL, ""),
                    resource=resource,
                    state=state,
                    gpus=offered.get(resource, 0),
                    taken=sum(one.gpus for one in ours),
                    idle=_together(one.idle for one in ours),
                    owners=tuple(sorted({one.owner for one in ours}, key=_by_name)),
                    slices=resource != GPU_RESOURCE or _is_shared(node) or _MIG in node.labels.get(PRODUCT_LABEL, ""),
                )
            )
    return tuple(sorted(found, key=lambda use: (use.name, use.resource)))


def _products(uses: Iterable[NodeUse], queued: Mapping[tuple[str, str], int]) -> tuple[ProductUse, ...]:
    groups: dict[tuple[str, str], list[NodeUse]] = {}
    for use in uses:
        groups.setdefault((use.product, use.resource), []).append(use)
    return tuple(
        ProductUse(
            product=product,
            resource=resource,
            nodes=len(ours),
            gpus=sum(use.gpus for use in ours),
            taken=sum(use.taken for use in ours),
            free=sum(use.free for use in ours),
            closed=sum(max(0, use.gpus - use.taken) - use.free for use in ours),
            idle=_together(use.idle for use in ours),
            queued=queued.get((product, resource), 0),
            slices=all(use.slices for use in ours),
        )
        for (product, resource), ours in sorted(groups.items())
    )


def _on_worker_clusters(queues: Queues, config: Config) -> list[Taker]:
    """The owners of pods in worker clusters: Kueue reports where, and how many GPUs they have."""
    return [
        Taker(
            owner=owner_of_work(work, queues),
            product="",
            resource=resource,
            gpus=gpus,
            idle=Idle(0, gpus),
            pods=sum(int(part.get("count", 0)) for part in work.parts if resource in part.get("resourceUsage", ())),
            nodes=(),
            since=str(condition(work.body, "Admitted").get("lastTransitionTime") or ""),
            cluster=cluster,
        )
        for work in queues.works
        if work.admitted and not work.over and (cluster := taken_in(work, config)) is not None
        for resource, gpus in work.gpus
    ]


def _takers(held: Iterable[_Held], products: Mapping[str, str], dispatched: Iterable[Taker]) -> tuple[Taker, ...]:
    """The owners of GPUs, each team's largest first."""
    groups: dict[tuple[PodOwner, str, str], list[_Held]] = {}
    for one in held:
        groups.setdefault((one.owner, products.get(one.node, ""), one.resource), []).append(one)
    takers = [
        Taker(
            owner=owner,
            product=product,
            resource=resource,
            gpus=sum(one.gpus for one in ours),
            idle=_together(one.idle for one in ours),
            pods=len(ours),
            nodes=tuple(sorted({one.node for one in ours})),
            since=min((one.since for one in ours if one.since), default=""),
        )
        for (owner, product, resource), ours in groups.items()
    ]
    return tuple(
        sorted(
            (*takers, *dispatched),
            key=lambda one: (one.owner.team or "~", -one.gpus, _by_name(one.owner), one.product, one.resource),
        )
    )


def _waiters(pods: Iterable[Mapping[str, Any]], queues: Queues, config: Config) -> Iterable[Waiter]:
    """What waits for quota, queue by queue in its order; then what waits for an admission check; then for a node."""
    places = {(work.namespace, work.name): place for work, place in queues.places()}
    waiting = [work for work in queues.works if work.gpus and not (work.reserved or work.over)]
    for work in sorted(waiting, key=lambda one: (one.queue or "", places.get((one.namespace, one.name), 0), one.name)):
        yield Waiter(
            owner=owner_of_work(work, queues),
            queue=work.queue,
            place=places.get((work.namespace, work.name)),
            on="quota",
            gpus=work.gpus,
            since=work.since,
            reason=reason_of(work),
        )
    for work in sorted(queues.works, key=lambda one: (one.queue or "", one.order, one.name)):
        if work.gpus and work.reserved and not (work.admitted or work.over):
            owner, clusters = owner_of_work(work, queues), asked_of(work, config)
            words = "; ".join(_pending(work)) + (f"; {', '.join(clusters)} asked" if clusters else "")
            yield Waiter(
                owner=owner, queue=work.queue, place=None, on="check", gpus=work.gpus, since=work.since, reason=words
            )
    groups: dict[PodOwner, list[Mapping[str, Any]]] = {}
    for pod in pods:
        if _looks_for_a_node(pod) and asks_for(pod["spec"]):
            groups.setdefault(owner_of_pod(pod, queues), []).append(pod)
    for owner in sorted(groups, key=_by_name):
        total = Counter[str]()
        for pod in groups[owner]:
            total.update(asks_for(pod["spec"]))
        since = min(str(pod["metadata"].get("creationTimestamp") or "") for pod in groups[owner])
        words = str(condition(groups[owner][0], "PodScheduled").get("message") or "")
        yield Waiter(
            owner=owner, queue=None, place=None, on="node", gpus=tuple(sorted(total.items())), since=since, reason=words
        )


def _pending(work: Work) -> Iterable[str]:
    """The admission checks that a Workload has not passed, each with Kueue's message."""
    for check in status_of(work.body).get("admissionChecks") or ():
        if check.get("state") != "Ready":
            yield str(check["name"]) + (f": {check['message']}" if check.get("message") else "")


def _looks_for_a_node(pod: Mapping[str, Any]) -> bool:
    """Whether a scheduler looks for a node for a pod; a pod that Kueue holds back counts with its workload."""
    spec = spec_of(pod)
    gated = any(str(gate.get("name", "")).startswith(_KUEUE_GATE) for gate in spec.get("schedulingGates") or ())
    return not spec.get("nodeName") and not gated and "deletionTimestamp" not in pod["metadata"]


def _queued(objects: PoolObjects, queues: Queues, nodes: Iterable[Node]) -> Mapping[tuple[str, str], int]:
    """GPUs that waiting runs and pods request, by the products that can meet the request."""
    kinds: dict[str, Node] = {}
    for node in nodes:
        if gpus_of(node.allocatable):
            kinds.setdefault(node.labels.get(PRODUCT_LABEL, ""), node)
    found = Counter[tuple[str, str]]()

    def count(gpus: Mapping[str, int], specs: list[Mapping[str, Any]]) -> None:
        for product, node in kinds.items():
            if any(not obstacle(Pods(spec, {}, 0), node._replace(taints=(), schedulable=True)) for spec in specs):
                for resource, number in gpus.items():
                    found[product, resource] += number

    for work in queues.works:
        if work.gpus and not (work.reserved or work.over):
            for pods in work.pod_sets:
                gpus = {name: one * pods.number for name, one in asks_for(pods.spec).items()}
                count(gpus, queues.with_flavors(pods.spec, work))
    for pod in objects.pods:
        if _looks_for_a_node(pod):
            count(asks_for(pod["spec"]), [pod["spec"]])
    return found


def _together(parts: Iterable[Idle]) -> Idle:
    return reduce(Idle.and_, parts, Idle())


def _by_name(owner: PodOwner) -> tuple[str, str]:
    return owner.namespace, owner.name
