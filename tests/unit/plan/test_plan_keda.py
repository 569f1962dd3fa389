"""Training that KEDA scales: its objects, the order of their changes, and findings."""

import re
from typing import Any

import pytest

from modelyard.cluster.live import reference
from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, Scaler, scalers_of
from modelyard.plan.autoscaling import queries_of
from modelyard.plan.cost.project import cost_of
from modelyard.plan.keda import scalings
from modelyard.stack.config import PatchChoice

HEAD, RAY, CELERY, ROUTE = (
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
    "deployment-api-server",
)
PAUSED = "autoscaling.keda.sh/paused-replicas"


def keda(site: Any, **changes: Any) -> Any:
    """Returns the stack with KEDA as autoscaler."""
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
    """Returns the stack after KEDA has set the replicas of a Deployment through the scale subresource."""

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


def test_each_backend_has_a_scaledobject_and_the_idle_one_is_paused_at_0(dev: Any) -> None:
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


def test_a_release_without_ray_has_no_scaledobject_for_ray(prod: Any) -> None:
    old = prod.stack.config.platform._replace(release="22.10")
    assert "ray-training" not in targets(keda(prod.asking(platform=old)).plan())


@pytest.mark.parametrize("nodes", [(), ("dev-gpu-1", "dev-cpu-1")], ids=["every node", "one GPU"])
def test_a_switch_drains_before_the_old_backend_is_paused_at_0(dev: Any, nodes: tuple[str, ...], golden: Any) -> None:
    applied = keda(dev).applied()
    plan = (applied.on_nodes(*nodes) if nodes else applied).asking(training="celery").plan()
    ups, downs = [("celery-training", "up")], [("ray-training", "drain"), ("ray-training", "down")]
    assert steps(plan) == [(ROUTE, "route"), *(downs + ups if nodes else ups + downs)]
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    golden(*(step.why for step in plan.steps if step.phase != "drain"))
    changed = targets(plan)
    assert PAUSED not in changed["celery-training"].after.reveal()["metadata"]["annotations"]
    assert changed["ray-training"].after.reveal()["metadata"]["annotations"][PAUSED] == "0"
    assert {target.name for target in plan.changed} == {ROUTE, "ray-training", "celery-training"}


def test_without_a_drain_jobs_get_the_grace_period_of_their_pods(dev: Any, golden: Any) -> None:
    off = dev.stack.config.drain._replace(enabled=False)
    plan = keda(dev).applied().asking(training="celery", drain=off).plan()
    golden(why(plan, "ray-training"))


def test_a_backend_at_0_replicas_drains_because_keda_may_start_it(dev: Any) -> None:
    asleep = written_by_keda(keda(dev).applied(), RAY, 0)
    plan = asleep.asking(training="celery").plan()
    assert [(drain.backend, drain.targets) for drain in plan.drains] == [("ray", ("ray-training",))]
    back = asleep.asking(training="celery").applied()
    assert [drain.backend for drain in written_by_keda(back, CELERY, 0).asking(training="ray").plan().drains] == [
        "celery"
    ]


def test_new_pods_drain_only_for_the_active_backend(dev: Any) -> None:
    asleep = written_by_keda(keda(dev).applied(), RAY, 0)
    for section, name, waiting in (("ray_worker", RAY, ["ray"]), ("celery", CELERY, [])):
        more = getattr(asleep.stack.config, section)._replace(memory="48Gi")
        plan = asleep.asking(**{section: more}).plan()
        assert targets(plan)[name].action == "update"
        assert [drain.backend for drain in plan.drains] == waiting


def test_a_lower_maximum_drains_and_a_higher_one_does_not(dev: Any, golden: Any) -> None:
    three = keda(dev, max_replicas=3).applied()
    fewer = keda(three, max_replicas=2).plan()
    assert steps(fewer) == [("ray-training", "drain"), ("ray-training", "up")]
    golden(why(fewer, "ray-training"))
    assert keda(three, max_replicas=4).plan().drains == ()


