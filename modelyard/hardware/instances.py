"""Cloud machine types with GPUs: which GPU, how many, at what price, in which regions. Read only when needed."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from modelyard.hardware.gpu_models import GpuModel, gpu_models, products, rows
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


# Which machines clouds rent in which regions, and a cloud's machines for a GPU.
_EVERYWHERE = "(same in all regions)"
_APART = ("us-gov", "us-iso", "cn-")
"""Prefixes of regions that a standard AWS account does not reach (partitions aws-us-gov, aws-iso, aws-cn)."""


class RegionRow(NamedTuple):
    """One row of the table of regions."""

    cloud: str
    types: str
    """Shell pattern of machine types."""
    names: bool
    """Whether it only lists the cloud's regions, without what they offer."""
    regions: Mapping[str, Fraction | None]
    """USD per hour on demand, None if unknown."""
    date: str
    unverified: str
    source: str


class Offered(NamedTuple):
    """One machine type in one region."""

    region: str
    usd: Fraction | None
    """USD per hour on demand; None if unknown."""
    date: str
    """Date of the price, ``YYYY-MM-DD``; empty if there is none."""
    source: str
    known: bool
    """Whether it is known to be offered there; otherwise the region exists but was not checked."""
    unverified: str = ""


@lru_cache(maxsize=1)
def table() -> tuple[RegionRow, ...]:
    """Returns every row, in the table's order."""
    return tuple(_row(row) for row in rows("regions.csv"))


def begins(region: str, prefix: str) -> bool:
    """Whether a region has the prefix. A region of a separate partition matches only if the prefix names that."""
    apart = next((one for one in _APART if region.startswith(one)), "")
    return region.startswith(prefix) and prefix.startswith(apart)


def region_names(cloud: str) -> tuple[str, ...]:
    """Returns the regions of a cloud, sorted."""
    return tuple(sorted({name for row in table() if row.cloud == cloud for name in row.regions}))


def offered(instance: Instance) -> tuple[Offered, ...]:
    """Returns every region of the machine's cloud that offers it, or may offer it, sorted by name."""
    fitting = [row for row in table() if row.cloud == instance.cloud and fnmatchcase(instance.type, row.types)]
    seen = max((row for row in fitting if not row.names), key=lambda row: len(row.types), default=None)
    found = {
        name: Offered(
            region=name,
            usd=usd,
            date=row.date if usd is not None else "",
            source=row.source,
            known=not row.names,
            unverified=row.unverified,
        )
        for row in ([seen] if seen is not None else fitting)
        for name, usd in row.regions.items()
    }
    usd = None if instance.usd_per_hour is None else Fraction(str(instance.usd_per_hour))
    day = instance.price_date.partition(" ")[0]
    # A price in a table without regions belongs to no region.
    own = [instance.region] if instance.region and " " not in instance.region else []
    for name in list(found) if instance.region.endswith(_EVERYWHERE) else own:
        before = found.get(name)
        # The table of machines has the newer price, or the only one.
        known = before.known if before is not None and instance.region.endswith(_EVERYWHERE) else True
        if usd is not None and (before is None or before.usd is None or before.date <= day):
            marks = "; ".join(mark for mark in (before.unverified if before else "", instance.unverified) if mark)
            found[name] = Offered(
                region=name,
                usd=usd,
                date="" if day == "undated" else day,
                source=instance.source,
                known=known,
                unverified=marks,
            )
    return tuple(found[name] for name in sorted(found))


def may_be_in(instance: Instance, region: str) -> bool:
    """Whether a region offers a machine, or the machine's regions are unknown."""
    places = offered(instance)
    return not places or any(place.region == region for place in places)


def _row(row: list[str]) -> RegionRow:
    cloud, types, says, regions, date, unverified, source = row
    pairs = (part.partition("=") for part in regions.split())
    return RegionRow(
        cloud=cloud,
        types=types,
        names=says == "names",
        regions={name: Fraction(price) if price else None for name, _, price in pairs},
        date=date,
        unverified=unverified,
        source=source,
    )


_NAMED = {"aws": 4, "gcp": 6}
"""Columns of the label table with the label for a cloud's GPUs on its nodes. Clouds that are not listed rent boards of
one GPU that have several names."""


def machines(cloud: str, gpu: GpuModel, region: str | None = None) -> tuple[Instance, ...]:
    """Returns the machine types of a cloud with whole GPUs of one model, by price and name.

    Args:
        cloud: ``aws``, ``azure`` or ``gcp``.
        gpu: one variant, or a family, which stands for all of its variants.
        region: only machine types that it offers, or whose regions are unknown; None: all.
    """
    wanted = gpu.members or (gpu.id,)
    found = [one for one in whole(cloud, region) if one.gpu_id in wanted]
    return tuple(sorted(found, key=lambda one: (one.usd_per_hour is None, one.usd_per_hour or 0, one.type)))


def whole(cloud: str, region: str | None = None) -> tuple[Instance, ...]:
    """Returns the machine types of a cloud, or of one region, with whole GPUs of any model, in the table's order."""
    return tuple(
        one
        for one in instances()
        if one.cloud == cloud and one.whole_gpus and one.gpus and (region is None or may_be_in(one, region))
    )


def product_on(cloud: str, gpu: GpuModel) -> str | None:
    """Returns the ``nvidia.com/gpu.product`` value on a cloud's nodes with this GPU; None if there are several."""
    names = products(gpu)
    if len(names) == 1:
        return names[0]
    column = _NAMED.get(cloud)
    marked = {row[2] for row in rows("labels.csv") if row[0] == gpu.id and column is not None and row[column]}
    return marked.pop() if len(marked) == 1 else None
