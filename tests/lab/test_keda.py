"""Training that KEDA scales: the real operator, a real Prometheus, and the objects of an applied stack."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml

from modelyard.kube.state import ObjectKey
from modelyard.workloads.training import BACKENDS
from tests.lab.support.environment import NAMESPACE, Environment, comparable, environment
from tests.lab.support.prometheus_server import QUEUE, Running, prometheus

RAY, CELERY = (
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
SCALERS = [ObjectKey("keda.sh/v1alpha1", "ScaledObject", NAMESPACE, f"{name}-training") for name in ("celery", "ray")]
AUTOSCALERS = "apis/autoscaling/v2/…/horizontalpodautoscalers"
COOLDOWN = 3
"""Seconds."""
LONG = 30
"""Seconds: a cooldown that lasts until the fallback begins."""
WINDOW = "3s:1s"
"""Seconds, instead of half an hour."""

ANSWERS = {"name": "answers", "type": "serving", "workers": 2, "cpu": "100m", "memory": "256Mi", "scale": {"most": 4}}
"""Serving resources. Without a metrics server, their CPU usage is unknown, so they stay at their minimum."""
CHAT = {
    **ANSWERS,
    "name": "chat",
    "workers": 1,
    "scale": {"most": 4, "query": "max(requests_open) or vector(0)", "each": 8},
}


def short_query(backend: str) -> str:
    """The stack's query for a backend, with a short window and a metric of this test."""
    query = BACKENDS[backend].queries.keda.replace("30m:15s", WINDOW).replace("ray_tasks", "training_tasks")
    return query % {"queue": QUEUE} if backend == "celery" else query


class Site(NamedTuple):
    """A platform whose training KEDA scales, and the metrics that Prometheus scrapes."""

    env: Environment
    server: Running
    work: dict[str, float]

    def set_work(self, number: int) -> None:
        """Sets the amount of work for Ray."""
        self.work['training_tasks{State="RUNNING"}'] = number

    def config(self, **sections: Any) -> None:
        """Writes sections of the stack file."""
        document = yaml.safe_load(self.env.stack_file.read_text())
        document["config"] |= {f"modelyard:{name}": value for name, value in sections.items()}
        self.env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))

    def keda(self) -> dict[str, Any]:
        return {
            "mode": "keda",
            "prometheus": self.server.url,
            "pollingInterval": 1,
            "cooldownPeriod": COOLDOWN,
            "scrapeInterval": 1,
        }

    def replicas(self, name: str) -> int:
        found: int = self.env.deployment(name)["spec"]["replicas"]
        return found

    def trainers(self) -> list[str]:
        """The HorizontalPodAutoscalers that KEDA has created for training."""
        names = [one["metadata"]["name"] for one in self.env.found(AUTOSCALERS)]
        return [name for name in names if "training" in name]

    def wait_for(self, name: str, replicas: int) -> None:
        self.env.lab.wait(f"{replicas} pods of {name}", lambda: self.replicas(name) == replicas)

    def holds_what_was_planned(self) -> None:
        """Checks that a plan has no changes and nothing has drifted."""
        plan = self.env.plan()
        assert plan.changed == ()
        for target in plan.targets:
            live = self.env.get(target.key)
            assert live is not None
            assert comparable(live) == comparable(target.after.reveal())
        assert "no drift" in self.env.modelyard("drift", "dev").stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    work: dict[str, float] = {}
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(folder, work) as server, environment("dev", tmp_path_factory.mktemp("keda")) as env:
        env.lab.start_operators("keda")
        del env.env["MODELYARD_NO_DRAIN"]
        made = Site(env, server, work)
        made.set_work(0)
        query = "sum(training_tasks) or vector(0)"
        made.config(
            autoscaling=made.keda(),
            drain={"quiet": 1, "prometheus": server.url, "ray": {"query": query}, "celery": {"query": "vector(0)"}},
            patches=[
                {"name": f"keda-{backend}", "params": {"queries": [short_query(backend)]}}
                for backend in ("ray", "celery")
            ],
            runtime={"image": "images.example.com/jobs:1"},
            resources=[ANSWERS, CHAT],
            jobs=[{"name": f"{name}-job", "type": "serving", "resource": name} for name in ("answers", "chat")],
        )
        yield made


def train_with(site: Site, backend: str) -> None:
    """Applies a stack in which KEDA scales this backend, without work."""
    env = site.env
    site.set_work(0)
    other = {"ray": "celery", "celery": "ray"}[backend]
    text = env.stack_file.read_text()
    env.stack_file.write_text(text.replace(f"modelyard:training: {other}", f"modelyard:training: {backend}"))
    # A second apply releases the replicas, which the first one kept until KEDA had set them.
    for _ in range(2):
        if env.plan().changed:
            env.modelyard("apply", "dev", "--yes", "--no-drain")
        site.wait_for(RAY, 0)
        env.lab.wait("KEDA's autoscaler", lambda: len(site.trainers()) == 1)


@pytest.fixture
def ray(site: Site) -> None:
    """Ray is the training backend, scaled to zero."""
    train_with(site, "ray")


@pytest.fixture
def celery(site: Site) -> None:
    """Celery is the training backend, and always has work in this Prometheus."""
    train_with(site, "celery")
    site.wait_for(CELERY, 1)


