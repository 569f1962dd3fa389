"""The JSON Schema of stack files, and the gate that tells valid config from invalid in microseconds.

The gate says yes or no; ``explain`` says what is wrong, only when something is.
"""

from functools import cache
from pathlib import Path
from typing import Any

PREFIX = "modelyard:"
FILE = Path(__file__).with_name("stack.schema.json")


@cache
def schema_text() -> str:
    """The schema as published by ``modelyard schema``: JSON Schema 2020-12."""
    return FILE.read_text(encoding="utf-8")


def is_valid(config: dict[str, Any]) -> bool:
    """Whether the ``config`` of a stack file, other packages' keys left out, follows the schema."""
    return bool(_gate().is_valid({"config": config}))


@cache
def _gate() -> Any:
    # Imported at first use: it costs 10 ms, and verbs that read no stack file do without.
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema_text(), validate_formats=True)
