"""Autoscalers and their queries."""

from typing import Any

import pytest

from modelyard.findings import Severity
from tests.support.policy_subjects import Found

WORKER = "deployment-ray-model-training-worker"
TASKS = "deployment-model-training-tasks-gpu"
SCALED = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{name: it, namespace: ml, annotations: {annotations}}}
spec: {{scaleTargetRef: {{name: {target}}}, {spec}}}
"""
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: it, namespace: {namespace}}}
spec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}, {spec}}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: ml, annotations: {annotations}}}
spec: {spec}
"""


def scaled(spec: str, annotations: str = "{}", target: str = WORKER) -> str:
    return SCALED.format(spec=spec, annotations=annotations, target=target)


def hpa(spec: str, target: str, namespace: str = "ml") -> str:
    return HPA.format(spec=spec, target=target, namespace=namespace)


def deployment(name: str, annotations: str = "{}", spec: str = "{}") -> str:
    return DEPLOYMENT.format(name=name, annotations=annotations, spec=spec)


@pytest.mark.parametrize(
    ("spec", "annotations", "field"),
    [
        ("maxReplicaCount: 1", "{}", ""),
        ("minReplicaCount: 0", "{}", ""),
        ("maxReplicaCount: 0", "{}", "spec.maxReplicaCount"),
        ("maxReplicaCount: 0", '{autoscaling.keda.sh/paused-replicas: "0"}', ""),
        ("maxReplicaCount: 0", '{autoscaling.keda.sh/paused: "true"}', ""),
        ("maxReplicaCount: 0", '{autoscaling.keda.sh/paused: "false"}', "spec.maxReplicaCount"),
        ("minReplicaCount: 3, maxReplicaCount: 2", "{}", "spec.minReplicaCount"),
    ],
)
def test_bounds_of_keda(finds: Found, spec: str, annotations: str, field: str) -> None:
    assert [finding.field for finding in finds("POL106", scaled(spec, annotations))] == ([field] if field else [])


@pytest.mark.parametrize(
    ("name", "bound", "said"),
    [
        (WORKER, "2", ""),
        (WORKER, "0", "but training uses this backend"),
        (TASKS, "0", ""),
        (WORKER, "two", "which is not a number of pods"),
        (WORKER, "-1", "which is not a number of pods"),
        (WORKER, "²", "which is not a number of pods"),
    ],
)
def test_the_platforms_bound(finds: Found, name: str, bound: str, said: str) -> None:
    annotations = f'{{autoscaling/enabled: "true", autoscaling/max_replicas: "{bound}"}}'
    found = finds("POL107", deployment(name, annotations))
    assert [said in finding.summary for finding in found] == ([True] if said else [])


def test_the_bound_of_a_disabled_autoscaler_is_not_checked(finds: Found) -> None:
    assert finds("POL107", deployment(WORKER, '{autoscaling/enabled: "false", autoscaling/max_replicas: "0"}')) == []


@pytest.mark.parametrize(
    ("spec", "target", "field"),
    [
        ("maxReplicas: 4", "deployment-model-service", ""),
        ("minReplicas: 5, maxReplicas: 4", "deployment-model-service", "spec.minReplicas"),
        ("maxReplicas: 4", WORKER, "spec.behavior.scaleDown.selectPolicy"),
        ("maxReplicas: 4", TASKS, "spec.behavior.scaleDown.selectPolicy"),
        ("maxReplicas: 4, behavior: {scaleDown: {selectPolicy: Disabled}}", WORKER, ""),
        (
            "maxReplicas: 4, behavior: {scaleDown: {selectPolicy: Disabled}}",
            "deployment-ray-head",
            "spec.scaleTargetRef.name",
        ),
    ],
)
def test_pod_autoscalers(finds: Found, spec: str, target: str, field: str) -> None:
    assert [finding.field for finding in finds("POL108", hpa(spec, target))] == ([field] if field else [])


