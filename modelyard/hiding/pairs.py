"""Hides two values of one field, and shows that a hidden value changed."""

from collections.abc import Mapping
from typing import Any

from modelyard.hiding.confidential import Confidential
from modelyard.hiding.names import CHANGED, HIDDEN
from modelyard.hiding.values import hidden


def hidden_pair(before: Any, after: Any) -> tuple[Any, Any]:
    """Hides two values of one field, with ``CHANGED`` in the later one where the hidden values differ."""
    before, after = (value.reveal() if isinstance(value, Confidential) else value for value in (before, after))
    was, now = hidden(before), hidden(after)
    return was, marked(before, after, was, now)


def marked(before: Any, after: Any, was: Any, now: Any) -> Any:
    """Returns the later of two hidden values (``was``, ``now``) with ``CHANGED`` where it hides a changed value.

    For a value that was already hidden, as on a recorded platform, a difference is unknown.
    """
    if now is after:
        return now
    if isinstance(now, str):
        differs = was == now and before != after and before != was
        return now.replace(HIDDEN, CHANGED) if differs else now
    if isinstance(now, dict) and isinstance(before, Mapping):
        return {
            key: marked(before[key], after[key], was[key], inner) if key in before else inner
            for key, inner in now.items()
        }
    if isinstance(now, list) and isinstance(before, list):
        places = {_identity(item, index): index for index, item in enumerate(before)}
        matched = [places.get(_identity(item, index)) for index, item in enumerate(after)]
        return [
            inner if at is None else marked(before[at], item, was[at], inner)
            for at, item, inner in zip(matched, after, now, strict=True)
        ]
    return now


def _identity(item: Any, index: int) -> Any:
    """Returns what identifies an item of a list: its name, else its index."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else index
