"""Money, GPU-hours and where a price comes from, in words.

Plain text for every report, one line per function. Amounts are rounded only here. Texts from a price file and
node labels are included unchanged: the report escapes them for its terminal or page.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from modelyard.plan.cost.values import Count, JobsOnly, Money, Price, StackCost, Total
from modelyard.stack.words import few, listed

if TYPE_CHECKING:
    from modelyard.plan.cost.prices import GpuPrice

HOURS: Final = {"day": 24, "month": 730}
"""Hours of a span. A month is a twelfth of 365 days, as in the clouds' own calculators."""
UNKNOWN = "unknown"
NO_CHANGE = "no change"


def amount(usd: Fraction) -> str:
    """``1,234.50``, without sign and currency; ``<0.01`` is less than half a cent, ``0`` exactly nothing."""
    cents = round(abs(usd) * 100)
    if not cents:
        return "<0.01" if usd else "0"
    return f"{cents // 100:,}.{cents % 100:02}"


def money(usd: Money | None, per: str = "/h") -> str:
    """``USD 1.01–4.10/h``, or ``unknown``."""
    if usd is None:
        return UNKNOWN
    low, high = amount(usd.low), amount(usd.high)
    return f"USD {low if low == high else f'{low}–{high}'}{per}"


def difference(usd: Money | None, per: str = "/h") -> str:
    """``+USD 1.29/h``, ``+USD 0–29.39/h``, ``−USD 3.67/h to +USD 25.71/h``, ``no change``, or ``unknown``."""
    return UNKNOWN if usd is None else _change(usd, per, "−{}", "+{}")


def _change(usd: Money, per: str, less: str, more: str, both: str = "{} to {}") -> str:
    """A difference of costs: what is saved in the form of ``less``, what is added in the form of ``more``."""
    if not any(usd):
        return NO_CHANGE
    if usd.low >= 0:
        return more.format(money(usd, per))
    if usd.high <= 0:
        return less.format(money(Money(-usd.high, -usd.low), per))
    saved, added = Money(-usd.low, -usd.low), Money(usd.high, usd.high)
    return both.format(less.format(money(saved, per)), more.format(money(added, per)))


def number(count: Count) -> str:
    """``4`` or ``0–8``."""
    return f"{count.low:,}" if count.low == count.high else f"{count.low:,}–{count.high:,}"


def gpu_hours(gpus: Count | None) -> str:
    """GPU-hours of a day: ``24 GPU-hours a day``, ``0–192 GPU-hours a day``, or ``unknown GPU-hours a day``."""
    hours = UNKNOWN if gpus is None else number(Count(gpus.low * HOURS["day"], gpus.high * HOURS["day"]))
    return f"{hours} GPU-hours a day"


def hours_words(gpus: tuple[Count | None, Count | None]) -> str:
    """GPU-hours of a day before and after: ``24 → 48 GPU-hours a day``; empty without GPUs."""
    if all(count is not None and not count.high for count in gpus):
        return ""
    before, after = map(gpu_hours, gpus)
    return after if before == after else f"{before.partition(' ')[0]} → {after}"


def origin(prices: Iterable[Price]) -> str:
    """The source of amounts: ``list price 2026-07-20``; ``project prices 2026-10-01, in part spot``; or empty."""
    known = tuple(prices)
    own = [price for price in known if not price.listed]
    discounts = sorted({price.discount for price in own if price.discount})
    part = "" if all(price.discount for price in own) and len(discounts) == 1 else "in part "
    why = f", {part}{listed(discounts, 'and')}" if discounts else ""
    parts = (_dated("list price", [price for price in known if price.listed]), _dated("project price", own) + why)
    return "; ".join(filter(None, parts))


def _dated(what: str, prices: list[Price]) -> str:
    """``list prices 2026-06-18 to 2026-08-03 and undated``."""
    if not prices:
        return ""
    what = what if len(prices) == 1 else f"{what}s"
    days = sorted({price.date for price in prices if price.date})
    if not days:
        return f"undated {what}"
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{what} {span}" + (" and undated" if any(not price.date for price in prices) else "")


