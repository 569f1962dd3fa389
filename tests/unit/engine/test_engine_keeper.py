"""The keeper: what it runs ends with it, with its owner, and when it is told to. All processes here are real."""

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from modelyard.engine import keeper
from modelyard.engine.keeper import INTERRUPT, KILL

STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
# A signal just before a sleep begins is seen only after it: many short ones.
PATIENT = """
import time
try:
    print("up", flush=True)
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    raise SystemExit(7)
"""
# A plugin: a process group of its own, and nobody waits for it.
PLUGIN = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], process_group=0).pid, flush=True)"
SHORT_GRACE = (
    f"import sys; sys.path.insert(0, {str(Path(keeper.__file__).parent)!r}); import keeper; keeper.GRACE = 0.2; "
    "sys.exit(keeper.keep(sys.argv[1:]))"
)


class Kept:
    """A command under a keeper, and the owner's end of the line."""

    def __init__(self, *words: str, program: tuple[str, ...] = (str(keeper.__file__),)) -> None:
        self.line, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", *program, *words],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def code(self) -> int:
        return self.process.wait(60)

    def end(self) -> None:
        self.line.close()
        if self.process.poll() is None:
            self.process.kill()
        keeper.end_session(self.process.pid)
        self.process.communicate()


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    made: list[Kept] = []

    def start(*words: str, **options: tuple[str, ...]) -> Kept:
        made.append(Kept(*words, **options))
        return made[-1]

    yield start
    for one in made:
        one.end()


def python(code: str) -> tuple[str, str, str]:
    return sys.executable, "-c", code


def session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for pid in keeper._pids():
        if keeper._session(pid) == leader and pid != leader:
            state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
            if state.stdout.strip() and not state.stdout.startswith("Z"):
                found.append(pid)
    return found


@pytest.mark.parametrize("code", [0, 1, 8, 255])
def test_it_ends_as_the_command_does(keep: Callable[..., Kept], code: int) -> None:
    assert keep(*python(f"raise SystemExit({code})")).code() == code


def test_a_command_that_was_killed_gives_128_and_the_signal(keep: Callable[..., Kept]) -> None:
    assert keep(*python("import os; os.kill(os.getpid(), 9)")).code() == 137


def test_output_of_the_command_comes_through(keep: Callable[..., Kept]) -> None:
    kept = keep(*python("import sys; print('out'); print('err', file=sys.stderr)"))
    assert kept.process.communicate() == ("out\n", "err\n")


def test_a_missing_command(keep: Callable[..., Kept]) -> None:
    kept = keep("/nowhere/pulumi")
    assert kept.process.communicate()[1] == f"error: /nowhere/pulumi cannot be started: {os.strerror(errno.ENOENT)}\n"
    assert kept.code() == 127


def test_an_interrupt_reaches_the_command_and_leaves_it_its_end(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(PATIENT))
    assert kept.says() == "up"
    kept.line.sendall(INTERRUPT)
    assert kept.code() == 7


def test_the_command_reads_nothing_of_the_line(keep: Callable[..., Kept]) -> None:
    assert keep(*python("import sys; print(repr(sys.stdin.read()))")).says() == "''"


def test_killing_ends_the_command_however_stubborn(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(STUBBORN))
    assert kept.says() == "up"
    kept.line.sendall(INTERRUPT)
    kept.line.sendall(KILL)
    assert kept.code() == 137


def test_nothing_outlives_a_command_that_ends(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(PLUGIN))
    plugin = int(kept.says())
    assert kept.code() == 0
    assert plugin not in session(kept.process.pid)


def test_killing_reaches_process_groups_of_their_own(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(f"{PLUGIN}; import time; time.sleep(600)"))
    plugin = int(kept.says())
    assert plugin in session(kept.process.pid)
    kept.line.sendall(KILL)
    assert kept.code() == 137
    assert session(kept.process.pid) == []


def test_the_end_of_the_owner_interrupts(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(PATIENT))
    assert kept.says() == "up"
    kept.line.close()
    assert kept.code() == 7


def test_the_end_of_the_owner_kills_in_the_end(keep: Callable[..., Kept]) -> None:
    kept = keep(*python(STUBBORN), program=("-c", SHORT_GRACE))
    assert kept.says() == "up"
    kept.line.close()
    assert kept.code() == 137


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_keeper_are_left_to_its_owner(keep: Callable[..., Kept], number: signal.Signals) -> None:
    kept = keep(*python(PATIENT))
    assert kept.says() == "up"
    kept.process.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        kept.process.wait(0.3)
    kept.line.sendall(INTERRUPT)
    assert kept.code() == 7


def test_another_session_is_left_alone(keep: Callable[..., Kept]) -> None:
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        kept = keep(*python(PLUGIN))
        assert kept.code() == 0
        keeper.end_session(kept.process.pid)
        assert other.poll() is None
        assert os.getsid(other.pid) == other.pid
    finally:
        other.kill()
        other.wait()
