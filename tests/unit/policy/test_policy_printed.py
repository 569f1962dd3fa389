"""Output that rules print is kept separate."""

import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from modelyard.policy.judging import MARK, kept_apart


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("::error::x\n", "::error::x"),
        ("no line feed", "no line feed"),
        ("\x1b[31mred\r::error::x\n", "\\u{1b}[31mred\\r::error::x"),
        ("a ##[group]b ##vso[task.complete]\n", "a # #[group]b # #vso[task.complete]"),
        ("\n", ""),
    ],
)
def test_each_printed_line_is_marked_and_escaped(capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    for stream in ("stdout", "stderr"):
        with kept_apart():
            getattr(sys, stream).write(text)
        assert capsys.readouterr() == ("", f"{MARK}{said}\n")


def test_parts_of_a_line_stay_together(capsys: pytest.CaptureFixture[str]) -> None:
    with kept_apart():
        for part in ("one\n", "two", " ", "three\n"):
            sys.stdout.write(part)
    assert capsys.readouterr().err == f"{MARK}one\n{MARK}two three\n"


def test_the_streams_come_back_after_an_exception() -> None:
    before = sys.stdout, sys.stderr
    with pytest.raises(ValueError, match="x"), kept_apart():
        raise ValueError("x")
    assert (sys.stdout, sys.stderr) == before


def test_threads_do_not_take_each_others_streams_for_the_real_ones(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr

    def work(number: int) -> None:
        with kept_apart():
            sleep(0.001 * (number % 3))
            sys.stdout.write(f"{number}\n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    assert (sys.stdout, sys.stderr) == before
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(f"{MARK}{number}" for number in range(64))
