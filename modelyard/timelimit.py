"""Limits on how long code from a project's files may run: one call, and all calls of a process together."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar

AGAIN = 0.25
"""Seconds until ``TimeUp`` is raised again: Python drops exceptions in callbacks such as ``__del__``."""


class TimeUp(BaseException):
    """The code ran out of time. Not an Exception, because the code itself may catch those."""

    raised: ClassVar[bool] = False
    """Whether any code of this process ran out of time. Its results then depend on the machine."""

    def __init__(self) -> None:
        super().__init__()
        TimeUp.raised = True


class TimeBudget:
    """Time for many calls: a slow call takes from it, and each call puts a little back.

    Ten thousand quick calls never use it up; forty slow ones do.
    """

    def __init__(self, *, total: float, refill: float, of_cpu: bool = False) -> None:
        """Makes a full budget.

        Args:
            total: seconds that all slow calls together may take.
            refill: seconds that each call puts back, up to ``total``.
            of_cpu: count the processor time of the process, so that a busy machine makes no call slow. Only for code
                that cannot wait: a sleep takes no processor time.
        """
        self.total = total
        self._refill = refill
        self._left = total
        self._of_cpu = of_cpu

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Interrupts the block after ``seconds``, or earlier when the budget is spent.

        Uses signals, so it works only in the main thread of a Unix process.

        Raises:
            TimeUp: in the block, when the time is up.
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

        number = signal.SIGPROF if self._of_cpu else signal.SIGALRM
        timer = signal.ITIMER_PROF if self._of_cpu else signal.ITIMER_REAL
        clock = time.process_time if self._of_cpu else time.monotonic
        began = clock()
        before = signal.signal(number, stop)
        signal.setitimer(timer, min(seconds, self._left), AGAIN)
        try:
            try:
                yield
            finally:
                running = False
        finally:
            signal.setitimer(timer, 0)
            signal.signal(number, before)
            self._left -= clock() - began
