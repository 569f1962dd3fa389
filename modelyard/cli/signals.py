"""Signals that end a run: handlers and exit codes."""

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
"""Ctrl-C, a job's regular termination, and the end of a terminal."""


class Signalled(KeyboardInterrupt):
    """A signal that ends the run, raised at the current point of the program so that all open resources get closed."""


@contextmanager
def on_signal(act: Callable[[int], None]) -> Iterator[None]:
    """Calls ``act`` with the number of each ending signal, instead of the default action.

    Signals that the program's caller ignores stay ignored (``nohup``, background jobs of a script).
    """
    process = os.getpid()

    def handle(number: int, _frame: FrameType | None) -> None:
        if os.getpid() == process:
            act(number)
        else:  # a fork that has not set its own handling yet
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
    """Turns a signal inside the block into a stop whose message says what is left behind.

    The raised exception may reach a place where Python drops it, or where another error replaces it: the run still ends
    by the signal.
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
            # Ends the line of a question, or of the terminal's ^C.
            sys.stderr.write("\n")
        raise signal_stop(noted[0][1], words)


def signal_stop(number: int, words: str, remedy: str = "") -> Stop:
    """The stop for a signal, with the exit code that shells use."""
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    return Stop(Exit(128 + number), f"{name}: {words}", remedy)
