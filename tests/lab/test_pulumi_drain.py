"""Switches with one GPU, in both directions, with running and waiting jobs: each job runs exactly once."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.engine.stopping import SOON
from tests.lab.support.cli_process import cli_process, locks, words
from tests.lab.support.environment import NAMESPACE, Environment
from tests.lab.support.rabbitmq_broker import rabbitmq
from tests.lab.support.training_backends import (
    APPS,
    CELERY,
    RAY,
    ROUTE,
    Dashboard,
    complete_switch,
    dashboard,
    one_gpu,
    replicas,
    routed_to,
    switch_to,
)
from tests.lab.support.training_processes import Celery, Containers, Results, ray_cluster, until

OTHER_MEMORY = "    cpu: 8\n    memory: 28Gi\n    image: images.example.com/ml-platform/ray"


def memory(env: Environment, name: str) -> str:
    """The memory limit of a Deployment's pods."""
    (container, *_) = env.deployment(name)["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["limits"]["memory"])


class Aside(threading.Thread):
    """Runs a function in a thread; ``end`` returns its result or raises its exception."""

    def __init__(self, run: Callable[[], Any]) -> None:
        super().__init__()
        self._run = run
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._run()
        except BaseException as error:
            self._error = error

    def end(self) -> Any:
        self.join()
        if self._error is not None:
            raise self._error
        return self._result


def test_two_switches_with_one_gpu_run_every_job_once(tmp_path: Path) -> None:
    results = Results(tmp_path / "jobs")
    (tmp_path / "broker").mkdir()
    with (
        rabbitmq(tmp_path / "broker") as broker,
        ray_cluster(tmp_path / "ray", results) as ray,
        one_gpu(tmp_path / "env", ray.dashboard, broker.management) as env,
    ):
        celery = Celery(tmp_path / "celery", broker.amqp, results)
        with Containers(env.lab, {APPS[RAY]: ray.work, APPS[CELERY]: celery.work}) as pods:
            ray.submit("ray-1")
            until("a running job", lambda: results.of("ray-1") == "begin", 120)
            ray.submit("ray-2")

            switch_to(env, "celery")
            plan = env.plan()
            steps = [(step.target, step.phase) for step in plan.steps]
            assert steps == [(ROUTE, "route"), (RAY, "drain"), (RAY, "down"), (CELERY, "up")]
            up = Aside(env.up)
            until("the route", lambda: routed_to(env) == "celery", 120)
            # New requests wait in Celery's queue, which has no worker yet.
            for name in ("celery-1", "celery-2"):
                celery.submit(name)
            log = env.folder / "events.json"
            until("the wait", lambda: "draining Ray: 1 running and 1 waiting jobs: ray-1 (" in log.read_text(), 120)
            assert replicas(env) == {RAY: 1, CELERY: 0}
            results.release("ray-1", "ray-2")
            run = up.end()
            assert run.changed == [ROUTE, RAY, CELERY], run.output
            assert [results.of(name) for name in ("ray-1", "ray-2")] == ["begin end"] * 2
            env.settle()
            until("a job of Celery", lambda: results.of("celery-1") == "begin", 120)
            # Ray would give a new job to the dead node, and fail it.
            until("the end of Ray's node", lambda: ray.nodes() == 1)

            switch_to(env, "ray")
            with cli_process(env, "apply", "dev", "--yes") as back:
                back.until("draining Celery: 1 running and 1 waiting jobs")
                assert routed_to(env) == "ray"
                ray.submit("ray-3")
                results.release("celery-1", "celery-2", "ray-3")
                ended, _, told = back.end()
            assert ended == 0, told
            assert [results.of(name) for name in ("celery-1", "celery-2")] == ["begin end"] * 2
            until("the job that waited", lambda: results.of("ray-3") == "begin end", 120)
            assert [stopped.app for stopped in pods.stopped] == [APPS[RAY], APPS[CELERY]]
        assert results.all() == dict.fromkeys(("celery-1", "celery-2", "ray-1", "ray-2", "ray-3"), "begin end")
        assert replicas(env) == {RAY: 1, CELERY: 0}
        assert env.plan().changed == ()
        assert broker.counted() == (0, 0)


def test_a_worker_is_replaced_only_after_its_job_has_ended(tmp_path: Path) -> None:
    results = Results(tmp_path / "jobs")
    with (
        ray_cluster(tmp_path / "ray", results) as ray,
        one_gpu(tmp_path / "env", ray.dashboard, "http://127.0.0.1:9") as env,
        Containers(env.lab, {APPS[RAY]: ray.work}) as pods,
    ):
        ray.submit("ray-1")
        until("a running job", lambda: results.of("ray-1") == "begin", 120)
        env.edit("    cpu: 8\n    memory: 32Gi\n    image: images.example.com/ml-platform/ray", OTHER_MEMORY)
        with cli_process(env, "apply", "dev", "--yes") as run:
            run.until("draining Ray: 1 running job: ray-1 (")
            assert memory(env, RAY) == "32Gi"
            results.release("ray-1")
            ended, _, told = run.end()
        assert ended == 0, told
        assert memory(env, RAY) == "28Gi"
        # Ray would give a new job to the dead node, and fail it.
        until("the end of the old node and the new one", lambda: (ray.nodes("DEAD"), ray.nodes()) == (1, 2), 120)
        ray.submit("ray-2")
        results.release("ray-2")
        until("a job on the new worker", lambda: results.of("ray-2") == "begin end", 120)
        assert [stopped.app for stopped in pods.stopped] == [APPS[RAY]]
    assert results.all() == dict.fromkeys(("ray-1", "ray-2"), "begin end")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Environment, Dashboard]]:
    folder = tmp_path_factory.mktemp("drain")
    with dashboard() as (said, url), one_gpu(folder, url, "http://127.0.0.1:9") as env:
        yield env, said


