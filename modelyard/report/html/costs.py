"""What the stacks cost before and after, if the document has costs."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.plan.cost import words
from modelyard.plan.cost.values import Money, StackCost, cost_from_json
from modelyard.report.html.bars import Amount, Chart, Pair, rows, ticks
from modelyard.stack.words import plural

_LEAST = Fraction(1, 100)
_NOTHING = Money(Fraction(0), Fraction(0))


class Cost(NamedTuple):
    """Amounts in USD an hour as texts without currency: ``1.29``, ``0–14.50``, ``unknown``."""

    before: str
    after: str
    delta: str
    about: tuple[str, ...]
    """The details in a few lines: sums, sources of prices, what has no price."""

    @property
    def amounts(self) -> tuple[str, str, str]:
        """Before, after, difference."""
        return self[:3]


def costs_of(document: Mapping[str, Any]) -> tuple[Cost | None, ...]:
    """The cost of each stack in words, None if the document has none."""
    return tuple(None if cost is None else _in_words(cost) for cost in _costs(document))


def total_cost(document: Mapping[str, Any]) -> Cost:
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
    changed: dict[Pair, tuple[str, str, str]] = {}
    for at, (cost, stack) in enumerate(zip(costs, document["stacks"], strict=True)):
        before, after, delta = _usd(cost)
        if delta != _NOTHING:
            pair = Pair(at, stack["stack"], _amount(before), _amount(after), _amount(delta))
            changed[pair] = _words(before, after, delta).amounts
    pairs = tuple(changed)
    return Chart(rows(pairs, changed.__getitem__, _LEAST), ticks(pairs, _LEAST), total_cost(document).amounts)


def _costs(document: Mapping[str, Any]) -> Iterator[StackCost | None]:
    for stack in document["stacks"]:
        yield cost_from_json(stack["cost"]) if stack.get("cost") else None


def _usd(cost: StackCost | None) -> tuple[Money | None, Money | None, Money | None]:
    return (None, None, None) if cost is None else (cost.before.usd, cost.after.usd, cost.delta.usd)


def _in_words(cost: StackCost) -> Cost:
    amounts, change, *hours = words.stack_cost(cost)
    reasons = sorted({target.unknown for target in cost.targets if target.unknown})
    return _words(*_usd(cost), (amounts, f"change: {change}", *hours, *reasons))


def _words(before: Money | None, after: Money | None, delta: Money | None, about: tuple[str, ...] = ()) -> Cost:
    return Cost(
        _bare(words.money(before, "")), _bare(words.money(after, "")), _bare(words.difference(delta, "")), about
    )


def _bare(text: str) -> str:
    return text.replace("USD ", "")


def _amount(usd: Money | None) -> Amount | None:
    return None if usd is None else Amount(*usd)


def _sum(amounts: tuple[Money | None, ...]) -> Money:
    known = [usd for usd in amounts if usd is not None]
    return Money(sum((one.low for one in known), Fraction(0)), sum((one.high for one in known), Fraction(0)))
