"""Facts of partitions, and of the slices that jobs request."""

from typing import Any, Final

from modelyard.hardware.partitions import RESERVED, Slice
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Config
from modelyard.stack.pool import Partition, PartitionMode
from modelyard.workloads.facts.fact import Fact

_SHARING: Final[dict[PartitionMode, str | None]] = {"mig": None, "mps": "mps", "time-slicing": "timeSlicing"}
"""The device plugin's own names (NVIDIA/k8s-device-plugin v0.17.4 api/config/v1/sharing.go)."""


def gpu_facts(found: Slice | None) -> dict[str, Any]:
    """Returns the resource name of a pod's GPUs and the nodes that have it; whole GPUs if there is no slice."""
    if found is None:
        return {"gpuResource": GPU_RESOURCE, "nodes": {}}
    return {"gpuResource": found.resource, "nodes": found.nodes}


def _config(partition: Partition) -> dict[str, Any]:
    mig = partition.mode == "mig"
    # Half a configuration would be an error of the device plugin; a finding reports it.
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


def _configs(config: Config) -> list[dict[str, Any]]:
    # Names are keys of one mapping; a finding reports duplicates.
    named = {one.name: one for one in config.partitions if one.name not in RESERVED}
    return [_config(one) for one in named.values()]


PARTITIONS: Final[tuple[Fact[Config], ...]] = (
    Fact("partitions.declared", lambda config: bool(config.partitions), ("partitions",)),
    Fact("partitions.configs", _configs, ("partitions",)),
)
"""The facts of all partitions."""
