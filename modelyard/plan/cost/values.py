"""What a plan costs, as values. ``modelyard.plan.cost`` computes it once; reports read it from the plan.

Amounts are exact USD an hour and ranges: a pod may land on one of several machines, and an autoscaler varies the number
of pods. An unknown amount or number is None, never zero. ``cost_to_json`` makes the part ``cost`` of a plan's document.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeVar

_Made = TypeVar("_Made")


class Money(NamedTuple):
    """USD an hour, from the lowest to the highest possible amount."""

    low: Fraction
    high: Fraction


class Count(NamedTuple):
    """A number of pods or GPUs, from the lowest to the highest possible number."""

    low: int
    high: int


class Price(NamedTuple):
    """What a machine or a GPU costs, with the price's date and source."""

    unit: Literal["machine", "card"]
    name: str
    """The machine's type as in the label ``node.kubernetes.io/instance-type``, or the GPU's name."""
    usd: Fraction
    """For an hour of the whole machine, or of one GPU."""
    region: str
    """The region of the price; empty if the price is valid in every region."""
    date: str
    """``YYYY-MM-DD``, empty if unknown."""
    source: str
    listed: bool
    """Whether the price is a cloud's public on-demand price, which a contract may undercut."""
    discount: str = ""
    """Why the price differs from the list price, such as ``reserved for 3 years``."""


class TargetCost(NamedTuple):
    """What the pods of one target cost. Pairs are before and after the plan."""

    kind: str
    name: str
    pods: tuple[Count | None, Count | None]
    """The number of pods; None if the number that may run is unknown."""
    gpus: tuple[Count | None, Count | None]
    """GPUs that these pods hold, which is also the number of GPU-hours per hour."""
    usd: tuple[Money | None, Money | None]
    delta: Money | None
    """What the plan adds or saves. Not the difference of the two ranges: ``plan.cost.project`` explains why."""
    prices: tuple[Price, ...]
    """The prices behind the amounts."""
    unknown: str
    """Why an amount is unknown; empty if all are known."""


class Total(NamedTuple):
    """A sum over targets, as far as it is known."""

    usd: Money | None
    """The sum over targets with a known amount; None if these have no pods."""
    unknown: Count | None
    """Pods that the sum leaves out; None where their number is also unknown."""


class JobsOnly(NamedTuple):
    """A remote cluster with no permanent pods of the plan: it costs money only while jobs run."""

    cluster: str
    gpus: int | None
    """GPUs that its queues allow the jobs at once; None where nothing limits them."""


class StackCost(NamedTuple):
    """What a plan costs."""

    targets: tuple[TargetCost, ...]
    """Targets with pods, in the plan's order, the home cluster's first."""
    before: Total
    after: Total
    delta: Total
    gpus: tuple[Count | None, Count | None]
    jobs_only: tuple[JobsOnly, ...] = ()
    """Remote clusters that add nothing to the sums."""

    @property
    def prices(self) -> tuple[Price, ...]:
        """Every price behind the cost, once, sorted."""
        return tuple(sorted({price for target in self.targets for price in target.prices}))


def stack_cost(targets: Iterable[TargetCost], jobs_only: Iterable[JobsOnly] = ()) -> StackCost:
    """The sums over targets.

    Lows are added to lows and highs to highs: where the pods of one Deployment land does not affect another's.
    """
    every = tuple(targets)
    return StackCost(
        targets=every,
        before=_total([_Part(one.usd[0], one.pods[0], _some(one.pods[0])) for one in every]),
        after=_total([_Part(one.usd[1], one.pods[1], _some(one.pods[1])) for one in every]),
        delta=_total([_Part(one.delta, _more(*one.pods), any(one.delta or ())) for one in every]),
        gpus=(_sum(one.gpus[0] for one in every), _sum(one.gpus[1] for one in every)),
        jobs_only=tuple(jobs_only),
    )


def sum_of(parts: Sequence[TargetCost]) -> TargetCost:
    """The cost of all pods of one target, of which each part has some."""
    first, *more = parts
    if not more:
        return first
    return first._replace(
        pods=(_sum(one.pods[0] for one in parts), _sum(one.pods[1] for one in parts)),
        gpus=(_sum(one.gpus[0] for one in parts), _sum(one.gpus[1] for one in parts)),
        usd=(_added(one.usd[0] for one in parts), _added(one.usd[1] for one in parts)),
        delta=_added(one.delta for one in parts),
        prices=tuple(sorted({price for one in parts for price in one.prices})),
        unknown=next((one.unknown for one in parts if one.unknown), ""),
    )


def _added(amounts: Iterable[Money | None]) -> Money | None:
    """The sum; None if one amount is unknown."""
    low = high = Fraction(0)
    for usd in amounts:
        if usd is None:
            return None
        low, high = low + usd.low, high + usd.high
    return Money(low, high)


