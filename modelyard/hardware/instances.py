"""Cloud machine types with GPUs: which GPU, how many, at what price. Read only when asked for."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from modelyard.hardware.cards import Card, cards, rows
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Provider


class Instance(NamedTuple):
    """One machine type. Empty numbers are None: nobody knows them."""

    cloud: str
    type: str
    card_id: str
    """Id in the GPU table; a few old GPUs (``m60``, ``t4g``) are not in it."""
    gpus: int | None
    whole: str
    """``yes``, ``no`` (fractions of a GPU) or ``unknown``."""
    gpu_memory_gb: float | None
    """Of one GPU, or of the fraction."""
    vcpu: int | None
    memory_gib: float | None
    usd_per_hour: float | None
    """On demand."""
    region: str
    price_date: str
    note: str
    unverified: str
    """What nobody could verify about this row."""
    source: str

    @property
    def card(self) -> Card | None:
        """The GPU, None where the table has none."""
        return cards().get(self.card_id)

    @property
    def whole_gpus(self) -> bool:
        """Whether this machine is known to have whole GPUs."""
        return self.whole == "yes"


@lru_cache(maxsize=1)
def instances() -> tuple[Instance, ...]:
    """Every machine type, in the table's order."""
    return tuple(_instance(row) for row in rows("instances.csv"))


@lru_cache(maxsize=1)
def by_type() -> Mapping[str, Instance]:
    """Machine types by the name that the label ``node.kubernetes.io/instance-type`` carries."""
    return {instance.type: instance for instance in instances()}


def _instance(row: list[str]) -> Instance:
    cloud, kind, card, gpus, whole, vram, vcpu, ram, price, region, date, note, unverified, source = row
    # fmt: off
    return Instance(
        cloud, kind, card, _whole(gpus), whole, _number(vram), _whole(vcpu), _number(ram), _number(price),
        region, date, note, unverified, source,
    )
    # fmt: on


def _number(text: str) -> float | None:
    return float(text) if text else None


def _whole(text: str) -> int | None:
    return int(text) if text else None


# Which machine a resource rents: its provider, its type, and what the table knows of it. Read only when asked for.
def types(cloud: str) -> Mapping[str, Instance]:
    """The machine types of a cloud; what is put together from parts (``n1-* + 1x``) is none."""
    return {one.type: one for one in instances() if one.cloud == cloud and " " not in one.type}


def provider_of(config: Config, resource: Resource) -> Provider | None:
    """The provider that a resource names, None where it names none or there is none."""
    wanted = resource.remote.provider if resource.remote is not None else None
    return next((one for one in config.providers if one.name == wanted), None)


def machine_of(config: Config, resource: Resource) -> Instance | None:
    """The machine that a resource asks for, None where it rents none or nobody knows it."""
    provider = provider_of(config, resource)
    if provider is None or resource.remote is None or resource.remote.instance_type is None:
        return None
    return types(provider.kind).get(resource.remote.instance_type)
