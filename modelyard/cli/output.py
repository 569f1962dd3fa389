"""Writing where the reader may be gone."""

import sys
from collections.abc import Iterable

from modelyard.cli.common import say
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.streams import to_nowhere


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
