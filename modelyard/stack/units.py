"""Types of settings that a stack file writes in several ways; each carries the function that reads them."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from modelyard.stack import durations

Convert = Callable[[Any, str | None], Any]
"""Converts a value; the second argument is its source text if it is a number."""


def quantity(value: Any, text: str | None) -> str:
    """Returns a Kubernetes quantity as the operator wrote it."""
    if isinstance(value, str):
        return value
    # The source text of a hexadecimal number is not a quantity; its value is.
    return text if text is not None and text[:2] not in ("0x", "0o") else str(value)


def seconds(value: Any, _: str | None) -> int:
    """Returns a duration in seconds."""
    return durations.seconds(value)


def line(value: Any, _: str | None) -> str:
    """Returns text as one line."""
    return " ".join(value.split())


Quantity = Annotated[str, quantity]
Seconds = Annotated[int, seconds]
OneLine = Annotated[str, line]
COMPUTED: Final = None
"""Marks a field that stands in no stack file."""
