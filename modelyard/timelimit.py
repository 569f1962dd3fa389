"""Limits on how long code from a project's files may run: one call, and all calls of a process together."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.25
"""Seconds after which ``TimeUp`` is raised again: Python drops what is raised in callbacks such as ``__del__``."""


class TimeUp(BaseException):
    """The code ran out of time. No Exception: that may be caught on the way."""


class TimeBudget:
    """Time for many calls: a slow one takes from it, and each call puts a little back.

    So ten thousand quick calls never use it up, and forty slow ones do.
    """

    def __init__(self, *, total: float, refill: float) -> None:
        """Makes a full budget.

        Args:
            total: seconds that all slow calls may take together.
            refill: seconds that each call puts back, up to ``total``.
        """
        self.total = total
        self._refill = refill
        self._left = total

    @property
    def spent(self) -> bool:
        """Whether nothing is left of it."""
        return self._left <= 0

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Interrupts the block after ``seconds``, or earlier when the budget is spent.

        Only signals can do that, so it holds in the main thread of a Unix process.

        Raises:
            TimeUp: in the block, where the time is up.
        """
        self._left = min(self.total, self._left + self._refill)
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            yield
            return
        if self._left <= 0:
            raise TimeUp

        running = True

        def stop(_signal: int, _frame: FrameType | None) -> None:
            if running:
                raise TimeUp

        began = time.monotonic()
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, min(seconds, self._left), AGAIN)
        try:
            try:
                yield
            finally:
                running = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._left -= time.monotonic() - began