@pytest.fixture
def busy(shared: tuple[Environment, Dashboard]) -> Iterator[tuple[Environment, Dashboard]]:
    """Ray is the training backend and busy; a switch to Celery is in the stack file and not applied."""
    env, said = shared
    before = env.stack_file.read_text()
    said.jobs, said.status = [], 200
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    env.settle()
    assert replicas(env) == {RAY: 1, CELERY: 0}
    switch_to(env, "celery")
    said.busy()
    yield env, said
    env.stack_file.write_text(before)


@pytest.mark.quick
def test_a_drain_that_times_out_changes_no_later_target(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    env.edit("timeout: 3m", "timeout: 4s")
    done = env.modelyard("apply", "dev", "--yes", check=False)
    assert done.returncode in (1, 3), done.stderr
    assert "1 running job: long (train), at" in words(done.stderr)
    assert "RES106" in done.stdout
    assert routed_to(env) == "celery"
    assert replicas(env) == {RAY: 1, CELERY: 0}
    assert locks(env) == []
    # No object has drifted; the stack has, because its apply failed.
    (drifted,) = json.loads(env.modelyard("drift", "dev", "--json", check=False).stdout)["stacks"]
    assert (drifted["state"], "reason" in drifted) == ("drifted", True)
    complete_switch(env, said)
    assert "no drift" in env.modelyard("drift", "dev").stdout


def test_pulumi_up_drains_and_reports_why_it_gave_up(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    env.edit("timeout: 3m", "timeout: 4s")
    done = env.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", check=False)
    assert done.returncode != 0
    assert "1 running job: long (train), at" in words(done.stdout + done.stderr)
    assert replicas(env) == {RAY: 1, CELERY: 0}
    complete_switch(env, said)


def test_the_quiet_time_defaults_to_the_grace_period_of_the_route(
    busy: tuple[Environment, Dashboard],
) -> None:
    env, said = busy
    grace = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}
    env.lab.kubectl("patch", "deployment", ROUTE, "--namespace", NAMESPACE, "--patch", json.dumps(grace))
    env.settle()
    env.edit("    quiet: 1s\n", "")
    with cli_process(env, "apply", "dev", "--yes") as run:
        run.until("draining Ray: 1 running job: long (train)")
        said.jobs = []
        run.until("draining Ray: no job for 7s: continuing")
        ended, _, told = run.end()
    assert ended == 0, told
    assert replicas(env) == {RAY: 0, CELERY: 1}


def test_no_drain_does_not_wait_for_jobs(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    asked = said.asked
    done = env.modelyard("apply", "dev", "--yes", "--no-drain")
    assert "(--no-drain)" in done.stdout
    assert replicas(env) == {RAY: 0, CELERY: 1}
    assert said.asked == asked


def test_a_variable_turns_off_the_drain_of_pulumi_up(busy: tuple[Environment, Dashboard]) -> None:
    env, _ = busy
    variables = {"MODELYARD_NO_DRAIN": "true"}
    done = env.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", env=variables)
    assert "MODELYARD_NO_DRAIN is set" in words(done.stdout)
    assert replicas(env) == {RAY: 0, CELERY: 1}


def test_a_preview_does_not_wait_for_jobs(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    asked = said.asked
    env.preview()
    assert said.asked == asked


def test_a_live_plan_shows_the_number_of_running_jobs(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    assert "RES107 Ray has 1 running job now" in words(env.modelyard("plan", "dev", "--live", "--notes").stdout)
    said.status = 500
    done = env.modelyard("plan", "dev", "--live", check=False)
    assert done.returncode == 0
    assert "RES105" in done.stdout
    assert "(HTTP 500)" in words(done.stdout)


def test_rejected_credentials_stop_the_apply_before_any_change(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    said.status = 401
    done = env.modelyard("apply", "dev", "--yes", check=False)
    assert done.returncode == 1, done.stderr
    assert "rejects the credentials (HTTP 401)" in words(done.stdout)
    assert "set MODELYARD_RAY_TOKEN" in words(done.stdout)
    assert replicas(env) == {RAY: 1, CELERY: 0}
    complete_switch(env, said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_apply_stopped_during_a_drain_can_be_repeated(
    busy: tuple[Environment, Dashboard], number: signal.Signals
) -> None:
    env, said = busy
    with cli_process(env, "apply", "dev", "--yes") as run:
        run.until("draining Ray: 1 running job: long (train)")
        run.process.send_signal(number)
        ended, _, told = run.end()
        # After modelyard is killed, the engine has a minute to end by itself.
        env.lab.wait("the end of the engine", lambda: run.running() == {}, 120)
    assert ended == (-number if number == signal.SIGKILL else 128 + number), told
    assert "Traceback" not in told
    assert SOON not in told
    assert replicas(env) == {RAY: 1, CELERY: 0}
    assert locks(env) == []
    complete_switch(env, said)
