"""Nodes of many sizes, counted in boxes of similar ones: how many pods they hold, without a look at each.

A box knows the least and the most that its nodes have of each resource. Where as many pods fit in the least as in the
most, as on machines of one type that differ by a few kibibytes, its nodes are not told apart; else it is halved. So a
question costs a few steps for each number of pods that its nodes differ in, not one for each node.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from modelyard.cluster.state import Node
from modelyard.plan.capacity import MANY, amount

_ZERO = Fraction(0)
_Ask = Sequence[tuple[int, int, int]]
"""Of each resource its place in a point, and the fraction by which what a node has of it becomes a number of pods."""


class Lack(NamedTuple):
    """Nodes on which not even one pod fits."""

    resource: str
    """The first of which they have too little, in the order in which the pod asks."""
    have: str
    """What each of them has of it, in words."""
    nodes: int
    """How many they are."""
    first: int
    """The least of their numbers."""


class Sizes:
    """Nodes by what they have of a few resources.

    Args:
        nodes: at least one, with a number each, by which answers name the first of them.
        names: of the resources that pods may ask for. Of what a node does not list it has nothing.
    """

    def __init__(self, nodes: Iterable[tuple[int, Node]], names: Iterable[str]) -> None:
        self._names = tuple(names)
        rows = [(number, [node.allocatable.get(name, _ZERO) for name in self._names]) for number, node in nodes]
        # Whole numbers are compared and divided many times faster than fractions.
        self._units = [lcm(*(row[place].denominator for _, row in rows)) for place in range(len(self._names))]
        numbers: dict[tuple[int, ...], list[int]] = {}
        for number, row in rows:
            whole = (have.numerator * (unit // have.denominator) for have, unit in zip(row, self._units, strict=True))
            numbers.setdefault(tuple(whole), []).append(number)
        self._box = _Box([(point, len(alike), min(alike)) for point, alike in numbers.items()])

    def total(self, wanted: Mapping[str, Fraction]) -> int:
        """How many pods that want this the nodes hold together, when they are empty."""
        ask = self._ask(wanted)
        total, boxes = 0, [self._box]
        while boxes:
            box = boxes.pop()
            least = _pods(box.least, ask)
            if least == _pods(box.most, ask):
                total += least * box.count
            else:
                boxes += box.halves
        return total

    def best(self, wanted: Mapping[str, Fraction]) -> int:
        """How many pods that want this one node holds, when it is empty: the one that holds the most."""
        ask = self._ask(wanted)
        best, boxes = 0, [self._box]
        while boxes:
            box = boxes.pop()
            if (most := _pods(box.most, ask)) > best:
                best = max(best, _pods(box.least, ask))
                if most > best:
                    # The half with the greater nodes is looked at first, and often is enough.
                    boxes += box.halves
        return best

    def lacks(self, wanted: Mapping[str, Fraction]) -> Iterator[Lack]:
        """What nodes have too little of for one pod that wants this; nodes that hold one are left out."""
        ask = self._ask(wanted)
        boxes = [(self._box, 0)]
        while boxes:
            box, step = boxes.pop()
            if step == len(ask):
                continue
            place = ask[step][0]
            if _pods(box.least, ask[step : step + 1]):
                boxes.append((box, step + 1))
            elif _pods(box.most, ask[step : step + 1]):
                boxes += ((half, step) for half in box.halves)
            else:
                name = self._names[place]
                for have, (count, first) in box.haves(name, place, self._units[place]).items():
                    yield Lack(name, have, count, first)

    def _ask(self, wanted: Mapping[str, Fraction]) -> _Ask:
        return [
            (place, wanted[name].denominator, wanted[name].numerator * self._units[place])
            for place, name in enumerate(self._names)
            if wanted[name]
        ]


class _Box:
    """Points (what a node has of each resource), with how many nodes have that and the first one's number."""

    def __init__(self, points: list[tuple[tuple[int, ...], int, int]]) -> None:
        columns = list(zip(*(point for point, _, _ in points), strict=True))
        self.least = tuple(map(min, columns))
        self.most = tuple(map(max, columns))
        self.count = sum(count for _, count, _ in points)
        self._points = points
        self._halves: tuple[_Box, ...] = ()
        self._haves: dict[int, Mapping[str, tuple[int, int]]] = {}

    @property
    def halves(self) -> "tuple[_Box, ...]":
        """The lesser and the greater half, by the resource of which the nodes differ the most.

        Only boxes that somebody asks about are divided.
        """
        if not self._halves:
            spreads = [
                (most - least) * 1000 // (abs(most) or 1) for least, most in zip(self.least, self.most, strict=True)
            ]
            # Ones that differ by less than a thousandth are still divided by what they differ in.
            unlike = [place for place, most in enumerate(self.most) if most != self.least[place]]
            widest = max(unlike, key=spreads.__getitem__)
            ordered = sorted(self._points, key=lambda one: one[0][widest])
            middle = len(ordered) // 2
            self._halves = (_Box(ordered[:middle]), _Box(ordered[middle:]))
        return self._halves

    def haves(self, name: str, place: int, unit: int) -> Mapping[str, tuple[int, int]]:
        """How many nodes have how much of one resource, in words, and the first of them."""
        if place not in self._haves:
            found: dict[str, tuple[int, int]] = {}
            words: dict[int, str] = {}
            for point, count, first in self._points:
                have = point[place]
                word = words.get(have) or words.setdefault(have, amount(name, Fraction(have, unit)))
                before = found.get(word, (0, first))
                found[word] = (before[0] + count, min(before[1], first))
            self._haves[place] = found
        return self._haves[place]


def _pods(have: Sequence[int], ask: _Ask) -> int:
    """How many pods fit in this much."""
    fewest = min((have[place] * times // parts for place, times, parts in ask), default=MANY)
    return max(0, min(fewest, MANY))
