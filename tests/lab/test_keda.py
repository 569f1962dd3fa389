"""Training that KEDA scales: the real operator, a real Prometheus, and objects that the stack planned and applied."""

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
SCALERS = [ObjectKey("keda.sh/v1alpha1", "ScaledObject", NAMESPACE, f"{side}-training") for side in ("celery", "ray")]
AUTOSCALERS = "apis/autoscaling/v2/…/horizontalpodautoscalers"
COOLDOWN = 3
"""Seconds."""
LONG = 30
"""Seconds: a cooldown that lasts until the fallback begins."""
WINDOW = "3s:1s"
"""In place of half an hour."""

ANSWERS = {"name": "answers", "type": "serving", "workers": 2, "cpu": "100m", "memory": "256Mi", "scale": {"most": 4}}
"""Pods that answer requests; without a metrics server nobody knows what CPU they use, so they stay at their least."""
CHAT = {
    **ANSWERS,
    "name": "chat",
    "workers": 1,
    "scale": {"most": 4, "query": "max(requests_open) or vector(0)", "each": 8},
}


def quick(side: str) -> str:
    """The query of a side as the stack has it, with a short window and a metric of this test's own."""
    query = BACKENDS[side].queries.keda.replace("30m:15s", WINDOW).replace("ray_tasks", "training_tasks")
    return query % {"queue": QUEUE} if side == "celery" else query


class Site(NamedTuple):
    """A platform whose training KEDA scales, and the work that Prometheus tells of."""

    env: Environment
    server: Running
    work: dict[str, float]

    def asks(self, number: int) -> None:
        """So much work is there for Ray."""
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
        """The autoscalers that KEDA has made for training."""
        names = [one["metadata"]["name"] for one in self.env.found(AUTOSCALERS)]
        return [name for name in names if "training" in name]

    def wait_for(self, name: str, replicas: int) -> None:
        self.env.lab.wait(f"{replicas} pods of {name}", lambda: self.replicas(name) == replicas)

    def holds_what_was_planned(self) -> None:
        """What is planned now is what is there: nothing to do, and nothing drifted."""
        plan = self.env.plan()
        assert plan.changed == ()
        for target in plan.targets:
            live = self.env.get(target.key)
            assert live is not None
            assert comparable(live) == comparable(target.after.reveal())
        assert "as it was applied" in self.env.modelyard("drift", "dev").stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    work: dict[str, float] = {}
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(folder, work) as server, environment("dev", tmp_path_factory.mktemp("keda")) as env:
        env.lab.start_operators("keda")
        del env.env["MODELYARD_NO_DRAIN"]
        made = Site(env, server, work)
        made.asks(0)
        query = "sum(training_tasks) or vector(0)"
        made.config(
            autoscaling=made.keda(),
            drain={"quiet": 1, "prometheus": server.url, "ray": {"query": query}, "celery": {"query": "vector(0)"}},
            patches=[{"name": f"keda-{side}", "params": {"queries": [quick(side)]}} for side in ("ray", "celery")],
            runtime={"image": "images.example.com/jobs:1"},
            resources=[ANSWERS, CHAT],
            jobs=[{"name": f"{name}-job", "type": "serving", "resource": name} for name in ("answers", "chat")],
        )
        yield made


def trains_on(site: Site, side: str) -> None:
    """KEDA has the training of this side, as the stack file says, and there is no work."""
    env = site.env
    site.asks(0)
    other = {"ray": "celery", "celery": "ray"}[side]
    text = env.stack_file.read_text()
    env.stack_file.write_text(text.replace(f"modelyard:training: {other}", f"modelyard:training: {side}"))
    # A second apply lets go of the replicas that were held until KEDA had set them.
    for _ in range(2):
        if env.plan().changed:
            env.modelyard("apply", "dev", "--yes", "--no-drain")
        site.wait_for(RAY, 0)
        env.lab.wait("KEDA's autoscaler", lambda: len(site.trainers()) == 1)


@pytest.fixture
def ray(site: Site) -> None:
    """Ray trains, and sleeps."""
    trains_on(site, "ray")


@pytest.fixture
def celery(site: Site) -> None:
    """Celery trains, and always has work in this Prometheus."""
    trains_on(site, "celery")
    site.wait_for(CELERY, 1)


@pytest.mark.quick
def test_keda_takes_over_what_was_planned_and_the_idle_side_sleeps(site: Site) -> None:
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
    # The queue has work in this Prometheus, and the side is not in use.
    site.wait_for(RAY, 0)
    assert site.replicas(CELERY) == 0
    env.lab.wait("KEDA's autoscaler", lambda: len(site.trainers()) == 1)
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_pods_that_answer_requests_are_as_many_as_their_scale_says(site: Site) -> None:
    """They are made as one, which is the API server's default: the rest is KEDA's."""
    site.wait_for("resource-answers", 2)
    (scaler,) = [one for one in site.env.found(AUTOSCALERS) if "answers" in one["metadata"]["name"]]
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 4)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_serving_grows_and_shrinks_with_its_load(site: Site) -> None:
    site.wait_for("resource-chat", 1)
    # Eight requests a pod, and no more than four pods.
    for requests, pods in ((20, 3), (1000, 4), (3, 1)):
        site.work["requests_open"] = requests
        site.wait_for("resource-chat", pods)
        site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_training_goes_up_with_work_and_down_without(site: Site) -> None:
    site.asks(1)
    site.wait_for(RAY, 1)
    site.env.lab.wait("the pod", lambda: len(site.env.pods("ray-model-training-worker")) == 1)
    site.asks(0)
    site.wait_for(RAY, 0)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("ray")
def test_training_stays_while_its_metrics_are_lost(site: Site) -> None:
    """Through the time in which KEDA counts failures, and longer than its cooldown after that."""
    assert [one.target for one in site.env.plan().findings if one.code == "AUT008"] == ["ray-training"]
    site.config(autoscaling=site.keda() | {"cooldownPeriod": LONG})
    assert [one for one in site.env.plan().findings if one.code == "AUT008"] == []
    site.env.modelyard("apply", "dev", "--yes")
    try:
        site.asks(1)
        site.wait_for(RAY, 1)
        # The work is over, and nobody can tell.
        os.kill(site.server.process.pid, signal.SIGSTOP)
        try:
            site.asks(0)
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
def test_a_switch_waits_for_the_work_and_puts_the_old_side_to_sleep(site: Site) -> None:
    env = site.env
    site.asks(1)
    site.wait_for(RAY, 1)
    env.edit("modelyard:training: ray", "modelyard:training: celery")
    plan = env.plan()
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    assert [key.name for key in SCALERS if key in {target.key for target in plan.changed}] == [
        "celery-training",
        "ray-training",
    ]
    site.asks(0)
    done = env.modelyard("apply", "dev", "--yes")
    assert "draining Ray" in done.stdout + done.stderr
    site.wait_for(CELERY, 1)
    assert site.replicas(RAY) == 0
    site.asks(1)
    time.sleep(2 * COOLDOWN)
    assert site.replicas(RAY) == 0
    site.asks(0)
    site.holds_what_was_planned()


@pytest.mark.usefixtures("celery")
def test_back_to_fixed_replicas_keda_lets_go_first(site: Site) -> None:
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


def test_destroy_leaves_nothing_of_it(site: Site) -> None:
    env = site.env
    site.config(autoscaling=site.keda())
    env.modelyard("apply", "dev", "--yes", "--no-drain")
    assert None not in [env.get(key) for key in SCALERS]
    # The platform's training stays as KEDA leaves it, asleep or not; what the stack made goes, and is not told.
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
