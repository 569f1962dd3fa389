"""Signals that end a run: what they do meanwhile, and the exit code they give it."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from modelyard.cli.exit import Exit, Stop

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the polite end of a job, the end of a terminal."""


class Signalled(KeyboardInterrupt):
    """A signal that ends the run, raised where the program stands, so that everything open gets closed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def on_signal(act: Callable[[int], None]) -> Iterator[None]:
    """Calls ``act`` with the number of each ending signal, instead of what it would do otherwise.

    What the caller of the program wants ignored stays ignored (``nohup``, jobs in the background of a script).
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        act(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        wanted = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_by_signal(words: str) -> Iterator[None]:
    """Lets a signal end what runs inside, as a stop with these words on what is left behind."""
    try:
        with on_signal(_end):
            yield
    except Signalled as ended:
        if sys.stderr.isatty():
            # Behind a question, or behind the ^C of the terminal.
            sys.stderr.write("\n")
        raise signal_stop(ended.number, words) from None


def signal_stop(number: int, words: str, remedy: str = "") -> Stop:
    """The end of a run by a signal, with the exit code that shells give it."""
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    return Stop(Exit(128 + number), f"{name}: {words}", remedy)


def _end(number: int) -> None:
    raise Signalled(number)
