"""The JSON Schema of stack files, and a gate that separates valid from invalid config in microseconds.

The gate returns yes or no; ``explain`` says what is wrong, and runs only then.
"""

from functools import cache
from pathlib import Path
from typing import Any

PREFIX = "modelyard:"
FILE = Path(__file__).with_name("stack.schema.json")


@cache
def schema_text() -> str:
    """Returns the schema that ``modelyard schema`` prints: JSON Schema 2020-12."""
    return FILE.read_text(encoding="utf-8")


def is_valid(config: dict[str, Any]) -> bool:
    """Whether the ``config`` of a stack file, without other packages' keys, follows the schema."""
    return bool(gate(schema_text()).is_valid({"config": config}))


@cache
def gate(schema: str) -> Any:
    """Returns the validator of one of modelyard's own schemas, which checks formats too."""
    # Imported at first use: it costs 10 ms, and verbs that read no stack file do not need it.
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, validate_formats=True)
