"""Drains: which changes wait for running jobs, their place in the order, their job source, and their findings."""

import json
import re
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, Scaler
from modelyard.plan.drains import refused
from modelyard.plan.order import STOPS_JOBS
from modelyard.plan.starting import moved_order
from modelyard.plan.store import plan_from_json, plan_to_json
from modelyard.stack.config import CeleryJobs, Drain, RayJobs
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, NoJobSource, Numbers

ROUTE, HEAD, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
BROKER = "http://broker.example.com:15672"


def steps(plan: Any) -> list[tuple[str, str]]:
    return [(step.target, step.phase) for step in plan.steps]


def waits(plan: Any) -> dict[str, tuple[str, ...]]:
    return {drain.backend: drain.targets for drain in plan.drains}


def draining(site: Any, **changes: Any) -> Any:
    return site.asking(drain=site.stack.config.drain._replace(**changes))


def findings(plan: Any, code: str) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == code]


def with_memory(site: Any, section: str, memory: str) -> Any:
    return site.asking(**{section: getattr(site.stack.config, section)._replace(memory=memory)})


def test_with_spare_gpus_the_new_backend_starts_before_the_drain(dev: Any) -> None:
    plan = dev.applied().asking(training="celery").plan()
    assert steps(plan) == [(ROUTE, "route"), (CELERY, "up"), (RAY, "drain"), (RAY, "down")]
    assert {"Ray", "6", "30"} <= set(plan.steps[2].why.split())
    assert HEAD in plan.steps[2].why
    assert "idle" in plan.steps[3].why


def test_without_a_spare_gpu_the_drain_comes_before_the_new_backend(dev: Any, golden: Any) -> None:
    plan = dev.applied().on_nodes("dev-gpu-1", "dev-cpu-1").asking(training="celery").plan()
    assert steps(plan) == [(ROUTE, "route"), (RAY, "drain"), (RAY, "down"), (CELERY, "up")]
    golden(*(step.why for step in plan.steps))


def test_an_apply_without_waiting_keeps_the_order_and_reports_the_jobs_that_it_stops(dev: Any, golden: Any) -> None:
    site = dev.on_nodes("dev-gpu-1", "dev-cpu-1").asking(training="celery")
    waiting, plan = site.plan(), site.plan(waits=False)
    assert steps(plan) == [step for step in steps(waiting) if step[1] != "drain"]
    assert list(moved_order(waiting, plan)) == []
    assert (findings(waiting, STOPS_JOBS), len(findings(plan, STOPS_JOBS))) == ([], 1)
    assert plan.drains == waiting.drains
    golden(*(step.why for step in plan.steps), *(one.remedy for one in findings(plan, STOPS_JOBS)))


def test_a_switch_to_ray_drains_the_celery_queue(dev: Any) -> None:
    celery = dev.applied().asking(training="celery").applied()
    plan = celery.asking(training="ray").plan()
    (drain,) = plan.drains
    assert (drain.backend, drain.targets) == ("celery", (CELERY,))
    assert drain.source == Broker("http://broker.dev.example.com:15672", "/", "celery-model-training-tasks-gpu")


def test_head_and_workers_of_the_active_backend_share_one_drain(dev: Any, golden: Any) -> None:
    plan = dev.plan()
    assert waits(plan) == {"ray": (HEAD, RAY)}
    order = [step for step in steps(plan) if step[0] in (HEAD, RAY)]
    assert order == [(HEAD, "drain"), (HEAD, "normal"), (RAY, "up")]
    golden(*(step.why for step in plan.steps))


@pytest.mark.parametrize(
    ("site", "section", "memory", "expected"),
    [
        ("dev", "ray_worker", "48Gi", {"ray": (RAY,)}),
        ("dev", "ray_head", "24Gi", {"ray": (HEAD,)}),
        ("dev", "celery", "48Gi", {}),
        ("dev", "model_service", "24Gi", {}),
        ("prod", "celery", "48Gi", {"celery": (CELERY,)}),
        ("prod", "ray_worker", "48Gi", {}),
        ("prod", "ray_head", "24Gi", {}),
    ],
)
def test_only_changes_that_may_stop_a_job_drain(
    sites: Any, site: str, section: str, memory: str, expected: dict[str, tuple[str, ...]]
) -> None:
    plan = with_memory(sites[site].applied(), section, memory).plan()
    assert plan.changed
    assert waits(plan) == expected
    assert sum(step.phase == "drain" for step in plan.steps) == len(expected)


def test_scaling_the_active_backend_down_drains_and_up_does_not(prod: Any) -> None:
    applied = prod.applied()
    celery = applied.stack.config.celery
    assert waits(applied.asking(celery=celery._replace(replicas=2)).plan()) == {"celery": (CELERY,)}
    assert waits(applied.asking(celery=celery._replace(replicas=4)).plan()) == {}


