"""What is known of an expression's answer before anybody asks a server."""

import math
from typing import Literal, NamedTuple

from modelyard.promql.labels import EMPTY, Labels
from modelyard.promql.values import ANYTHING, Interval


class Shape(NamedTuple):
    """The number of series that an expression may give, their labels and their values.

    Whatever a server holds, the answer lies within: ``least`` and ``most`` are bounds, not guesses.
    """

    kind: Literal["scalar", "vector", "matrix", "string"]
    least: int
    most: float
    """Infinite where nothing bounds it."""
    labels: Labels
    values: Interval = ANYTHING
    points: int = 0
    """Of a subquery: moments that its window surely holds."""

    @property
    def surely_empty(self) -> bool:
        """Whether there is never a series."""
        return self.most == 0


def scalar(values: Interval = ANYTHING) -> Shape:
    """A number without series."""
    return Shape("scalar", 1, 1, EMPTY, values)


TEXT = Shape("string", 1, 1, EMPTY)


def vector(least: float, most: float, labels: Labels, values: Interval = ANYTHING) -> Shape:
    """Series with one sample each, no more of them than their labels leave room for."""
    most = min(most, labels.combinations)
    # Labels that are all the same make one series of many: Prometheus would refuse two.
    return Shape("vector", int(min(least, most)) if least < math.inf else 1, most, labels, values)
