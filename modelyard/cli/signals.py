"""Signals that end a run: what they do meanwhile, and the exit code they give it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from modelyard.cli.exit import Exit, Stop
from modelyard.temporary import ECHO

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the polite end of a job, the end of a terminal."""


class Signalled(KeyboardInterrupt):
    """A signal that ends the run, raised where the program stands, so that everything open gets closed."""


@contextmanager
def on_signal(act: Callable[[int], None]) -> Iterator[None]:
    """Calls ``act`` with the number of each ending signal, instead of what it would do otherwise.

    What the caller of the program wants ignored stays ignored (``nohup``, jobs in the background of a script).
    """
    process = os.getpid()

    def handle(number: int, _frame: FrameType | None) -> None:
        if os.getpid() == process:
            act(number)
        else:  # a fork that has not said yet what it does
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

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
    """Lets a signal end what runs inside, as a stop with these words on what is left behind.

    What it raises may come up in a place where Python has to drop it, or where another error takes over: the run ends
    by the signal all the same.
    """
    noted: list[tuple[float, int]] = []

    def end(number: int) -> None:
        now = time.monotonic()
        if not noted or now - noted[-1][0] >= ECHO:
            noted.append((now, number))
            raise Signalled(number)

    try:
        with on_signal(end):
            yield
    except BaseException:
        if not noted:
            raise
    if noted:
        if sys.stderr.isatty():
            # Behind a question, or behind the ^C of the terminal.
            sys.stderr.write("\n")
        raise signal_stop(noted[0][1], words)


def signal_stop(number: int, words: str, remedy: str = "") -> Stop:
    """The end of a run by a signal, with the exit code that shells give it."""
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    return Stop(Exit(128 + number), f"{name}: {words}", remedy)
