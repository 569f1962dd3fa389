"""Training that KEDA scales: its objects, when they change, and what a plan says of them."""

import re
from typing import Any

import pytest

from modelyard.cluster.live import reference
from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, Scaler, scalers_of
from modelyard.plan.autoscaling import queries_of
from modelyard.plan.cost.project import cost_of
from modelyard.stack.config import PatchChoice

HEAD, RAY, CELERY, ROUTE = (
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
    "deployment-api-server",
)
PAUSED = "autoscaling.keda.sh/paused-replicas"


def keda(site: Any, **changes: Any) -> Any:
    """With training that KEDA scales."""
    wanted = {"mode": "keda", "prometheus": "http://prometheus.monitoring.svc:9090", **changes}
    return site.asking(autoscaling=site.stack.config.autoscaling._replace(**wanted))


def fixed(site: Any) -> Any:
    return site.asking(autoscaling=site.stack.config.autoscaling._replace(mode="none"))


def targets(plan: Any) -> dict[str, Any]:
    return {target.name: target for target in plan.targets}


def steps(plan: Any) -> list[tuple[str, str]]:
    return [(step.target, step.phase) for step in plan.steps]


def why(plan: Any, name: str) -> str:
    (found,) = [step.why for step in plan.steps if step.target == name and step.phase != "drain"]
    return str(found)


def codes(plan: Any, *families: str) -> list[str]:
    return [finding.code for finding in plan.findings if finding.code.startswith(families)]


def with_scalers(site: Any, *scalers: Scaler) -> Any:
    return site._replace(state=site.state._replace(scalers=scalers))


def scaler(kind: str, name: str, target: str = RAY, made_by: str = "") -> Scaler:
    return Scaler(kind, name, ObjectKey("apps/v1", "Deployment", "ml-platform", target), made_by)


