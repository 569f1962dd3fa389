"""A bar with the time left, on terminals, for work on many stacks, clusters or objects that takes longer than two
seconds.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from modelyard.cli.streams import columns
from modelyard.report.style import hanging

if TYPE_CHECKING:
    from collections.abc import Generator

Result = TypeVar("Result")

PATIENCE: Final = 2.0
"""Seconds without a bar: most commands end before."""
_BAR = 20
"""Columns of the bar."""
_CLEAR = "\r\x1b[K"
_drawn = ""
"""The bar that is on the terminal now; empty if there is none."""


def followed(results: "Generator[Result, Any, Any]", total: int, noun: str = "stack") -> Iterator[Result]:
    """The results, with a bar on standard error while the next one is made.

    The bar is erased before each result, so that the caller may print it, and shown on a terminal only.

    Args:
        results: one for each stack or cluster; what makes them may write lines with ``beside``.
        total: number of results.
        noun: what is counted.
    """
    started = time.monotonic()
    with closing(results):
        try:
            for done, result in enumerate(results, 1):
                _draw("")
                yield result
                _draw_bar(done, total, time.monotonic() - started, noun)
        finally:
            _draw("")


@contextmanager
def counted(total: int, noun: str) -> Iterator[Callable[[str, bool], None]]:
    """Writes lines to standard error, each above a bar of what is done; the bar is shown on a terminal only.

    Yields a function that takes a line, and whether one more is done with it. The time counts from the first line.

    Args:
        total: how many there are to do.
        noun: what is counted.
    """
    done, started = 0, 0.0

    def write(line: str, is_done: bool) -> None:
        nonlocal done, started
        now = time.monotonic()
        started = started or now
        done += is_done
        _draw("")
        _write(f"{line}\n")
        _draw_bar(done, total, now - started, noun)

    try:
        yield write
    finally:
        _draw("")


def beside(line: str) -> None:
    """Writes a line to standard error, above the bar if there is one."""
    drawn = _drawn
    _draw("")
    _write("".join(f"{part}\n" for part in hanging(line, 0, columns(sys.stderr))))
    _draw(drawn)


def bar(done: int, total: int, seconds: float, noun: str = "stack") -> str:
    """``[##########          ] 12 of 24 stacks, about 30 s left``; without the time if none is done.

    Args:
        done: number of stacks that are done.
        total: number of all stacks.
        seconds: the time that they took.
        noun: what is counted.
    """
    from modelyard.stack.words import plural  # most commands end before

    text = f"[{'#' * (_BAR * done // total):<{_BAR}}] {done:,} of {plural(total, noun)}"
    if not done:
        return text
    left = round(seconds / done * (total - done))
    time_left = f"{left} s" if left < 100 else f"{round(left / 60)} min"
    return f"{text}, about {time_left} left"


def _draw_bar(done: int, total: int, seconds: float, noun: str) -> None:
    """Draws a bar on a terminal if the work goes on and has taken long enough."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if terminal and done < total and seconds >= PATIENCE:
        _draw(bar(done, total, seconds, noun)[: columns(sys.stderr) - 1])


def _draw(text: str) -> None:
    """Puts a bar in place of the one on the terminal; an empty text is none."""
    global _drawn
    if _drawn or text:
        _write(f"{_CLEAR if _drawn else ''}{text}")
    _drawn = text


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
