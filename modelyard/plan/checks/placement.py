"""Whether the pods of a plan have room: nodes that are not meant for other pods, and the quotas of their namespace.

Reads the objects as they will be after the apply, regardless of what sets their fields: the stack file, a patch, or the
platform. A Deployment whose pods a quota rejects is accepted and never becomes ready, so its step would wait until its
time limit.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from modelyard.findings import Finding, Severity
from modelyard.hardware import products
from modelyard.hardware.gpu_models import exact_name
from modelyard.hardware.nodes import node_gpus
from modelyard.hardware.partitions import CONFIG_LABEL
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.capacity import MANY, amount, by_node, left_of, may_be_added, obstacle, untolerated
from modelyard.kube.scheduling.pods import (
    ONE_TEMPLATE,
    RAY_CLUSTERS,
    Pods,
    limits_of,
    pod_places,
    pods_of,
    pods_words,
    replicas_of,
)
from modelyard.kube.scheduling.room import Room
from modelyard.kube.state import Node, Quota
from modelyard.names import GPU_RESOURCE, NODE_POOL_LABEL, PRESENT_LABEL, is_slice
from modelyard.plan.autoscaling import most_replicas
from modelyard.plan.compose import PERCENTAGE
from modelyard.plan.keda import bounds
from modelyard.plan.values import TargetPlan
from modelyard.stack.words import listed, plural
from modelyard.workloads import Workload
from modelyard.workloads.training import WORKER_ROLES

_CPU_ROLES = ("modelService", "rayHead")
_SHORT = ("cpu", "memory", "ephemeral-storage")
"""Resources whose requests a quota may also name without ``requests.``."""
_ZERO = Fraction(0)


def check_placement(
    targets: Iterable[TargetPlan],
    workloads: Mapping[str, tuple[Workload, ...]],
    room: Room,
    *,
    growth: Collection[Node],
    most: Mapping[str, int],
    unmade: Mapping[str, Finding],
) -> Iterator[Finding]:
    """Findings about the pods of every target.

    ``workloads`` are by name of their object. ``growth`` are the nodes of node pools, one of each kind, and ``most``
    are the GPU limits of the pools, by their names. ``unmade`` are the findings about partitions that no node has, by
    the partition's name: pods that need one have its remedy, and the others are reported as they are.
    """
    targets = tuple(targets)
    needed: set[str] = set()
    limits = bounds(targets)
    backends = tuple(name for name, those in workloads.items() if those[0].role in WORKER_ROLES)
    for target in targets:
        if target.key.kind not in WORKLOAD_KINDS:
            continue
        after = target.after.reveal()
        if target.upgrades:
            yield _upgrade(target, room)
        for place in pod_places(after):
            pods = pods_of(after, place)
            if target.dropped:
                # The stack does not decide the earlier state, but whether the rollout to it fits is checked.
                yield from _surge(target, pods, room)
                continue
            workload = next((one for one in workloads.get(target.name, ()) if one.place == place), None)
            trains = workload is not None and workload.role in WORKER_ROLES
            rivals = backends if trains else (target.name,)
            short = tuple(
                _room(
                    target,
                    place,
                    workload,
                    pods=pods,
                    rivals=rivals,
                    room=room,
                    limit=limits.get(target.name),
                    growth=growth,
                    most=most,
                )
            )
            partition = pods.selector.get(CONFIG_LABEL, "")
            if partition in unmade and any(finding.severity is not Severity.ADVICE for finding in short):
                needed.add(partition)
                cause = unmade[partition]
                why = f"{cause.summary}; {cause.detail}"
                short = tuple(finding._replace(detail=why, remedy=cause.remedy) for finding in short)
            yield from short
            yield from _surge(target, pods, room)
            if workload is not None:
                yield from _strays(target, workload, pods, room)
    yield from (finding for name, finding in unmade.items() if name not in needed)


def _room(
    target: TargetPlan,
    place: Path,
    workload: Workload | None,
    *,
    pods: Pods,
    rivals: Collection[str],
    room: Room,
    limit: int | None,
    growth: Collection[Node],
    most: Mapping[str, int],
) -> Iterator[Finding]:
    """Whether the nodes could hold the pods at all, before any of them or of the rival training backend is placed.

    ``limit`` is the most pods that KEDA may run; None if KEDA does not scale the target.
    """
    body = target.after.reveal()
    scaled = target.replicas[1] is None and place == target.place
    wanted = replicas_of(body, place) if not scaled else most_replicas(body) if limit is None else limit
    if not wanted:
        return
    can = room.holds(pods, rivals, wanted)
    if can >= wanted:
        return
    holding = [node for node in growth if _holds(node, pods)]
    left = left_of(most, room.nodes)
    adding = [node for node in holding if may_be_added(node, left)]
    short = _beyond(pods, wanted - can, holding, most, left)
    if not holding and workload is not None and (lacks := _lacking_gpus(target, workload, pods, room)) is not None:
        yield lacks._replace(severity=Severity.WARNING if scaled else Severity.ERROR)
        return
    field = f"{workload.role}.replicas" if workload is not None else f"{place}.replicas"
    whose = pods_words(target.name, place)
    yield Finding(
        "RES101",
        # An autoscaler may add nodes that do not exist yet.
        Severity.ADVICE if adding and not short else Severity.WARNING if scaled else Severity.ERROR,
        f"{whose} {'may scale to' if scaled else 'needs'} {plural(wanted, 'pod')}, but the nodes can hold {can}",
        target=target.name,
        field="autoscaling.maxReplicas" if scaled and workload is not None else field,
        detail=_by_node(pods, room, rivals),
        remedy=short
        or (
            f"no action needed: the node pool may add {adding[0].name}" if adding else _way_out(pods, room, can, scaled)
        ),
    )


def _lacking_gpus(target: TargetPlan, workload: Workload, pods: Pods, room: Room) -> Finding | None:
    """Returns the finding about GPUs of which no node has any, or enough; None if the nodes have such GPUs."""
    wanted = f"a pod of {target.name} needs {plural(pods.gpus, 'GPU')}"
    if not workload.products or pods.gpus != workload.gpus:
        return None  # A patch decides the GPUs, not the stack's section.
    every = [node_gpus(node) for node in room.nodes]
    asked = set(workload.products)
    ours = [one for one in every if one.product in asked or (one.gpu and asked.intersection(products(one.gpu)))]
    best = max(
        (one for one in ours or every if one.kind == "whole" and one.gpu),
        key=lambda one: (one.whole, one.product),
        default=None,
    )
    most = best.whole if best is not None else 0
    if ours and (not most or most >= pods.gpus):
        return None
    have = Counter((one.product or "an unknown GPU", one.whole, one.kind) for one in ours or every)
    detail = "; ".join(_gpus_of(*key, nodes=number) for key, number in sorted(have.items()) if key[2] != "none")
    more = len(workload.products) - 2
    names = listed((*workload.products[:2], *([f"one of {more} others"] if more > 0 else ())), "or")
    if ours:
        fitting = f"{most}{' or less' if most > 1 else ''}"
        return Finding(
            "RES101",
            Severity.ERROR,
            f"{wanted}, but no node with {names} has more than {most}",
            target=target.name,
            field="gpu.perWorker",
            detail=f"{detail}.",
            remedy=f"set gpu.perWorker to {fitting}, or add nodes with {pods.gpus} of these GPUs each",
        )
    add = f"add nodes with {names if len(workload.products) == 1 else 'one of these GPU models'}"
    if pods.gpus > 1:
        add += f", {pods.gpus} GPUs each"
    fewer = f" and gpu.perWorker to {most}" if most < pods.gpus else ""
    if best is not None and best.gpu is not None:
        add = f"set gpu.model to {exact_name(best.gpu)}{fewer}, or {add}"
    return Finding(
        "RES101",
        Severity.ERROR,
        f"{wanted}, but no node has {names}",
        target=target.name,
        field="gpu.model",
        detail=f"{detail}." if detail else "No node has a GPU.",
        remedy=add,
    )


def _gpus_of(product: str, whole: int, kind: str, *, nodes: int) -> str:
    each = f"{plural(whole, 'GPU')} each" if kind in ("whole", "unknown") else f"divided among pods ({kind})"
    return f"{plural(nodes, 'node')} with {product}, {each}"


def _beyond(
    pods: Pods, missing: int, holding: Collection[Node], most: Mapping[str, int], left: Mapping[str, int]
) -> str:
    """What to do if the limits of node pools leave no room for this many more pods; empty if they do.

    Only GPUs are counted, because the limits are GPU limits. ``holding`` are the nodes of the pools that hold a pod.
    """
    pools: dict[str, list[Node]] = {}
    for node in holding:
        if (pool := node.labels.get(NODE_POOL_LABEL, "")) in most:
            pools.setdefault(pool, []).append(node)
    if not pools or not pods.gpus:
        return ""
    have = []
    for pool, nodes in sorted(pools.items()):
        limit = f"{pool} may have {plural(most[pool], 'GPU')}"
        if any(may_be_added(node, left) for node in nodes):
            missing -= left[pool] // pods.gpus
        else:
            limit += f" (its smallest node has {min(node.allocatable[GPU_RESOURCE] for node in nodes)})"
        have.append(limit)
    if missing <= 0:
        return ""
    lead = f"node pool {' and '.join(have)}, and the pods need {plural(missing * pods.gpus, 'more GPU')}"
    return f"{lead}: raise the pool's gpus, or run fewer pods"


def _way_out(pods: Pods, room: Room, can: int, scaled: bool) -> str:
    missing = [
        f"{key}={value}"
        for key, value in pods.selector.items()
        if room.nodes and not any(node.labels.get(key) == value for node in room.nodes)
    ]
    if missing:
        return f"add nodes with {' and '.join(missing)}, which no node has, or label existing nodes"
    added = " (an autoscaler may add them)" if scaled else ""
    taints = sorted(set() if can else _in_the_way(pods, room))
    if taints:
        named = f"the taint {taints[0]}" if len(taints) == 1 else f"the taints {listed(taints)}"
        return f"let the pods tolerate {named}, or add nodes without {'it' if len(taints) == 1 else 'them'}{added}"
    less = "request less per pod, run fewer pods" if can else "reduce what a pod requests to what one node has"
    return f"{less}, or add nodes{added}"


def _in_the_way(pods: Pods, room: Room) -> set[str]:
    """The taints without which a node would take the pods, except those that keep pods without GPUs off GPU nodes."""
    if any(amount > room.largest.get(name, amount) for name, amount in pods.requests.items()):
        return set()
    tolerant = pods._replace(spec={**pods.spec, "tolerations": [{"operator": "Exists"}]})
    found: set[str] = set()
    for node in room.nodes:
        keys = {*untolerated(pods, node)} - found
        if keys and _holds(node, tolerant):
            found |= keys
    return found if pods.gpus else {key for key in found if key != GPU_RESOURCE}


def _holds(node: Node, pods: Pods) -> bool:
    """Whether an empty node takes one pod. A pod may request a resource that the node is not known to have, except
    slices: a node has slices only after it is divided, and no autoscaler adds a node for a resource that no machine
    type has.
    """
    fits = all(
        amount <= node.allocatable.get(name, Fraction(0) if is_slice(name) else amount)
        for name, amount in pods.requests.items()
    )
    return fits and not obstacle(pods, node)


def _by_node(pods: Pods, room: Room, without: Collection[str] = ()) -> str:
    return by_node(room.limits(pods, without)) or "the cluster has no nodes"


def _surge(target: TargetPlan, pods: Pods, room: Room) -> Iterator[Finding]:
    """Whether a rollout that may stop no old pod has room for an additional new pod."""
    if not target.replaces_pods or _may_stop(target.after.reveal()):
        return
    if room.holds(pods, upto=1):
        return
    yield Finding(
        "RES104",
        Severity.WARNING,
        f"the rollout of {target.name} adds a pod first, but no node has room for it",
        target=target.name,
        field="spec.strategy.rollingUpdate",
        detail=_by_node(pods, room),
        remedy="free space on a node, or let the rollout stop a pod first (maxSurge: 0, maxUnavailable: 1)",
    )


def second_cluster(target: TargetPlan) -> str:
    """The pods of the RayCluster that the upgrade of a RayService starts, in words: ``4 pods with 1 GPU``."""
    body, gpus = target.after.reveal(), target.gpus[1]
    number = plural(sum(replicas_of(body, place) or 0 for place in pod_places(body)), "pod")
    return f"{number} with {plural(gpus, 'GPU')}" if gpus else number


def _upgrade(target: TargetPlan, room: Room) -> Finding:
    """The finding about the pods of a RayService that double during its upgrade, a warning if they have no room."""
    body = target.after.reveal()
    asked = ((place, pods_of(body, place), replicas_of(body, place) or 0) for place in pod_places(body))
    short = [(place, pods) for place, pods, wanted in asked if room.holds(pods, upto=wanted) < wanted]
    lacks = " and ".join(pods_words(target.name, place) for place, _ in short)
    return Finding(
        "RES112",
        Severity.WARNING if short else Severity.ADVICE,
        f"the upgrade of {target.name} starts {second_cluster(target)} beside the running ones"
        + (f", but the nodes have no room for {lacks}" if short else ""),
        target=target.name,
        field="spec.upgradeStrategy.type",
        detail=_by_node(short[0][1], room)
        if short
        else "KubeRay stops the old RayCluster once the new one serves; until then both hold their nodes",
        remedy="add nodes (an autoscaler may add them), or stop other pods: until all of these run, the old ones serve"
        if short
        else "no action needed",
    )


def _may_stop(body: Mapping[str, Any]) -> bool:
    """Whether the rollout may stop an old pod before a new one is ready; StatefulSets and RayClusters always may.

    A RayService never does, and has its own finding.
    """
    spec = body.get("spec") or {}
    if body.get("kind") in ("StatefulSet", *RAY_CLUSTERS):
        return True
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return True
    rolling = strategy.get("rollingUpdate") or {}
    replicas = int(spec.get("replicas", 1))
    most = rolling.get("maxUnavailable", "25%")
    # Text that is no percentage has a finding of the patch that sets it; the API server rejects it.
    share = int(most[:-1]) if isinstance(most, str) and PERCENTAGE.fullmatch(most) else 0
    stopped = replicas * share // 100 if isinstance(most, str) else int(most)
    # The API's own rule: both rounded to 0 would never roll out, so one pod may be stopped.
    return stopped > 0 or rolling.get("maxSurge", "25%") in (0, "0", "0%")


def _strays(target: TargetPlan, workload: Workload, pods: Pods, room: Room) -> Iterator[Finding]:
    """The finding about nodes that would take the pods although they are meant for other pods."""
    wrong: dict[str, list[str]] = {}
    for node in room.open_to(pods):
        if words := _wrong_gpu(workload, node) if pods.gpus else _wrong_cpu(workload, node):
            wrong.setdefault(words, []).append(node.name)
    if not wrong:
        return
    yield Finding(
        "RES103",
        Severity.ERROR,
        f"pods of {target.name} may land on {plural(sum(map(len, wrong.values())), 'node')} not meant for them",
        target=target.name,
        field=f"{workload.place}.template.spec.affinity",
        detail=by_node(wrong),
        remedy=f"keep the node affinity that the patch of {workload.role} sets, or cordon or relabel these nodes",
    )


def _wrong_gpu(workload: Workload, node: Node) -> str:
    if workload.role not in WORKER_ROLES:
        return ""
    found = node_gpus(node)
    if found.kind in ("none", "unknown"):
        return ""
    if found.kind != "whole":
        return f"has {found.product or 'GPUs'}, divided among pods ({found.kind})"
    return f"has {found.product}" if workload.products and found.product not in workload.products else ""


def _wrong_cpu(workload: Workload, node: Node) -> str:
    return "is a GPU node" if workload.role in _CPU_ROLES and PRESENT_LABEL in node.labels else ""


def check_quotas(targets: Iterable[TargetPlan], quotas: Iterable[Quota]) -> Iterator[Finding]:
    """Findings where the pods of all targets together exceed what a quota has left, in any order of changes.

    Replicas that an autoscaler sets count as they are now.
    """
    known = [(target, growth(target)) for target in targets if target.action != "none"]
    for quota in quotas:
        theirs = [(target, growth) for target, growth in known if target.key.namespace == quota.namespace]
        for name, hard in quota.hard.items():
            most, largest = max(((growth.get(name, _ZERO), one) for one, growth in theirs), default=(_ZERO, None))
            more = sum((growth.get(name, _ZERO) for _, growth in theirs), _ZERO)
            used = quota.used.get(name, _ZERO)
            if largest is not None and most > 0 and more > 0 and used + more > hard:
                resource = name.removeprefix("requests.").removeprefix("limits.")
                amounts = (amount(resource, value) for value in (more, hard - used, hard))
                yield Finding(
                    "RES108",
                    Severity.ERROR,
                    "quota {} is too small for the pods of this plan: they need {} more {}, and {} of {} are "
                    "left".format(quota.name, next(amounts), name, *amounts),
                    target=largest.name,
                    detail=f"the API server would reject pods of {largest.name}, which would never become ready",
                    remedy=f"request less, or ask for a larger quota: kubectl --namespace {quota.namespace} "
                    f"describe quota {quota.name}",
                )


def pods_within(body: Mapping[str, Any], place: Path, namespace: str, quotas: Iterable[Quota]) -> int:
    """How many more pods of an object's workload the quotas of its namespace allow now."""
    charges = charged(body, place)
    counts = [
        (quota.hard[name] - quota.used.get(name, _ZERO)) // charge
        for quota in quotas
        if quota.namespace == namespace
        for name, charge in charges.items()
        if charge and name in quota.hard
    ]
    return max(0, min((int(count) for count in counts), default=MANY))


def charged(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> dict[str, Fraction]:
    """What a quota counts for one pod that an object has at a place, by the names that a quota may use."""
    pods = pods_of(body, place)
    if not pods.spec:
        return {}
    return {
        "pods": Fraction(1),
        "count/pods": Fraction(1),
        **{name: value for name, value in pods.requests.items() if name in _SHORT},
        **{f"requests.{name}": value for name, value in pods.requests.items()},
        **{f"limits.{name}": value for name, value in limits_of(pods.spec).items()},
    }


def growth(target: TargetPlan) -> dict[str, Fraction]:
    """How much more a target's pods request than before; less is negative.

    While a RayService is upgraded, its old pods still run.
    """
    before, after = target.before.reveal(), target.after.reveal()
    total: dict[str, Fraction] = {}
    for place in dict.fromkeys((*pod_places(before), *pod_places(after))):
        running, wanted = replicas_of(before, place), replicas_of(after, place)
        if place == target.place and target.replicas[1] is None:
            wanted = running
        for sign, body, number in ((0 if target.upgrades else -1, before, running), (1, after, wanted)):
            for name, value in charged(body, place).items():
                total[name] = total.get(name, _ZERO) + sign * value * (number or 0)
    return total