def test_a_switch_that_replaces_the_head_drains_before_the_head(dev: Any) -> None:
    plan = with_memory(dev.applied(), "ray_head", "24Gi").asking(training="celery").plan()
    assert steps(plan) == [(ROUTE, "route"), (CELERY, "up"), (HEAD, "drain"), (HEAD, "normal"), (RAY, "down")]
    assert waits(plan) == {"ray": (HEAD, RAY)}


def scaled(site: Any, name: str, replicas: int) -> Any:
    """Returns the stack after another manager has set the replicas of a Deployment."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        spec = {**body["spec"], "replicas": replicas} if body["metadata"]["name"] == name else body["spec"]
        return {**body, "spec": spec}

    return site.having(change)


@pytest.mark.parametrize("replicas", [0, 1])
def test_a_backend_that_an_autoscaler_may_start_drains_at_0_replicas(staging: Any, replicas: int) -> None:
    site = scaled(staging.applied(), RAY, replicas)
    assert waits(site.asking(training="celery").plan()) == {"ray": (RAY,)}
    assert waits(with_memory(site, "ray_worker", "24Gi").plan()) == {"ray": (RAY,)}
    fixed = site.asking(autoscaling=site.stack.config.autoscaling._replace(mode="none"))
    assert waits(with_memory(fixed, "ray_worker", "24Gi").plan()) == {"ray": (RAY,)}


def test_the_step_of_a_backend_at_0_replicas_names_its_drain(staging: Any, golden: Any) -> None:
    plan = with_memory(scaled(staging.applied(), RAY, 0), "ray_worker", "24Gi").plan()
    assert steps(plan) == [(RAY, "drain"), (RAY, "up")]
    golden(*(step.why for step in plan.steps))


def test_a_scale_down_step_states_how_many_pods_it_stops(staging: Any, golden: Any) -> None:
    site = staging.asking(autoscaling=staging.stack.config.autoscaling._replace(mode="none")).applied()
    config = site.stack.config
    plan = site.asking(ray_worker=config.ray_worker._replace(replicas=config.ray_worker.replicas - 1)).plan()
    golden(*(step.why for step in plan.steps))


@pytest.mark.parametrize(("kind", "waiting"), [("ScaledObject", {"ray": (RAY,)}), ("HorizontalPodAutoscaler", {})])
def test_a_backend_at_0_drains_with_keda_and_not_with_other_autoscalers(
    prod: Any, kind: str, waiting: dict[str, Any]
) -> None:
    site = with_memory(prod.applied(), "ray_worker", "48Gi")
    scaler = Scaler(kind, "mine", ObjectKey("apps/v1", "Deployment", "ml-platform", RAY))
    assert waits(site._replace(state=site.state._replace(scalers=(scaler,))).plan()) == waiting


def test_a_backend_that_no_autoscaler_may_start_does_not_drain(staging: Any) -> None:
    """The maximum for an idle backend is 0; after a switch back its queue fills before its pods start."""
    assert waits(with_memory(staging.applied(), "celery", "24Gi").plan()) == {}
    back = scaled(staging.applied().asking(training="celery").applied(), RAY, 0).asking(training="ray")
    assert waits(with_memory(back, "ray_worker", "24Gi").plan()) == {"celery": (CELERY,)}


@pytest.mark.parametrize(("name", "memory"), [("dev", "24Gi"), ("staging", "24Gi")])
def test_the_head_of_the_active_backend_drains_without_workers(sites: Any, name: str, memory: str) -> None:
    """The head keeps the jobs that wait for a worker."""
    site = with_memory(scaled(sites[name].applied(), RAY, 0), "ray_head", memory)
    assert waits(site.plan()) == {"ray": (HEAD,)}
    flipped = site.asking(training="celery").plan()
    assert HEAD in waits(flipped)["ray"]
    order = [step for step in steps(flipped) if step[0] == HEAD]
    assert order == [(HEAD, "drain"), (HEAD, "normal")]


def test_workers_start_before_the_head_drains(dev: Any) -> None:
    """An interrupted switch has already moved the route: jobs wait for workers, and the head waits for the jobs."""
    flip = with_memory(dev.asking(training="celery").applied(), "ray_head", "24Gi").asking(training="ray")
    first = flip.plan()
    assert "ray" not in waits(first)
    moved = {target.key: target.after.reveal() for target in first.targets if target.name == ROUTE}
    rest = flip._replace(
        state=flip.state._replace(objects=Confidential({**flip.state.objects.reveal(), **moved}))
    ).plan()
    assert waits(rest)["ray"] == (HEAD,)
    order = [step for step in steps(rest) if step[0] in (HEAD, RAY)]
    assert order == [(RAY, "up"), (HEAD, "drain"), (HEAD, "normal")]


def test_the_order_stays_the_same_after_the_route_has_moved(dev: Any) -> None:
    """An interrupted apply leaves this state."""
    site = dev.applied().on_nodes("dev-gpu-1", "dev-cpu-1")
    first = site.asking(training="celery").plan()
    moved = {target.key: target.after.reveal() for target in first.targets if target.name == ROUTE}
    rest = site._replace(state=site.state._replace(objects=Confidential({**site.state.objects.reveal(), **moved})))
    plan = rest.asking(training="celery").plan()
    assert steps(plan) == [(RAY, "drain"), (RAY, "down"), (CELERY, "up")]


def test_drains_can_be_turned_off(dev: Any) -> None:
    plan = draining(dev.applied(), enabled=False).asking(training="celery").plan()
    assert plan.drains == ()
    assert "drain" not in [step.phase for step in plan.steps]


@pytest.mark.parametrize(
    ("drain", "training", "source"),
    [
        (Drain(), "ray", HeadService("dev", "ml-platform", HEAD)),
        (Drain(ray=RayJobs(jobs="http://ray:8265")), "ray", Dashboard("http://ray:8265")),
        (
            Drain(prometheus="http://p:9090", ray=RayJobs(jobs="http://ray:8265", query="up")),
            "ray",
            Numbers("http://p:9090", "up", 30),
        ),
        (
            Drain(celery=CeleryJobs(BROKER, "training")),
            "celery",
            Broker(BROKER, "training", "celery-model-training-tasks-gpu"),
        ),
        (
            Drain(prometheus="http://p:9090", celery=CeleryJobs(query="up")),
            "celery",
            Numbers("http://p:9090", "up", 30),
        ),
    ],
)
def test_the_job_source_is_the_one_that_the_stack_names(dev: Any, drain: Drain, training: str, source: Any) -> None:
    other = {"ray": "celery", "celery": "ray"}[training]
    site = dev.asking(training=training).applied().asking(training=other, drain=drain)
    (found,) = site.plan().drains
    assert (found.backend, found.source) == (training, source)


def test_the_quiet_time_is_the_grace_period_of_the_api_server_pods(dev: Any) -> None:
    def patient(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != ROUTE:
            return body
        template = body["spec"]["template"]
        spec = {**template["spec"], "terminationGracePeriodSeconds": 75}
        return {**body, "spec": {**body["spec"], "template": {**template, "spec": spec}}}

    flipped = dev.applied().asking(training="celery")
    assert [drain.quiet for drain in flipped.plan().drains] == [60]
    assert [drain.quiet for drain in flipped.having(patient).plan().drains] == [75]
    assert [drain.quiet for drain in draining(flipped, quiet=5).plan().drains] == [5]


@pytest.mark.parametrize("jobs", [CeleryJobs(), CeleryJobs(query="up")])
def test_a_missing_job_source_is_a_warning_with_the_key_to_set(prod: Any, jobs: CeleryJobs) -> None:
    plan = draining(with_memory(prod.applied(), "celery", "48Gi"), celery=jobs).plan()
    assert isinstance(plan.drains[0].source, NoJobSource)
    (finding,) = findings(plan, "RES105")
    assert finding.severity is Severity.WARNING
    assert finding.target == CELERY
    assert finding.line
    assert "set drain." in finding.remedy
    assert "--no-drain" in finding.remedy
    # Steps before the drain would stay applied, so an apply does not begin.
    assert not plan.blocked
    assert refused(plan).blocked


@pytest.mark.parametrize(("limit", "told"), [(6 * 3600, 0), (6 * 3600 - 1, 1)])
@pytest.mark.parametrize(("site", "section"), [("prod", "celery"), ("dev", "ray_worker")])
def test_a_drain_limit_shorter_than_the_longest_job_is_reported(
    sites: Any, site: str, section: str, limit: int, told: int
) -> None:
    plan = draining(with_memory(sites[site].applied(), section, "48Gi"), timeout=limit).plan()
    assert len(findings(plan, "RES106")) == told


def test_the_longest_celery_job_comes_from_the_stack(prod: Any) -> None:
    site = with_memory(prod.applied(), "celery", "48Gi")
    short = site.asking(celery=site.stack.config.celery._replace(job_limit=3600))
    assert findings(draining(short, timeout=3600).plan(), "RES106") == []
    (finding,) = findings(draining(site, timeout=3600).plan(), "RES106")
    assert re.findall(r"Celery|\dh", finding.summary) == ["1h", "Celery", "6h"]


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_a_saved_plan_keeps_its_drains(sites: Any, name: str) -> None:
    plan = sites[name].plan()
    again = plan_from_json(json.dumps(plan_to_json(plan)), "plan.json")
    assert again.drains == plan.drains
    assert again.steps == plan.steps
