"""Fields of objects without secrets, as plans show and save them."""

from collections.abc import Mapping
from typing import Any

from modelyard import merge
from modelyard.cluster import ObjectKey
from modelyard.hiding import hidden_below, marked


def hidden_field(key: ObjectKey | None, path: merge.Path, value: Any) -> Any:
    """The value of one field of an object, hidden where it is a secret; ``key`` is None for what is no object yet."""
    if value is merge.ABSENT:
        return value
    steps: list[str | Mapping[str, Any]] = [
        one if isinstance(one, str) else dict(one.fields) if isinstance(one, merge.Key) else {} for one in path
    ]
    return hidden_below(steps, value, key.kind if key is not None else "")


def hidden_change(key: ObjectKey | None, path: merge.Path, before: Any, after: Any) -> tuple[Any, Any]:
    """Both values of a field, hidden; the later one says where it hides another value than the earlier one."""
    was, now = (hidden_field(key, path, value) for value in (before, after))
    return was, marked(before, after, was, now)
