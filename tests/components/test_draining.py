"""Which resources wait for running jobs, and what their hooks do: ask, go on, or fail the step."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from modelyard.plan import Plan
from modelyard.probes import Busy, JobSourceError
from modelyard.probes.values import NO_DRAIN, STOP
from modelyard.probes.waiting import GaveUp
from modelyard.workloads.training.backend import Dashboard, JobSource
from tests.support.component_engine import CELERY, HEAD, RAY, ROUTE, Build, again, by_name, existing, managed, waits_for

Asked = list[JobSource]


@pytest.fixture(autouse=True)
def _waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NO_DRAIN, raising=False)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Busy | JobSourceError], Asked]:
    """Makes every source give the same answer; returns those that will have been asked."""

    def install(said: Busy | JobSourceError) -> Asked:
        asked: Asked = []

        def ask(source: JobSource) -> Busy:
            asked.append(source)
            if isinstance(said, JobSourceError):
                raise said
            return said

        monkeypatch.setattr("modelyard.engine.program.hooks.ask", ask)
        return asked

    return install


def quick(plan: Plan, limit: int = 1) -> Plan:
    """With waits that are over within a second or so."""
    return plan._replace(
        drains=tuple(drain._replace(quiet=1, limit=limit, source=Dashboard("http://ray")) for drain in plan.drains)
    )


def run(hook: pulumi.ResourceHook) -> None:
    result: Any = hook(pulumi.ResourceHookArgs("urn", "id", "name", "type"))
    asyncio.run(result)


def waiting(build: Build, plan: Plan) -> set[str]:
    return {name for name, one in by_name(build(plan)).items() if f"drain {name}" in one.before}


@pytest.mark.parametrize(
    ("plan", "names"),
    [
        (existing("dev"), {HEAD, RAY}),
        (existing("prod"), {CELERY}),
        (again("dev"), set()),
        (again("dev", training="celery"), {RAY}),
        (again("prod", training="ray"), {CELERY}),
        (managed("dev"), set()),
    ],
)
def test_only_targets_whose_pods_are_replaced_wait(build: Build, plan: Plan, names: set[str]) -> None:
    assert waiting(build, plan) == names == {name for drain in plan.drains for name in drain.targets}


def test_the_wait_comes_before_the_last_check(build: Build) -> None:
    found = by_name(build(existing("dev")))[RAY].before
    assert found == (f"follows:Deployment/{RAY}", f"drain {RAY}", f"approved:Deployment/{RAY}")


def test_a_waiting_head_comes_before_its_workers(build: Build) -> None:
    found = by_name(build(existing("dev", training="celery")))
    chain = [ROUTE, CELERY, HEAD, RAY]
    assert [waits_for(found[name]) for name in chain] == [(), (ROUTE,), (CELERY,), (HEAD,)]


def test_an_idle_backend_does_not_stop_the_step(build: Build, answer: Callable[[Busy], Asked]) -> None:
    engine = build(quick(existing("dev")))
    asked = answer(Busy(0, 0))
    run(engine.hooks[f"drain {RAY}"])
    assert set(asked) == {Dashboard("http://ray")}
    assert len(asked) > 1


def test_a_job_that_runs_until_the_limit_fails_the_step(build: Build, answer: Callable[[Busy], Asked]) -> None:
    engine = build(quick(existing("dev")))
    answer(Busy(1, 0, ("raysubmit_1 (train)",)))
    with pytest.raises(pulumi.RunError, match=f"1 running job: raysubmit_1 .train.,.*{HEAD} is not"):
        run(engine.hooks[f"drain {HEAD}"])


def test_a_missing_answer_fails_the_step(build: Build, answer: Callable[[JobSourceError], Asked]) -> None:
    engine = build(quick(existing("dev"), limit=60))
    answer(JobSourceError("HTTP 401", "give a token", lasting=True))
    with pytest.raises(pulumi.RunError, match="HTTP 401; give a token"):
        run(engine.hooks[f"drain {RAY}"])


def test_the_variable_removes_every_wait_and_keeps_the_order(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = existing("dev", training="celery")
    before = {name: set(one.depends_on) for name, one in by_name(build(plan)).items()}
    monkeypatch.setenv(NO_DRAIN, "1")
    assert waiting(build, plan) == set()
    assert {name: set(one.depends_on) for name, one in by_name(build(plan)).items()} == before


def test_a_wait_ends_when_its_owner_stops_it_or_exits(
    build: Build, answer: Callable[[Busy], Asked], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = build(quick(existing("dev"), limit=600))
    answer(Busy(1, 0))
    (tmp_path / "stop").touch()
    ended = subprocess.Popen(["true"])
    ended.wait()
    for value in (f"{os.getpid()}:{tmp_path / 'stop'}", f"{ended.pid}:{tmp_path / 'none'}"):
        monkeypatch.setenv(STOP, value)
        with pytest.raises(pulumi.RunError) as error:
            run(engine.hooks[f"drain {RAY}"])
        assert isinstance(error.value.__cause__, GaveUp)
