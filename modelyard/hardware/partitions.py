"""The slices that a partition makes of its nodes' GPUs: their names, memory and number.

Facts of the stock device plugin (NVIDIA/k8s-device-plugin v0.17.4): only ``renameByDefault`` renames shared GPUs; MPS
divides memory and threads of a GPU evenly (``cmd/mps-control-daemon/mps/daemon.go``) among at most 48 clients, 16 on
GPUs below compute capability 7.5, which leaves the V100 with 16 (``mps/device.go``).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from modelyard.hardware.gpu_models import GpuModel, Version, resolve
from modelyard.hardware.mig import Profile, mig
from modelyard.names import GPU_RESOURCE, SHARED_RESOURCE
from modelyard.quantity import GB
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.pool import Partition

CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
"""The node label that selects the configuration of its device plugin."""
MIG_LABEL: Final = "nvidia.com/mig.config"
"""The node label that selects the layout of its MIG manager."""
MPS_CLIENTS: Final = 48
MPS_CLIENTS_BELOW: Final[tuple[Version, int]] = ((7, 5), 16)
"""Compute capability below which the device plugin allows fewer clients, and how many."""
MPS_COMPUTE: Final[Version] = (7, 0)
"""Minimum compute capability at which MPS can limit a client (NVIDIA Multi-Process Service, Volta MPS)."""
RESERVED: Final = ("default", "all-disabled", "all-enabled")
"""Names of configurations with a special meaning."""
_LEAST_MEMORY: Final = 2
"""GB; the minimum for an estimate, so that memory remains besides CUDA itself."""


class Slice(NamedTuple):
    """What a pod requests when it requests a part of a GPU."""

    partition: Partition
    resource: str
    """Resource name, as nodes advertise it."""
    memory_gb: int | None
    """Whole GB of 10^9 bytes that a pod may use; None if unknown. With time-slicing it is that of the whole GPU."""
    gpu: GpuModel | None
    profile: Profile | None = None
    """Set with MIG."""

    @property
    def memory(self) -> Fraction | None:
        """The pod's memory to the byte: with MPS it is an equal part, which need not be a whole number of GB."""
        if self.partition.mode == "mps" and self.gpu is not None and self.partition.replicas:
            return Fraction(self.gpu.memory_gb * GB, self.partition.replicas)
        return None if self.memory_gb is None else Fraction(self.memory_gb * GB)

    @property
    def as_gpu(self) -> GpuModel | None:
        """The GPU with the slice's memory, to compute what fits on it."""
        if self.gpu is None or self.memory_gb is None:
            return None
        what = f"{self.profile.name} slice" if self.profile is not None else f"{self.partition.mode} share"
        return self.gpu._replace(
            name=f"{what} of the {self.gpu.short}", memory_gb=max(self.memory_gb, _LEAST_MEMORY), members=()
        )

    @property
    def nodes(self) -> dict[str, str]:
        """Labels of the nodes that have it."""
        return {CONFIG_LABEL: self.partition.name}


def gpu_name(config: Config, partition: Partition) -> str:
    """Returns the stack file's name for the partition's GPU: its own key, its flavor's, else the stack's GPU."""
    flavor = next((one for one in config.flavors if one.name == partition.flavor), None)
    return partition.gpu or (flavor.gpu if flavor is not None else None) or config.gpu.model


def partition_gpu(config: Config, partition: Partition) -> GpuModel | None:
    """Returns the GPU of a partition's nodes, None if its name means none or several."""
    return resolve(gpu_name(config, partition))


def slices(config: Config, partition: Partition) -> Mapping[str, Slice]:
    """Returns the slices of a partition by name: the MIG profile, else the mode."""
    gpu = partition_gpu(config, partition)
    if partition.mode != "mig":
        name = SHARED_RESOURCE if partition.rename else GPU_RESOURCE
        memory = gpu.memory_gb if gpu is not None else None
        if memory is not None and partition.mode == "mps" and partition.replicas:
            memory //= partition.replicas
        return {partition.mode: Slice(partition, name, memory, gpu)}
    found = mig(gpu) if gpu is not None else None
    made = {}
    for name in partition.layout:
        profile = found.profiles.get(name) if found is not None else None
        if profile is None:
            continue  # A finding reports that the GPU has no such profile.
        resource = GPU_RESOURCE if partition.strategy == "single" else profile.resource
        made[name] = Slice(partition, resource, profile.memory_gb, gpu, profile)
    return made


def slice_of(config: Config, resource: Resource) -> Slice | None:
    """Returns the slice that a resource's GPUs are; None if they are whole, or the named slice does not exist.

    A resource with ``grow`` that names no partition uses the only time-slicing partition of its GPU.
    """
    partition = next((one for one in config.partitions if one.name == resource.partition), None)
    if resource.partition is None and resource.grow:
        growing = able_to_grow(config, resource)
        partition = growing[0] if len(growing) == 1 else None
    if partition is None:
        return None
    known = slices(config, partition)
    if resource.slice is not None:
        return known.get(resource.slice) if partition.mode == "mig" else None
    return next(iter(known.values())) if len(known) == 1 else None


def replaceable(config: Config, resource: Resource) -> Slice | None:
    """Returns the slice that a plan replaces by a whole GPU while one is free; None if the resource does not grow so.

    With time-slicing, a pod uses the whole GPU without a replacement.
    """
    part = slice_of(config, resource) if resource.grow and resource.remote is None else None
    return part if part is not None and part.partition.mode != "time-slicing" else None


def able_to_grow(config: Config, resource: Resource) -> list[Partition]:
    """Returns the partitions on which a resource's pods use the whole GPU without a restart while others are idle."""
    gpu = resolve(resource.gpu or config.gpu.model)
    return [one for one in config.partitions if one.mode == "time-slicing" and partition_gpu(config, one) == gpu]


def mps_clients(gpu: GpuModel) -> int:
    """Returns the number of pods that may share one GPU with MPS; 0 if MPS cannot limit them."""
    if gpu.compute < MPS_COMPUTE:
        return 0
    below, fewer = MPS_CLIENTS_BELOW
    return fewer if gpu.compute < below else MPS_CLIENTS
