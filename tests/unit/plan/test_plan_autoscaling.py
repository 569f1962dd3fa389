"""Plans and the autoscaler: who sets the replicas."""

from typing import Any

import pytest

from modelyard.stack.config import PatchChoice

RAY = "deployment-ray-model-training-worker"


def rivals(plan: Any) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == "AUT003"]


def test_autoscaling_listed_by_hand_beside_replicas_is_a_fight(dev: Any) -> None:
    plan = dev.asking(patches=(PatchChoice("autoscaling-ray"),)).plan()
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    assert (finding.code, finding.target, finding.field) == ("PAT010", RAY, "spec.replicas")
    assert "left to its owner" in finding.summary


def test_nor_does_it_help_to_say_nothing_of_the_replicas(dev: Any) -> None:
    (finding,) = rivals(dev.asking(patches=(PatchChoice("autoscaling-ray", params={"leaveReplicas": False}),)).plan())
    assert finding.blocks
    assert finding.target == RAY
    assert "training-replicas@v1" in finding.detail
    assert "set autoscaling.mode to annotations" in finding.remedy


def test_an_annotation_that_the_platform_brought_counts_as_well(dev: Any) -> None:
    def awake(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != RAY:
            return body
        metadata = {**body["metadata"], "annotations": {"autoscaling/enabled": "true"}}
        return {**body, "metadata": metadata}

    assert [finding.target for finding in rivals(dev.having(awake).plan())] == [RAY]


def test_without_the_replicas_there_is_no_fight(dev: Any) -> None:
    choices = (PatchChoice("autoscaling-ray"), PatchChoice("training-replicas", enabled=False))
    assert rivals(dev.asking(patches=choices).plan()) == []


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_the_examples_do_not_fight(sites: Any, name: str) -> None:
    assert rivals(sites[name].plan()) == []
    assert rivals(sites[name].applied().plan()) == []
