"""Prices the plans of a project: the single entry for reports and policies.

A pod costs the share of a node that it keeps others from using, at the node's price. On a machine with GPUs, a pod pays
for the GPUs that it holds, with the rest of the machine included. A pod with slices pays for its part of the machine's
slices. On a machine without GPUs, it pays for the larger of its shares of CPU and memory. Shares are of the node's
allocatable resources, as the scheduler counts: pods that fill a node pay for the whole machine.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.findings import Finding
from modelyard.hardware import resolve
from modelyard.hardware.own import of_project
from modelyard.hardware.partitions import resource_compute
from modelyard.kube import merge
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.capacity import gate, label_keys, obstacle
from modelyard.kube.scheduling.pods import Pods, pod_places, pod_spec, pods_of, replicas_of
from modelyard.kube.state import ClusterState, Node
from modelyard.names import GPU_RESOURCE, PRESENT_LABEL, PRODUCT_LABEL, is_slice
from modelyard.plan.autoscaling import most_replicas, wakes
from modelyard.plan.cost.prices import LIST, Prices, cpu_price, gpu_price
from modelyard.plan.cost.values import Count, JobsOnly, Money, Price, StackCost, TargetCost, stack_cost, sum_of
from modelyard.plan.keda import scalings
from modelyard.plan.project import UNFIT, Planned, named_prices, recorded_damage
from modelyard.plan.values import Plan, TargetPlan
from modelyard.stack import Stack
from modelyard.workloads.facts.remote import remote_clusters

_FREE = Money(Fraction(0), Fraction(0))


@of_project
def priced(root: Path, planned: Planned, earlier: Prices | None = None) -> Planned:
    """The plan with its cost in all of its clusters.

    A stack that could not be planned, or whose price file has errors, is returned unchanged. ``earlier`` are the
    earlier prices, if they change with the plan.
    """
    if planned.stack is None or planned.plan is None or planned.state is None:
        return planned
    prices = prices_in(planned)
    if prices is None:
        return planned
    try:
        costs = {plan.remote: cost_of(plan, state, prices, earlier).targets for plan, state in planned.clusters}
    except UNFIT:
        if not (damage := recorded_damage(root, planned.stack, planned.remotes)):
            raise
        return planned._replace(plan=None, reasons=damage)
    idle = _jobs_only(planned.stack, [name for name, targets in costs.items() if not targets])
    return planned._replace(plan=planned.plan._replace(cost=stack_cost(chain.from_iterable(costs.values()), idle)))


def _jobs_only(stack: Stack, names: Collection[str]) -> Iterator[JobsOnly]:
    """The stack's remote clusters, by name, that run only jobs."""
    for remote in remote_clusters(stack.config):
        if remote.name in names:
            quotas = [one.remote.cluster.quota for one in remote.resources if one.remote and one.remote.cluster]
            limits = [quota.gpus for quota in quotas if quota is not None]
            yield JobsOnly(remote.name, sum(limits) if len(limits) == len(quotas) else None)


def prices_in(planned: Planned) -> Prices | None:
    """The prices that a stack was planned with; None if it has no plan, or its price file has errors."""
    lists = planned.stack is not None and planned.stack.config.prices is None
    return LIST if lists else planned.prices


@of_project
def prices_of(root: Path, stack: Stack) -> tuple[Prices | None, tuple[Finding, ...]]:
    """The prices of a stack, with all findings about its price file; no prices if a finding is an error.

    A stack that names no file uses only list prices.
    """
    return (LIST, ()) if stack.config.prices is None else named_prices(root, stack)


class Load(NamedTuple):
    """The pods of one target, before or after a plan."""

    pods: Count | None
    """The number of pods; None if the number that may run is unknown."""
    asks: tuple[Fraction, ...]
    """The requests of one pod that it pays for."""
    places: tuple[str, ...]
    """Names of the nodes that may hold a pod, sorted."""
    each: Mapping[str, Fraction] | None
    """USD per hour of one pod, by node; None if a node has no price, or there is no node."""


def usd(load: Load) -> Money | None:
    """What the pods cost: from the fewest on the cheapest node to the most on the dearest.

    Zero pods cost nothing, even if the price of a pod is unknown.
    """
    if load.pods is None:
        return None
    if not load.pods.high:
        return _FREE
    if not load.each:
        return None
    return Money(load.pods.low * min(load.each.values()), load.pods.high * max(load.each.values()))


