"""Platforms without some of the workloads: ``platform.without``."""

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


def test_without_ray_only_celery_trains_and_no_route_is_set(project: Any, run: Any) -> None:
    without(project, "rayHead", "rayWorker", stack="prod")
    document = planned(run, "prod")
    assert {one["name"] for one in document["targets"]} == {CELERY, SERVICE}
    assert not {one for one in document["inputs"] if one.startswith(("ray-", "training-route"))}


@pytest.mark.parametrize("mode", ["annotations", "keda"])
def test_nothing_scales_a_workload_that_is_not_there(project: Any, run: Any, mode: str) -> None:
    without(project, "celery")
    server = "prometheus: http://prometheus.monitoring.svc:9090, " if mode == "keda" else ""
    project.edit(("modelyard:autoscaling:\n    mode: none", f"modelyard:autoscaling: {{{server}mode: {mode}}}"))
    inputs = planned(run)["inputs"]
    found = {one.partition("@")[0] for one in inputs if one.startswith(("autoscaling-", "keda-"))}
    assert found == {"autoscaling-ray" if mode == "annotations" else "keda-ray"}


def test_keys_and_pins_of_absent_workloads_are_neither_needed_nor_checked(project: Any, run: Any) -> None:
    project.edit(("volume: 50Gi", "volume: 1Gi"), ("consumerTimeout: 6h30m", "concurrency: 3"))
    assert set(run("check", "dev").errors) == {"RES005"}
    without(project, "celery", "modelService")
    project.add("modelyard:patches:\n  - {name: celery-training, version: v1}")
    result = run("plan", "dev")
    assert (result.code, result.errors) == (0, [])
    assert "celery" not in json.dumps(planned(run)["findings"])


def test_a_head_that_is_left_out_has_no_jobs_to_ask_for(project: Any, run: Any) -> None:
    without(project, "rayHead")
    found = planned(run)
    assert "deployment-ray-head" not in {one["name"] for one in found["targets"]}
    (about,) = (one for one in found["findings"] if one["code"] == "RES105")
    assert "platform.without leaves out rayHead" in about["summary"]
    assert "drain.ray.jobs" in about["remedy"]


def test_a_backend_that_is_left_out_cannot_train(project: Any, refused: Any) -> None:
    without(project, "rayWorker")
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG011"]
    assert "stacks/Pulumi.dev.yaml:5" in result.text
    assert "training is ray, but platform.without leaves out its workers" in result.words
    assert "set training to celery, or drop rayWorker from platform.without" in result.words


def test_without_any_workers_nothing_trains(project: Any, refused: Any, run: Any) -> None:
    without(project, "rayWorker", "celery")
    result = refused("check", "dev", code=2)
    assert "leave out training too, or drop rayWorker from platform.without" in result.words
    project.edit(("  modelyard:training: ray\n", ""), stack="dev")
    assert run("check", "dev").code == 0
    assert run("show", "dev").out.startswith("dev  no training, release 23.10")
    assert run("plan", "dev").out.startswith("dev  no training on A10")


def test_an_unknown_workload(project: Any, refused: Any) -> None:
    without(project, "celrey")
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG011"]
    assert "did you mean celery?" in result.words


def test_the_default_backend_is_one_that_is_there(project: Any, run: Any) -> None:
    without(project, "rayHead", "rayWorker")
    project.edit(("  modelyard:training: ray\n", ""))
    assert planned(run)["training"] == "celery"
