"""Conflicts over replicas between plans and an autoscaler, and queries that count jobs."""

from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.stack.config import Drain, PatchChoice, RayJobs

RAY = "deployment-ray-model-training-worker"


def conflicts(plan: Any) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == "AUT003"]


@pytest.mark.parametrize(
    ("mode", "training", "places"),
    [
        ("none", "ray", []),
        ("annotations", "ray", ["rayWorker.replicas"]),
        ("keda", "ray", ["rayWorker.replicas"]),
        ("keda", "celery", ["celery.replicas"]),
    ],
)
def test_replicas_in_the_stack_file_have_no_effect_beside_an_autoscaler(
    dev: Any, mode: Any, training: str, places: list[str]
) -> None:
    def found(site: Any) -> list[Any]:
        return [finding for finding in site.plan().findings if finding.code == "AUT009"]

    scaling = dev.stack.config.autoscaling._replace(mode=mode, prometheus="http://prometheus:9090")
    site = dev.asking(autoscaling=scaling, training=training)
    assert [finding.field for finding in found(site)] == places
    assert all(finding.severity is Severity.ADVICE and finding.line for finding in found(site))
    # The number of pods that the stack file leaves out is nobody's request.
    assert found(site._replace(stack=site.stack._replace(positions={}))) == []


def test_a_listed_autoscaling_patch_conflicts_with_replicas(dev: Any) -> None:
    plan = dev.asking(patches=(PatchChoice("autoscaling-ray"),)).plan()
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    assert (finding.code, finding.target, finding.field) == ("PAT010", RAY, "spec.replicas")
    assert "left to its owner" in finding.summary
    assert (finding.file, finding.remedy) == (dev.stack.file, "remove autoscaling-ray from modelyard:patches")


def test_an_autoscaling_patch_that_leaves_no_replicas_still_conflicts(dev: Any) -> None:
    (finding,) = conflicts(
        dev.asking(patches=(PatchChoice("autoscaling-ray", params={"leaveReplicas": False}),)).plan()
    )
    assert finding.blocks
    assert finding.target == RAY
    assert "training-replicas@v1" in finding.detail
    assert "set autoscaling.mode to annotations" in finding.remedy


def test_an_annotation_of_the_platform_conflicts_too(dev: Any) -> None:
    def awake(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != RAY:
            return body
        metadata = {**body["metadata"], "annotations": {"autoscaling/enabled": "true"}}
        return {**body, "metadata": metadata}

    assert [finding.target for finding in conflicts(dev.having(awake).plan())] == [RAY]


def test_without_the_replicas_patch_there_is_no_conflict(dev: Any) -> None:
    choices = (PatchChoice("autoscaling-ray"), PatchChoice("training-replicas", enabled=False))
    assert conflicts(dev.asking(patches=choices).plan()) == []


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_the_examples_have_no_conflict_over_replicas(sites: Any, name: str) -> None:
    assert conflicts(sites[name].plan()) == []
    assert conflicts(sites[name].applied().plan()) == []


@pytest.mark.parametrize(
    ("query", "codes"),
    [("sum(up", ["AUT010"]), ("up[5m]", ["AUT012"]), ("sum(ray_tasks)", []), (None, [])],
)
def test_a_query_of_the_drain_is_promql(dev: Any, query: str | None, codes: list[str]) -> None:
    drain = Drain(ray=RayJobs(query=query), prometheus="http://prometheus.monitoring:9090")
    found = dev.asking(drain=drain).plan().findings
    assert [(one.code, one.field) for one in found if one.code.startswith("AUT")] == [
        (code, "drain.ray.query") for code in codes
    ]