def delta(before: Load, after: Load) -> Money | None:
    """What the plan adds or saves; None where unknown.

    The result is not every amount after minus every amount before, which would show differences that the plan does not
    cause. What the plan does not decide is the same before and after:

    - where a pod runs, if the same nodes may hold it: each node's price is compared with itself;
    - how many pods an autoscaler runs, if its bounds are the same; if not, both amounts meet the same demand within
      their own bounds.

    An unchanged target therefore has a delta of exactly zero, even if its cost is unknown, and one more pod adds the
    cost of one pod. If different nodes may hold the pods than before, the plan decides where they run, and any node
    before is compared with any node after.
    """
    if before.pods is None or after.pods is None:
        return None
    if before == after:
        return _FREE
    pairs = tuple(_pairs(before, after))
    if not pairs:
        return None
    amounts = [
        _answer(demand, after.pods) * then - _answer(demand, before.pods) * now
        for demand in {*before.pods, *after.pods}
        for now, then in pairs
    ]
    return Money(min(amounts), max(amounts))


def _pairs(before: Load, after: Load) -> Iterator[tuple[Fraction, Fraction]]:
    """What one pod may cost before and after; nothing if pods before or after have no price."""
    now, then = _each(before), _each(after)
    if not now or not then:
        return
    if now.keys() == then.keys():
        yield from ((now[place], then[place]) for place in now)
        return
    # The extremes are enough: an amount is linear in each price.
    yield from ((one, other) for one in _ends(now) for other in _ends(then))


def _each(load: Load) -> Mapping[str, Fraction]:
    if load.pods is not None and not load.pods.high:
        return {"": Fraction(0)}
    return load.each or {}


