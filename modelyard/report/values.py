"""Values of fields in words that a reader can scan."""

import json
import re
from typing import Any

from modelyard import merge

_BARE = re.compile(r"[A-Za-z0-9_./@%+-][A-Za-z0-9_./@%+ -]*")


def text_of(value: Any) -> str:
    """A field's value on one line: words bare, maps and lists in flow style, odd texts quoted."""
    if value is merge.ABSENT:
        return "(none)"
    match value:
        case str():
            plain = value == value.strip() and value.isprintable() and value
            return value if plain else json.dumps(value, ensure_ascii=False)
        case dict():
            return "{" + ", ".join(f"{_inner(key)}: {_inner(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_inner, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _inner(value: Any) -> str:
    if isinstance(value, str) and not _BARE.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return text_of(value)


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 pod``, ``2 pods``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
