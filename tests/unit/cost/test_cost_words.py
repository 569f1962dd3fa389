"""Costs as text: rounded only here, unknown instead of zero, each price with its origin."""

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
    assert "USD 941.70 " in words.change(Total(money("1.29"), Count(0, 0)))
    assert "USD 243.33 " in words.change(Total(money("1/3"), Count(0, 0)))


def test_gpu_hours(golden: Any) -> None:
    golden(*map(words.gpu_hours, (Count(1, 1), Count(0, 8), None)), "")


def test_origin_of_prices(price: Any, golden: Any) -> None:
    several = [price("1", day="2026-07-20", listed=True), price("2", day="2026-08-03", listed=True)]
    own = [price(), price(day="2026-10-02", discount="spot")]
    assert words.origin([]) == ""
    golden(
        words.origin([price(day="2026-07-20", listed=True)]),
        words.origin([price(day="", listed=True)]),
        words.origin(several),
        words.origin([*several, price(day="", listed=True)]),
        words.origin([price(discount="spot")]),
        words.origin([several[0], *own]),
        "",
    )


def test_totals_and_changes_name_what_they_leave_out(golden: Any) -> None:
    totals = [
        Total(money("1.29"), Count(0, 0)),
        Total(money("1.29"), Count(1, 1)),
        Total(money("1.29"), Count(0, 4)),
        Total(None, Count(9, 9)),
        Total(None, None),
    ]
    changes = [
        Total(money("0"), Count(0, 0)),
        Total(money("1"), Count(0, 0)),
        Total(money("0"), Count(3, 3)),
        Total(None, Count(3, 3)),
    ]
    golden(*map(words.total_text, totals), "", *map(words.change, changes), "")


def test_cost_of_the_example_stacks(dev: Any, staging: Any, prod: Any, golden: Any) -> None:
    stacks = {"dev": dev, "staging": staging, "prod": prod}
    golden(
        *(
            line
            for name, stack in stacks.items()
            for line in (f"{name}:", *words.stack_cost(stack.cost()), words.short_cost(stack.cost()), "")
        )
    )


def test_one_line_says_whether_a_plan_costs_more_or_less(golden: Any) -> None:
    shown = []
    for before, after, delta in (("1.29", "1.29", "0"), ("1", "3", "2"), ("3", "1", "-2"), ("1", "2", None)):
        was, will, more = (Total(None if usd is None else money(usd), Count(0, 0)) for usd in (before, after, delta))
        shown.append(words.short_cost(StackCost((), was, will, more, (Count(1, 1), Count(1, 1)))))
    golden(*shown, "")
