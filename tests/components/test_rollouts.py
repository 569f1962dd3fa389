"""What comes after a step: nobody goes on before the pods of the target are there, whatever the provider says."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulumi
import pytest

from modelyard.cluster.connection import ClusterError
from modelyard.engine.program import hooks
from modelyard.engine.program.hooks import Live, Rollouts, aside
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey
from modelyard.plan import TargetPlan
from modelyard.probes.values import STOP
from tests.support.component_engine import (
    CELERY,
    HEAD,
    RAY,
    ROUTE,
    SERVICE,
    Build,
    again,
    by_name,
    existing,
    managed,
    ready,
)

Seen = dict[str, Any] | ClusterError | None


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "POLL", 0.01)
    monkeypatch.delenv(STOP, raising=False)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr("pulumi.log.info", lines.append)
    return lines


class Looks(Live):
    """A cluster that is seen so, one look after the other; the last goes on."""

    def __init__(self, *seen: Seen) -> None:
        super().__init__("dev")
        self.seen = list(seen)

    def look(self, _key: ObjectKey) -> dict[str, Any] | None:
        found = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        if isinstance(found, ClusterError):
            raise found
        return found


def head(**status: int) -> dict[str, Any]:
    body = ready({"metadata": {"generation": 3}, "spec": {"replicas": 1}})
    return {**body, "status": {**body["status"], **status}}


def target(name: str = HEAD) -> TargetPlan:
    return next(one for one in existing("dev").targets if one.name == name)


def wait(found: Rollouts, patience: int = 60) -> None:
    asyncio.run(found.wait(target(), patience))


STALE = head(observedGeneration=2)
STARTING = head(availableReplicas=0)


def test_a_ready_object_is_read_once(said: list[str]) -> None:
    looks = Looks(head(), None)
    wait(Rollouts(looks))
    assert looks.seen == [None]
    assert said == []


def test_a_rollout_that_has_not_started_is_awaited(said: list[str]) -> None:
    looks = Looks(STALE, STARTING, head(), None)
    wait(Rollouts(looks))
    assert looks.seen == [None]
    (line,) = said
    assert HEAD in line
    assert "has not seen the change" in line


def test_an_unreachable_api_server_is_awaited(said: list[str]) -> None:
    wait(Rollouts(Looks(ClusterError("refused", "look"), head())))
    (line,) = said
    assert HEAD in line
    assert "refused" in line


@pytest.mark.parametrize("seen", [STARTING, None, ClusterError("gone", "look")], ids=["starting", "none", "error"])
def test_an_unfinished_rollout_fails_the_run_and_the_next_step(seen: Seen, golden: Any) -> None:
    found = Rollouts(Looks(seen))
    with pytest.raises(pulumi.RunError) as waited:
        wait(found, 0)
    with pytest.raises(pulumi.RunError) as checked:
        found.check(target(RAY))
    golden(waited.value, checked.value)


def test_a_finished_rollout_does_not_stop_the_next_step() -> None:
    found = Rollouts(Looks(head()))
    wait(found)
    found.check(target(RAY))


def test_a_stopped_run_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stop").touch()
    monkeypatch.setenv(STOP, f"{os.getpid()}:{tmp_path / 'stop'}")
    with pytest.raises(pulumi.RunError, match=f"stopped while {HEAD} rolls out"):
        wait(Rollouts(Looks(STARTING)))


def skipping(one: TargetPlan) -> TargetPlan:
    annotations = {"pulumi.com/skipAwait": "true"}
    body = one.after.reveal()
    return one._replace(after=Confidential({**body, "metadata": {**body["metadata"], "annotations": annotations}}))


@pytest.mark.parametrize(
    "change",
    [
        skipping,
        lambda one: one._replace(action="restore"),
        lambda one: one._replace(action="delete"),
        lambda one: one._replace(key=one.key._replace(kind="Service")),
    ],
    ids=["told not to", "put back", "deleted", "no pods"],
)
def test_an_object_without_a_rollout_is_not_awaited(change: Callable[[TargetPlan], TargetPlan]) -> None:
    assert Rollouts(Looks(STARTING)).after(change(target()), 60) == ()


@pytest.mark.parametrize("plan", [existing("dev", training="celery"), managed("dev"), again("dev")])
def test_every_deployment_is_checked_after_its_step(build: Build, plan: Any) -> None:
    for name, one in by_name(build(plan)).items():
        waits = one.type.endswith(("Deployment", "DeploymentPatch"))
        assert one.behind == ((f"rolled out:Deployment/{name}",) if waits else ())


def test_every_later_step_checks_the_earlier_rollouts(build: Build) -> None:
    found = by_name(build(existing("dev", training="celery")))
    asks = {name for name, one in found.items() if f"follows:Deployment/{name}" in one.before}
    assert asks == {CELERY, HEAD, RAY}
    assert not asks & {ROUTE, SERVICE}


def test_a_hook_runs_while_all_threads_of_the_loop_are_busy() -> None:
    async def program() -> str:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
        done = threading.Event()
        waiting = loop.run_in_executor(None, done.wait, 30)
        found = await asyncio.wait_for(aside("-".join, ("a", "b")), 10)
        done.set()
        assert await waiting
        return found

    assert asyncio.run(program()) == "a-b"
