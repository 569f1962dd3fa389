"""The order of changes by free GPUs; pods that can never run; jobs that a change stops early."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.stack.jobs import Job, Resource, Scale

ROUTE, HEAD, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)


def codes(plan: Any) -> list[str]:
    return [finding.code for finding in plan.findings]


def names(plan: Any) -> list[str]:
    return [step.target for step in plan.steps if step.phase != "drain"]


def without_drain(site: Any) -> Any:
    return site.asking(drain=site.stack.config.drain._replace(enabled=False))


def serving(site: Any, most: int | None) -> Any:
    """Adds a resource whose Deployment, Service and ScaledObject have one name; with None, there is no ScaledObject."""
    scale = Scale(most, query="sum(up) or vector(0)", each="8") if most is not None else None
    return site.asking(
        autoscaling=site.stack.config.autoscaling._replace(prometheus="http://prometheus:9090"),
        resources=(Resource("answers", "serving", image="images.example.com/answers:1", scale=scale),),
        jobs=(Job("serve", "serving", resource="answers", request_rate="20", request_time="50m"),),
    )


def test_a_scaledobject_is_deleted_before_its_deployment_changes(dev: Any) -> None:
    plan = serving(dev, None)._replace(state=serving(dev, 4).applied().state).plan()
    first, second = ((one.key.kind, one.action) for one in plan.changed)
    assert (first, second) == (("ScaledObject", "delete"), ("Deployment", "update"))
    assert [step.target for step in plan.steps] == ["resource-answers", "resource-answers"]
    assert "resource-answers" in plan.steps[0].why


def test_a_scaledobject_named_like_its_deployment_has_its_own_step(dev: Any) -> None:
    plan = serving(dev, 6)._replace(state=serving(dev, 4).applied().state).plan()
    (changed,) = plan.changed
    assert (changed.key.kind, changed.name) == ("ScaledObject", "resource-answers")
    (step,) = plan.steps
    assert step.target == "resource-answers"
    assert "up to 6 pods of resource-answers" in step.why


def test_with_spare_gpus_the_new_backend_starts_before_the_old_one_stops(dev: Any, golden: Any) -> None:
    plan = without_drain(dev.applied()).asking(training="celery").plan()
    assert [(step.target, step.phase) for step in plan.steps] == [(ROUTE, "route"), (CELERY, "up"), (RAY, "down")]
    golden(*(step.why for step in plan.steps))


def test_without_a_spare_gpu_the_old_backend_stops_first(dev: Any, golden: Any) -> None:
    plan = without_drain(dev.applied()).on_nodes("dev-gpu-1", "dev-cpu-1").asking(training="celery").plan()
    assert [(step.target, step.phase) for step in plan.steps] == [(ROUTE, "route"), (RAY, "down"), (CELERY, "up")]
    golden(*(step.why for step in plan.steps))
    assert tuple(target.name for target in plan.targets if target.action != "none") == tuple(names(plan))


def test_with_an_autoscaler_the_steps_state_its_maximum(staging: Any, golden: Any) -> None:
    plan = without_drain(staging.applied()).asking(training="celery").plan()
    golden(*(step.why for step in plan.steps))


def test_a_head_that_changes_in_a_switch_comes_before_the_route(dev: Any) -> None:
    celery = without_drain(dev.asking(training="celery").applied())
    head = celery.stack.config.ray_head
    changes = {"training": "ray", "ray_head": head._replace(memory="20Gi")}
    plan = celery.asking(**changes).plan()
    assert [(step.target, step.phase) for step in plan.steps] == [
        (HEAD, "normal"),
        (ROUTE, "route"),
        (RAY, "up"),
        (CELERY, "down"),
    ]
    stays = celery.asking(ray_head=changes["ray_head"]).plan()
    (step,) = stays.steps
    assert step.target == HEAD
    assert plan.steps[0].why.startswith(f"{step.why}; ")


def test_a_switch_changes_only_the_route_and_both_backends(dev: Any) -> None:
    before = dev.applied()
    assert before.plan().changed == ()
    plan = before.asking(training="celery").plan()
    changed = {target.name: [str(change.path) for change in target.changes] for target in plan.changed}
    assert changed == {
        ROUTE: ["spec.template.spec.containers[name=api-server].env[name=ENABLE_RAY_MODEL_TRAINING].value"],
        RAY: ["spec.replicas"],
        CELERY: ["spec.replicas"],
    }
    assert {target.name: target.replaces_pods for target in plan.changed} == {ROUTE: 1, RAY: 0, CELERY: 0}
    assert plan.blocked is False


def test_a_switch_back_restores_all_objects(dev: Any) -> None:
    first = dev.applied()
    there = first.asking(training="celery").applied()
    back = there.asking(training="ray").applied()
    assert back.plan().changed == ()
    bodies = ({key: body["spec"] for key, body in site.state.objects.reveal().items()} for site in (first, back))
    assert next(bodies) == next(bodies)


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_each_changed_target_has_one_step(sites: Any, name: str) -> None:
    plan = sites[name].plan()
    assert sorted(names(plan)) == sorted(target.name for target in plan.changed)
    assert names(plan)[0] == ROUTE


def test_pods_that_no_node_can_hold_have_a_reason_for_each_node(dev: Any) -> None:
    plan = dev.asking(ray_worker=dev.stack.config.ray_worker._replace(replicas=3)).plan()
    (finding,) = (finding for finding in plan.findings if finding.code == "RES101")
    assert (finding.blocks, finding.target, finding.line) == (True, RAY, 26)
    assert [word for word in finding.summary.split() if word.isdigit()] == ["3", "2"]
    for node in ("dev-cpu-1 has no GPU", "dev-gpu-1 0 of 1 GPUs free", "dev-gpu-2"):
        assert node in finding.detail.replace("1 of 1 GPUs", "0 of 1 GPUs")


def test_with_an_autoscaler_too_few_nodes_are_a_warning(staging: Any) -> None:
    scaling = staging.stack.config.autoscaling._replace(max_replicas=50)
    plan = staging.asking(autoscaling=scaling).plan()
    (finding,) = (finding for finding in plan.findings if finding.code == "RES101")
    assert finding.severity.value == "warning"
    assert "autoscaler" in finding.remedy


def test_a_gpu_that_cannot_train_is_reported_once(dev: Any) -> None:
    plan = dev.asking(gpu=dev.stack.config.gpu._replace(model="L4")).plan()
    assert [finding.code for finding in plan.findings if finding.blocks] == ["GPU001"]


def test_jobs_that_a_change_stops_are_reported_if_the_grace_period_is_short(dev: Any) -> None:
    first = without_drain(dev).plan()
    (finding,) = (finding for finding in first.findings if finding.code == "RES102")
    assert (finding.target, finding.severity.value) == (RAY, "warning")
    assert "1 running pod " in finding.summary
    assert " 1 min " in finding.summary
    applied = without_drain(dev.applied())
    assert "RES102" not in codes(applied.plan())
    assert "RES102" not in codes(applied.asking(training="celery").plan())
    assert "RES102" not in codes(dev.plan())


@pytest.mark.parametrize(("longest", "warned"), [(900, False), (901, True)])
def test_the_grace_period_must_cover_the_longest_job_of_the_backend(dev: Any, longest: int, warned: bool) -> None:
    celery = dev.stack.config.celery._replace(job_limit=longest, grace_period=900)
    applied = without_drain(dev.asking(training="celery", celery=celery).applied())
    plan = applied.asking(celery=celery._replace(cpu="3")).plan()
    (worker,) = (target for target in plan.targets if target.name == CELERY)
    assert worker.replaces_pods == 1
    assert [one.target for one in plan.findings if one.code == "RES102"] == [CELERY] * warned


def test_another_variable_on_the_api_server_is_not_a_switch(dev: Any, tmp_path: Path) -> None:
    meta = "description: log more\nwhen: {training: [ray, celery]}\n"
    spec = "{template: {spec: {containers: [{name: api-server, env: [{name: LOG_LEVEL, value: debug}]}]}}}"
    plan = without_drain(dev).patched(tmp_path, spec, meta, ROUTE).plan()
    (route,) = (target for target in plan.targets if target.name == ROUTE)
    assert route.phase == "normal"
    why = {step.target: step.why for step in plan.steps}
    assert why[RAY] == f"{why[ROUTE]}; its jobs get 1 min to finish"
    assert not [words for words in why.values() if "side" in words]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (59, "59 s"),
        (60, "1 min"),
        (90, "90 s"),
        (3600, "1 h"),
        (5400, "1 h 30 min"),
        (7199, "1 h 59 min"),
        (7260, "2 h 1 min"),
    ],
)
def test_the_time_for_jobs_is_rounded_down_to_minutes(dev: Any, seconds: int, words: str) -> None:
    def patient(body: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(json.dumps(body))
        body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = seconds
        return body

    plan = without_drain(dev).having(patient).plan()
    why = {step.target: step.why for step in plan.steps}
    assert why[RAY] == f"replaces 1 running pod; its jobs get {words} to finish"


def test_a_changed_deployment_and_scaledobject_share_one_step(dev: Any) -> None:
    def scaled(body: dict[str, Any]) -> dict[str, Any]:
        mine = (body["kind"], body["metadata"]["name"]) == ("Deployment", "resource-answers")
        return {**body, "spec": {**body["spec"], "replicas": 3}} if mine else body

    newer = serving(dev, 6)._replace(state=serving(dev, 4).applied().having(scaled).state)
    (resource,) = newer.stack.config.resources
    plan = newer.asking(resources=(resource._replace(image="images.example.com/answers:2"),)).plan()
    assert {one.key.kind for one in plan.changed} == {"Deployment", "ScaledObject"}
    assert [step.why for step in plan.steps] == ["replaces 3 running pods"]
