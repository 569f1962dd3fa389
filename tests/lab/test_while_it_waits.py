"""Changes by others while an apply drains a training backend."""

import json
from pathlib import Path
from typing import Any

from modelyard.plan.store import STALE
from tests.lab.support.cli_process import cli_process, words
from tests.lab.support.environment import Environment, environment, scale
from tests.lab.support.training_backends import APPS, RAY, ask, complete_switch, dashboard, replicas, switch_to
from tests.lab.support.training_processes import until

HEAD = "deployment-ray-head"
NOWHERE = "http://127.0.0.1:9"


def worker(body: dict[str, Any]) -> dict[str, Any]:
    (found,) = [each for each in body["spec"]["template"]["spec"]["containers"] if "nvidia.com/gpu" in str(each)]
    return dict(found)


def install_with(env: Environment, memory: str) -> None:
    """Runs the installer again with another memory limit."""
    notes = env.deployment(RAY)["metadata"]["annotations"]
    body = json.loads(notes["kubectl.kubernetes.io/last-applied-configuration"])
    worker(body)["resources"]["limits"]["memory"] = memory
    env.lab.kubectl("apply", "--filename", "-", stdin=json.dumps(body))


def test_a_change_by_the_installer_during_a_drain_stops_the_step(tmp_path: Path) -> None:
    with dashboard() as (said, url), environment("dev", tmp_path) as env:
        ask(env, url, NOWHERE)
        before = worker(env.deployment(RAY))["resources"]["limits"]["memory"]
        assert before != "13Gi"
        switch_to(env, "celery")
        said.busy()
        with cli_process(env, "apply", "dev", "--yes") as run:
            run.until("draining Ray: 1 running job")
            install_with(env, "13Gi")
            said.jobs = []
            ended, _, told = run.end()
        assert ended == 4, told
        assert f"{STALE}: {RAY} " in words(told)
        assert f".resources.limits.memory {before} → 13Gi) (OWN011)" in words(told)
        left = env.deployment(RAY)
        assert worker(left)["resources"]["limits"]["memory"] == "13Gi"
        assert "modelyard" not in {entry["manager"] for entry in left["metadata"]["managedFields"]}

        complete_switch(env, said)
        env.modelyard("destroy", "dev", "--yes")
        back = env.deployment(RAY)
        assert worker(back)["resources"]["limits"]["memory"] == "13Gi"
        assert replicas(env)[RAY] == 1
        assert {entry["manager"] for entry in back["metadata"]["managedFields"]} == {
            entry["manager"] for entry in left["metadata"]["managedFields"]
        }


def asks_for(env: Environment, name: str) -> str:
    """The CPU request of a Deployment's pods."""
    (container, *_) = env.deployment(name)["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["requests"]["cpu"])


def test_a_drain_waits_for_workers_started_after_the_plan(tmp_path: Path) -> None:
    with dashboard() as (said, url), environment("staging", tmp_path) as env:
        ask(env, url, NOWHERE)
        env.modelyard("apply", "staging", "--yes")
        scale(env, RAY, 0, "platform-autoscaler")
        env.settle()
        env.edit("    cpu: 32\n", "    cpu: 31\n")
        env.edit("    cpu: 4\n", "    cpu: 3\n")
        # The job waits at the Ray head until the autoscaler has started a worker.
        said.busy()
        with cli_process(env, "apply", "staging", "--yes") as run:
            run.until("draining Ray: 1 running job")
            scale(env, RAY, 1, "platform-autoscaler")
            env.lab.wait("a worker", lambda: len(env.pods(APPS[RAY])) == 1)
            asked = said.asked
            until("three more questions", lambda: said.asked > asked + 2)
            assert (asks_for(env, HEAD), asks_for(env, RAY)) == ("4", "32")
            said.jobs = []
            ended, _, told = run.end()
        assert ended == 0, told
        env.settle()
        assert (asks_for(env, HEAD), asks_for(env, RAY)) == ("3", "31")
        assert env.deployment(RAY)["spec"]["replicas"] == 1
        assert env.plan().changed == ()