def written_by_keda(site: Any, name: str, replicas: int) -> Any:
    """KEDA has set the replicas of one Deployment, through the scale subresource."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != name or body["kind"] != "Deployment":
            return body
        entry = {
            "manager": "keda",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            "subresource": "scale",
        }
        kept = []
        for one in body["metadata"]["managedFields"]:
            spec = {key: value for key, value in one["fieldsV1"].get("f:spec", {}).items() if key != "f:replicas"}
            kept.append({**one, "fieldsV1": {**one["fieldsV1"], "f:spec": spec}})
        metadata = {**body["metadata"], "managedFields": [*kept, entry]}
        return {**body, "metadata": metadata, "spec": {**body["spec"], "replicas": replicas}}

    return site.having(change)


def test_each_side_has_an_object_of_keda_and_the_idle_one_is_held_at_no_pods(dev: Any) -> None:
    plan = keda(dev, max_replicas=2, cooldown_period=600, polling_interval=15).plan()
    found = targets(plan)
    ray, celery = found["ray-training"], found["celery-training"]
    assert (ray.action, ray.managed, ray.role, celery.role) == ("create", True, "rayWorker", "celery")
    assert PAUSED not in ray.applied.reveal()["metadata"]["annotations"]
    spec = ray.applied.reveal()["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, 2)
    assert (spec["pollingInterval"], spec["cooldownPeriod"], spec["initialCooldownPeriod"]) == (15, 600, 600)
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": RAY}
    assert spec["fallback"] == {"failureThreshold": 3, "replicas": 1, "behavior": "currentReplicas"}
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior == {"scaleDown": {"selectPolicy": "Disabled"}}
    (trigger,) = spec["triggers"]
    assert trigger["metadata"]["serverAddress"] == "http://prometheus.monitoring.svc:9090"
    assert trigger["metadata"]["ignoreNullValues"] == "false"
    assert celery.applied.reveal()["metadata"]["annotations"][PAUSED] == "0"
    assert celery.applied.reveal()["spec"]["maxReplicaCount"] == 1
    assert [found[name].replicas[1] for name in (RAY, CELERY)] == [None, None]
    assert not plan.blocked
    assert keda(dev, max_replicas=2, cooldown_period=600, polling_interval=15).applied().plan().changed == ()


def test_no_ray_where_the_release_has_none(prod: Any) -> None:
    old = prod.stack.config.platform._replace(release="22.10")
    assert "ray-training" not in targets(keda(prod.asking(platform=old)).plan())


@pytest.mark.parametrize("nodes", [(), ("dev-gpu-1", "dev-cpu-1")])
def test_a_switch_waits_before_the_old_side_is_held_at_no_pods(dev: Any, nodes: tuple[str, ...]) -> None:
    applied = keda(dev).applied()
    plan = (applied.on_nodes(*nodes) if nodes else applied).asking(training="celery").plan()
    ups, downs = [("celery-training", "up")], [("ray-training", "drain"), ("ray-training", "down")]
    assert steps(plan) == [(ROUTE, "route"), *(downs + ups if nodes else ups + downs)]
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    assert why(plan, "ray-training") == f"KEDA stops the pods of {RAY}, which is idle by then"
    assert f" 1 pod of {CELERY} " in why(plan, "celery-training")
    if nodes:
        assert " 6 h 30 min" in plan.steps[0].why
    changed = targets(plan)
    assert PAUSED not in changed["celery-training"].after.reveal()["metadata"]["annotations"]
    assert changed["ray-training"].after.reveal()["metadata"]["annotations"][PAUSED] == "0"
    assert {target.name for target in plan.changed} == {ROUTE, "ray-training", "celery-training"}


def test_without_a_wait_the_jobs_of_a_side_that_keda_stops_get_their_grace_period(dev: Any) -> None:
    off = dev.stack.config.drain._replace(enabled=False)
    plan = keda(dev).applied().asking(training="celery", drain=off).plan()
    assert why(plan, "ray-training") == f"KEDA stops the pods of {RAY}; jobs that still run get 6 h 5 min to finish"


def test_a_side_that_sleeps_is_waited_for_as_keda_may_wake_it_meanwhile(dev: Any) -> None:
    asleep = written_by_keda(keda(dev).applied(), RAY, 0)
    plan = asleep.asking(training="celery").plan()
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    back = asleep.asking(training="celery").applied()
    assert [drain.backend for drain in written_by_keda(back, CELERY, 0).asking(training="ray").plan().drains] == [
        "celery"
    ]


def test_new_pods_of_a_side_that_keda_scales_wait_and_those_of_the_idle_side_do_not(dev: Any) -> None:
    asleep = written_by_keda(keda(dev).applied(), RAY, 0)
    for section, name, waiting in (("ray_worker", RAY, ["ray"]), ("celery", CELERY, [])):
        more = getattr(asleep.stack.config, section)._replace(memory="48Gi")
        plan = asleep.asking(**{section: more}).plan()
        assert targets(plan)[name].action == "update"
        assert [drain.backend for drain in plan.drains] == waiting


def test_fewer_pods_at_most_wait_and_more_do_not(dev: Any) -> None:
    three = keda(dev, max_replicas=3).applied()
    fewer = keda(three, max_replicas=2).plan()
    assert steps(fewer) == [("ray-training", "drain"), ("ray-training", "up")]
    assert why(fewer, "ray-training") == f"KEDA scales down to 2 pods of {RAY}, which is idle by then"
    assert keda(three, max_replicas=4).plan().drains == ()


def test_keda_comes_to_a_side_that_the_switch_leaves(dev: Any) -> None:
    """From fixed replicas to KEDA and to the other side at once: pausing is what stops the old side's pods."""
    plan = keda(fixed(dev).applied()).asking(training="celery").plan()
    assert ("ray-training", "drain") in steps(plan)
    order = [step.target for step in plan.steps if step.phase != "drain"]
    assert order.index(CELERY) < order.index("celery-training")
    assert order.index("ray-training") < order.index(RAY)
    assert targets(plan)["ray-training"].action == "create"


