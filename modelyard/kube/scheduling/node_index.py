"""Divides nodes into groups of similar sizes, to count fitting pods and find limits without visiting each node.

A group knows the minimum and the maximum that its nodes have left of each resource. If equally many pods fit in the
minimum and the maximum, as on machines of one type that differ by a few kibibytes, the group is not divided; else it
is halved. So a query takes a few steps for each number of pods in which its nodes differ, not one per node.
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
"""For each resource: its index in a point, and the fraction that converts a node's amount into a number of pods."""


class Limit(NamedTuple):
    """Nodes with one common limit."""

    resource: str
    """The resource that runs out first, of several the one that the pod requests first; empty if none runs out."""
    free: str
    """What each of them has left of it, in words."""
    have: str
    """What each of them has of it in total, in words."""
    nodes: Sequence[int]
    """Their numbers, in order."""


class NodeIndex:
    """Nodes by their amounts of a few resources.

    Args:
        nodes: at least one node, each with a number, by which answers name the first.
        names: resources that pods may request. A node has nothing of a resource that it does not list.
        free: what is left on nodes that run pods, by their numbers; the others are empty.
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
        # Comparing and dividing whole numbers is many times faster than fractions.
        self._units = [lcm(*(row[place].denominator for _, row in rows)) for place in range(len(self._names))]
        numbers: dict[tuple[int, ...], list[int]] = {}
        for number, row in rows:
            whole = (have.numerator * (unit // have.denominator) for have, unit in zip(row, self._units, strict=True))
            numbers.setdefault(tuple(whole), []).append(number)
        self._group = _Group(list(numbers.items()))
        self._words: dict[tuple[str, Fraction], str] = {}

    def total(self, wanted: Mapping[str, Fraction]) -> int:
        """Returns how many more pods with these requests fit on the nodes together."""
        ask = self._ask(wanted)
        total, groups = 0, [self._group]
        while groups:
            group = groups.pop()
            least = _pods(group.least, ask)
            if least == _pods(group.most, ask):
                total += least * group.count
            else:
                groups += group.halves
        return total

    def best(self, wanted: Mapping[str, Fraction]) -> int:
        """Returns how many more pods with these requests fit on the node that holds the most."""
        ask = self._ask(wanted)
        best, groups = 0, [self._group]
        while groups:
            group = groups.pop()
            if (most := _pods(group.most, ask)) > best:
                best = max(best, _pods(group.least, ask))
                if most > best:
                    # The half with the larger nodes comes first, and often is enough.
                    groups += group.halves
        return best

    def limits(self, wanted: Mapping[str, Fraction]) -> Iterator[Limit]:
        """Yields what keeps nodes from taking more pods with these requests."""
        ask = self._ask(wanted)
        groups = [self._group]
        while groups:
            group = groups.pop()
            least = [MANY, *(_pods(group.least, (one,)) for one in ask)]
            most = [MANY, *(_pods(group.most, (one,)) for one in ask)]
            fewest = min(most)
            step = most.index(fewest)
            if any(fewest >= pods for pods in least[:step]) or any(fewest > pods for pods in least[step + 1 :]):
                # On some of them another resource may run out first.
                groups += group.halves
            elif step == 0:
                yield Limit("", "", "", group.numbers)
            else:
                place = ask[step - 1][0]
                for (free, have), numbers in group.alike(place, self._described).items():
                    yield Limit(self._names[place], free, have, numbers)

    def _described(self, place: int, number: int) -> tuple[str, str]:
        """Describes what a node has left of a resource and what it has in total."""
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


class _Group:
    """Points (what a node has left of each resource), with the numbers of their nodes."""

    def __init__(self, points: list[tuple[tuple[int, ...], list[int]]]) -> None:
        columns = list(zip(*(point for point, _ in points), strict=True))
        self.least = tuple(map(min, columns))
        self.most = tuple(map(max, columns))
        self.count = sum(len(numbers) for _, numbers in points)
        self._points = points
        self._halves: tuple[_Group, ...] = ()
        self._alike: dict[int, Mapping[tuple[str, str], list[int]]] = {}

    @property
    def numbers(self) -> list[int]:
        """Returns the numbers of its nodes, in order."""
        return sorted(number for _, numbers in self._points for number in numbers)

    @property
    def halves(self) -> "tuple[_Group, ...]":
        """Returns the smaller and the larger half, by the resource in which the nodes differ most.

        Only groups that a query visits are divided.
        """
        if not self._halves:
            spreads = [
                (most - least) * 1000 // (abs(most) or 1) for least, most in zip(self.least, self.most, strict=True)
            ]
            # Nodes that differ by less than a thousandth are still divided by that difference.
            unlike = [place for place, most in enumerate(self.most) if most != self.least[place]]
            widest = max(unlike, key=spreads.__getitem__)
            ordered = sorted(self._points, key=lambda one: one[0][widest])
            middle = len(ordered) // 2
            self._halves = (_Group(ordered[:middle]), _Group(ordered[middle:]))
        return self._halves

    def alike(
        self, place: int, described: Callable[[int, int], tuple[str, str]]
    ) -> Mapping[tuple[str, str], list[int]]:
        """Returns the numbers of its nodes, in order, by the description of their amount of one resource."""
        if place not in self._alike:
            found: dict[tuple[str, str], list[int]] = {}
            for number in self.numbers:
                found.setdefault(described(place, number), []).append(number)
            self._alike[place] = found
        return self._alike[place]


def _pods(have: Sequence[int], ask: _Ask) -> int:
    """Returns how many pods fit in these amounts."""
    fewest = min((have[place] * times // parts for place, times, parts in ask), default=MANY)
    return max(0, min(fewest, MANY))
