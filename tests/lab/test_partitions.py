"""Partitions on a real API server: their configurations, a pod with a slice, and destroy."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, comparable, environment
from tests.lab.support.pool_stack import config

SPACE = "gpu-operator"
LABELS = {"nvidia.com/device-plugin.config": "small", "nvidia.com/mig.config": "small"}
SLICES = {"nvidia.com/mig-3g.40gb": "1", "nvidia.com/mig-1g.10gb": "4"}
PARTITIONS: list[dict[str, Any]] = [
    {"name": "small", "mode": "mig", "gpu": "a100-80gb", "layout": {"3g.40gb": 1, "1g.10gb": 4}},
    {"name": "shared", "mode": "time-slicing", "replicas": 4},
]
CONFIGS = [ObjectKey("v1", "ConfigMap", SPACE, f"gpu-partitions-{what}") for what in ("device-plugin", "mig")]
DEPLOYMENT = ObjectKey("apps/v1", "Deployment", NAMESPACE, "resource-chat")


def sliced_node() -> dict[str, Any]:
    """A node as the MIG manager and the device plugin set it up; neither runs in the lab."""
    resources = {"cpu": "32", "memory": "256Gi", "pods": "32", "nvidia.com/gpu": "0", **SLICES}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "sliced",
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                **LABELS,
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
                "nvidia.com/mig.strategy": "mixed",
                "nvidia.com/mig.config.state": "success",
            },
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": resources, "capacity": resources, "phase": "Running"},
    }


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("partitions")) as made:
        made.lab.kubectl("create", "namespace", SPACE)
        config(made, partitions=PARTITIONS)
        made.modelyard("apply", "dev", "--yes")
        yield made


def test_live_partition_configs_match_the_plan(env: Environment) -> None:
    plan = env.plan()
    assert plan.changed == ()
    found = {target.key: target for target in plan.targets if target.patches == ("gpu-partitions@v1",)}
    assert set(found) == set(CONFIGS)
    for key, target in found.items():
        live = env.get(key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())
        for text in live["data"].values():
            assert yaml.safe_load(text)["version"] == "v1"
    assert [one.code for one in plan.findings if one.code == "PAR015"] == ["PAR015", "PAR015"]


def test_a_pod_gets_a_slice_of_a_partitioned_node(env: Environment) -> None:
    answer = env.lab.request("POST", "/api/v1/nodes", sliced_node())
    assert answer.status == 201, answer
    image = {"image": "images.example.com/ml-platform/jobs:23.10.4"}
    chat = {"name": "chat", "type": "serving", "partition": "small", "slice": "1g.10gb", "workers": 4, "cpu": 1}
    served = {"name": "talk", "type": "serving", "resource": "chat"}
    config(env, runtime=image, resources=[{**chat, "workers": 5, "memory": "2Gi"}], jobs=[served])
    env.lab.wait("the node", lambda: any(node.name == "sliced" for node in _nodes(env)))
    # One more pod than slices: the plan reports it.
    assert "RES101" in {one.code for one in env.plan().findings if one.blocks}
    config(env, resources=[{**chat, "memory": "2Gi"}])
    plan = env.plan()
    assert not plan.blocked
    assert [target.name for target in plan.changed] == ["resource-chat"]
    assert [one.code for one in plan.findings if one.code in ("PAR015", "PAR016")] == ["PAR015"]
    env.modelyard("apply", "dev", "--yes")
    env.lab.wait("the pods", lambda: env.deployment("resource-chat")["status"].get("readyReplicas") == 4)
    pods = env.lab.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=modelyard.dev/resource=chat")
    assert {pod["spec"]["nodeName"] for pod in pods.body["items"]} == {"sliced"}
    assert env.plan().changed == ()


def test_pods_grow_to_idle_gpus_until_another_pod_waits(env: Environment) -> None:
    """With ``grow``, pods use whole GPUs while one is free for each pod, until another pod waits."""
    whole = sliced_node()
    resources = {"cpu": "32", "memory": "256Gi", "pods": "32", "nvidia.com/gpu": "2"}
    whole["metadata"] |= {"name": "whole", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}
    whole["status"] |= {"allocatable": resources, "capacity": resources}
    assert env.lab.request("POST", "/api/v1/nodes", whole).status == 201
    grows = {"workers": 2, "cpu": 1, "memory": "2Gi", "grow": True}
    config(env, resources=[{"name": "chat", "type": "serving", "partition": "small", "slice": "1g.10gb", **grows}])
    free = "its 2 pods need 2 × a100-80gb, and 2 are free or in use by it; no other pod waits for one"
    idle = f"resource chat gets whole GPUs: {free}"

    def notes() -> list[str]:
        return [one.summary for one in env.plan().findings if one.code == "PAR018"]

    # Kubernetes removes the not-ready taint a moment after the node is ready.
    env.lab.wait("the GPUs to be free", lambda: notes() == [idle])
    env.modelyard("apply", "dev", "--yes")
    env.lab.wait("its pods on whole GPUs", lambda: _homes(env) == ["whole", "whole"])
    # A scheduled apply changes nothing.
    assert env.plan().changed == ()
    waiting = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "nodeSelector": whole["metadata"]["labels"],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        },
    }
    assert env.lab.request("POST", "/api/v1/namespaces/default/pods", waiting).status == 201
    back = ["resource chat gets slice 1g.10gb of partition small: train of default waits for a GPU"]
    env.lab.wait("the scheduler to find no node for the pod", lambda: notes() == back)
    assert [target.name for target in env.plan().changed] == ["resource-chat"]
    env.modelyard("apply", "dev", "--yes")
    env.lab.wait("its pods on slices", lambda: _homes(env) == ["sliced", "sliced"])
    train = "/api/v1/namespaces/default/pods/train"
    env.lab.wait("the other pod", lambda: env.lab.request("GET", train).body["spec"].get("nodeName") == "whole")
    needs = "its 2 pods need 2 × a100-80gb, and 1 is free or in use by it"
    one_free = [f"resource chat gets slice 1g.10gb of partition small: {needs}"]
    assert notes() == one_free
    assert env.plan().changed == ()
    env.modelyard("record", "dev")
    assert env.lab.request("DELETE", train).status in (200, 202)
    env.lab.wait("the GPUs to be idle again", lambda: notes() == [idle])


def test_destroy_deletes_everything_but_the_node_labels(env: Environment) -> None:
    env.modelyard("destroy", "dev", "--yes")
    assert [env.get(key) for key in (*CONFIGS, DEPLOYMENT)] == [None] * 3
    # The labels belong to the administrator and stay.
    node = env.lab.request("GET", "/api/v1/nodes/sliced").body
    assert LABELS.items() <= node["metadata"]["labels"].items()


def _homes(env: Environment) -> list[str]:
    """The nodes of the resource's pods; empty until all its pods are ready."""
    pods = env.lab.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=modelyard.dev/resource=chat")
    ready = env.deployment("resource-chat")["status"].get("readyReplicas") == len(pods.body["items"])
    return [pod["spec"].get("nodeName", "") for pod in pods.body["items"]] if ready else []


def _nodes(env: Environment) -> Any:
    from modelyard.kube.state import Node

    items = env.lab.request("GET", "/api/v1/nodes").body["items"]
    ready = [
        item
        for item in items
        if any(one["type"] == "Ready" and one["status"] == "True" for one in item["status"].get("conditions", ()))
    ]
    return [Node(item["metadata"]["name"], {}, (), {}) for item in ready]