def test_keda_and_a_switch_can_be_applied_together(dev: Any) -> None:
    """The stack changes from fixed replicas to KEDA and to the other backend: pausing stops the old backend's pods."""
    plan = keda(fixed(dev).applied()).asking(training="celery").plan()
    assert ("ray-training", "drain") in steps(plan)
    order = [step.target for step in plan.steps if step.phase != "drain"]
    assert order.index(CELERY) < order.index("celery-training")
    assert order.index("ray-training") < order.index(RAY)
    assert targets(plan)["ray-training"].action == "create"


@pytest.mark.parametrize("mode", ["none", "annotations"])
def test_scaledobjects_are_deleted_before_the_replicas_are_set(dev: Any, mode: str) -> None:
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


def test_replicas_of_a_scaledobject_that_stays_are_not_taken_over(dev: Any) -> None:
    """The plan does not delete a ScaledObject of another owner."""
    theirs = with_scalers(written_by_keda(fixed(dev).applied(), RAY, 0), scaler("ScaledObject", "theirs"))
    assert codes(theirs.plan(), "OWN002") == ["OWN002", "OWN002"]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            scaler("HorizontalPodAutoscaler", "mine"),
            f"HorizontalPodAutoscaler mine scales {RAY}, which KEDA would scale too",
        ),
        (scaler("ScaledObject", "theirs"), f"ScaledObject theirs scales {RAY}, which KEDA would scale too"),
        (scaler("ScaledObject", "ray-training"), None),
        (scaler("HorizontalPodAutoscaler", "keda-hpa-ray-training", RAY, "ray-training"), None),
        (scaler("HorizontalPodAutoscaler", "service", "deployment-model-service"), None),
    ],
)
def test_two_autoscalers_of_one_deployment_are_an_error(dev: Any, other: Scaler, told: str | None) -> None:
    found = [one for one in with_scalers(keda(dev), other).plan().findings if one.code == "AUT006"]
    assert [one.summary for one in found] == ([told] if told else [])
    assert all(one.severity is Severity.ERROR and one.line for one in found)


def test_the_autoscaler_of_the_platform_is_a_second_autoscaler(dev: Any) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        annotations = {**body["metadata"].get("annotations", {}), "autoscaling/enabled": "true"}
        return {**body, "metadata": {**body["metadata"], "annotations": annotations}}

    assert set(codes(keda(dev).having(change).plan(), "AUT006")) == {"AUT006"}


def test_vendor_queries_are_an_error_with_keda(dev: Any) -> None:
    plan = keda(dev, queries="vendor").plan()
    assert codes(plan, "AUT001", "AUT005") == ["AUT005"]
    assert plan.blocked


def test_the_cooldown_and_the_grace_period_must_cover_the_longest_job(dev: Any) -> None:
    def findings(cooldown: int, grace: int) -> list[Any]:
        site = dev.asking(ray_worker=dev.stack.config.ray_worker._replace(grace_period=grace))
        plan = keda(site, cooldown_period=cooldown).plan()
        return [one for one in plan.findings if one.code == "AUT007"]

    assert findings(300, 21900) == []
    assert findings(21600 - 600, 600) == []
    (one,) = findings(21600 - 601, 600)
    assert one.target == "ray-training"
    assert " 10m " in one.summary


def test_a_cooldown_shorter_than_the_start_of_the_fallback_is_a_warning(dev: Any) -> None:
    def findings(cooldown: int, polling: int = 30) -> list[Any]:
        plan = keda(dev, cooldown_period=cooldown, polling_interval=polling).plan()
        return [one for one in plan.findings if one.code == "AUT008"]

    assert findings(300) == []
    # Four queries, 30 seconds apart, each with up to two timeouts of 3 seconds.
    assert findings(144) == []
    (one,) = findings(143)
    assert (one.severity, one.target, one.blocks) == (Severity.WARNING, "ray-training", False)
    assert re.findall(r"\d+m\d+s", one.summary) == ["2m24s", "2m23s"]
    assert [findings(28, 1), len(findings(27, 1))] == [[], 1]