def total_text(total: Total) -> str:
    """A sum and what it leaves out: ``USD 1.29/h plus 4 pods of unknown price``; ``unknown (9 pods)``."""
    lacks = _lacks(total)
    if total.usd is None:
        return f"{UNKNOWN} ({lacks})"
    return f"{money(total.usd)} plus {lacks} of unknown price" if lacks else money(total.usd)


def change(total: Total) -> str:
    """A difference by the hour and the month: ``+USD 1.29/h, +USD 941.70 a month``, and which pods it leaves out."""
    lacks = _lacks(total)
    if total.usd is None:
        return f"{UNKNOWN} ({lacks})"
    parts = [difference(total.usd)]
    if any(total.usd):
        low, high = (usd * HOURS["month"] for usd in total.usd)
        parts.append(difference(Money(low, high), " a month"))
    if lacks:
        parts.append(f"leaving out {lacks} of unknown price")
    return ", ".join(parts)


def _lacks(total: Total) -> str:
    if total.unknown is None:
        return "an unknown number of pods"
    if not total.unknown.high:
        return ""
    return f"{number(total.unknown)} {'pod' if total.unknown.low == total.unknown.high == 1 else 'pods'}"


def stack_cost(cost: StackCost) -> list[str]:
    """A whole plan in three lines: money before and after, the difference, GPU-hours; one more line for each
    remote cluster that is not in the sums.
    """
    was, will, source = total_text(cost.before), total_text(cost.after), origin(cost.prices)
    return [
        (will if was == will else f"{was} → {will}") + (f", {source}" if source else ""),
        change(cost.delta),
        *filter(None, [hours_words(cost.gpus)]),
        *map(jobs_only, cost.jobs_only),
    ]


def short_cost(cost: StackCost) -> str:
    """A whole plan on one line: ``costs USD 2.58/h, USD 1.29/h more (list price 2026-07-20); 48 GPU-hours a day``."""
    will, lacks, delta = cost.after.usd, _lacks(cost.after), cost.delta.usd
    reasons = few(
        sorted({target.unknown for target in cost.targets if target.unknown and target.usd[1] is None}), 2, " and "
    )
    why = f": {reasons}" if reasons else ""
    source = f" ({origin(cost.prices)})" if cost.prices else ""
    more = "" if delta is None else _change(delta, "/h", "{} less", "{} more", "between {} and {}")
    if will is None:
        known = f"costs {more}{source}" if more not in ("", NO_CHANGE) else ""
        rest = f"{'total ' if known else ''}cost {UNKNOWN}{why}"
    else:
        known = f"costs {money(will)}, {more}{source}" if more else f"costs {money(will)}{source}, change {UNKNOWN}"
        rest = f"cost of {lacks} {UNKNOWN}{why}" if lacks else ""
    return "; ".join(filter(None, [known, rest, hours_words(cost.gpus), *map(jobs_only, cost.jobs_only)]))


def jobs_only(jobs: JobsOnly) -> str:
    """``remote cluster far costs only while its jobs run, on 8 GPUs at most``."""
    gpus = "1 GPU" if jobs.gpus == 1 else f"{jobs.gpus:,} GPUs" if jobs.gpus else "no GPU"
    limit = "on any number of GPUs" if jobs.gpus is None else f"on {gpus} at most" if jobs.gpus else f"on {gpus}"
    return f"remote cluster {jobs.cluster} costs only while its jobs run, {limit}"


def price_range(price: "GpuPrice | None") -> str:
    """``USD 1.29–3.26 a GPU-hour, list prices 2026-06-18 and undated``, or ``unknown``."""
    if price is None:
        return UNKNOWN
    mark = " (unverified)" if price.unverified else ""
    return f"{money(price.usd, ' a GPU-hour')}{mark}, {origin(price.prices)}"