@pytest.mark.parametrize(("kind", "count"), [("StatefulSet", 1), ("Deployment", 0)])
def test_an_autoscaler_of_a_target_of_another_kind(finds: Found, kind: str, count: int) -> None:
    facts = {"rayWorker": {"deployment": "worker", "kind": "StatefulSet"}}
    text = hpa("maxReplicas: 4", "worker").replace("kind: Deployment", f"kind: {kind}")
    assert len(finds("POL108", text, facts=facts)) == count


def both(scaler: str, name: str, spec: str = "{replicas: 2}") -> str:
    return deployment(name, spec=spec) + "---" + scaler


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (both(hpa("maxReplicas: 4", "deployment-model-service"), "deployment-model-service"), 1),
        (both(scaled("maxReplicaCount: 4", target="deployment-model-service"), "deployment-model-service"), 1),
        (both(hpa("maxReplicas: 4", "deployment-model-service"), "deployment-model-service", "{}"), 0),
        (both(hpa("maxReplicas: 4", "another"), "deployment-model-service"), 0),
        (both(hpa("maxReplicas: 4", "deployment-model-service", "elsewhere"), "deployment-model-service"), 0),
    ],
)
def test_replicas_have_one_owner(finds: Found, text: str, count: int) -> None:
    assert [finding.target for finding in finds("POL109", text)] == ["deployment-model-service"] * count


def test_replicas_kept_for_the_autoscaler_belong_to_it(finds: Found) -> None:
    text = both(scaled("maxReplicaCount: 2"), WORKER, "{replicas: 0}")
    assert finds("POL109", text, stack="dev")
    assert finds("POL109", text, stack="staging") == []


def test_replicas_that_the_stack_does_not_set_are_not_its_own(finds: Found) -> None:
    text = both(hpa("maxReplicas: 4", "deployment-model-service"), "deployment-model-service")
    assert finds("POL109", text, sent={"spec": {}}) == []


TRIGGER = 'triggers: [{{type: {kind}, metadata: {{ignoreNullValues: "{ignore}", query: vector(1)}}}}]'


@pytest.mark.parametrize(
    ("kind", "ignore", "more", "target", "count"),
    [
        ("prometheus", "true", "", WORKER, 1),
        ("prometheus", "false", "", WORKER, 1),
        ("prometheus", "false", ", fallback: {failureThreshold: 3, replicas: 1}", WORKER, 0),
        ("prometheus", "true", ", fallback: {failureThreshold: 3, replicas: 1}", WORKER, 1),
        ("cron", "true", "", WORKER, 0),
        ("prometheus", "true", "", "deployment-model-service", 0),
    ],
)
def test_lost_metrics(finds: Found, kind: str, ignore: str, more: str, target: str, count: int) -> None:
    spec = TRIGGER.format(kind=kind, ignore=ignore) + more
    found = finds("POL110", scaled(spec, target=target))
    assert [finding.severity for finding in found] == [Severity.WARNING] * count


@pytest.mark.parametrize(
    ("query", "severity"),
    [
        ('max_over_time(clamp_min(sum(ray_tasks{State!~\\"FINISHED|FAILED\\"}), 0)[30m:15s]) or vector(0)', None),
        ("sum(ray_tasks)[15s]", Severity.ERROR),
        ("ray_tasks", Severity.WARNING),
    ],
)
def test_queries_of_keda(finds: Found, query: str, severity: Severity | None) -> None:
    found = finds("POL111", scaled(f'triggers: [{{type: prometheus, metadata: {{query: "{query}"}}}}]'))
    assert {finding.code for finding in found} <= {"POL111"}
    assert (found[0].severity if found else None) is severity


@pytest.mark.parametrize(
    ("more", "interval"),
    [({}, "autoscaling.scrapeInterval"), ({"facts": {}}, "scrapeInterval of POL111")],
)
def test_the_remedy_names_the_interval_that_counts(finds: Found, more: dict[str, Any], interval: str) -> None:
    """Without a stack, the rule has its own interval."""
    query = "sum(max_over_time(jobs_waiting[5s])) or vector(0)"
    (found,) = finds("POL111", scaled(f'triggers: [{{type: prometheus, metadata: {{query: "{query}"}}}}]'), **more)
    assert f"set {interval} to" in found.remedy
