"""Writing where the reader may be gone."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from modelyard.cli.common import say
from modelyard.cli.exit import Exit, Stop


def show(lines: Iterable[str]) -> None:
    """Prints what is about to be done, all of it, before anything is done.

    Raises:
        Stop: nobody reads it.
    """
    try:
        say(lines)
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere(sys.stdout)
        raise Stop(
            Exit.USAGE, "nobody reads the plan; nothing was changed", "read it to its end, or write it to a file"
        ) from None


def to_nowhere(stream: TextIO) -> None:
    """Drops what is and will be written to a stream, or Python would fail on it once more while it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
