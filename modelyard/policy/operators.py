"""The operators of assertions: a small set, each a pure function of a field's value and the assertion's."""

from collections.abc import Callable
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.kube.merge import ABSENT
from modelyard.untrusted import fullmatch, pattern_problem


class Operator(NamedTuple):
    """One operator."""

    holds: Callable[[Any, Any], bool]
    """Whether a field with the first value satisfies the second."""
    without: bool
    """Whether a field that is not there satisfies it."""
    takes: str
    """What its value must be: ``flag``, ``scalar``, ``list``, ``pattern`` or ``quantity``."""
    meaning: str


def text(value: Any) -> str:
    """A scalar as YAML writes it, so that the number 1 and the text "1" are the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _equal(value: Any, wanted: Any) -> bool:
    return text(value) == text(wanted) if _scalar(value) and _scalar(wanted) else bool(value == wanted)


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _matches(value: Any, pattern: Any) -> bool:
    return _scalar(value) and fullmatch(pattern, text(value))


def _amount(value: Any) -> Any:
    """A quantity as a number, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.parse(value)
    except ValueError:
        return None


def _at_least(value: Any, least: Any) -> bool:
    found = _amount(value)
    return found is not None and bool(found >= _amount(least))


def _at_most(value: Any, most: Any) -> bool:
    found = _amount(value)
    return found is not None and bool(found <= _amount(most))


OPERATORS: dict[str, Operator] = {
    "exists": Operator(
        lambda value, wanted: (value is not ABSENT and value is not None) == wanted,
        False,
        "flag",
        "`true`: the field is there; `false`: it is not",
    ),
    "equals": Operator(_equal, False, "scalar", "it is this value; the number 1 and the text `1` are the same"),
    "notEquals": Operator(lambda value, other: not _equal(value, other), True, "scalar", "it is not this value"),
    "in": Operator(
        lambda value, wanted: any(_equal(value, one) for one in wanted), False, "list", "it is one of these values"
    ),
    "notIn": Operator(
        lambda value, others: not any(_equal(value, one) for one in others), True, "list", "it is none of these values"
    ),
    "matches": Operator(
        _matches,
        False,
        "pattern",
        "the whole of it matches this regular expression, which has no look-around and no back-references",
    ),
    "notMatches": Operator(
        lambda value, pattern: not _matches(value, pattern), True, "pattern", "it does not match this one as a whole"
    ),
    "atLeast": Operator(_at_least, False, "quantity", "it is this Kubernetes quantity or more: `16Gi`, `500m`, `4`"),
    "atMost": Operator(_at_most, False, "quantity", "it is this Kubernetes quantity or less"),
}
"""By name, in the order of the documentation."""


def fits(takes: str, value: Any) -> str:
    """What is wrong with an assertion's value for what its operator takes; empty where it fits."""
    match takes:
        case "flag":
            return "" if isinstance(value, bool) else "is not true or false"
        case "list":
            return "" if isinstance(value, list) and value and all(map(_scalar, value)) else "is not a list of values"
        case "pattern":
            return pattern_problem(value)
        case "quantity":
            return "" if _amount(value) is not None else "is not a Kubernetes quantity such as 16Gi, 500m or 4"
        case _:
            return "" if _scalar(value) else "is not one plain value"
