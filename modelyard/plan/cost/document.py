"""Converts the cost of a plan to and from JSON: the part ``cost`` of a plan's document."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from modelyard.plan.cost.values import Count, JobsOnly, Money, Price, StackCost, TargetCost, Total, stack_cost

_Made = TypeVar("_Made")


def cost_to_json(cost: StackCost) -> dict[str, Any]:
    """The cost as plain JSON values; null is unknown.

    Amounts are numbers. An amount with no exact decimal, such as a third of a price, is rounded to the nearest number
    that JSON readers can distinguish, off by less than a billionth of a cent.
    """
    return {
        "currency": "USD",
        "per": "hour",
        "before": total_to_json(cost.before),
        "after": total_to_json(cost.after),
        "delta": total_to_json(cost.delta),
        "gpus": _pair(cost.gpus, _count),
        "targets": [_target(target) for target in cost.targets],
        **({"jobsOnly": [one._asdict() for one in cost.jobs_only]} if cost.jobs_only else {}),
    }


def cost_from_json(value: Mapping[str, Any]) -> StackCost:
    """The cost from the output of ``cost_to_json``.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the value has another form.
    """
    jobs_only = (JobsOnly(str(one["cluster"]), one["gpus"]) for one in value.get("jobsOnly", ()))
    return stack_cost(map(_read_target, value["targets"]), jobs_only)


def total_to_json(total: Total) -> dict[str, Any]:
    """One sum as plain JSON values."""
    return {"usd": _money(total.usd), "unknownPods": _count(total.unknown)}


def total_from_json(value: Mapping[str, Any]) -> Total:
    """The sum from the output of ``total_to_json``.

    Raises:
        KeyError, TypeError, ValueError: the value has another form.
    """
    return Total(_read_money(value["usd"]), _read_count(value["unknownPods"]))


def _target(target: TargetCost) -> dict[str, Any]:
    return {
        "kind": target.kind,
        "name": target.name,
        "pods": _pair(target.pods, _count),
        "gpus": _pair(target.gpus, _count),
        "usd": {**_pair(target.usd, _money), "delta": _money(target.delta)},
        "prices": [{**price._asdict(), "usd": _number(price.usd)} for price in target.prices],
        "unknown": target.unknown,
    }


def _pair(pair: tuple[_Made, _Made], form: Callable[[_Made], Any]) -> dict[str, Any]:
    return {"before": form(pair[0]), "after": form(pair[1])}


def _count(count: Count | None) -> dict[str, int] | None:
    return None if count is None else {"low": count.low, "high": count.high}


def _money(money: Money | None) -> dict[str, float] | None:
    return None if money is None else {"low": _number(money.low), "high": _number(money.high)}


def _number(amount: Fraction) -> float:
    return int(amount) if amount.denominator == 1 else float(amount)


def _read_target(value: Mapping[str, Any]) -> TargetCost:
    pods, gpus, usd = value["pods"], value["gpus"], value["usd"]
    return TargetCost(
        kind=value["kind"],
        name=value["name"],
        pods=(_read_count(pods["before"]), _read_count(pods["after"])),
        gpus=(_read_count(gpus["before"]), _read_count(gpus["after"])),
        usd=(_read_money(usd["before"]), _read_money(usd["after"])),
        delta=_read_money(usd["delta"]),
        prices=tuple(Price(**{**price, "usd": _read_number(price["usd"])}) for price in value["prices"]),
        unknown=value["unknown"],
    )


def _read_count(value: Mapping[str, Any] | None) -> Count | None:
    return None if value is None else Count(int(value["low"]), int(value["high"]))


def _read_money(value: Mapping[str, Any] | None) -> Money | None:
    return None if value is None else Money(_read_number(value["low"]), _read_number(value["high"]))


def _read_number(value: Any) -> Fraction:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} for an amount")
    # The shortest text of a float is the decimal that was written, not the binary number near it.
    return Fraction(str(value))
