"""The JSON Schema of stack files, and a gate that separates valid from invalid config in microseconds.

The gate returns yes or no; ``explain`` says what is wrong, and runs only then.
"""

import json
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from modelyard.schemas import surely_valid

PREFIX = "modelyard:"
FILE = Path(__file__).with_name("stack.schema.json")
_FEW = 50
"""As many stacks are checked in the time that importing the validator and compiling the schema takes."""
_checked = count()


@cache
def schema_text() -> str:
    """Returns the schema that ``modelyard schema`` prints: JSON Schema 2020-12."""
    return FILE.read_text(encoding="utf-8")


def is_valid(config: dict[str, Any]) -> bool:
    """Whether the ``config`` of a stack file, without other packages' keys, follows the schema."""
    document = {"config": config}
    few = next(_checked) < _FEW
    return (few and surely_valid(schema(), document)) or bool(gate(schema_text()).is_valid(document))


@cache
def schema() -> Any:
    """Returns the parsed schema."""
    return json.loads(schema_text())


@cache
def gate(text: str) -> Any:
    """Returns the validator of one of modelyard's own schemas, which checks formats too."""
    # Imported at first use: it costs 10 ms, and verbs that read no stack file do not need it.
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(text, validate_formats=True)
