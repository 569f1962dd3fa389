"""What a plan costs, as values. ``modelyard.plan.cost`` computes it once; reports read it from the plan.

Amounts are exact USD an hour and ranges: a pod may land on one of several machines, and an autoscaler varies the number
of pods. An unknown amount or number is None, never zero.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple


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
    """Empty if the price is valid in every region."""
    date: str
    """``YYYY-MM-DD``, empty if unknown."""
    source: str
    listed: bool
    """Whether it is a cloud's public on-demand price, which a contract may undercut."""
    discount: str = ""
    """Why it differs from the list price, such as ``reserved for 3 years``."""


class TargetCost(NamedTuple):
    """What the pods of one target cost. Pairs are before and after the plan."""

    kind: str
    name: str
    pods: tuple[Count | None, Count | None]
    """None where the number that may run is unknown."""
    gpus: tuple[Count | None, Count | None]
    """GPUs that these pods hold, which equals GPU-hours an hour."""
    usd: tuple[Money | None, Money | None]
    delta: Money | None
    """What the plan adds or saves. Not the difference of the two ranges: ``modelyard.plan.cost.pods`` explains why."""
    prices: tuple[Price, ...]
    """The prices behind the amounts."""
    unknown: str
    """Why an amount is unknown, empty where none is."""


class Total(NamedTuple):
    """A sum over targets, as far as it is known."""

    usd: Money | None
    """The sum over targets with a known amount; None where those have no pods."""
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
        delta=_total([_Part(one.delta, _more(*one.pods), bool(one.prices)) for one in every]),
        gpus=(_sum(one.gpus[0] for one in every), _sum(one.gpus[1] for one in every)),
        jobs_only=tuple(jobs_only),
    )


class _Part(NamedTuple):
    usd: Money | None
    pods: Count | None
    priced: bool
    """Whether a price supports the amount: zero pods cost nothing without a price."""


def _total(parts: list[_Part]) -> Total:
    known = [part.usd for part in parts if part.usd is not None]
    lacks = [part.pods for part in parts if part.usd is None]
    if lacks and not any(part.priced for part in parts if part.usd is not None):
        return Total(None, _sum(lacks))
    return Total(
        Money(sum((usd.low for usd in known), Fraction(0)), sum((usd.high for usd in known), Fraction(0))), _sum(lacks)
    )


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
