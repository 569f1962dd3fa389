"""The size of each pod, and what patches may ask of a stack."""

import json
from typing import Any

import pytest

from modelyard.stack.config import Autoscaling, Celery, Config, Gpu, Platform, RayWorker, Stack, Target, Targets
from modelyard.stack.schema import schema_text
from modelyard.workloads import Facts, Workload, fact_at, stack_facts, workloads
from modelyard.workloads.training import BACKENDS, WORKER_ROLES


def config(**changes: Any) -> Config:
    return Config("ray", Platform("23.10"), Gpu("A10"))._replace(**changes)


def facts(one: Config) -> Facts:
    return stack_facts(Stack("dev", "stacks/Pulumi.dev.yaml", "", one, None, {}), workloads(one))


def by_role(one: Config) -> dict[str, Workload]:
    return {workload.role: workload for workload in workloads(one)}


@pytest.mark.parametrize(
    ("memory", "gpus", "pod"),
    [("12Gi", 4, "48Gi"), ("24Gi", 1, "24Gi"), ("1.5Gi", 3, "4608Mi"), ("16G", 8, "128G"), ("80Gi", 16, "1280Gi")],
)
def test_memory_is_per_gpu_and_stays_in_its_unit(memory: str, gpus: int, pod: str) -> None:
    found = by_role(config(gpu=Gpu("A100", gpus, "multi_gpu"), ray_worker=RayWorker(memory=memory)))
    assert (found["rayWorker"].memory, found["rayWorker"].gpus) == (pod, gpus)


def test_cpu_is_for_the_pod() -> None:
    assert by_role(config(gpu=Gpu("A100", 4), ray_worker=RayWorker(cpu="32")))["rayWorker"].cpu == "32"


@pytest.mark.parametrize(("training", "ray", "celery"), [("ray", 2, 0), ("celery", 0, 3)])
def test_only_the_active_backend_has_replicas(training: Any, ray: int, celery: int) -> None:
    found = by_role(config(training=training, ray_worker=RayWorker(2), celery=Celery(3)))
    assert (found["rayWorker"].replicas, found["celery"].replicas) == (ray, celery)
    assert (found["rayWorker"].active, found["celery"].active) == (training == "ray", training == "celery")


@pytest.mark.parametrize("mode", ["annotations", "keda"])
def test_with_an_autoscaler_replicas_are_not_set(mode: Any) -> None:
    found = by_role(config(autoscaling=Autoscaling(mode, 4)))
    assert [found[role].replicas for role in WORKER_ROLES] == [None, None]
    known = facts(config(autoscaling=Autoscaling(mode, 4)))
    assert (fact_at(known, "rayWorker.maxReplicas"), fact_at(known, "celery.maxReplicas")) == (4, 0)


def test_only_training_workers_get_gpus() -> None:
    found = by_role(config(gpu=Gpu("A100", 4), celery=Celery(memory="48Gi")))
    assert {role: one.gpus for role, one in found.items() if one.gpus} == {"rayWorker": 4, "celery": 1}
    assert found["celery"].memory == "48Gi"
    assert {role for role, one in found.items() if one.nodes == "cpu"} == {"modelService", "rayHead"}
    assert found["rayWorker"].products[0].startswith("NVIDIA-A100")
    assert found["rayHead"].products == ()


def test_an_unknown_gpu_has_no_nodes() -> None:
    assert by_role(config(gpu=Gpu("A11")))["rayWorker"].products == ()


def test_names_come_from_the_stack() -> None:
    found = by_role(config(targets=Targets()._replace(ray_head=Target("the-head", "the-container"))))
    assert (found["rayHead"].deployment, found["rayHead"].container) == ("the-head", "the-container")


@pytest.mark.parametrize(("release", "available"), [("23.01", False), ("23.04", True), ("23.10", True), ("24.1", True)])
def test_releases_with_ray(release: str, available: bool) -> None:
    one = config(platform=Platform(release))
    assert fact_at(facts(one), "ray.available") is available


def test_a_missing_fact_is_named() -> None:
    known = facts(config())
    for path in ("worker.memory", "rayWorker.memroy", "rayWorker.memory.x"):
        with pytest.raises(KeyError, match=path):
            fact_at(known, path)


def test_the_schema_takes_each_backend():
    schema = json.loads(schema_text())
    assert schema["properties"]["config"]["properties"]["modelyard:training"]["enum"] == list(BACKENDS)
