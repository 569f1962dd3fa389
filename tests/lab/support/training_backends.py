"""Ray and Celery on a platform with one GPU, and a Ray jobs API whose answers a test sets."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.support.environment import Environment, environment
from tests.support.web_servers import Quiet, listening

ROUTE, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
APPS = {RAY: "ray-model-training-worker", CELERY: "model-training-tasks-gpu"}
BROKER = "      management: http://broker.{}.example.com:15672\n"


def ask(env: Environment, dashboard: str, management: str) -> None:
    """Turns draining on: applies ask Ray at ``dashboard`` and Celery's broker at ``management`` for jobs."""
    env.edit(
        BROKER.format(env.name), f"      management: {management}\n    ray: {{jobs: {dashboard}}}\n    quiet: 1s\n"
    )
    env.edit("timeout: 6h30m", "timeout: 3m")
    del env.env["MODELYARD_NO_DRAIN"]


@contextmanager
def one_gpu(folder: Path, dashboard: str, management: str) -> Iterator[Environment]:
    """The platform ``dev``, applied, with one GPU in the cluster and draining turned on."""
    with environment("dev", folder) as env:
        (node,) = env.nodes_of(APPS[RAY])
        other = {"dev-gpu-1": "dev-gpu-2", "dev-gpu-2": "dev-gpu-1"}[node["metadata"]["name"]]
        env.lab.kubectl("delete", "node", other)
        ask(env, dashboard, management)
        env.init()
        env.up()
        env.settle()
        yield env


def switch_to(env: Environment, backend: str) -> None:
    other = {"ray": "celery", "celery": "ray"}[backend]
    env.edit(f"modelyard:training: {other}", f"modelyard:training: {backend}")


def routed_to(env: Environment) -> str:
    variables = env.deployment(ROUTE)["spec"]["template"]["spec"]["containers"][0]["env"]
    (value,) = [each["value"] for each in variables if each["name"] == "ENABLE_RAY_MODEL_TRAINING"]
    return "ray" if value == "True" else "celery"


def replicas(env: Environment) -> dict[str, int]:
    return {name: env.deployment(name)["spec"]["replicas"] for name in (RAY, CELERY)}


class Dashboard:
    """Answers as Ray's jobs API, with the jobs and the HTTP status that a test sets."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.status = 200
        self.asked = 0

    def busy(self) -> None:
        self.jobs = [{"submission_id": "long", "job_id": None, "status": "RUNNING", "entrypoint": "train"}]


@contextmanager
def dashboard() -> Iterator[tuple[Dashboard, str]]:
    said = Dashboard()

    class Handler(Quiet):
        def do_GET(self) -> None:
            said.asked += 1
            self.answer(json.dumps(said.jobs).encode(), said.status)

    with listening(Handler) as url:
        yield said, url


def complete_switch(env: Environment, said: Dashboard) -> None:
    """Ends the job and checks that the next apply completes the switch to Celery."""
    said.jobs, said.status = [], 200
    env.modelyard("apply", "dev", "--yes")
    env.settle()
    assert replicas(env) == {RAY: 0, CELERY: 1}
    assert env.plan().changed == ()
