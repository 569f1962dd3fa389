"""Amounts of one target as ranges, and how the range before a plan is compared with the range after it."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard.plan.cost.values import Count, Money

_FREE = Money(Fraction(0), Fraction(0))


class Load(NamedTuple):
    """The pods of one target on one side of a plan."""

    pods: Count | None
    """None where nothing says how many may run."""
    asks: tuple[Fraction, ...]
    """What one pod takes from its node, as far as it is paid for."""
    places: tuple[str, ...]
    """Names of the nodes that may hold a pod, sorted."""
    each: Mapping[str, Fraction] | None
    """USD an hour of one pod by place; None where a place has no price or there is no place."""


def usd(load: Load) -> Money | None:
    """What the pods cost: the fewest of them on the cheapest node to the most on the dearest.

    No pods cost nothing, whatever one would cost.
    """
    if load.pods is None:
        return None
    if not load.pods.high:
        return _FREE
    if not load.each:
        return None
    return Money(load.pods.low * min(load.each.values()), load.pods.high * max(load.each.values()))


def delta(before: Load, after: Load) -> Money | None:
    """What the plan adds or saves, None where that is unknown.

    It is not every amount after less every amount before: that would tell of savings and expenses that no change of
    the plan brings about. What the plan does not decide is held equal on both sides:

    - where a pod lands, as long as the same nodes may hold it: each node's price is compared with itself;
    - how many pods an autoscaler runs, as long as its bounds are the same; where they are not, both sides answer the
      same demand within their own bounds.

    So a target that stays as it is has a delta of exactly zero, also where nobody knows what it costs, and one pod
    more costs what a pod costs. Where other nodes may hold the pods than before, any place before is compared with any
    after: there the plan does decide.
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
    """What one pod may cost before and after; nothing where a side that has pods has no price."""
    now, then = _each(before), _each(after)
    if not now or not then:
        return
    if now.keys() == then.keys():
        yield from ((now[place], then[place]) for place in now)
        return
    # The ends are enough: an amount is linear in each price.
    yield from ((one, other) for one in _ends(now) for other in _ends(then))


def _each(load: Load) -> Mapping[str, Fraction]:
    if load.pods is not None and not load.pods.high:
        return {"": Fraction(0)}
    return load.each or {}


def _ends(each: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    return min(each.values()), max(each.values())


def _answer(demand: int, bounds: Count) -> int:
    """The pods that run where so many are wanted."""
    return min(max(demand, bounds.low), bounds.high)
