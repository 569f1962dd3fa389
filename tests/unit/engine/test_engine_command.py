"""The engine's command line, played by a shell script: its answers, its errors, and its end."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pulumi.automation import CommandError, StackNotFoundError

from modelyard.engine.run import Command
from modelyard.engine.stopping import GENTLY, Stopping

Make = Callable[[str], tuple[Command, Stopping, list[str]]]


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Puts a ``pulumi`` that runs a piece of shell on PATH."""
    made: list[Stopping] = []

    def make(script: str) -> tuple[Command, Stopping, list[str]]:
        path = tmp_path / "pulumi"
        path.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo v3.259.0 && exit\n{script}\n')
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        made.append(Stopping())
        said: list[str] = []
        return Command(made[-1], said.append), made[-1], said

    yield make
    for stopping in made:
        stopping.close()


def test_output_and_errors_are_separate_and_come_by_line(pulumi: Make, tmp_path: Path) -> None:
    command, _, _ = pulumi('echo "$@"; echo "$A $PULUMI_AUTOMATION_API"; pwd; echo wrong >&2')
    out: list[str] = []
    err: list[str] = []
    done = command.run(["stack", "ls"], str(tmp_path), {"A": "b"}, out.append, err.append)
    assert [line.split() for line in out] == [["--non-interactive", "stack", "ls"], ["b", "true"], [str(tmp_path)]]
    assert (done.stdout, done.stderr, done.code) == ("\n".join(out), "wrong", 0)
    assert err == ["wrong"]
    assert not command.killed


def test_more_output_than_a_pipe_holds(pulumi: Make, tmp_path: Path) -> None:
    command, _, _ = pulumi(
        "i=0; while [ $i -lt 3000 ]; do echo 'a line of some length, again and again'; i=$((i+1)); done"
    )
    assert len(command.run([], str(tmp_path), {}).stdout.splitlines()) == 3000


def test_a_failure_is_the_librarys_error_for_it(pulumi: Make, tmp_path: Path) -> None:
    command, _, _ = pulumi("echo \"error: no stack named 'dev' found\" >&2; exit 6")
    with pytest.raises(StackNotFoundError, match="no stack named 'dev' found"):
        command.run([], str(tmp_path), {})
    assert not command.killed


def test_a_killed_command_is_reported_as_killed(pulumi: Make, tmp_path: Path) -> None:
    command, _, _ = pulumi("kill -9 $$")
    with pytest.raises(CommandError, match="code: 137"):
        command.run([], str(tmp_path), {})
    assert command.killed


def test_a_command_that_does_not_listen_ends_by_itself(pulumi: Make, tmp_path: Path) -> None:
    command, stopping, said = pulumi("echo begun; sleep 0.5; echo done")
    stopping.ask(signal.SIGTERM)
    assert command.run([], str(tmp_path), {}).stdout == "begun\ndone"
    assert said == [GENTLY]


def test_an_engine_that_listens_is_interrupted(pulumi: Make, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command, stopping, said = pulumi(f"trap 'echo interrupted; exit 8' INT; touch {ready}; while :; do sleep 0.1; done")

    def interrupt() -> None:
        while not ready.exists():
            threading.Event().wait(0.01)
        stopping.listens(True)
        stopping.ask(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(CommandError, match="code: 8\n stdout: interrupted"):
        command.run([], str(tmp_path), {})
    other.join()
    assert said == [GENTLY]
    assert not command.killed


def test_nothing_that_the_command_started_is_left(pulumi: Make, tmp_path: Path) -> None:
    command, _, _ = pulumi("sleep 600 & echo $!")
    left = int(command.run([], str(tmp_path), {}).stdout)
    stat = Path(f"/proc/{left}/stat")

    def lives() -> bool:
        try:
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    # It has been told to end, and on a busy machine its turn to do so comes later.
    end = time.monotonic() + 10
    while lives() and time.monotonic() < end:
        time.sleep(0.01)
    assert not lives()


def test_an_exception_in_the_owner_ends_the_command(pulumi: Make, tmp_path: Path) -> None:
    command, stopping, _ = pulumi("echo $$ >pid; exec sleep 600")
    stopping.ask(signal.SIGTERM)

    def broken(_line: str) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            threading.Event().wait(0.01)
        raise KeyboardInterrupt

    command._report = broken
    with pytest.raises(KeyboardInterrupt):
        command.run([], str(tmp_path), {})
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
