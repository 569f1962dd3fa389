"""What is wrong with a value that does not fit its type."""

from collections.abc import Iterable
from typing import NamedTuple

from modelyard.merge.path import Path


class SchemaError(NamedTuple):
    """One thing that is wrong, and where."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class MergeError(ValueError):
    """A patch or an object that cannot be merged: every reason at once, in ``errors``."""

    def __init__(self, errors: Iterable[SchemaError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: (error.path.sort_key, error.message)))
        super().__init__("; ".join(map(str, self.errors)))
