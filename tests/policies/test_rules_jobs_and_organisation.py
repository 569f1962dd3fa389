"""Long jobs, and what an organization asks of every object."""

from typing import Any

import pytest

from modelyard.findings import Severity
from tests.support.policy_subjects import Found

RAY_JOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: it}}
spec:
  activeDeadlineSeconds: {seconds}
  rayClusterSpec:
    headGroupSpec: {{template: {{spec: {{containers: [{{name: head}}]}}}}}}
    workerGroupSpecs:
      - groupName: small
        template: {{spec: {{containers: [{{name: worker, resources: {{limits: {gpus}}}}}]}}}}
"""
WORKER = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: deployment-ray-model-training-worker}}
spec: {{template: {{metadata: {{annotations: {annotations}}}, spec: {{containers: []}}}}}}
"""
LABELLED = """
apiVersion: apps/v1
kind: {kind}
metadata: {{name: it, namespace: ml-a, labels: {labels}}}
spec: {{template: {{metadata: {{labels: {{team: ml-x}}}}, spec: {{containers: []}}}}}}
"""
BOTH = '{karpenter.sh/do-not-disrupt: "true", cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}'


@pytest.mark.parametrize(
    ("seconds", "gpus", "count"),
    [
        (21599, "{nvidia.com/gpu: 1}", 1),
        (21600, "{nvidia.com/gpu: 1}", 0),
        (60, "{cpu: 1}", 0),
        (60, "{nvidia.com/gpu: 0}", 0),
    ],
)
def test_deadlines_of_jobs_with_gpus(finds: Found, seconds: int, gpus: str, count: int) -> None:
    found = finds("POL104", RAY_JOB.format(seconds=seconds, gpus=gpus))
    assert [finding.field for finding in found] == ["spec.activeDeadlineSeconds"] * count


def test_a_deadline_of_the_pods_is_used(finds: Found) -> None:
    text = RAY_JOB.format(seconds=30000, gpus="{nvidia.com/gpu: 1}").replace(
        "template: {spec: {containers: [{name: worker",
        "template: {spec: {activeDeadlineSeconds: 5, containers: [{name: worker",
    )
    (found,) = finds("POL104", text)
    assert found.field == "spec.rayClusterSpec.workerGroupSpecs[groupName=small].template.spec.activeDeadlineSeconds"


def test_the_longest_job_is_a_parameter(finds: Found) -> None:
    text = RAY_JOB.format(seconds=3600, gpus="{nvidia.com/gpu: 1}")
    assert finds("POL104", text)
    assert finds("POL104", text, params={"seconds": 3600}) == []


@pytest.mark.parametrize(("annotations", "count"), [(BOTH, 0), ("{}", 1), (BOTH.replace('"true"', '"false"'), 1)])
def test_training_pods_need_both_annotations(finds: Found, annotations: str, count: int) -> None:
    found = finds("POL105", WORKER.format(annotations=annotations))
    assert [finding.severity for finding in found] == [Severity.WARNING] * count


def test_a_patch_is_not_checked_for_missing_annotations(finds: Found) -> None:
    assert finds("POL105", WORKER.format(annotations="{}"), whole=False) == []


def test_other_pods_need_no_annotation(finds: Found) -> None:
    text = WORKER.format(annotations="{}").replace("deployment-ray-model-training-worker", "deployment-model-service")
    assert finds("POL105", text) == []


@pytest.mark.parametrize(("allow", "count"), [(["ml-*"], 0), (["ml-a"], 0), (["ml-b", "x-*"], 1), (["ML-*"], 1)])
def test_namespaces(finds: Found, allow: list[str], count: int) -> None:
    text = LABELLED.format(kind="Deployment", labels="{}")
    assert len(finds("POL112", text, params={"allow": allow})) == count


def test_an_installed_platform_moves_before_its_namespace_is_set(finds: Found, golden: Any) -> None:
    text = LABELLED.format(kind="Deployment", labels="{}")
    modes = ("existing", "managed")
    found = (finds("POL112", text, params={"allow": ["x-*"]}, facts={"platform": {"mode": mode}}) for mode in modes)
    golden(*(one.remedy for (one,) in found))


def test_pods_without_a_namespace_are_in_namespace_default(finds: Found) -> None:
    text = LABELLED.format(kind="Deployment", labels="{}").replace("namespace: ml-a, ", "")
    (found,) = finds("POL112", text, params={"allow": ["ml-*"]})
    assert "namespace default" in found.summary


def test_an_object_without_a_namespace_is_not_checked(finds: Found) -> None:
    text = "{apiVersion: v1, kind: Namespace, metadata: {name: other}}"
    assert finds("POL112", text, params={"allow": ["ml-*"]}) == []


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("{team: ml-a}", []),
        ("{}", ["it has no label team"]),
        ("{team: ML}", ["label team of it is ML"]),
        ("null", ["it has no label team"]),
    ],
)
def test_labels(finds: Found, labels: str, said: list[str]) -> None:
    found = finds("POL113", LABELLED.format(kind="Deployment", labels=labels), params={"labels": {"team": "ml-[a-z]+"}})
    assert [finding.summary for finding in found] == said


def test_labels_of_pods_are_checked_if_required(finds: Found) -> None:
    text = LABELLED.format(kind="Deployment", labels="{team: ml-x, cost: a}")
    params = {"labels": {"team": "ml-x", "cost": ".+"}, "pods": True}
    (found,) = finds("POL113", text, params=params)
    assert found.field == "spec.template.metadata.labels.cost" or found.field == 'spec.template.metadata.labels["cost"]'


def test_labels_are_checked_on_chosen_kinds(finds: Found) -> None:
    text = LABELLED.format(kind="ConfigMap", labels="{}")
    assert finds("POL113", text, params={"labels": {"team": ".*"}}) == []
    assert finds("POL113", text, params={"labels": {"team": ".*"}, "kinds": ["ConfigMap"]})


@pytest.mark.parametrize(
    ("strategy", "count"),
    [
        ("{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", 0),
        ('{rollingUpdate: {maxSurge: "0%"}}', 0),
        ("{type: Recreate}", 0),
        ("{rollingUpdate: {maxSurge: 1}}", 1),
    ],
)
def test_training_pods_roll_without_a_surge(finds: Found, strategy: str, count: int) -> None:
    text = WORKER.format(annotations="{}").replace("spec: {template:", f"spec: {{strategy: {strategy}, template:", 1)
    found = finds("POL114", text)
    assert len(found) == count
    assert all("the patches ray-worker and celery-training" in one.remedy for one in found)
