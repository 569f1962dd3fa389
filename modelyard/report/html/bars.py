"""Bars before and after, one row per stack or target: the chart is a table whose last column is drawn."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

WIDTH = 240
"""Units of the drawing; the axis takes all of it."""
CAP = 25
"""Rows shown before the reader asks for more."""
_STEPS = (1, 2, 5)
_MOST_STEPS = 4


class Amount(NamedTuple):
    """The lowest and highest amount, exact."""

    low: Fraction
    high: Fraction


class Pair(NamedTuple):
    """Amounts before and after and the difference, None if unknown."""

    stack: int | None
    """Its index in the document; None for the total of several stacks."""
    name: str
    before: Amount | None
    after: Amount | None
    delta: Amount | None


class Bar(NamedTuple):
    """Solid up to the lowest amount, open from there to the highest; in units of the drawing."""

    low: float
    high: float


class Row(NamedTuple):
    """One pair, drawn."""

    stack: int | None
    name: str
    words: tuple[str, str, str]
    """Before, after, difference."""
    bars: tuple[Bar | None, Bar | None]


class Chart(NamedTuple):
    """Rows, largest changes first, and the ticks of their common axis."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    """Position in units of the drawing, and label."""
    total: tuple[str, str, str] | None
    """For all stacks that change; None if another chart shows it."""


class Gpus(NamedTuple):
    """GPUs before and after."""

    any: bool
    targets: Chart
    """By name of the changed target, those that hold a GPU."""
    stacks: Chart
    """Only stacks that hold more or fewer than before."""
    known: bool
    """Whether the GPUs of every stack are known."""


def gpus_of(document: Mapping[str, Any]) -> Gpus:
    """GPUs that the changed targets hold before and after, by target and by stack."""
    sums: dict[str, tuple[int, int]] = {}
    for change in document["changes"]:
        before, after = sums.get(change["target"], (0, 0))
        sums[change["target"]] = (before + change["gpus"]["before"], after + change["gpus"]["after"])
    targets = [_pair(None, name, *pair) for name, pair in sums.items() if any(pair)]
    stacks = [
        _pair(at, stack["stack"], stack["gpus"]["before"], stack["gpus"]["after"])
        for at, stack in enumerate(document["stacks"])
        if stack["gpus"] is not None and stack["gpus"]["before"] != stack["gpus"]["after"]
    ]
    before, after = (sum(pair[side] for pair in sums.values()) for side in (0, 1))
    total = (f"{before:,}", f"{after:,}", difference(after - before))
    planned = all(stack["gpus"] is not None for stack in document["stacks"])
    return Gpus(bool(targets), _gpu_chart(targets, total), _gpu_chart(stacks, None), planned)


def _gpu_chart(pairs: Sequence[Pair], total: tuple[str, str, str] | None) -> Chart:
    words = {pair: (_whole(pair.before), _whole(pair.after), _signed(pair.delta)) for pair in pairs}
    return Chart(rows(pairs, words.__getitem__, Fraction(1)), ticks(pairs, Fraction(1)), total)


def _pair(stack: int | None, name: str, before: int, after: int) -> Pair:
    return Pair(stack, name, _exact(before), _exact(after), _exact(after - before))


def difference(number: int) -> str:
    """A difference with its sign."""
    return "no change" if not number else f"{'+' if number > 0 else '−'}{abs(number):,}"


def rows(pairs: Iterable[Pair], words: Callable[[Pair], tuple[str, str, str]], least: Fraction) -> tuple[Row, ...]:
    """The rows of a chart whose axis has no finer steps than ``least``."""
    pairs = tuple(pairs)
    top = _top(pairs, least)
    return tuple(
        Row(pair.stack, pair.name, words(pair), (_bar(pair.before, top), _bar(pair.after, top)))
        for pair in sorted(pairs, key=lambda one: (-_weight(one), one.name))
    )


def ticks(pairs: Sequence[Pair], least: Fraction) -> tuple[tuple[float, str], ...]:
    """Round numbers along the axis."""
    step, top = _step(_most(pairs), least), _top(pairs, least)
    return tuple(_ticks(step, top)) if top else ()


def _ticks(step: Fraction, top: Fraction) -> Iterator[tuple[float, str]]:
    for number in range(int(top / step) + 1):
        yield round(float(step * number / top * WIDTH), 1), f"{float(step * number):,g}"


def _exact(number: int) -> Amount:
    return Amount(Fraction(number), Fraction(number))


def _whole(amount: Amount | None) -> str:
    return "unknown" if amount is None else f"{int(amount.low):,}"


def _signed(amount: Amount | None) -> str:
    return "unknown" if amount is None else difference(int(amount.low))


def _weight(pair: Pair) -> Fraction:
    return Fraction(0) if pair.delta is None else max(map(abs, pair.delta))


def _bar(amount: Amount | None, top: Fraction) -> Bar | None:
    if amount is None:
        return None
    low, high = (round(float(end / top * WIDTH), 1) if top else 0.0 for end in amount)
    return Bar(low, high)


def _most(pairs: Iterable[Pair]) -> Fraction:
    return max((side.high for pair in pairs for side in (pair.before, pair.after) if side), default=Fraction(0))


def _step(most: Fraction, least: Fraction) -> Fraction:
    """The first round number of which a few reach the maximum."""
    size = least
    while True:
        for step in _STEPS:
            if size * step * _MOST_STEPS >= most:
                return size * step
        size *= 10


def _top(pairs: Iterable[Pair], least: Fraction) -> Fraction:
    most = _most(pairs)
    step = _step(most, least)
    return step * -(-most // step)
