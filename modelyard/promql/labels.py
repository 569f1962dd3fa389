"""What is known of the labels of series: sets of values, finite or cofinite.

Prometheus treats an absent label like an empty one, so "absent" is the value ``""``. Everything here is a safe bound:
an unknown set is "anything".
"""

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from modelyard.promql.syntax import Matcher, Matching
from modelyard.untrusted import BadSchema, fullmatch

NAME = "__name__"
_PLAIN = re.compile(r"(?:[^\\.+*?()|\[\]{}^$]|\\[^A-Za-z0-9])*")
"""A part of a regular expression that matches itself literally."""


class Values(NamedTuple):
    """Values that one label may have."""

    listed: frozenset[str]
    others: bool
    """False: exactly the listed ones; True: all but the listed ones."""

    @property
    def number(self) -> float:
        """The number of values, infinite for all but some."""
        return math.inf if self.others else len(self.listed)


ANY = Values(frozenset(), True)
ABSENT = Values(frozenset({""}), False)
PRESENT = Values(frozenset({""}), True)


def both(values: Values, other: Values) -> Values:
    """Returns the values that are in both."""
    match values.others, other.others:
        case True, True:
            return Values(values.listed | other.listed, True)
        case False, False:
            return Values(values.listed & other.listed, False)
        case False, True:
            return Values(values.listed - other.listed, False)
        case _:
            return Values(other.listed - values.listed, False)


def either(values: Values, other: Values) -> Values:
    """Returns the values that are in at least one of them: all but those that are in neither."""
    return all_but(both(all_but(values), all_but(other)))


def all_but(values: Values) -> Values:
    """Returns all other values."""
    return Values(values.listed, not values.others)


class Labels(NamedTuple):
    """Labels that the series of one expression may have."""

    named: Mapping[str, Values]
    rest: Values
    """Values of every label that is not named: ``ANY`` or ``ABSENT``."""

    def of(self, label: str) -> Values:
        """Returns the values that a label may have."""
        return self.named.get(label, self.rest)

    @property
    def combinations(self) -> float:
        """Returns the maximum number of different series."""
        if any(values.number == 0 for values in self.named.values()):
            return 0
        return math.prod(values.number for values in self.named.values()) if self.rest == ABSENT else math.inf

    @property
    def none(self) -> bool:
        """Whether there are no labels, as in the answers of ``vector(0)`` and ``sum(x)``."""
        return self.rest == ABSENT and all(values == ABSENT for values in self.named.values())

    def having(self, changed: Mapping[str, Values]) -> "Labels":
        """Returns these labels with some replaced."""
        return Labels({**self.named, **changed}, self.rest)

    def nameless(self) -> "Labels":
        """Returns these labels without the metric's name."""
        return self.having({NAME: ABSENT})


EMPTY = Labels(MappingProxyType({}), ABSENT)
"""Labels of a series without labels, such as that of ``vector(0)`` or ``sum(x)``."""


def selected(matchers: Iterable[Matcher], *, scraped: bool) -> Labels:
    """Returns the labels of the series that all matchers select.

    Args:
        matchers: the matchers of one selector.
        scraped: whether the series come from a target that Prometheus scrapes, which gives each the labels ``job`` and
            ``instance``. A name with a colon is that of a recording rule, which may have dropped them.
    """
    named: dict[str, Values] = {}
    for matcher in matchers:
        named[matcher.label] = both(named.get(matcher.label, ANY), fitting(matcher))
    metric = named.setdefault(NAME, ANY)
    if scraped and not any(":" in name for name in metric.listed):
        for label in ("job", "instance"):
            named.setdefault(label, PRESENT)
    return Labels(named, ANY)


def fitting(matcher: Matcher) -> Values:
    """Returns the values that one matcher selects."""
    match matcher.operator:
        case "=":
            return Values(frozenset({matcher.value}), False)
        case "!=":
            return Values(frozenset({matcher.value}), True)
        case "=~":
            return _matched(matcher.value)
        case "!~":
            values = _matched(matcher.value)
            if alternatives(matcher.value) is not None or matcher.value in (".*", ".+"):
                return all_but(values)
            # Of another expression only this is known: whether it matches nothing at all.
            return PRESENT if _fits_absent(matcher.value) is True else ANY


def alternatives(expression: str) -> tuple[str, ...] | None:
    """Returns the values that a regular expression lists, as in ``a|b``, or None if it is more than a list."""
    inner = re.fullmatch(r"\((?:\?:)?([^()]*)\)", expression)
    parts = (inner[1] if inner else expression).split("|")
    if not all(_PLAIN.fullmatch(part) for part in parts):
        return None
    return tuple(re.sub(r"\\(.)", r"\1", part) for part in parts)


def _matched(expression: str) -> Values:
    if expression == ".*":
        return ANY
    if expression == ".+":
        return PRESENT
    if (listed := alternatives(expression)) is not None:
        return Values(frozenset(listed), False)
    return PRESENT if _fits_absent(expression) is False else ANY


def _fits_absent(expression: str) -> bool | None:
    """Whether a regular expression matches the empty value; None if unknown."""
    try:
        return fullmatch(expression, "")
    except BadSchema:
        return None


def matched_on(labels: Labels, other: Labels, matching: Matching) -> frozenset[str]:
    """Returns the labels by which two sides match, as far as their names are known."""
    if matching.on:
        return frozenset(matching.labels)
    return frozenset({*labels.named, *other.named}) - {*matching.labels, NAME}


def never_meet(labels: Labels, other: Labels, matching: Matching) -> str:
    """Returns the first label in which two sides always differ, or an empty text."""
    for label in sorted(matched_on(labels, other, matching)):
        if both(labels.of(label), other.of(label)).number == 0:
            return label
    return ""


def always_meet(labels: Labels, other: Labels, matching: Matching) -> bool:
    """Whether every series of one side equals every series of the other, in the labels that count."""
    if not matching.on and not labels.rest == other.rest == ABSENT:
        return False
    for label in matched_on(labels, other, matching):
        values = labels.of(label)
        if values.number != 1 or values != other.of(label):
            return False
    return True


def unique(labels: Labels, matching: Matching) -> bool:
    """Whether no two series of a side can be equal in the labels that count, so that a partner is never ambiguous."""
    if matching.on:
        left = [labels.rest, *(values for label, values in labels.named.items() if label not in matching.labels)]
    else:
        left = [labels.of(NAME), *(labels.of(label) for label in matching.labels)]
    return all(values.number <= 1 for values in left)
