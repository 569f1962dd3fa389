"""The command line as a process of its own, without the time that a new Python takes to start.

A copy of this process runs it, which has all modules already. ``tests/cli/test_cli_failures.py`` compares it with a new
Python.
"""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from modelyard.cli import main
from modelyard.plan.project import library_of
from modelyard.policy.loading import policies_of

SECONDS = 60
CLOSED = -1
"""No standard error at all."""


def forked(
    words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, stderr: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs the command line in a folder, and returns its exit code and what it wrote.

    Args:
        words: the arguments.
        folder: the current folder of the process.
        environment: its variables; those of the tests by default.
        stderr: the file that its errors go to, or ``CLOSED``; they are returned by default.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            _run(words, folder, environment, (out.fileno(), err.fileno() if stderr is None else stderr))
        code = _ended(child, words)
        return subprocess.CompletedProcess([*words], code, _text(out), _text(err))


def _run(words: Sequence[str], folder: Path, environment: Mapping[str, str] | None, streams: tuple[int, int]) -> None:
    """What the copy does; it never returns to the test."""
    code = 70
    try:
        gc.disable()
        os.chdir(folder)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
        with open(os.devnull) as nothing:  # noqa: PTH123 (as a shell opens it)
            os.dup2(nothing.fileno(), 0)
        for number, stream in enumerate(streams, 1):
            os.close(number) if stream == CLOSED else os.dup2(stream, number)
        sys.argv = ["modelyard", *words]
        sys.stdin, sys.stdout = _stream(0, "r"), _stream(1, "w")
        # As in a new process, each line is written at once, and fails at once.
        sys.stderr = None if streams[1] == CLOSED else _stream(2, "w", buffering=1)
        library_of.cache_clear()
        policies_of.cache_clear()
        try:
            code = main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _stream(number: int, mode: str, buffering: int = -1) -> Any:
    return open(number, mode, buffering, encoding="utf-8", closefd=False)


def _ended(child: int, words: Sequence[str]) -> int:
    """The exit code of a child, which is ended if it takes too long."""

    def late(*_found: object) -> None:
        os.kill(child, signal.SIGKILL)
        raise subprocess.TimeoutExpired([*words], SECONDS)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
