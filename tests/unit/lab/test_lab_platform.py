"""The manifests of the vendor's platforms and their nodes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import install
from modelyard.hardware.gpu_models import labels
from modelyard.quantity import parse

ENVIRONMENTS = ("dev", "prod", "staging")
GPU = "nvidia.com/gpu"
TRAINING = ("deployment-model-training-tasks-gpu", "deployment-ray-model-training-worker")


def load(environment: str, name: str) -> list[dict[str, Any]]:
    text = (install.PLATFORMS / environment / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def deployments(environment: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in load(environment, "platform") if each["kind"] == "Deployment"}


def test_each_environment_is_installed_in_another_way() -> None:
    assert install.environments() == sorted(install.WAYS) == list(ENVIRONMENTS)
    assert len(set(install.WAYS.values())) == 3


@pytest.mark.parametrize(
    ("environment", "release", "ray", "replicas"),
    [
        ("dev", "23.10", "True", {"ray-head": 1, "ray-model-training-worker": 1, "model-training-tasks-gpu": 0}),
        ("staging", "23.10", "True", {"ray-head": 1, "ray-model-training-worker": 1, "model-training-tasks-gpu": 0}),
        ("prod", "23.07", "False", {"ray-head": 1, "ray-model-training-worker": 0, "model-training-tasks-gpu": 2}),
    ],
)
def test_the_platform_is_as_the_vendor_installs_it(
    environment: str, release: str, ray: str, replicas: dict[str, int]
) -> None:
    found = deployments(environment)
    for name, count in replicas.items():
        assert found[f"deployment-{name}"]["spec"]["replicas"] == count
    api = found["deployment-api-server"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "ENABLE_RAY_MODEL_TRAINING", "value": ray} in api[0]["env"]
    assert len(api) == 2
    images = [c["image"] for each in found.values() for c in each["spec"]["template"]["spec"]["containers"]]
    assert all(f":{release}." in image and image.startswith("images.example.com/") for image in images)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_training_pods_of_the_vendor_tolerate_gpu_nodes(environment: str) -> None:
    found = deployments(environment)
    assert len(found) == 5
    for name, each in found.items():
        spec = each["spec"]["template"]["spec"]
        assert "affinity" not in spec
        assert "nodeSelector" not in spec
        assert spec["terminationGracePeriodSeconds"] == 60
        assert ("tolerations" in spec) == (name in TRAINING)
        for container in spec["containers"]:
            assert container["resources"]["limits"] == container["resources"]["requests"]
            assert (GPU in container["resources"]["limits"]) == (name in TRAINING)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_nodes_have_labels_and_capacity(environment: str) -> None:
    nodes = load(environment, "nodes")
    gpu_nodes = [node for node in nodes if GPU in node["status"]["capacity"]]
    assert gpu_nodes
    assert len(gpu_nodes) < len(nodes)
    for node in nodes:
        facts, status = node["metadata"]["labels"], node["status"]
        assert facts["kubernetes.io/hostname"] == node["metadata"]["name"]
        for resource in ("cpu", "memory", "ephemeral-storage", "pods"):
            assert 0 < parse(status["allocatable"][resource]) <= parse(status["capacity"][resource])
        if node in gpu_nodes:
            assert status["allocatable"][GPU] == status["capacity"][GPU] == facts["nvidia.com/gpu.count"]
            assert facts["nvidia.com/gpu.present"] == "true"
            assert node["spec"]["taints"] == [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
        else:
            assert not any(key.startswith("nvidia.com/") for key in facts)
            assert not node["spec"]


def test_the_gpus_of_nodes_are_in_the_hardware_table() -> None:
    known = {product for products in labels().products.values() for product in products}
    for environment in ENVIRONMENTS:
        products = {node["metadata"]["labels"].get("nvidia.com/gpu.product") for node in load(environment, "nodes")}
        assert products - {None} <= known


def test_each_manifest_begins_with_a_comment() -> None:
    for path in sorted(Path(install.PLATFORMS).glob("*/*.yaml")):
        assert path.read_text(encoding="utf-8").startswith("# ")
