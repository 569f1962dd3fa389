"""MIG slices: the profiles of a GPU, and which of them fit on it together.

A GPU instance covers memory slices exclusively, and can start only at some of them: so three ``2g`` and one ``1g`` fit
on a GPU with seven compute slices, and two ``3g`` leave no room although a compute slice is left.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from modelyard.hardware.gpu_models import GpuModel, rows
from modelyard.names import MIG_PREFIX
from modelyard.patterns import regex

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
        return f"{MIG_PREFIX}{self.name.replace('+', '.')}"


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


def fits(found: Mig, layout: Mapping[str, int]) -> bool | None:
    """Whether slices fit on one GPU together; None if their positions are unknown.

    Args:
        found: how the GPU can be divided.
        layout: number of slices by profile name; all are profiles of the GPU.
    """
    wanted = [found.profiles[name] for name, count in layout.items() for _ in range(count)]
    if any(count > found.profiles[name].most for name, count in layout.items()):
        return False
    if sum(one.compute for one in wanted) > found.instances:
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
