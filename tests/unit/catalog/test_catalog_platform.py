"""The patches for the vendor's platform, and their releases."""

from pathlib import Path
from typing import Any

import yaml

from modelyard.catalog import Selected, load_library, select
from modelyard.stack.config import Config, Gpu, Platform, RayWorker, Stack
from modelyard.workloads import stack_facts, workloads

ROOT = Path(__file__).parents[3]
LIBRARY = load_library(ROOT)


def ours(config: Config, *names: str) -> dict[str, Any]:
    chosen: tuple[Selected, ...]
    stack = Stack("s", "stacks/Pulumi.s.yaml", "", config, None, {})
    chosen, findings = select(LIBRARY, stack, stack_facts(stack, workloads(config)))
    assert not findings
    documents = [document for one in chosen if one.patch.name in names for document in one.render().documents]
    return {document.target: yaml.safe_load(document.text.reveal()) for document in documents}


PLATFORM = Platform("23.07")
RAY = Config("ray", PLATFORM, Gpu("A10"))
CELERY = RAY._replace(training="celery")


def test_the_switch_back_to_ray() -> None:
    route = ours(RAY, "training-route")["deployment-api-server"]
    (container,) = route["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "ENABLE_RAY_MODEL_TRAINING", "value": "True"}]
    replicas = ours(RAY, "training-replicas")
    assert {name: body["spec"]["replicas"] for name, body in replicas.items()} == {
        "deployment-model-training-tasks-gpu": 0,
        "deployment-ray-model-training-worker": 1,
    }


def test_the_multi_gpu_patch_agrees_with_the_worker_patch() -> None:
    config = RAY._replace(gpu=Gpu("A100", 4, "multi_gpu"), ray_worker=RayWorker(cpu="4000m", memory="12Gi"))
    worker = ours(config, "ray-worker")["deployment-ray-model-training-worker"]
    multi = ours(config, "ray-worker-multi-gpu")["deployment-ray-model-training-worker"]
    (of_worker,) = worker["spec"]["template"]["spec"]["containers"]
    (of_multi,) = multi["spec"]["template"]["spec"]["containers"]
    assert of_worker["resources"] == of_multi["resources"]


def test_no_ray_before_its_first_release() -> None:
    old = CELERY._replace(platform=Platform("22.10"))
    stack = Stack("s", "f", "", old, None, {})
    chosen, _ = select(LIBRARY, stack, stack_facts(stack, workloads(old)))
    assert [one.patch.name for one in chosen] == ["celery-training", "model-service", "training-replicas"]
    assert list(ours(old, "training-replicas")) == ["deployment-model-training-tasks-gpu"]
