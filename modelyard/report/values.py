"""Values of fields in words that a reader can scan."""

import json
from typing import Any

from modelyard import merge


def text_of(value: Any) -> str:
    """A field's value on one line: bare words bare, everything else as compact JSON."""
    if value is merge.ABSENT:
        return "(none)"
    if isinstance(value, str):
        return (
            value if value and value.strip() == value and "\n" not in value else json.dumps(value, ensure_ascii=False)
        )
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 pod``, ``2 pods``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
