"""Converts values of a config to plain JSON-like values with the keys of a stack file."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from modelyard.stack.secret import Secret
from modelyard.stack.shape import spelled


def plain(value: Any) -> Any:
    """Returns the value with the keys of the stack file; unset keys have their default, or None.

    Durations are seconds, as in a config; ``[secret]`` replaces an encrypted value.
    """
    if isinstance(value, Secret):
        return repr(value)
    if hasattr(value, "_asdict"):
        return {spelled(name): plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return value.isoformat() if isinstance(value, date) else value
