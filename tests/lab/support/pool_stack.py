"""Sections of a stack file for a GPU pool, and objects that a pool needs or creates."""

from typing import Any

import yaml

from modelyard.plan import Plan
from tests.lab.support.environment import Environment

GROUP = "kueue.x-k8s.io/v1beta2"
RACK = "example.com/rack"
HOST = "kubernetes.io/hostname"


def config(env: Environment, **changes: Any) -> None:
    """Writes sections of the stack file."""
    document = yaml.safe_load(env.stack_file.read_text())
    document["config"] |= {f"modelyard:{name}": value for name, value in changes.items()}
    env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))


def volume(claim: str, space: str) -> list[dict[str, Any]]:
    """A PersistentVolumeClaim in a namespace and its volume."""
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return [
        {
            "path": "/api/v1/persistentvolumes",
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{claim}-{space}"},
            "spec": {
                **spec,
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/nowhere"},
                "claimRef": {"name": claim, "namespace": space},
            },
        },
        {
            "path": f"/api/v1/namespaces/{space}/persistentvolumeclaims",
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim},
            "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": f"{claim}-{space}"},
        },
    ]


def pool(plan: Plan) -> dict[tuple[str, str, str], Any]:
    """The targets that belong to the pool."""
    return {target.key[1:]: target for target in plan.targets if target.key.api_version == GROUP}


def node(name: str, rack: str) -> dict[str, Any]:
    """A node with one A30."""
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, RACK: rack, "nvidia.com/gpu.product": "NVIDIA-A30"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
