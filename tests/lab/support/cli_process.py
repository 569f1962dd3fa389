"""Runs of the command line that a test interrupts, with every process that belongs to them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.lab.support.environment import Environment

MARK = "MODELYARD_TEST_RUN"
"""Environment variable that every process of a run inherits."""
LONGEST = 720
"""Seconds: a step whose API server died may wait for its rollout until its own limit of 600, and then the run ends."""


class CliProcess:
    """A run of the command line, and all processes that belong to it."""

    def __init__(self, env: Environment, *arguments: str) -> None:
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [str(Path(sys.prefix) / "bin" / "modelyard"), *arguments],
            cwd=env.folder,
            env=env.env | {MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.seen: list[str] = []

    def until(self, text: str) -> None:
        """Reads progress until a line has the text."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.seen.append(line)
            if text in line:
                return
        raise AssertionError(f"{text!r} was never said:\n{''.join(self.seen)}")

    def ends_within(self, within: float) -> bool:
        """Whether the run ends within this number of seconds."""
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> tuple[int, str, str]:
        """Exit code, standard output, and standard error from the start."""
        out, err = self.process.communicate(timeout=LONGEST)
        return self.process.returncode, out, "".join(self.seen) + err

    def running(self) -> dict[int, str]:
        """The remaining processes of this run and their commands."""
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                try:
                    if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                        found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
                except OSError:
                    continue
        return found


def send_signal(pids: Iterable[int], number: int) -> None:
    """Sends a signal to processes; ignores those that have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def cli_process(env: Environment, *arguments: str) -> Iterator[CliProcess]:
    """Starts a run; kills its remaining processes when the context ends."""
    run = CliProcess(env, *arguments)
    try:
        yield run
    finally:
        send_signal(run.running(), signal.SIGKILL)
        run.process.communicate()


def locks(env: Environment) -> list[Path]:
    return list((env.folder / ".pulumi" / "locks").rglob("*.json"))


def words(text: str) -> str:
    return " ".join(text.split())
