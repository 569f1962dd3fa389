"""The possible values of an expression: an interval, and whether they may be NaN.

This finds answers that are always above zero, or always equal: with them nothing ever scales to zero.
"""

import math
from typing import Literal, NamedTuple

from modelyard.promql.labels import EMPTY, Labels
from modelyard.promql.syntax import COMPARISONS


class Interval(NamedTuple):
    """Values from ``low`` to ``high``, both included."""

    low: float
    high: float
    maybe_nan: bool = True

    @property
    def positive(self) -> bool:
        """Whether every value is above zero."""
        return self.low > 0 and not self.maybe_nan

    @property
    def constant(self) -> bool:
        """Whether there is only one value."""
        return self.low == self.high and not self.maybe_nan


ANYTHING = Interval(-math.inf, math.inf)
NOT_NEGATIVE = Interval(0.0, math.inf)
AT_LEAST_ONE = Interval(1.0, math.inf, False)
ONE = Interval(1.0, 1.0, False)
TRUTH = Interval(0.0, 1.0, False)


def exactly(value: float) -> Interval:
    """Returns the interval of one value."""
    return ANYTHING if math.isnan(value) else Interval(value, value, False)


def hull(interval: Interval, other: Interval) -> Interval:
    """Returns the smallest interval around two."""
    return Interval(min(interval.low, other.low), max(interval.high, other.high), interval.maybe_nan or other.maybe_nan)


def negative(interval: Interval) -> Interval:
    """Returns the negated values."""
    return Interval(-interval.high, -interval.low, interval.maybe_nan)


def combined(operator: str, interval: Interval, other: Interval) -> Interval:
    """Returns the result of an arithmetic operator. Only sums, differences and products are computed."""
    # Infinity minus infinity, and zero times infinity, are NaN.
    nan = interval.maybe_nan or other.maybe_nan or math.inf in map(abs, (*interval[:2], *other[:2]))
    match operator:
        case "+":
            ends = (interval.low + other.low, interval.high + other.high)
        case "-":
            ends = (interval.low - other.high, interval.high - other.low)
        case "*":
            products = [a * b for a in interval[:2] for b in other[:2]]
            if any(map(math.isnan, products)):
                return ANYTHING
            ends = (min(products), max(products))
        case _:
            return ANYTHING
    return ANYTHING if any(map(math.isnan, ends)) else Interval(*ends, nan)


def holds(operator: str, interval: Interval, other: Interval) -> bool | None:
    """Whether a comparison is always true, always false, or None: it depends."""
    if operator not in COMPARISONS:
        return None
    if operator in (">", ">="):
        operator, interval, other = {">": "<", ">=": "<="}[operator], other, interval
    nan = interval.maybe_nan or other.maybe_nan
    apart = interval.high < other.low or other.high < interval.low
    same = interval.constant and interval == other
    match operator:
        case "==":
            always, never = same, apart
        case "!=":
            always, never = apart, same
        case "<":
            always, never = interval.high < other.low, interval.low >= other.high
        case _:
            always, never = interval.high <= other.low, interval.low > other.high
    if always and (not nan or operator == "!="):
        return True
    # NaN makes every comparison except != false.
    return False if never and not (nan and operator == "!=") else None


def kept(operator: str, interval: Interval, other: Interval) -> Interval:
    """Returns the values of the left side that pass a comparison."""
    low, high = interval.low, interval.high
    match operator:
        case ">":
            low = max(low, math.nextafter(other.low, math.inf))
        case ">=":
            low = max(low, other.low)
        case "<":
            high = min(high, math.nextafter(other.high, -math.inf))
        case "<=":
            high = min(high, other.high)
        case "==":
            low, high = max(low, other.low), min(high, other.high)
        case _:
            return interval
    return Interval(low, high, False) if low <= high else interval


# What is known of an expression's answer before a server is asked.
class SeriesShape(NamedTuple):
    """The number of series that an expression may return, their labels and their values.

    Every server's answer lies within: ``least`` and ``most`` are bounds, not guesses.
    """

    kind: Literal["scalar", "vector", "matrix", "string"]
    least: int
    most: float
    """Infinite if unbounded."""
    labels: Labels
    values: Interval = ANYTHING
    points: int = 0
    """In a subquery: number of moments that its window is certain to hold."""

    @property
    def surely_empty(self) -> bool:
        """Whether there is never a series."""
        return self.most == 0


def scalar(values: Interval = ANYTHING) -> SeriesShape:
    """Returns the shape of a number without series."""
    return SeriesShape(kind="scalar", least=1, most=1, labels=EMPTY, values=values)


TEXT = SeriesShape(kind="string", least=1, most=1, labels=EMPTY)


def vector(least: float, most: float, labels: Labels, values: Interval = ANYTHING) -> SeriesShape:
    """Returns the shape of series with one sample each, at most as many as their labels allow."""
    most = min(most, labels.combinations)
    # Equal labels make one series of many: Prometheus would reject two.
    return SeriesShape(
        kind="vector", least=int(min(least, most)) if least < math.inf else 1, most=most, labels=labels, values=values
    )
