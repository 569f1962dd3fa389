"""Several targets with one cause are one finding in texts, and one for each target in JSON.

``tests/golden/test_cli_one_cause.txt`` has the texts.
"""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

FIVE = {
    "deployment-api-server",
    "deployment-model-service",
    "deployment-model-training-tasks-gpu",
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
}


def findings(run: Any, code: str) -> list[Any]:
    document = json.loads(run("plan", "dev", "--json").out)
    return [one for one in document["findings"] if one["code"] == code]


def test_a_wrong_namespace_is_one_finding(project: Any, run: Any, golden: Callable[..., None]) -> None:
    project.edit(("namespace: ml-platform", "namespace: ml-platfrom"))
    texts = [run("check", "dev"), run("plan", "dev")]
    assert [(result.code, result.errors) for result in texts] == [(1, ["PAT013"])] * 2
    found = findings(run, "PAT013")
    assert {one["target"] for one in found} == FIVE
    assert {one["field"] for one in found} == {"platform.namespace"}
    assert all(one["summary"].endswith(one["target"]) for one in found)
    folder = project.root / "stacks/recorded/dev"
    for name in FIVE:
        path = folder / f"deployment.ml-platform.{name}.json"
        body = json.loads(path.read_text())
        path.unlink()
        body["metadata"] |= {"name": name.removeprefix("deployment-"), "namespace": "ml-platfrom"}
        (folder / f"deployment.ml-platfrom.{body['metadata']['name']}.json").write_text(json.dumps(body))
    golden(*texts, run("check", "dev"))


def test_a_single_missing_workload_can_be_left_out(project: Any, run: Any) -> None:
    (project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-model-training-tasks-gpu.json").unlink()
    (found,) = findings(run, "PAT013")
    assert found["field"] == "targets.celery.deployment"
    assert found["remedy"].endswith(" platform.without: [celery]")


@pytest.mark.parametrize("condition", ["ray.available: yes", "ray.availble: true"])
def test_a_condition_that_no_stack_meets_is_one_finding(project: Any, run: Any, condition: str) -> None:
    version = shutil.copytree(project.patches / "ray-worker/v1", project.patches / "ray-worker/v5")
    meta = version / "meta.yaml"
    meta.write_text(meta.read_text().replace("ray.available: true", condition))
    assert run("check", "dev").errors == ["PAT012"]


def test_mode_managed_on_an_existing_platform_is_one_finding(
    project: Any, run: Any, golden: Callable[..., None]
) -> None:
    project.edit(("mode: existing", "mode: managed"))
    result = run("plan", "dev")
    assert result.errors == ["OWN004"]
    golden(result)
    assert {one["target"] for one in findings(run, "OWN004")} == FIVE - {"deployment-api-server"}


@pytest.mark.parametrize(
    ("targets", "named"),
    [
        ("apiServer: {deployment: deployment-ray-head}", "apiServer"),
        ("rayWorker: {deployment: deployment-ray-head}", "rayWorker"),
        (
            "rayHead: {deployment: deployment-ray-model-training-worker, container: ray-model-training-worker}",
            "rayHead",
        ),
        ("celery: {deployment: deployment-model-service, container: model-service}", "celery"),
    ],
)
def test_two_workloads_that_cannot_share_pods_are_one_finding(project: Any, run: Any, targets: str, named: str) -> None:
    project.add(f"modelyard:targets:\n  {targets}")
    assert run("check", "dev").errors == ["PAT020"]
    (found,) = findings(run, "PAT020")
    assert found["field"] == f"targets.{named}.deployment"
    assert found["line"] == len((project.root / "stacks/Pulumi.dev.yaml").read_text().splitlines())


def test_a_workload_of_another_kind_with_the_name_of_another_workload(project: Any, run: Any) -> None:
    project.add("modelyard:targets:\n  rayHead: {statefulSet: deployment-model-service}")
    (found,) = findings(run, "PAT013")
    assert found["field"] == "targets.rayHead.statefulSet"
    assert "write deployment: deployment-model-service under targets.rayHead" in found["remedy"]


def test_two_workloads_may_share_pods_that_have_both_containers(project: Any, run: Any) -> None:
    target = "{deployment: deployment-model-service, container: model-service}"
    project.add(f"modelyard:targets:\n  apiServer: {target}")
    assert run("check", "dev").errors == []
