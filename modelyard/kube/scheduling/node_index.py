"""Nodes of many sizes in boxes of similar ones: how many pods they hold and what stops more, without a look at each.

A box knows the least and the most that its nodes have left of each resource. Where as many pods fit in the least as in
the most, as on machines of one type that differ by a few kibibytes, its nodes are not told apart; else it is halved. So
a question costs a few steps for each number of pods that its nodes differ in, not one for each node.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from modelyard.kube.scheduling.capacity import MANY, amount
from modelyard.kube.state import Node

_NOTHING: Mapping[int, Mapping[str, Fraction]] = {}
_ZERO = Fraction(0)
_Ask = Sequence[tuple[int, int, int]]
"""Of each resource its place in a point, and the fraction by which what a node has of it becomes a number of pods."""


class Limit(NamedTuple):
    """Nodes that the same keeps from taking more pods."""

    resource: str
    """What they run out of first, of several the one that the pod asks for first; empty where they do of nothing."""
    free: str
    """What each of them has left of it, in words."""
    have: str
    """What each of them has of it in all, in words."""
    nodes: Sequence[int]
    """Their numbers, in order."""


class NodeIndex:
    """Nodes by what they have of a few resources.

    Args:
        nodes: at least one, with a number each, by which answers name the first of them.
        names: of the resources that pods may ask for. Of what a node does not list it has nothing.
        free: what is left of nodes on which pods run, by their numbers; the others are empty.
    """

    def __init__(
        self,
        nodes: Iterable[tuple[int, Node]],
        names: Iterable[str],
        free: Mapping[int, Mapping[str, Fraction]] = _NOTHING,
    ) -> None:
        self._names = tuple(names)
        self._nodes = {number: (free.get(number, node.allocatable), node.allocatable) for number, node in nodes}
        rows = [(number, [left.get(name, _ZERO) for name in self._names]) for number, (left, _) in self._nodes.items()]
        # Whole numbers are compared and divided many times faster than fractions.
        self._units = [lcm(*(row[place].denominator for _, row in rows)) for place in range(len(self._names))]
        numbers: dict[tuple[int, ...], list[int]] = {}
        for number, row in rows:
            whole = (have.numerator * (unit // have.denominator) for have, unit in zip(row, self._units, strict=True))
            numbers.setdefault(tuple(whole), []).append(number)
        self._box = _Bucket(list(numbers.items()))
        self._words: dict[tuple[str, Fraction], str] = {}

    def total(self, wanted: Mapping[str, Fraction]) -> int:
        """How many more pods that want this the nodes hold together."""
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
        """How many more pods that want this one node holds: the one that holds the most."""
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

    def limits(self, wanted: Mapping[str, Fraction]) -> Iterator[Limit]:
        """What keeps nodes from taking more pods that want this."""
        ask = self._ask(wanted)
        boxes = [self._box]
        while boxes:
            box = boxes.pop()
            least = [MANY, *(_pods(box.least, (one,)) for one in ask)]
            most = [MANY, *(_pods(box.most, (one,)) for one in ask)]
            fewest = min(most)
            step = most.index(fewest)
            if any(fewest >= pods for pods in least[:step]) or any(fewest > pods for pods in least[step + 1 :]):
                # Another resource may be the first to run out on some of them.
                boxes += box.halves
            elif step == 0:
                yield Limit("", "", "", box.numbers)
            else:
                place = ask[step - 1][0]
                for (free, have), numbers in box.alike(place, self._said).items():
                    yield Limit(self._names[place], free, have, numbers)

    def _said(self, place: int, number: int) -> tuple[str, str]:
        """What a node has left of a resource and what it has of it in all."""
        name = self._names[place]
        free, have = (self._word(name, amounts.get(name, _ZERO)) for amounts in self._nodes[number])
        return free, have

    def _word(self, name: str, value: Fraction) -> str:
        key = (name, value)
        return self._words.get(key) or self._words.setdefault(key, amount(name, value))

    def _ask(self, wanted: Mapping[str, Fraction]) -> _Ask:
        return [
            (place, wanted[name].denominator, wanted[name].numerator * self._units[place])
            for place, name in enumerate(self._names)
            if wanted[name]
        ]


class _Bucket:
    """Points (what a node has left of each resource), with the numbers of the nodes that have that."""

    def __init__(self, points: list[tuple[tuple[int, ...], list[int]]]) -> None:
        columns = list(zip(*(point for point, _ in points), strict=True))
        self.least = tuple(map(min, columns))
        self.most = tuple(map(max, columns))
        self.count = sum(len(numbers) for _, numbers in points)
        self._points = points
        self._halves: tuple[_Bucket, ...] = ()
        self._alike: dict[int, Mapping[tuple[str, str], list[int]]] = {}

    @property
    def numbers(self) -> list[int]:
        """Of its nodes, in order."""
        return sorted(number for _, numbers in self._points for number in numbers)

    @property
    def halves(self) -> "tuple[_Bucket, ...]":
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
            self._halves = (_Bucket(ordered[:middle]), _Bucket(ordered[middle:]))
        return self._halves

    def alike(self, place: int, said: Callable[[int, int], tuple[str, str]]) -> Mapping[tuple[str, str], list[int]]:
        """The numbers of its nodes, in order, by what is said of what they have of one resource."""
        if place not in self._alike:
            found: dict[tuple[str, str], list[int]] = {}
            for number in self.numbers:
                found.setdefault(said(place, number), []).append(number)
            self._alike[place] = found
        return self._alike[place]


def _pods(have: Sequence[int], ask: _Ask) -> int:
    """How many pods fit in this much."""
    fewest = min((have[place] * times // parts for place, times, parts in ask), default=MANY)
    return max(0, min(fewest, MANY))