def with_queries(site: Any, *queries: str) -> Any:
    return keda(site).asking(patches=(PatchChoice("keda-ray", None, {"queries": list(queries)}),))


def test_each_query_is_a_trigger_and_is_checked(dev: Any) -> None:
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


def test_the_built_in_queries_have_no_findings(sites: Any) -> None:
    from modelyard.promql.queries import check_queries

    for site in sites.values():
        queries = queries_of(keda(site).stack.config, keda(site).plan().targets)
        assert len({query.text for query in queries}) == 2
        assert list(check_queries(queries, scrape_interval=30)) == []


def test_the_cost_is_a_range_up_to_the_maximum_of_keda(dev: Any) -> None:
    site = keda(dev, max_replicas=3)
    counts = {one.name: one.pods for one in cost_of(site.plan(), site.state).targets}
    assert (counts[RAY][1].low, counts[RAY][1].high) == (0, 3)
    assert (counts[CELERY][1].low, counts[CELERY][1].high) == (0, 0)
    switched = site.applied().asking(training="celery")
    counts = {one.name: one.pods for one in cost_of(switched.plan(), switched.state).targets}
    assert [one.high for one in counts[RAY]] == [3, 0]


def test_keda_does_not_scale_what_a_paused_object_holds(dev: Any) -> None:
    """KEDA pauses an object without a number of pods too: then nobody knows how many run."""
    plan = keda(dev).plan()
    (ray,) = [one for one in plan.targets if one.key.kind == "ScaledObject" and one.name == "ray-training"]
    body = ray.after.reveal()
    notes = {**body["metadata"].get("annotations", {}), "autoscaling.keda.sh/paused": "true"}
    paused = ray._replace(after=Confidential({**body, "metadata": {**body["metadata"], "annotations": notes}}))
    (scaling,) = scalings([paused]).values()
    assert (scaling.most[1], scaling.least[1]) == (None, None)


def test_a_recorded_autoscaler_names_its_owner() -> None:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": RAY}}
    owner = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "ray-training", "uid": "1"}
    made = {"metadata": {"namespace": "ml", "name": "keda-hpa", "ownerReferences": [owner], "labels": {}}, "spec": spec}
    held = {"metadata": {"namespace": "ml", "name": "held", "annotations": {PAUSED: "0", "a": "b"}}, "spec": spec}
    kept = [reference("HorizontalPodAutoscaler", made), reference("ScaledObject", held)]
    assert kept[1]["metadata"]["annotations"] == {PAUSED: "0"}
    (found,) = scalers_of(kept)
    assert (found.name, found.made_by) == ("keda-hpa", "ray-training")


def test_a_maximum_beyond_the_nodes_is_a_warning(dev: Any) -> None:
    def findings(most: int) -> list[Any]:
        return [one for one in keda(dev, max_replicas=most).plan().findings if one.code == "RES101"]

    assert findings(2) == []
    (one,) = findings(9)
    assert (one.severity, one.field) == (Severity.WARNING, "autoscaling.maxReplicas")
    assert re.findall(rf"{RAY}|\b\d+\b", one.summary) == [RAY, "9", "2"]


def test_scaledobjects_are_created_after_their_deployments(dev: Any) -> None:
    there = {key: body for key, body in dev.state.objects.reveal().items() if key.name == ROUTE}
    managed = dev.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    plan = keda(managed._replace(state=dev.state._replace(objects=Confidential(there)))).plan()
    order = [step.target for step in plan.steps]
    assert order.index(RAY) < order.index("ray-training")
    assert order.index(CELERY) < order.index("celery-training")
    assert [targets(plan)[name].applied.reveal()["spec"]["replicas"] for name in (RAY, CELERY)] == [0, 0]
