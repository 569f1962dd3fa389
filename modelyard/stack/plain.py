"""Values of a config as plain JSON-like ones, in the words of a stack file."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from modelyard.stack.secret import Secret
from modelyard.stack.shape import spelled


def plain(value: Any) -> Any:
    """The value with the keys of the stack file, what nobody said included: as its default, or None.

    Lengths of time are seconds, as a config has them; in place of an encrypted value stands ``[secret]``.
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
