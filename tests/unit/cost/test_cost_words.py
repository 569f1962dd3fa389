"""Money in words: rounded only here, never a zero that is none, every price with where it is from."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.plan.cost import words
from modelyard.plan.cost.values import Count, Money, StackCost, Total

WORKER = "deployment-ray-model-training-worker"


def money(low: str, high: str | None = None) -> Money:
    return Money(Fraction(low), Fraction(low if high is None else high))


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (money("1.29"), "USD 1.29/h"),
        (money("1.006", "4.096"), "USD 1.01–4.10/h"),
        (money("1.2901", "1.2949"), "USD 1.29/h"),
        (money("0", "29.38708"), "USD 0–29.39/h"),
        (money("0"), "USD 0/h"),
        (money("0.0001"), "USD <0.01/h"),
        (money("1/3"), "USD 0.33/h"),
        (money("1234567.5"), "USD 1,234,567.50/h"),
        (None, "unknown"),
    ],
)
def test_money(usd: Money | None, shown: str) -> None:
    assert words.money(usd) == shown


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (money("1.29"), "+USD 1.29/h"),
        (money("-1.29"), "−USD 1.29/h"),
        (money("-3.673385", "25.713695"), "−USD 3.67/h to +USD 25.71/h"),
        (money("0", "2"), "+USD 0–2.00/h"),
        (money("0"), "no change"),
        (money("-0.001"), "−USD <0.01/h"),
        (None, "unknown"),
    ],
)
def test_differences(usd: Money | None, shown: str) -> None:
    assert words.difference(usd) == shown


def test_a_month_has_730_hours_and_is_rounded_once() -> None:
    assert words.over(money("1.29"), "month") == "USD 941.70 a month"
    assert words.over(money("1/3"), "month") == "USD 243.33 a month"
    assert words.over(None, "day") == "unknown"


def test_gpu_hours() -> None:
    assert words.gpu_hours(Count(1, 1)) == "24 GPU-hours a day"
    assert words.gpu_hours(Count(0, 8)) == "0–192 GPU-hours a day"
    assert words.gpu_hours(None) == "unknown GPU-hours a day"


def test_where_prices_are_from(price: Any) -> None:
    assert words.origin([]) == ""
    assert words.origin([price(day="2026-07-20", listed=True)]) == "list price 2026-07-20"
    assert words.origin([price(day="", listed=True)]) == "undated list price"
    several = [price("1", day="2026-07-20", listed=True), price("2", day="2026-08-03", listed=True)]
    assert words.origin(several) == "list prices 2026-07-20 to 2026-08-03"
    assert words.origin([*several, price(day="", listed=True)]) == "list prices 2026-07-20 to 2026-08-03 and undated"
    assert words.origin([price(discount="spot")]) == "price 2026-10-01, spot"
    own = [price(), price(day="2026-10-02", discount="spot")]
    assert words.origin([several[0], *own]) == "list price 2026-07-20; prices 2026-10-01 to 2026-10-02, in part spot"


def test_a_sum_tells_what_it_lacks() -> None:
    assert words.total_text(Total(money("1.29"), Count(0, 0))) == "USD 1.29/h"
    assert words.total_text(Total(money("1.29"), Count(1, 1))) == "USD 1.29/h plus 1 pod of unknown price"
    assert words.total_text(Total(money("1.29"), Count(0, 4))) == "USD 1.29/h plus 0–4 pods of unknown price"
    assert words.total_text(Total(None, Count(9, 9))) == "unknown (9 pods)"
    assert words.total_text(Total(None, None)) == "unknown (an unknown number of pods)"


def test_a_difference_tells_what_it_leaves_out() -> None:
    assert words.change(Total(money("0"), Count(0, 0))) == "no change"
    assert words.change(Total(money("1"), Count(0, 0))) == "+USD 1.00/h, +USD 730.00 a month"
    assert words.change(Total(money("0"), Count(3, 3))) == "no change, leaving out 3 pods of unknown price"
    assert words.change(Total(None, Count(3, 3))) == "unknown (3 pods)"


def test_the_example_environments(dev: Any, staging: Any, prod: Any) -> None:
    assert words.stack_cost(dev.cost()) == [
        "USD 1.29/h plus 3 pods of unknown price → USD 1.29/h plus 4 pods of unknown price, undated list price",
        "unknown (3 pods)",
        "24 GPU-hours a day",
    ]
    assert words.stack_cost(staging.cost()) == [
        "USD 3.67/h plus 4 pods of unknown price → USD 0–29.39/h plus 5 pods of unknown price, list price 2026-08-03",
        "−USD 3.67/h to +USD 25.71/h, −USD 2,681.57 a month to +USD 18,771.00 a month, "
        "leaving out 3 pods of unknown price",
        "24 → 0–192 GPU-hours a day",
    ]
    assert words.stack_cost(prod.cost()) == [
        "unknown (8 pods) → unknown (10 pods)",
        "unknown (7 pods)",
        "48 → 72 GPU-hours a day",
    ]


@pytest.mark.parametrize(
    ("before", "after", "delta", "said"),
    [
        ("1.29", "1.29", "0", "costs USD 1.29/h, no change"),
        ("1", "3", "2", "costs USD 3.00/h, USD 2.00/h more"),
        ("3", "1", "-2", "costs USD 1.00/h, USD 2.00/h less"),
        ("1", "2", None, "costs USD 2.00/h, change unknown"),
    ],
)
def test_one_line_says_whether_a_plan_costs_more_or_less(before: str, after: str, delta: str | None, said: str) -> None:
    was, will, more = (Total(None if usd is None else money(usd), Count(0, 0)) for usd in (before, after, delta))
    assert words.short_cost(StackCost((), was, will, more, (Count(1, 1), Count(1, 1)))) == f"{said}; 24 GPU-hours a day"


def test_one_line_says_why_a_cost_is_unknown(staging: Any, prod: Any) -> None:
    assert words.short_cost(prod.cost()).startswith(
        "cost unknown: instance type bare-metal in frankfurt has no price; "
    )
    assert words.short_cost(staging.cost()).split("; ")[:2] == [
        "costs USD 0–29.39/h, between USD 3.67/h less and USD 25.71/h more (list price 2026-08-03)",
        "cost of 5 pods unknown: instance type n2-standard-16 in us-central1 has no price",
    ]
