"""A value of a stack file that only the engine can read."""

from typing import NamedTuple


class Secret(NamedTuple):
    """An encrypted value. What it encrypts is not known here, so nothing can print it."""

    path: tuple[str | int, ...]
    """Where it stands in the stack file, for a caller that may decrypt it."""

    def __repr__(self) -> str:
        return "[secret]"
