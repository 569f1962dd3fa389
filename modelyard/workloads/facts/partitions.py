"""What patches may ask of partitions, and of the slices that jobs ask for."""

from typing import Any, Final

from modelyard.hardware.partitions import RESERVED, Slice
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Config
from modelyard.stack.pool import Partition, PartitionMode

_SHARING: Final[dict[PartitionMode, str | None]] = {"mig": None, "mps": "mps", "time-slicing": "timeSlicing"}
"""The device plugin's own names (NVIDIA/k8s-device-plugin v0.17.4 api/config/v1/sharing.go)."""


def partition_facts(config: Config) -> dict[str, Any]:
    """The facts, as plain JSON-like values."""
    # Each name is a key of one mapping; that one is there twice is told.
    named = {one.name: one for one in config.partitions if one.name not in RESERVED}
    return {
        "partitions": {
            "declared": bool(config.partitions),
            "configs": [_config(one) for one in named.values()],
        }
    }


def gpu_facts(found: Slice | None) -> dict[str, Any]:
    """By which name pods ask for their GPUs, and on which nodes; whole GPUs where they have no slice."""
    if found is None:
        return {"gpuResource": GPU_RESOURCE, "nodes": {}}
    return {"gpuResource": found.resource, "nodes": found.nodes}


def _config(partition: Partition) -> dict[str, Any]:
    mig = partition.mode == "mig"
    # Half a configuration would be an error of the device plugin; that it is half is told.
    sharing = _SHARING[partition.mode] if partition.replicas else None
    return {
        "name": partition.name,
        "strategy": partition.strategy if mig else "none",
        "sharing": sharing,
        "rename": partition.rename,
        "oneEach": partition.fail_requests_greater_than_one,
        "replicas": partition.replicas,
        "layout": dict(partition.layout) if mig else {},
    }