@pytest.mark.parametrize("mode", ["none", "annotations"])
def test_keda_lets_go_before_anybody_else_sets_the_number(dev: Any, mode: str) -> None:
    asleep = written_by_keda(keda(dev).applied(), RAY, 0)
    seen = with_scalers(
        asleep,
        scaler("ScaledObject", "ray-training"),
        scaler("HorizontalPodAutoscaler", "keda-hpa-x", RAY, "ray-training"),
    )
    plan = seen.asking(autoscaling=seen.stack.config.autoscaling._replace(mode=mode)).plan()
    found = targets(plan)
    assert [found[name].action for name in ("celery-training", "ray-training")] == ["delete", "delete"]
    assert [name for name, _ in steps(plan)][:2] == ["celery-training", "ray-training"]
    assert f" {RAY}, " in why(plan, "ray-training")
    assert "OWN002" not in codes(plan, "OWN")
    assert found[RAY].replicas == ((0, 1) if mode == "none" else (0, None))
    assert not plan.blocked


def test_what_keda_still_holds_is_not_taken_where_its_object_stays(dev: Any) -> None:
    """Somebody else's ScaledObject, which the plan does not delete."""
    theirs = with_scalers(written_by_keda(fixed(dev).applied(), RAY, 0), scaler("ScaledObject", "theirs"))
    assert codes(theirs.plan(), "OWN002") == ["OWN002", "OWN002"]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (scaler("HorizontalPodAutoscaler", "mine"), f"HorizontalPodAutoscaler mine scales {RAY} as well as KEDA would"),
        (scaler("ScaledObject", "theirs"), f"ScaledObject theirs scales {RAY} as well as KEDA would"),
        (scaler("ScaledObject", "ray-training"), None),
        (scaler("HorizontalPodAutoscaler", "keda-hpa-ray-training", RAY, "ray-training"), None),
        (scaler("HorizontalPodAutoscaler", "service", "deployment-model-service"), None),
    ],
)
def test_two_autoscalers_of_one_deployment(dev: Any, other: Scaler, told: str | None) -> None:
    found = [one for one in with_scalers(keda(dev), other).plan().findings if one.code == "AUT006"]
    assert [one.summary for one in found] == ([told] if told else [])
    assert all(one.severity is Severity.ERROR and one.line for one in found)


def test_the_platforms_autoscaler_is_another_one(dev: Any) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        annotations = {**body["metadata"].get("annotations", {}), "autoscaling/enabled": "true"}
        return {**body, "metadata": {**body["metadata"], "annotations": annotations}}

    assert set(codes(keda(dev).having(change).plan(), "AUT006")) == {"AUT006"}


def test_the_vendors_queries_are_none_for_keda(dev: Any) -> None:
    plan = keda(dev, queries="vendor").plan()
    assert codes(plan, "AUT001", "AUT005") == ["AUT005"]
    assert plan.blocked


def test_a_job_without_metrics_has_the_cooldown_and_its_grace(dev: Any) -> None:
    def found(cooldown: int, grace: int) -> list[Any]:
        site = dev.asking(ray_worker=dev.stack.config.ray_worker._replace(grace_period=grace))
        plan = keda(site, cooldown_period=cooldown).plan()
        return [one for one in plan.findings if one.code == "AUT007"]

    assert found(300, 21900) == []
    assert found(21600 - 600, 600) == []
    (one,) = found(21600 - 601, 600)
    assert one.target == "ray-training"
    assert " 10m " in one.summary


def test_a_cooldown_lasts_until_the_fallback_begins(dev: Any) -> None:
    def found(cooldown: int, polling: int = 30) -> list[Any]:
        plan = keda(dev, cooldown_period=cooldown, polling_interval=polling).plan()
        return [one for one in plan.findings if one.code == "AUT008"]

    assert found(300) == []
    # Four questions, 30 seconds apart, and each may wait twice 3 seconds for its answer.
    assert found(144) == []
    (one,) = found(143)
    assert (one.severity, one.target, one.blocks) == (Severity.WARNING, "ray-training", False)
    assert re.findall(r"\d+m\d+s", one.summary) == ["2m24s", "2m23s"]
    assert [found(28, 1), len(found(27, 1))] == [[], 1]


