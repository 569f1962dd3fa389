"""A value of a stack file that only the engine can read."""

from typing import NamedTuple


class Secret(NamedTuple):
    """An encrypted value. Its content is not known here, so it cannot be printed."""

    path: tuple[str | int, ...]
    """Its path in the stack file, for a caller that may decrypt it."""

    def __repr__(self) -> str:
        return "[secret]"
