"""Output streams whose reader may be gone, or whose disk may be full."""

import os
from contextlib import suppress
from typing import Any, TextIO


def to_nowhere(stream: TextIO) -> None:
    """Drops buffered and future output of a stream; otherwise Python fails on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Heedless:
    """Standard error that drops output it cannot write, so that the run and its exit code stay the same."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.heard = True
        """Whether every write succeeded so far."""

    def write(self, text: str) -> int:
        """Writes, or drops the text on failure."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flushes, or drops the buffered text on failure."""
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
