"""Cloud machine types with GPUs: which GPU, how many, at what price. Read only when needed."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from modelyard.hardware.gpu_models import GpuModel, gpu_models, rows
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Provider


class Instance(NamedTuple):
    """One machine type. None means that a number is unknown."""

    cloud: str
    type: str
    gpu_id: str
    """Id in the GPU table; a few old GPUs (``m60``, ``t4g``) are not in it."""
    gpus: int | None
    whole: str
    """``yes``, ``no`` (fractions of a GPU) or ``unknown``."""
    gpu_memory_gb: float | None
    """Memory of one GPU, or of the fraction."""
    vcpu: int | None
    memory_gib: float | None
    usd_per_hour: float | None
    """Price on demand."""
    region: str
    price_date: str
    note: str
    unverified: str
    """What could not be verified about this row."""
    source: str

    @property
    def gpu(self) -> GpuModel | None:
        """The GPU, None if the table has none."""
        return gpu_models().get(self.gpu_id)

    @property
    def whole_gpus(self) -> bool:
        """Whether this machine is known to have whole GPUs."""
        return self.whole == "yes"


@lru_cache(maxsize=1)
def instances() -> tuple[Instance, ...]:
    """Returns every machine type, in the table's order."""
    return tuple(_instance(row) for row in rows("instances.csv"))


@lru_cache(maxsize=1)
def by_type() -> Mapping[str, Instance]:
    """Returns machine types by the value of the label ``node.kubernetes.io/instance-type``."""
    return {instance.type: instance for instance in instances()}


def _instance(row: list[str]) -> Instance:
    cloud, kind, gpu, gpus, whole, vram, vcpu, ram, price, region, date, note, unverified, source = row
    return Instance(
        cloud=cloud,
        type=kind,
        gpu_id=gpu,
        gpus=_whole(gpus),
        whole=whole,
        gpu_memory_gb=_number(vram),
        vcpu=_whole(vcpu),
        memory_gib=_number(ram),
        usd_per_hour=_number(price),
        region=region,
        price_date=date,
        note=note,
        unverified=unverified,
        source=source,
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def _whole(text: str) -> int | None:
    return int(text) if text else None


# The machine that a resource rents: its provider, its type, and its row in the table. Read only when needed.
def types(cloud: str) -> Mapping[str, Instance]:
    """Returns the machine types of a cloud, without combinations of parts (``n1-* + 1x``)."""
    return {one.type: one for one in instances() if one.cloud == cloud and " " not in one.type}


def provider_of(config: Config, resource: Resource) -> Provider | None:
    """Returns the provider that a resource names, None if it names none or the provider is not defined."""
    wanted = resource.remote.provider if resource.remote is not None else None
    return next((one for one in config.providers if one.name == wanted), None)


def machine_of(config: Config, resource: Resource) -> Instance | None:
    """Returns the machine that a resource asks for, None if it rents none or the machine is unknown."""
    provider = provider_of(config, resource)
    if provider is None or resource.remote is None or resource.remote.instance_type is None:
        return None
    return types(provider.kind).get(resource.remote.instance_type)
