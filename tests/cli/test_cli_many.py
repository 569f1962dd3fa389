"""Many stacks at once: the same results in the same order, with a pool or without."""

import os
import re
from functools import partial
from io import StringIO
from typing import Any

import pytest

from modelyard.cli import fleet
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.progress import beside
from modelyard.hiding import Confidential

pytestmark = pytest.mark.slow


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def length(secret: Confidential[str], _number: int) -> int:
    return len(secret.reveal())


def picky(number: int) -> int:
    if number == 50:
        raise Stop(Exit.UNREACHABLE, "no fifty", "skip it")
    return number


def test_a_pool_keeps_the_order_and_uses_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    found = list(fleet.each(range(200), square))
    assert [value for value, _ in found] == [number * number for number in range(200)]
    assert os.getpid() not in {process for _, process in found}


def test_few_items_and_one_core_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {process for _, process in fleet.each(range(fleet.WORTH_A_POOL - 1), square)} == {os.getpid()}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    assert {process for _, process in fleet.each(range(200), square)} == {os.getpid()}


def test_a_pool_raises_the_exception_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    with pytest.raises(Stop) as caught:
        list(fleet.each(range(100), picky))
    assert (caught.value.code, caught.value.summary, caught.value.remedy) == (Exit.UNREACHABLE, "no fifty", "skip it")


def test_arguments_may_hold_a_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a value cannot be pickled: processes inherit it."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    found = set(fleet.each(range(100), partial(length, Confidential("token"))))
    assert found == {5}


@pytest.fixture
def crowd(project: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """More stacks than one process takes on, one of them broken."""
    monkeypatch.setattr(fleet, "WORTH_A_POOL", 12)
    names = [f"s{number:03}" for number in range(fleet.WORTH_A_POOL)]
    for name in names:
        project.stack_file(name).write_bytes(project.stack_file().read_bytes())
        (project.root / "stacks/recorded" / name).symlink_to("dev")
    project.edit(("replicas: 2", "replicas: -2"), stack=names[7])
    return names


@pytest.mark.parametrize(
    "words", [("plan",), ("plan", "--json"), ("plan", "--matrix"), ("check",), ("check", "--json")]
)
def test_a_pool_prints_what_one_process_prints(
    run: Any, crowd: list[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    pooled = run(*words, *crowd)
    monkeypatch.setattr(fleet, "WORTH_A_POOL", 1000)
    assert run(*words, *crowd) == pooled
    assert pooled.code == 2
    assert "CFG012" in pooled.text


def test_an_unknown_target_ends_a_pool(run: Any, crowd: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    result = run("plan", *crowd, "--target", "nope")
    assert result.code == 2
    assert result.err.count("'nope'") == len(crowd) - 1


class Terminal(StringIO):
    """Standard error as a terminal, erased where a real one would be."""

    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        """The last line, as it looks."""
        return self.getvalue().rpartition("\r")[2].removeprefix("\x1b[K")


@pytest.mark.parametrize(
    ("seconds", "term", "bars"),
    [
        (0.4, "xterm", [""] * 4),
        (1, "dumb", [""] * 4),
        (
            1,
            "xterm",
            [
                "",
                "",
                "[##########          ] 2 of 4 stacks, about 2 s left",
                "[###############     ] 3 of 4 stacks, about 1 s left",
            ],
        ),
        (
            600,
            "xterm",
            [
                "",
                "[#####               ] 1 of 4 stacks, about 30 min left",
                "[##########          ] 2 of 4 stacks, about 20 min left",
                "[###############     ] 3 of 4 stacks, about 10 min left",
            ],
        ),
    ],
)
def test_a_bar_is_shown_on_a_terminal_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, seconds: float, term: str, bars: list[str]
) -> None:
    """It is erased before each result, which may be printed."""
    terminal, clock, seen = Terminal(), [0.0], []
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("modelyard.cli.progress.time.monotonic", lambda: clock[0])

    def work(number: int) -> int:
        seen.append(terminal.line)
        clock[0] += seconds
        return number

    for _ in fleet.each(range(4), work):
        assert terminal.line == ""
    assert seen == bars
    assert terminal.line == ""


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 60))
    monkeypatch.setattr("sys.stderr", file := StringIO())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("modelyard.cli.progress.time.monotonic", lambda: next(clock))
    assert list(fleet.each(range(4), abs)) == [0, 1, 2, 3]
    assert file.getvalue() == ""


def test_a_line_is_written_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, clock = Terminal(), iter(range(0, 100, 3))
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("modelyard.cli.progress.time.monotonic", lambda: next(clock))

    def work(number: int) -> int:
        beside(f"now {number}")
        return number

    assert list(fleet.each(range(2), work)) == [0, 1]
    bar = "[##########          ] 1 of 2 stacks, about 3 s left"
    assert terminal.getvalue() == f"now 0\n{bar}\r\x1b[Know 1\n{bar}\r\x1b[K"


@pytest.mark.parametrize(
    ("words", "noun"), [(("record", "--all"), "stack"), (("ledger", "--all"), "stack"), (("doctor",), "cluster")]
)
def test_commands_that_read_many_clusters_show_a_bar(
    run: Any, project: Any, words: tuple[str, ...], noun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("modelyard.cli.progress.PATIENCE", 0.0)
    monkeypatch.setattr("modelyard.cli.record._record", lambda *_: ["recorded"])
    run(*words)
    assert re.findall(r"\] (\d of \d \w+)", terminal.getvalue()) == [f"1 of 3 {noun}s", f"2 of 3 {noun}s"]
    assert terminal.line == ""
