"""Ends a run from outside: gently at the first request, immediately at the second."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from modelyard.engine.keeper import GRACE, INTERRUPT, KILL
from modelyard.temporary import ECHO

PATIENCE = 10.0
"""Seconds that the engine may take to end after it was asked to stop the running step."""

GENTLY = "stopping after the running step; interrupt again to stop at once"
SOON = "stopping at once"
TOO_LATE = f"the step did not end within {GRACE:.0f} s; {SOON}"

_Stage = Literal["running", "ending", "dropping", "killed"]


class Stopping:
    """The requests to stop a run, and what to do about them now.

    One thread runs the engine's commands and calls ``due``. Signal handlers call ``ask``, which only notes the time and
    wakes that thread. The thread that receives the engine's events calls ``listens``: at other times, an interrupt
    would end the engine at once and leave the state locked, so the interrupt waits.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.signal: int | None = None
        """The number of the first signal, None until there is one."""
        self.heard = False
        """Whether an engine was asked to stop while it listened: from then on it begins nothing new."""
        self._clock = clock
        self._asked: list[float] = []
        self._reported: set[str] = set()
        self._stage: _Stage = "running"
        self._since = 0.0
        self._listening = self._interrupted = False
        self._heard, self._wake = socket.socketpair()
        for end in (self._heard, self._wake):
            end.setblocking(False)

    def close(self) -> None:
        """Closes the line that wakes the thread. Later requests are not reported; calling ``ask`` is still safe."""
        self._heard.close()
        self._wake.close()

    def ask(self, number: int) -> None:
        """Notes a signal. Signal handlers may call this method."""
        now = self._clock()
        if not self._asked or now - self._asked[0] >= ECHO:
            self.signal = self.signal or number
            self._asked.append(now)
            self._call()

    def listens(self, yes: bool) -> None:
        """Notes whether the engine takes an interrupt as a request to end."""
        if yes != self._listening:
            self._listening = yes
            self._call()

    def begin(self, *, afresh: bool = False) -> None:
        """Begins the next command. ``afresh`` forgets earlier requests, for a command that cleans up."""
        self._enter("running")
        self._listening = self._interrupted = False
        if afresh:
            self._asked.clear()

    def fileno(self) -> int:
        """For ``select``: readable when there is something new for ``due``."""
        return self._heard.fileno()

    def patience(self) -> float | None:
        """Seconds until ``due`` must be called without a new request; None: not at all."""
        limit = {"ending": GRACE, "dropping": PATIENCE}.get(self._stage)
        return None if limit is None else max(0.0, self._since + limit - self._clock())

    def due(self) -> tuple[bytes, list[str]]:
        """What to send to the command's keeper now, and what to show the user."""
        with suppress(BlockingIOError):
            self._heard.recv(4096)
        words, lines = b"", []
        asked, late = len(self._asked), self.patience() == 0
        if self._stage == "running" and asked:
            self._enter("ending")
            lines.append(GENTLY)
        if self._stage == "ending":
            if asked > 1 or late:
                # Interrupted twice, the engine drops the running step, writes its state and frees the lock.
                again = self._interrupted and self._listening
                self._enter("dropping" if again else "killed")
                words = INTERRUPT if again else KILL
                lines.append(SOON if asked > 1 else TOO_LATE)
            elif self._listening and not self._interrupted:
                self._interrupted = self.heard = True
                words = INTERRUPT
        elif self._stage == "dropping" and (asked > 2 or late):
            self._enter("killed")
            words = KILL
        new = [line for line in lines if line not in self._reported]
        self._reported.update(new)
        return words, new

    def _enter(self, stage: _Stage) -> None:
        self._stage, self._since = stage, self._clock()

    def _call(self) -> None:
        # A full line wakes the thread too; a closed one has no reader.
        with suppress(OSError):
            self._wake.send(b"!")
