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
NOTHING = math.nextafter(0.0, 1.0)
"""The smallest number above zero."""


def exactly(value: float) -> Interval:
    """Returns the interval of one value."""
    return ANYTHING if math.isnan(value) else Interval(value, value, False)


def hull(one: Interval, other: Interval) -> Interval:
    """Returns the smallest interval around two."""
    return Interval(min(one.low, other.low), max(one.high, other.high), one.maybe_nan or other.maybe_nan)


def negative(one: Interval) -> Interval:
    """Returns the negated values."""
    return Interval(-one.high, -one.low, one.maybe_nan)


def combined(operator: str, one: Interval, other: Interval) -> Interval:
    """Returns the result of an arithmetic operator. Only sums, differences and products are computed."""
    # Infinity minus infinity, and zero times infinity, are NaN.
    nan = one.maybe_nan or other.maybe_nan or math.inf in map(abs, (*one[:2], *other[:2]))
    match operator:
        case "+":
            ends = (one.low + other.low, one.high + other.high)
        case "-":
            ends = (one.low - other.high, one.high - other.low)
        case "*":
            products = [a * b for a in one[:2] for b in other[:2]]
            if any(map(math.isnan, products)):
                return ANYTHING
            ends = (min(products), max(products))
        case _:
            return ANYTHING
    return ANYTHING if any(map(math.isnan, ends)) else Interval(*ends, nan)


def holds(operator: str, one: Interval, other: Interval) -> bool | None:
    """Whether a comparison is always true, always false, or None: it depends."""
    if operator not in COMPARISONS:
        return None
    if operator in (">", ">="):
        operator, one, other = {">": "<", ">=": "<="}[operator], other, one
    nan = one.maybe_nan or other.maybe_nan
    apart = one.high < other.low or other.high < one.low
    same = one.constant and one == other
    match operator:
        case "==":
            always, never = same, apart
        case "!=":
            always, never = apart, same
        case "<":
            always, never = one.high < other.low, one.low >= other.high
        case _:
            always, never = one.high <= other.low, one.low > other.high
    if always and (not nan or operator == "!="):
        return True
    # NaN makes every comparison except != false.
    return False if never and not (nan and operator == "!=") else None


def kept(operator: str, one: Interval, other: Interval) -> Interval:
    """Returns the values of the left side that pass a comparison."""
    low, high = one.low, one.high
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
            return one
    return Interval(low, high, False) if low <= high else one


# What is known of an expression's answer before a server is asked.
class Shape(NamedTuple):
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


def scalar(values: Interval = ANYTHING) -> Shape:
    """Returns the shape of a number without series."""
    return Shape(kind="scalar", least=1, most=1, labels=EMPTY, values=values)


TEXT = Shape(kind="string", least=1, most=1, labels=EMPTY)


def vector(least: float, most: float, labels: Labels, values: Interval = ANYTHING) -> Shape:
    """Returns the shape of series with one sample each, at most as many as their labels allow."""
    most = min(most, labels.combinations)
    # Equal labels make one series of many: Prometheus would reject two.
    return Shape(
        kind="vector", least=int(min(least, most)) if least < math.inf else 1, most=most, labels=labels, values=values
    )
