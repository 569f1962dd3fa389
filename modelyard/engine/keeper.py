"""Runs a command in its own session, and lets no process of that session outlive the command or its owner.

This file is a separate program that uses only the standard library. It is started by its path, as the leader of a new
session::

    python -I -S keeper.py COMMAND [ARGUMENT ...]

Standard input is a line to the owner. ``i`` interrupts the command (SIGINT), ``k`` kills the whole session. If the line
breaks, the owner is gone, perhaps killed: the keeper then interrupts the command, and kills the session if it has not
ended ``GRACE`` seconds later. The keeper exits with the command's exit code, with 128 plus the number of the signal
that ended the command, or with 127 if the command cannot be started.
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

GRACE = 60.0
"""Seconds that an interrupted command may take to end by itself."""
KILL_GRACE = 10.0
"""Seconds that a killed process may take to end."""

INTERRUPT = b"i"
KILL = b"k"
OWNER = 0
"""File descriptor of the line to the owner."""


def keep(command: list[str]) -> int:
    """Runs the command to its end and returns the exit code of the keeper."""
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    # Who signals every process of a terminal or of a job means the owner, and that says what to do. A handler instead
    # of SIG_IGN, because the command would inherit that.
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"error: {command[0]} cannot be started: {error.strerror}\n")
        return 127
    listening = [OWNER, heard]
    deadline: float | None = None
    while child.poll() is None:
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select(listening, [], [], patience)[0]
        words = b""
        if heard in ready:
            os.read(heard, 4096)
        if OWNER in ready:
            words = _read(OWNER)
            if not words:
                listening.remove(OWNER)
                deadline = time.monotonic() + GRACE
                words = INTERRUPT
        if deadline is not None and time.monotonic() >= deadline:
            words, deadline = words + KILL, None
        if INTERRUPT in words:
            child.send_signal(signal.SIGINT)
        if KILL in words:
            end_session(os.getpid())
    # Plugins have process groups of their own, and outlive a command that was killed.
    end_session(os.getpid())
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def end_session(leader: int) -> None:
    """Kills every process of a session except the leader; returns once none of them runs.

    A process that the kernel holds, for example in a read from a disk that does not answer, ends later: the wait for
    such a process takes at most ``KILL_GRACE`` seconds.
    """
    latest = time.monotonic() + KILL_GRACE
    while found := [pid for pid in _pids() if pid != leader and _session(pid) == leader and not _ended(pid)]:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() >= latest:
            return
        time.sleep(0.005)


def _read(line: int) -> bytes:
    try:
        return os.read(line, 64)
    except ConnectionError:
        return b""


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _ended(pid: int) -> bool:
    """Whether a process has ended, even if its exit code has not been read yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no pathlib, this starts often
            # The name before it stands in brackets, and may have some of its own.
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):  # noqa: PTH112
            return True
        done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], stdout=subprocess.PIPE, text=True, check=False)
        return not done.stdout.strip() or done.stdout.startswith("Z")


def _pids() -> list[int]:
    """Every process of the machine that can be seen."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - no pathlib, this starts often
    except FileNotFoundError:
        done = subprocess.run(["ps", "-A", "-o", "pid="], stdout=subprocess.PIPE, text=True, check=False)
        names = done.stdout.split()
    return [int(name) for name in names if name.isdigit()]


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Handles a signal by doing nothing: the signal only wakes the loop."""


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
