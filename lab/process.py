"""Child processes that are never left behind and never confused with other processes.

Pids are reused, so pid and start time together identify a process.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from lab.errors import LabError

_PR_SET_PDEATHSIG = 1
_PAUSE = 0.01

# Linux kills on the death of the parent *thread*, so one thread that lasts as long as this process starts every child.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lab-spawner")
_children: dict[int, "subprocess.Popen[bytes]"] = {}


class Process(NamedTuple):
    """A process as recorded on disk."""

    name: str
    pid: int
    started: str
    """Opaque; differs between all processes that ever had this pid."""


def spawn(
    name: str, argv: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path, dies_with_parent: bool
) -> Process:
    """Start ``argv`` in its own session, with its output appended to ``log``.

    With ``dies_with_parent`` the kernel kills it when this process ends, however it ends (Linux only; on other systems
    it ends when it is stopped).

    Raises:
        OSError: the program cannot be started.
    """
    tie = _tie_to(os.getpid()) if dies_with_parent and sys.platform == "linux" else None

    def start() -> "subprocess.Popen[bytes]":
        with log.open("ab") as stream:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                preexec_fn=tie,
            )

    child = _spawner.submit(start).result()
    _children[child.pid] = child
    return Process(name, child.pid, _identity(child.pid) or "")


def run(argv: Sequence[str]) -> None:
    """Run a program to its end.

    Raises:
        LabError: it failed; the message is the program's.
    """
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(argv)}: {done.stderr.strip()}")


def _tie_to(parent: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return tie


def alive(process: Process) -> bool:
    """Whether this very process still runs (a zombie does not)."""
    child = _children.get(process.pid)
    if child is not None and child.poll() is not None:
        del _children[process.pid]
        return False
    return bool(process.started) and _identity(process.pid) == process.started


def send(process: Process, number: signal.Signals) -> None:
    """Signal the process if it is still the one that was started."""
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def stop(processes: Sequence[Process], patience: float) -> None:
    """End all processes: ask first, kill after ``patience`` seconds; returns when all have ended."""
    for process in processes:
        send(process, signal.SIGTERM)
        send(process, signal.SIGCONT)
    deadline = time.monotonic() + patience
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    for process in processes:
        send(process, signal.SIGKILL)
    while any(map(alive, processes)):
        time.sleep(_PAUSE)


def _identity(pid: int) -> str | None:
    """Start time of a pid; None if there is no such process, or only its zombie."""
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        # The name in parentheses may contain anything, so count from its end: state is field 3, start time field 22.
        fields = text[text.rindex(")") + 2 :].split()
        return None if fields[0] in "ZX" else f"{_boot()}/{fields[19]}"
    shown = subprocess.run(
        ["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, begun = shown.partition(" ")
    return begun.strip() if begun and not state.startswith("Z") else None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
