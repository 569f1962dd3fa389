"""Platforms without some of the workloads: ``platform.without``.

The errors are in ``tests/golden/test_cli_without.txt``.
"""

import json
from typing import Any

import pytest

RAY, CELERY = "deployment-ray-model-training-worker", "deployment-model-training-tasks-gpu"
SERVICE = "deployment-model-service"


def without(project: Any, *roles: str, stack: str = "dev") -> None:
    line = "    namespace: ml-platform"
    project.edit((line, f"{line}\n    without: [{', '.join(roles)}]"), stack=stack)


def planned(run: Any, stack: str = "dev") -> Any:
    result = run("plan", stack, "--json")
    assert result.code == 0, result.text
    return json.loads(result.out)


def test_workloads_that_the_platform_lacks_are_not_planned(project: Any, run: Any) -> None:
    for name in (CELERY, SERVICE):
        (project.root / f"stacks/recorded/dev/deployment.ml-platform.{name}.json").unlink()
    assert run("plan", "dev").errors == ["PAT013", "PAT013"]
    before = {one["name"]: one for one in json.loads(run("plan", "dev", "--json").out)["targets"]}
    without(project, "celery", "modelService")
    document = planned(run)
    after = {one["name"]: one for one in document["targets"]}
    assert {CELERY, SERVICE}.isdisjoint(after)
    assert RAY in after
    assert after == before
    assert not {one for one in document["inputs"] if one.startswith(("celery-training", "model-service"))}


def test_the_other_backend_still_gets_its_replicas(project: Any, run: Any) -> None:
    without(project, "celery")
    worker = next(one for one in planned(run)["targets"] if one["name"] == RAY)
    assert "training-replicas@v1" in worker["patches"]
    assert worker["replicas"]["after"] == 1


def test_without_an_api_server_no_route_is_set(project: Any, run: Any) -> None:
    without(project, "apiServer")
    assert not {one for one in planned(run)["inputs"] if one.startswith("training-route")}
    assert "training-route" not in run("show", "dev").out


def test_without_ray_only_celery_is_planned_and_no_route_is_set(project: Any, run: Any) -> None:
    without(project, "rayHead", "rayWorker", stack="prod")
    document = planned(run, "prod")
    assert {one["name"] for one in document["targets"]} == {CELERY, SERVICE}
    assert not {one for one in document["inputs"] if one.startswith(("ray-", "training-route"))}


@pytest.mark.parametrize("mode", ["annotations", "keda"])
def test_absent_workloads_are_not_scaled(project: Any, run: Any, mode: str) -> None:
    without(project, "celery")
    server = "prometheus: http://prometheus.monitoring.svc:9090, " if mode == "keda" else ""
    project.edit(("modelyard:autoscaling:\n    mode: none", f"modelyard:autoscaling: {{{server}mode: {mode}}}"))
    inputs = planned(run)["inputs"]
    found = {one.partition("@")[0] for one in inputs if one.startswith(("autoscaling-", "keda-"))}
    assert found == {"autoscaling-ray" if mode == "annotations" else "keda-ray"}


def test_keys_and_pins_of_absent_workloads_are_not_checked(project: Any, run: Any) -> None:
    project.edit(("volume: 50Gi", "volume: 1Gi"), ("consumerTimeout: 6h30m", "concurrency: 3"))
    assert set(run("check", "dev").errors) == {"RES005"}
    without(project, "celery", "modelService")
    project.add("modelyard:patches:\n  - {name: celery-training, version: v1}")
    result = run("plan", "dev")
    assert (result.code, result.errors) == (0, [])
    assert "celery" not in json.dumps(planned(run)["findings"])


def test_without_a_head_running_jobs_are_unknown(project: Any, run: Any) -> None:
    without(project, "rayHead")
    found = planned(run)
    assert "deployment-ray-head" not in {one["name"] for one in found["targets"]}
    (about,) = (one for one in found["findings"] if one["code"] == "RES105")
    assert "drain.ray.jobs" in about["remedy"]


def test_an_absent_backend_cannot_train(project: Any, refused: Any, golden: Any) -> None:
    without(project, "rayWorker")
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG011"]
    golden(result)


def test_without_workers_there_is_no_training(project: Any, refused: Any, run: Any, golden: Any) -> None:
    without(project, "rayWorker", "celery")
    result = refused("check", "dev", code=2)
    project.edit(("  modelyard:training: ray\n", ""), stack="dev")
    assert run("check", "dev").code == 0
    golden(result, run("show", "dev").out.splitlines()[0], run("plan", "dev").out.splitlines()[0])


def test_an_unknown_workload_is_an_error(project: Any, refused: Any, golden: Any) -> None:
    without(project, "celrey")
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG011"]
    golden(result)


def test_the_default_backend_is_one_of_those_present(project: Any, run: Any) -> None:
    without(project, "rayHead", "rayWorker")
    project.edit(("  modelyard:training: ray\n", ""))
    assert planned(run)["training"] == "celery"
