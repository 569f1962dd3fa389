"""Many stacks at once: the same results in the same order, with a pool or without."""

import os
from typing import Any

import pytest

from modelyard.cli import many
from modelyard.cli.exit import Exit, Stop


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def picky(number: int) -> int:
    if number == 50:
        raise Stop(Exit.UNREACHABLE, "no fifty", "skip it")
    return number


def test_a_pool_keeps_the_order_and_uses_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    found = list(many.each(range(200), square))
    assert [value for value, _ in found] == [number * number for number in range(200)]
    assert os.getpid() not in {process for _, process in found}


def test_few_items_and_one_core_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {process for _, process in many.each(range(many.WORTH_A_POOL - 1), square)} == {os.getpid()}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    assert {process for _, process in many.each(range(200), square)} == {os.getpid()}


def test_what_ends_the_run_comes_out_of_the_pool_as_it_was_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    with pytest.raises(Stop) as caught:
        list(many.each(range(100), picky))
    assert (caught.value.code, caught.value.summary, caught.value.remedy) == (Exit.UNREACHABLE, "no fifty", "skip it")


@pytest.fixture
def crowd(project: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """More stacks than one process takes on, one of them broken."""
    monkeypatch.setattr(many, "WORTH_A_POOL", 12)
    names = [f"s{number:03}" for number in range(many.WORTH_A_POOL)]
    for name in names:
        project.stack_file(name).write_bytes(project.stack_file().read_bytes())
        (project.root / "stacks/recorded" / name).symlink_to("dev")
    project.edit(("replicas: 2", "replicas: -2"), stack=names[7])
    return names


@pytest.mark.parametrize("words", [("plan",), ("plan", "--json"), ("check",), ("check", "--json")])
def test_many_stacks_look_as_one_process_shows_them(
    run: Any, crowd: list[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    pooled = run(*words, *crowd)
    monkeypatch.setattr(many, "WORTH_A_POOL", 1000)
    assert run(*words, *crowd) == pooled
    assert pooled.code == 2
    assert "CFG012" in pooled.text


def test_a_target_that_no_stack_has_ends_the_run_and_does_not_hang(
    run: Any, crowd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    result = run("plan", *crowd, "--target", "nope")
    assert result.code == 2
    assert result.err.count("'nope' matches no target") == len(crowd) - 1
