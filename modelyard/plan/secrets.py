"""Objects' fields without secrets, as plans show and save them."""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard.findings import Finding
from modelyard.hiding import hidden_below, marked, words_without
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey


def hidden_field(key: ObjectKey | None, path: merge.Path, value: Any) -> Any:
    """The value of one field of an object, hidden if it is a secret; ``key`` is None for what is no object yet."""
    if value is merge.ABSENT:
        return value
    steps: list[str | Mapping[str, Any]] = [
        one if isinstance(one, str) else dict(one.fields) if isinstance(one, merge.Key) else {} for one in path
    ]
    return hidden_below(steps, value, key.kind if key is not None else "")


def hidden_change(key: ObjectKey | None, path: merge.Path, before: Any, after: Any) -> tuple[Any, Any]:
    """Both values of a field, hidden; the later value shows whether it hides another value than the earlier."""
    was, now = (hidden_field(key, path, value) for value in (before, after))
    return was, marked(before, after, was, now)


def findings_without(findings: Iterable[Finding], objects: Iterable[Any]) -> list[Finding]:
    """The findings without quoted secrets of their objects."""
    found = list(findings)
    without = words_without(objects) if found else str
    return [
        one._replace(summary=without(one.summary), detail=without(one.detail), remedy=without(one.remedy))
        for one in found
    ]