@pytest.mark.quick
def test_keda_scales_as_planned_and_stops_the_unused_backend(site: Site) -> None:
    env = site.env
    plan = env.plan()
    assert not plan.blocked, plan.findings
    planned = {target.key: target for target in plan.targets}
    assert [planned[key].action for key in SCALERS] == ["create", "create"]
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    for key in SCALERS:
        live = env.get(key)
        assert live is not None
        assert live["spec"] == planned[key].after.reveal()["spec"]
        assert live["metadata"]["annotations"].items() >= planned[key].after.reveal()["metadata"]["annotations"].items()
    # Prometheus shows work in the queue, but Celery is not the training backend.
    site.wait_for(RAY, 0)
    assert site.replicas(CELERY) == 0
    env.lab.wait("KEDA's autoscaler", lambda: len(site.trainers()) == 1)
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_serving_starts_with_its_minimum_of_replicas(site: Site) -> None:
    """The Deployment is created with one replica, the API server's default; KEDA sets the rest."""
    site.wait_for("resource-answers", 2)
    (scaler,) = [one for one in site.env.found(AUTOSCALERS) if "answers" in one["metadata"]["name"]]
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 4)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_serving_scales_with_its_load(site: Site) -> None:
    site.wait_for("resource-chat", 1)
    # One pod per eight requests, at most four pods.
    for requests, pods in ((20, 3), (1000, 4), (3, 1)):
        site.work["requests_open"] = requests
        site.wait_for("resource-chat", pods)
        site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_training_scales_with_its_work(site: Site) -> None:
    site.set_work(1)
    site.wait_for(RAY, 1)
    site.env.lab.wait("the pod", lambda: len(site.env.pods("ray-model-training-worker")) == 1)
    site.set_work(0)
    site.wait_for(RAY, 0)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_training_keeps_its_replicas_while_metrics_are_missing(site: Site) -> None:
    """They stay while KEDA counts failures, and then for longer than its cooldown."""
    assert [one.target for one in site.env.plan().findings if one.code == "AUT008"] == ["ray-training"]
    site.config(autoscaling=site.keda() | {"cooldownPeriod": LONG})
    assert [one for one in site.env.plan().findings if one.code == "AUT008"] == []
    site.env.modelyard("apply", "dev", "--yes")
    try:
        site.set_work(1)
        site.wait_for(RAY, 1)
        # The work ends while the metrics are missing.
        os.kill(site.server.process.pid, signal.SIGSTOP)
        try:
            site.set_work(0)
            end = time.monotonic() + 2 * LONG
            while time.monotonic() < end:
                assert site.replicas(RAY) == 1
                time.sleep(0.2)
        finally:
            os.kill(site.server.process.pid, signal.SIGCONT)
    finally:
        site.config(autoscaling=site.keda())
        site.env.modelyard("apply", "dev", "--yes")
    site.wait_for(RAY, 0)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_a_switch_drains_the_old_backend_and_scales_it_to_zero(site: Site) -> None:
    env = site.env
    site.set_work(1)
    site.wait_for(RAY, 1)
    env.edit("modelyard:training: ray", "modelyard:training: celery")
    plan = env.plan()
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    assert [key.name for key in SCALERS if key in {target.key for target in plan.changed}] == [
        "celery-training",
        "ray-training",
    ]
    site.set_work(0)
    done = env.modelyard("apply", "dev", "--yes")
    assert "draining Ray" in done.stdout + done.stderr
    site.wait_for(CELERY, 1)
    assert site.replicas(RAY) == 0
    site.set_work(1)
    time.sleep(2 * COOLDOWN)
    assert site.replicas(RAY) == 0
    site.set_work(0)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("celery")
def test_fixed_replicas_first_delete_the_scaled_objects(site: Site) -> None:
    env = site.env
    assert site.replicas(CELERY) == 1
    site.config(autoscaling={"mode": "none", "prometheus": site.server.url}, patches=[])
    plan = env.plan()
    assert not plan.blocked, plan.findings
    assert [target.key for target in plan.changed][:2] == SCALERS
    env.modelyard("apply", "dev", "--yes")
    assert [env.get(key) for key in SCALERS] == [None, None]
    env.lab.wait("KEDA's autoscaler to go", lambda: not site.trainers())
    assert (site.replicas(RAY), site.replicas(CELERY)) == (0, 1)
    site.holds_what_was_planned()


def test_destroy_deletes_the_scaled_objects(site: Site) -> None:
    env = site.env
    site.config(autoscaling=site.keda())
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    assert None not in [env.get(key) for key in SCALERS]
    # The platform's training keeps its current replicas; a resource of the stack is deleted and not listed.
    pods = [site.replicas(name) for name in (CELERY, RAY)]
    told = " ".join(env.modelyard("destroy", "dev", "--yes").stderr.split())
    said = [
        f"{name} with {number} pod{'' if number == 1 else 's'}"
        for name, number in zip((CELERY, RAY), pods, strict=True)
    ]
    assert f"KEDA stops scaling {' and '.join(said)}" in told
    assert [env.get(key) for key in SCALERS] == [None, None]
    env.lab.wait("KEDA's autoscalers to go", lambda: not env.found(AUTOSCALERS))
    annotations = env.deployment(RAY)["metadata"].get("annotations", {})
    assert not any(name.startswith("modelyard.dev/") for name in annotations)
