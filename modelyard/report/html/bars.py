"""GPUs and costs before and after, one row per stack or target: a chart is a table whose last column is drawn."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.plan.cost import words
from modelyard.plan.cost.values import Count, Money, StackCost, cost_from_json
from modelyard.stack.words import plural

WIDTH = 240
"""Units of the drawing; the axis takes all of it."""
CAP = 25
"""Rows shown before the reader asks for more."""
_STEPS = (1, 2, 5)
_MOST_STEPS = 4

Words = tuple[str, str, str]
"""Before, after, difference."""


class Pair(NamedTuple):
    """Dollars an hour, or GPUs, before and after and the difference, None if unknown."""

    stack: int | None
    """Its index in the document; None for the total of several stacks."""
    name: str
    before: Money | Count | None
    after: Money | Count | None
    delta: Money | Count | None


class Bar(NamedTuple):
    """Solid up to the lowest amount, open from there to the highest; in units of the drawing."""

    low: float
    high: float


class BarPair(NamedTuple):
    """One pair, drawn."""

    stack: int | None
    name: str
    words: Words
    bars: tuple[Bar | None, Bar | None]


class Chart(NamedTuple):
    """Rows, largest changes first, and the ticks of their common axis."""

    rows: tuple[BarPair, ...]
    ticks: tuple[tuple[float, str], ...]
    """Position in units of the drawing, and label."""
    total: Words | None
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
    targets = dict(_gpu_pair(None, name, *pair) for name, pair in sums.items() if any(pair))
    stacks = dict(
        _gpu_pair(at, stack["stack"], stack["gpus"]["before"], stack["gpus"]["after"])
        for at, stack in enumerate(document["stacks"])
        if stack["gpus"] is not None and stack["gpus"]["before"] != stack["gpus"]["after"]
    )
    before, after = (sum(pair[side] for pair in sums.values()) for side in (0, 1))
    planned = all(stack["gpus"] is not None for stack in document["stacks"])
    least = Fraction(1)
    return Gpus(bool(targets), _chart(targets, least, _gpu_words(before, after)), _chart(stacks, least, None), planned)


def _gpu_pair(stack: int | None, name: str, before: int, after: int) -> tuple[Pair, Words]:
    counts = (Count(number, number) for number in (before, after, after - before))
    return Pair(stack, name, *counts), _gpu_words(before, after)


def _gpu_words(before: int, after: int) -> Words:
    return f"{before:,}", f"{after:,}", difference(after - before)


def difference(number: int) -> str:
    """A difference with its sign."""
    return "no change" if not number else f"{'+' if number > 0 else '−'}{abs(number):,}"


def _chart(pairs: Mapping[Pair, Words], least: Fraction, total: Words | None) -> Chart:
    """The pairs with their words; the axis has no finer steps than ``least``."""
    most = max((side.high for pair in pairs for side in (pair.before, pair.after) if side), default=0)
    step = _step(most, least)
    number = math.ceil(most / step)
    top = step * number
    rows = tuple(
        BarPair(pair.stack, pair.name, pairs[pair], (_bar(pair.before, top), _bar(pair.after, top)))
        for pair in sorted(pairs, key=lambda one: (-_weight(one), one.name))
    )
    ticks = ((round(at * WIDTH / number, 1), f"{float(step * at):,g}") for at in range(number + 1) if number)
    return Chart(rows, tuple(ticks), total)


def _weight(pair: Pair) -> Fraction:
    return Fraction(0) if pair.delta is None else max(abs(Fraction(end)) for end in pair.delta)


def _bar(amount: Money | Count | None, top: Fraction) -> Bar | None:
    if amount is None:
        return None
    low, high = (round(float(end / top * WIDTH), 1) if top else 0.0 for end in amount)
    return Bar(low, high)


def _step(most: Fraction | int, least: Fraction) -> Fraction:
    """The first round number of which a few reach the maximum."""
    size = least
    while True:
        for step in _STEPS:
            if size * step * _MOST_STEPS >= most:
                return size * step
        size *= 10


_LEAST = Fraction(1, 100)
_NOTHING = Money(Fraction(0), Fraction(0))


class CostTexts(NamedTuple):
    """Amounts in USD an hour as texts without currency: ``1.29``, ``0–14.50``, ``unknown``."""

    before: str
    after: str
    delta: str
    about: tuple[str, ...]
    """The details in a few lines: sums, sources of prices, what has no price."""

    @property
    def amounts(self) -> Words:
        """Before, after, difference."""
        return self[:3]


def costs_of(document: Mapping[str, Any]) -> tuple[CostTexts | None, ...]:
    """The cost of each stack in words, None if the document has none."""
    return tuple(None if cost is None else _in_words(cost) for cost in _costs(document))


def total_cost(document: Mapping[str, Any]) -> CostTexts:
    """The sums over the stacks whose cost is known before and after, so that you can compare the two."""
    costs = list(_costs(document))
    known = [usd for usd in map(_usd, costs) if None not in usd]
    if not known:
        made = any(cost is not None for cost in costs)
        why = f"no machine or GPU of {plural(len(costs), 'stack')} has a price" if made else "made without prices"
        return _words(None, None, None, (why,))
    before, after, delta = (_sum(side) for side in zip(*known, strict=True))
    lacks = len(costs) - len(known)
    prices = {price for cost in costs if cost is not None for price in cost.prices}
    about = (words.origin(sorted(prices)), f"without {plural(lacks, 'stack')} of unknown cost" if lacks else "")
    return _words(before, after, delta, tuple(filter(None, about)))


def cost_chart(document: Mapping[str, Any]) -> Chart | None:
    """USD an hour of the stacks whose cost changes or is unknown; None if the document has no costs at all."""
    costs = list(_costs(document))
    if all(cost is None for cost in costs):
        return None
    changed: dict[Pair, Words] = {}
    for at, (cost, stack) in enumerate(zip(costs, document["stacks"], strict=True)):
        usd = _usd(cost)
        if usd[-1] != _NOTHING:
            changed[Pair(at, stack["stack"], *usd)] = _words(*usd).amounts
    return _chart(changed, _LEAST, total_cost(document).amounts)


def _costs(document: Mapping[str, Any]) -> Iterator[StackCost | None]:
    for stack in document["stacks"]:
        yield cost_from_json(stack["cost"]) if stack.get("cost") else None


def _usd(cost: StackCost | None) -> tuple[Money | None, Money | None, Money | None]:
    return (None, None, None) if cost is None else (cost.before.usd, cost.after.usd, cost.delta.usd)


def _in_words(cost: StackCost) -> CostTexts:
    amounts, change, *hours = words.stack_cost(cost)
    reasons = sorted({target.unknown for target in cost.targets if target.unknown})
    return _words(*_usd(cost), (amounts, f"change: {change}", *hours, *reasons))


def _words(before: Money | None, after: Money | None, delta: Money | None, about: tuple[str, ...] = ()) -> CostTexts:
    texts = words.money(before, ""), words.money(after, ""), words.difference(delta, "")
    was, will, change = (text.replace("USD ", "") for text in texts)
    return CostTexts(was, will, change, about)


def _sum(amounts: tuple[Money | None, ...]) -> Money:
    known = [usd for usd in amounts if usd is not None]
    return Money(sum((one.low for one in known), Fraction(0)), sum((one.high for one in known), Fraction(0)))
