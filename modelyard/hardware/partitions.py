"""MIG's profiles of a GPU, and the slices that a partition makes of its nodes' GPUs: their names, memory and number.

Facts of the stock device plugin (NVIDIA/k8s-device-plugin v0.17.4): only ``renameByDefault`` renames shared GPUs; MPS
divides memory and threads of a GPU evenly (``cmd/mps-control-daemon/mps/daemon.go``) among at most 48 clients, 16 on
GPUs below compute capability 7.5, which leaves the V100 with 16 (``mps/device.go``).
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from modelyard.hardware.gpu_models import GpuModel, Version, resolve, rows
from modelyard.names import GPU_RESOURCE, MIG_PREFIX, SHARED_RESOURCE
from modelyard.patterns import regex
from modelyard.quantity import GB
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.pool import Partition

# MIG: a GPU instance covers memory slices exclusively, and can start only at some of them: so three ``2g`` and one
# ``1g`` fit on a GPU with seven compute slices, and two ``3g`` leave no room although a compute slice is left.
_PROFILE: Final = regex(r"(\d+)g\.(\d+)gb([+-][a-z.]+)?")


class Profile(NamedTuple):
    """One kind of slice on a GPU."""

    name: str
    """``3g.40gb``."""
    compute: int
    """Number of compute slices; the GPU has ``Mig.instances``."""
    memory_gb: int
    """GB of 10^9 bytes, as in the name; a pod gets a few per cent more."""
    most: int
    """Maximum number on a GPU without other slices."""
    starts: tuple[int, ...]
    """Memory slices at which it can start; empty if unknown."""
    size: int
    """Number of memory slices that it covers."""

    @property
    def resource(self) -> str:
        """The resource name that nodes advertise (NVIDIA/k8s-device-plugin v0.17.4 internal/rm/rm.go)."""
        return mig_resource(self.name)


class Mig(NamedTuple):
    """How a GPU can be divided."""

    instances: int
    """Maximum number of slices."""
    profiles: Mapping[str, Profile]
    """By name, in the table's order; empty if unknown."""


def mig(gpu: GpuModel) -> Mig | None:
    """Returns how the GPU can be divided, None if it cannot. For a family: what all its variants have in common."""
    known = [_table().get(one) for one in gpu.members or (gpu.id,)]
    first = known[0]
    return first if first is not None and all(one == first for one in known) else None


def variants_with_mig(gpu: GpuModel) -> tuple[str, ...]:
    """Returns the ids of a family's variants with MIG; empty if none has MIG, or the GPU is not a family."""
    return tuple(one for one in gpu.members if _table().get(one) is not None)


def resource_compute(resource: str) -> int:
    """Returns the compute slices of the profile behind a resource name, 1 for resources without a profile."""
    found = _PROFILE.match(resource.removeprefix(MIG_PREFIX))
    return int(found[1]) if found is not None and resource.startswith(MIG_PREFIX) else 1


def fits(division: Mig, layout: Mapping[str, int]) -> bool | None:
    """Whether slices, by name of their profiles, fit on one GPU together; None if their positions are unknown."""
    wanted = [division.profiles[name] for name, count in layout.items() for _ in range(count)]
    if any(count > division.profiles[name].most for name, count in layout.items()):
        return False
    if sum(one.compute for one in wanted) > division.instances:
        return False
    if not all(one.starts for one in wanted):
        return None
    # Largest first: they have the fewest possible positions.
    return _placed(sorted(wanted, key=lambda one: (-one.size, -one.compute)), frozenset())


def _placed(wanted: list[Profile], taken: frozenset[int]) -> bool:
    if not wanted:
        return True
    first, *rest = wanted
    for start in first.starts:
        covered = frozenset(range(start, start + first.size))
        if not covered & taken and _placed(rest, taken | covered):
            return True
    return False


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mig | None]:
    """Returns MIG data by GPU id; None if the GPU has no MIG."""
    places = {
        (int(instances), int(compute), int(most)): (tuple(map(int, starts.split())), int(size))
        for instances, compute, most, starts, size, _source in rows("mig.csv")
    }
    return {row[0]: _mig(int(row[13]), row[14], places) if row[12] == "yes" else None for row in rows("gpus.csv")}


def _mig(instances: int, text: str, places: Mapping[tuple[int, int, int], tuple[tuple[int, ...], int]]) -> Mig:
    counts = {name: int(most) for name, _, most in (one.partition(":") for one in text.split("|") if one)}
    made: dict[str, Profile] = {}
    for name, most in counts.items():
        found = _PROFILE.fullmatch(name)
        assert found is not None, name
        compute, memory = int(found[1]), int(found[2])
        plain = counts.get(f"{compute}g.{memory}gb", most)
        starts, size = places.get((instances, compute, plain), ((), 0))
        made[name] = Profile(name=name, compute=compute, memory_gb=memory, most=most, starts=starts, size=size)
    return Mig(instances, made)


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


def mig_resource(profile: str) -> str:
    """Returns the resource name of the slices of a MIG profile."""
    return f"{MIG_PREFIX}{profile.replace('+', '.')}"


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
