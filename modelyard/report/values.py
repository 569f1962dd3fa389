"""Formats the values of fields in words that are easy to scan, and what a pod requires of its nodes."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from modelyard.kube import merge
from modelyard.patterns import regex
from modelyard.report.style import safe, shorten

_BARE = regex(r"[A-Za-z0-9_./@%+-][A-Za-z0-9_./@%+ -]*")
EVERYTHING = 1 << 30
NAMES = 6
"""Up to this many names are shown; the rest is counted."""
_TRIES = (EVERYTHING, *range(12, 0, -1))
"""Limits for the items of each list, tried until the text is short enough."""

Write = Callable[[Any, int], str]
"""Formats a value in words, with at most so many items per list."""


def text_of(value: Any, most: int = EVERYTHING) -> str:
    """A field's value on one line: words bare, maps and lists in flow style, special texts quoted."""
    if value is merge.ABSENT:
        return "(none)"
    match value:
        case str():
            plain = value == value.strip() and value.isprintable() and value
            return value if plain else json.dumps(value, ensure_ascii=False)
        case dict():
            pairs = (f"{_inner(key, most)}: {_inner(item, most)}" for key, item in value.items())
            return "{" + some(pairs, most) + "}"
        case list() | tuple():
            return "[" + some((_inner(item, most) for item in value), most) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _inner(value: Any, most: int) -> str:
    if isinstance(value, str) and not _BARE.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return text_of(value, most)


def kind_and_name(kind: str, name: str) -> str:
    """``deployment-ray-head``, ``RayCluster training``: the name, with its kind if it is no Deployment."""
    return name if kind == "Deployment" else f"{kind} {name}"


def owner_words(owner: merge.Owner, *, timed: bool = False) -> str:
    """``kubectl (Update of scale)``; ``timed``: with the time of its last write."""
    how = f"{owner.operation} of {owner.subresource}" if owner.subresource else owner.operation
    return safe(f"{owner.manager} ({how})" + (f" at {owner.time}" if timed and owner.time else ""))


def some(parts: Iterable[str], most: int, joint: str = ", ") -> str:
    """The first parts, and how many more there are: ``a, b, … 3 more``."""
    every = list(parts)
    if len(every) <= most:
        return joint.join(every)
    return joint.join((*every[:most], f"… {len(every) - most} more"))


def fitted(value: Any, width: int, write: Write = text_of) -> str:
    """A value in at most ``width`` columns: lists and maps are cut at an item, a single long text in the middle."""
    text = ""
    for most in _TRIES:
        text = safe(write(value, most))
        if len(text) <= width or not isinstance(value, (dict, list, tuple)):
            break
    return shorten(text, width)


def distinct(before: Any, after: Any, write: Write = text_of) -> Write:
    """A function that formats two values, exactly if both texts would otherwise be equal: ``1`` and ``"1"``."""
    alike = safe(write(before, EVERYTHING)) == safe(write(after, EVERYTHING))
    return exactly if alike and merge.ABSENT not in (before, after) else write


def exactly(value: Any, _most: int = EVERYTHING) -> str:
    """A value as JSON, so that different values have different texts."""
    return json.dumps(value, ensure_ascii=False)


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def writer(path: merge.Path) -> Write:
    """The function that formats the values of a field: a special one for node affinity and for tolerations."""
    if path[-2:] == ("nodeAffinity", _REQUIRED):
        return nodes
    if path[-2:] == ("nodeAffinity", _PREFERRED):
        return preferred_nodes
    return tolerations if path[-1:] == ("tolerations",) else text_of


def nodes(value: Any, most: int) -> str:
    """Which nodes a pod may run on: ``nvidia.com/gpu.product in NVIDIA-A10 and without example.com/old``."""
    try:
        terms = [_term(term, most) for term in value["nodeSelectorTerms"]]
    except (KeyError, TypeError, AttributeError):
        return text_of(value, most)
    return some(terms, most, " or ") or "no node"


def preferred_nodes(value: Any, most: int) -> str:
    """Which nodes a pod prefers, each preference with its weight."""
    try:
        terms = [f"{_term(term['preference'], most)} (weight {term['weight']})" for term in value]
    except (KeyError, TypeError, AttributeError):
        return text_of(value, most)
    return some(terms, most) or "none"


def _term(term: Mapping[str, Any], most: int) -> str:
    parts = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
    # For the scheduler, an empty term matches no node.
    return some([_expression(part, most) for part in parts], most, " and ") if parts else "no node"


def _expression(expression: Mapping[str, Any], most: int) -> str:
    key, operator = expression["key"], expression["operator"]
    values = [str(value) for value in expression.get("values") or ()]
    match operator:
        case "In":
            return f"{key} in {some(values, most)}"
        case "NotIn":
            return f"{key} not in {some(values, most)}"
        case "Exists":
            return f"with label {key}"
        case "DoesNotExist":
            return f"without label {key}"
        case "Gt" | "Lt":
            return f"{key} {'>' if operator == 'Gt' else '<'} {some(values, most)}"
        case _:
            return f"{key} {operator} {some(values, most)}"


def tolerations(value: Any, most: int) -> str:
    """Which taints a pod tolerates, as kubectl writes taints: ``nvidia.com/gpu:NoSchedule, spot=true for 300 s``."""
    try:
        return some([_toleration(one) for one in value], most) or "none"
    except (TypeError, AttributeError):
        return text_of(value, most)


def _toleration(one: Mapping[str, Any]) -> str:
    text = one.get("key") or "every taint"
    if one.get("operator", "Equal") != "Exists":
        text += f"={one.get('value') or ''}"
    if one.get("effect"):
        text += f":{one['effect']}"
    seconds = one.get("tolerationSeconds")
    return text if seconds is None else f"{text} for {seconds} s"