def with_queries(site: Any, *queries: str) -> Any:
    return keda(site).asking(patches=(PatchChoice("keda-ray", None, {"queries": list(queries)}),))


def test_each_query_is_a_trigger_and_is_judged(dev: Any) -> None:
    site = with_queries(dev, "sum(jobs_waiting) or vector(0)", "sum(jobs[15s])")
    plan = site.plan()
    triggers = targets(plan)["ray-training"].applied.reveal()["spec"]["triggers"]
    assert [one["metadata"]["query"] for one in triggers] == ["sum(jobs_waiting) or vector(0)", "sum(jobs[15s])"]
    (wrong,) = [one for one in plan.findings if one.code == "AUT010"]
    assert (wrong.severity, wrong.target, wrong.field) == (
        Severity.ERROR,
        "ray-training",
        "patches[0].params.queries",
    )
    asked = queries_of(site.stack.config, plan.targets)
    assert {one.target: one.ours for one in asked} == {"ray-training": True, "celery-training": True}
    assert len(asked) == 3


def test_nothing_is_wrong_with_the_built_in_queries(sites: Any) -> None:
    from modelyard.promql.queries import check_queries

    for site in sites.values():
        queries = queries_of(keda(site).stack.config, keda(site).plan().targets)
        assert len({query.text for query in queries}) == 2
        assert list(check_queries(queries, scrape_interval=30)) == []


def test_what_it_costs_is_a_range_up_to_kedas_bound(dev: Any) -> None:
    site = keda(dev, max_replicas=3)
    counts = {one.name: one.pods for one in cost_of(site.plan(), site.state).targets}
    assert (counts[RAY][1].low, counts[RAY][1].high) == (0, 3)
    assert (counts[CELERY][1].low, counts[CELERY][1].high) == (0, 0)
    switched = site.applied().asking(training="celery")
    counts = {one.name: one.pods for one in cost_of(switched.plan(), switched.state).targets}
    assert [one.high for one in counts[RAY]] == [3, 0]


def test_what_is_kept_of_autoscalers_tells_whose_they_are() -> None:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": RAY}}
    owner = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "ray-training", "uid": "1"}
    made = {"metadata": {"namespace": "ml", "name": "keda-hpa", "ownerReferences": [owner], "labels": {}}, "spec": spec}
    held = {"metadata": {"namespace": "ml", "name": "held", "annotations": {PAUSED: "0", "a": "b"}}, "spec": spec}
    kept = [reference("HorizontalPodAutoscaler", made), reference("ScaledObject", held)]
    assert kept[1]["metadata"]["annotations"] == {PAUSED: "0"}
    (found,) = scalers_of(kept)
    assert (found.name, found.made_by) == ("keda-hpa", "ray-training")


def test_more_pods_than_the_nodes_hold_are_told(dev: Any) -> None:
    def found(most: int) -> list[Any]:
        return [one for one in keda(dev, max_replicas=most).plan().findings if one.code == "RES101"]

    assert found(2) == []
    (one,) = found(9)
    assert (one.severity, one.field) == (Severity.WARNING, "autoscaling.maxReplicas")
    assert re.findall(rf"{RAY}|\b\d+\b", one.summary) == [RAY, "9", "2"]


def test_keda_comes_to_deployments_that_the_plan_makes_once_they_are_there(dev: Any) -> None:
    there = {key: body for key, body in dev.state.objects.reveal().items() if key.name == ROUTE}
    managed = dev.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    plan = keda(managed._replace(state=dev.state._replace(objects=Confidential(there)))).plan()
    order = [step.target for step in plan.steps]
    assert order.index(RAY) < order.index("ray-training")
    assert order.index(CELERY) < order.index("celery-training")
    assert [targets(plan)[name].applied.reveal()["spec"]["replicas"] for name in (RAY, CELERY)] == [0, 0]
