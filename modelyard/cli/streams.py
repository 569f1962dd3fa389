"""The streams of a run, where the reader may be gone or the disk full."""

import os
from contextlib import suppress
from typing import Any, TextIO


def to_nowhere(stream: TextIO) -> None:
    """Drops what is and will be written to a stream, or Python would fail on it once more while it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Heedless:
    """Standard error, to which what cannot be written is dropped: what a run does and how it ends stays as it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.heard = True
        """Whether everything could be written so far."""

    def write(self, text: str) -> int:
        """Writes, or not."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Writes what is held back, or not."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self.heard = False
        with suppress(OSError):
            to_nowhere(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