class _Part(NamedTuple):
    usd: Money | None
    pods: Count | None
    priced: bool
    """Whether the amount says something: zero pods cost nothing without a price, and an unchanged target says nothing
    about the change of others.
    """


def _total(parts: list[_Part]) -> Total:
    known = [part for part in parts if part.usd is not None]
    lacks = [part.pods for part in parts if part.usd is None]
    if lacks and not any(part.priced for part in known):
        return Total(None, _sum(lacks))
    return Total(_added(part.usd for part in known), _sum(lacks))


def _some(pods: Count | None) -> bool:
    return pods is not None and pods.high > 0


def _more(before: Count | None, after: Count | None) -> Count | None:
    """The larger count of pods before or after, for low and for high."""
    if before is None or after is None:
        return None
    return Count(max(before.low, after.low), max(before.high, after.high))


def _sum(counts: Iterable[Count | None]) -> Count | None:
    low = high = 0
    for count in counts:
        if count is None:
            return None
        low, high = low + count.low, high + count.high
    return Count(low, high)


def cost_to_json(cost: StackCost) -> dict[str, Any]:
    """The cost as plain JSON values; null is unknown.

    Amounts are numbers. An amount with no exact decimal, such as a third of a price, is rounded to the nearest number
    that JSON readers can distinguish, off by less than a billionth of a cent.
    """
    return {
        "currency": "USD",
        "per": "hour",
        "before": total_to_json(cost.before),
        "after": total_to_json(cost.after),
        "delta": total_to_json(cost.delta),
        "gpus": _pair(cost.gpus, _count),
        "targets": [_target(target) for target in cost.targets],
        **({"jobsOnly": [one._asdict() for one in cost.jobs_only]} if cost.jobs_only else {}),
    }


def cost_from_json(value: Mapping[str, Any]) -> StackCost:
    """The cost from the output of ``cost_to_json``.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the value has another form.
    """
    jobs_only = (JobsOnly(str(one["cluster"]), one["gpus"]) for one in value.get("jobsOnly", ()))
    return stack_cost(map(_read_target, value["targets"]), jobs_only)


def total_to_json(total: Total) -> dict[str, Any]:
    """One sum as plain JSON values."""
    return {"usd": _money(total.usd), "unknownPods": _count(total.unknown)}


def total_from_json(value: Mapping[str, Any]) -> Total:
    """The sum from the output of ``total_to_json``.

    Raises:
        KeyError, TypeError, ValueError: the value has another form.
    """
    return Total(_read_money(value["usd"]), _read_count(value["unknownPods"]))


def _target(target: TargetCost) -> dict[str, Any]:
    return {
        "kind": target.kind,
        "name": target.name,
        "pods": _pair(target.pods, _count),
        "gpus": _pair(target.gpus, _count),
        "usd": {**_pair(target.usd, _money), "delta": _money(target.delta)},
        "prices": [{**price._asdict(), "usd": _number(price.usd)} for price in target.prices],
        "unknown": target.unknown,
    }


def _pair(pair: tuple[_Made, _Made], form: Callable[[_Made], Any]) -> dict[str, Any]:
    return {"before": form(pair[0]), "after": form(pair[1])}


def _count(count: Count | None) -> dict[str, int] | None:
    return None if count is None else {"low": count.low, "high": count.high}


def _money(money: Money | None) -> dict[str, float] | None:
    return None if money is None else {"low": _number(money.low), "high": _number(money.high)}


def _number(amount: Fraction) -> float:
    return int(amount) if amount.denominator == 1 else float(amount)


def _read_target(value: Mapping[str, Any]) -> TargetCost:
    pods, gpus, usd = value["pods"], value["gpus"], value["usd"]
    return TargetCost(
        kind=value["kind"],
        name=value["name"],
        pods=(_read_count(pods["before"]), _read_count(pods["after"])),
        gpus=(_read_count(gpus["before"]), _read_count(gpus["after"])),
        usd=(_read_money(usd["before"]), _read_money(usd["after"])),
        delta=_read_money(usd["delta"]),
        prices=tuple(Price(**{**price, "usd": _read_number(price["usd"])}) for price in value["prices"]),
        unknown=value["unknown"],
    )


def _read_count(value: Mapping[str, Any] | None) -> Count | None:
    return None if value is None else Count(int(value["low"]), int(value["high"]))


def _read_money(value: Mapping[str, Any] | None) -> Money | None:
    return None if value is None else Money(_read_number(value["low"]), _read_number(value["high"]))


def _read_number(value: Any) -> Fraction:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} for an amount")
    # The shortest text of a float is the decimal that was written, not the binary number near it.
    return Fraction(str(value))