def _ends(each: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    return min(each.values()), max(each.values())


def _answer(demand: int, bounds: Count) -> int:
    """The number of pods that run for this demand."""
    return min(max(demand, bounds.low), bounds.high)


_REPLICATED = (*WORKLOAD_KINDS, "ReplicaSet")
"""Kinds that set a number of pods; it is 1 if the field is not set."""
_NAME = "metadata.name"
_NOBODY = Count(0, 0)
_ZERO = Fraction(0)


def cost_of(plan: Plan, state: ClusterState, prices: Prices = LIST, earlier: Prices | None = None) -> StackCost:
    """What the targets of a plan cost in the plan's own cluster, before and after the plan, and the difference.

    Pods may run on the nodes of ``state``, the starting state. ``prices`` are the project's own, which override list
    prices, and ``earlier`` its earlier ones, if they change with the plan.
    """
    before = prices if earlier is None else earlier
    limits = {
        one.scaled.name: tuple(map(_range, one.least, one.most))
        for one in scalings(plan.targets).values()
        if one.scaled is not None
    }
    nodes = _kinds(plan, state.nodes, (before, prices))
    then = _Offers(nodes, prices)
    now = then if earlier is None else _Offers(nodes, before)
    return stack_cost(
        cost for target in plan.targets for cost in _target(target, limits.get(target.name, (None, None)), now, then)
    )


def _kinds(plan: Plan, nodes: Iterable[Node], tables: Iterable[Prices]) -> tuple[Node, ...]:
    """The first node of each kind; nodes that neither prices nor the plan's pods distinguish are of one kind."""
    bodies = (body.reveal() for target in plan.targets for body in (target.before, target.after))
    keys = {key for body in bodies for key in _named_by(body)}
    if _NAME in keys:
        return tuple(nodes)
    first: dict[Any, Node] = {}
    for node in nodes:
        worth = [price(node, prices)[0] for prices in tables for price in (gpu_price, cpu_price)]
        size = tuple(sorted(node.allocatable.items()))
        kind = (gate(node), size, _has_gpus(node), *worth, *map(node.labels.get, sorted(keys)))
        first.setdefault(kind, node)
    return tuple(first.values())


def _named_by(body: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The keys by which an object's pods distinguish nodes: labels, or the nodes' names."""
    found = [label_keys(pods_of(body, place)) for place in pod_places(body)]
    return tuple(key for keys in found for key in ((_NAME,) if keys is None else keys))


def _target(
    target: TargetPlan, limits: Sequence[Count | None], before: "_Offers", after: "_Offers"
) -> Iterator[TargetCost]:
    """The cost of a target; nothing for an object without pods; ``limits`` are KEDA's, before and after."""
    was, will = target.before.reveal(), target.after.reveal()
    places = dict.fromkeys((*pod_places(was), *pod_places(will)))
    parts = [
        _part(target, place, limits if place == target.place else (None, None), before, after)
        for place in places
        if pod_spec(will, place) or pod_spec(was, place)
    ]
    if parts:
        yield sum_of(parts)


def _part(
    target: TargetPlan, place: merge.Path, limits: Sequence[Count | None], before: "_Offers", after: "_Offers"
) -> TargetCost:
    """The cost of the pods that a target has at one place."""
    was, will = target.before.reveal(), target.after.reveal()
    now = _moment(was, place, _count_before(was, place, limits[0]), before)
    then = _moment(will, place, _count_after(target, place, limits[1]), after)
    return TargetCost(
        kind=target.key.kind,
        name=target.name,
        pods=(now.load.pods, then.load.pods),
        gpus=(now.gpus, then.gpus),
        usd=(usd(now.load), usd(then.load)),
        delta=delta(now.load, then.load),
        prices=tuple(sorted({*now.prices, *then.prices})),
        unknown=then.unknown or now.unknown,
    )


def _range(least: int | None, most: int | None) -> Count | None:
    return None if least is None or most is None else Count(least, most)


def _count_before(body: dict[str, Any] | None, place: merge.Path, limit: Count | None) -> Count | None:
    if body is None:
        return _NOBODY
    return _count(body, place, wakes(body)) if limit is None else limit


def _count_after(target: TargetPlan, place: merge.Path, limit: Count | None) -> Count | None:
    body = target.after.reveal()
    if not body:
        return _NOBODY
    if limit is not None:
        return limit
    left = place == target.place and target.replicas[1] is None and replicas_of(body, place) is not None
    ours = "replicas" in (target.applied.reveal().get("spec") or {})
    return _count(body, place, left or (wakes(body) and not ours))


def _count(body: Mapping[str, Any], place: merge.Path, scaled: bool) -> Count | None:
    """The number of pods; with an autoscaler, from 0 to the most pods that it may run."""
    if scaled:
        most = most_replicas(body)
        return None if most is None else Count(0, most)
    if body.get("kind") not in _REPLICATED:
        return None
    replicas = replicas_of(body, place)
    return Count(1, 1) if replicas is None else Count(replicas, replicas)


def _times(count: Count | None, gpus: int) -> Count | None:
    if not gpus:
        return _NOBODY
    return None if count is None else Count(count.low * gpus, count.high * gpus)


class _Moment(NamedTuple):
    """A target before or after the plan."""

    load: Load
    gpus: Count | None
    prices: tuple[Price, ...] = ()
    unknown: str = ""


class _Offer(NamedTuple):
    """The cost of one pod, by the node on which it may run."""

    places: tuple[str, ...] = ()
    each: Mapping[str, Fraction] | None = None
    used: tuple[Price, ...] = ()
    unknown: str = ""


class _Offers:
    """The nodes on which pods may run, with the cost of a pod on each; pods with equal requests are computed once."""

    def __init__(self, nodes: Iterable[Node], prices: Prices) -> None:
        self._nodes, self._prices = tuple(nodes), prices
        self._meant: dict[Any, tuple[Node, ...]] = {}
        self._offers: dict[Any, _Offer] = {}

    def of(self, pods: Pods) -> _Offer:
        """What one of the pods costs."""
        rules = (pods.rules, _held(pods) > 0)
        key = (rules, tuple(pods.requests.items()))
        if key not in self._offers:
            if rules not in self._meant:
                self._meant[rules] = tuple(node for node in self._nodes if _is_meant(node, pods))
            self._offers[key] = _offer(pods, [node for node in self._meant[rules] if _fits(node, pods)], self._prices)
        return self._offers[key]


def _moment(body: Mapping[str, Any] | None, place: merge.Path, count: Count | None, offers: _Offers) -> _Moment:
    """The pods of an object, with the cost of one pod by the node on which it may run."""
    if count == _NOBODY:
        return _Moment(Load(count, (), (), None), count)
    pods = pods_of(body, place)
    gpus = _times(count, pods.gpus)
    held = _held(pods)
    asks = (held,) if held else (_asked(pods, "cpu"), _asked(pods, "memory"))
    if not any(asks):
        return _Moment(Load(count, asks, (), None), gpus, (), "its pods request no GPU, CPU or memory")
    offer = offers.of(pods)
    why = offer.unknown
    if count is None and (offer.each or not offer.places):
        why = "the number of its pods is unknown"
    return _Moment(Load(count, asks, offer.places, offer.each), gpus, offer.used, why)


def _offer(pods: Pods, places: Sequence[Node], prices: Prices) -> _Offer:
    """What one of the pods costs on these nodes, or by its GPU if there are no nodes."""
    names = tuple(sorted(node.name for node in places))
    each: dict[str, Fraction] = {}
    used: dict[Price, None] = {}
    for node in places:
        price, why = gpu_price(node, prices) if _held(pods) else cpu_price(node, prices)
        if price is None:
            return _Offer(names, None, (), why)
        each[node.name] = price.usd * (pods.gpus if price.unit == "card" else _share(pods, node))
        used[price] = None
    if not places:
        each, used = _by_gpu(pods, prices)
    return _Offer(names, each or None, tuple(used), "" if each else _homeless(pods))


def _held(pods: Pods) -> Fraction:
    """GPUs or slices of one pod."""
    return Fraction(pods.gpus) or _slices(pods.requests)


def _asked(pods: Pods, resource: str) -> Fraction:
    return pods.requests.get(resource, _ZERO)


def _is_meant(node: Node, pods: Pods) -> bool:
    """Whether the node, if it were empty and large enough, could hold a pod that pays for a share of the node."""
    # GPUs carry the whole price of a GPU machine. Pods without GPUs are counted on the nodes where they usually run.
    return bool(_held(pods)) == _has_gpus(node) and not obstacle(pods, node)


def _fits(node: Node, pods: Pods) -> bool:
    return all(node.allocatable.get(name, _ZERO) >= wanted for name, wanted in pods.requests.items() if wanted)


def _has_gpus(node: Node) -> bool:
    return PRESENT_LABEL in node.labels or bool(node.allocatable.get(GPU_RESOURCE) or _slices(node.allocatable))


def _slices(amounts: Mapping[str, Fraction]) -> Fraction:
    """Compute slices of MIG, or shares of shared GPUs; a machine has only one of the two."""
    return sum((value * resource_compute(name) for name, value in amounts.items() if is_slice(name)), _ZERO)


def _share(pods: Pods, node: Node) -> Fraction:
    if pods.gpus:
        return pods.gpus / node.allocatable[GPU_RESOURCE]
    if asked := _slices(pods.requests):
        return asked / _slices(node.allocatable)
    return max(_asked(pods, name) / node.allocatable[name] for name in ("cpu", "memory") if _asked(pods, name))


def _homeless(pods: Pods) -> str:
    kind = "GPU node" if pods.gpus or _slices(pods.requests) else "node without GPUs"
    return f"some of the pods fit on no known {kind}"


def _by_gpu(pods: Pods, prices: Prices) -> tuple[dict[str, Fraction], dict[Price, None]]:
    """What a pod costs by its requested GPUs while there is no node, as in a node pool scaled to zero."""
    if not prices.gpus or not pods.gpus:
        return {}, {}
    gpus = [gpu.id for gpu in map(resolve, _products(pods)) if gpu is not None]
    if not all(gpu in prices.gpus for gpu in gpus):
        return {}, {}
    known = {gpu: prices.gpus[gpu] for gpu in gpus}
    return {gpu: price.usd * pods.gpus for gpu, price in known.items()}, dict.fromkeys(known.values())


def _products(pods: Pods) -> Iterator[str]:
    """The GPUs' product labels that the pods' nodes may have, as far as the pods name them."""
    if PRODUCT_LABEL in pods.selector:
        yield pods.selector[PRODUCT_LABEL]
    for term in pods.terms or ():
        for rule in term.get("matchExpressions") or ():
            if rule.get("key") == PRODUCT_LABEL and rule.get("operator") == "In":
                yield from rule.get("values") or ()
