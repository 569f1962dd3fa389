"""The price of a node: the project's own price, else a cloud's list price, else none."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from modelyard.hardware.instances import Instance, by_type, instances
from modelyard.hardware.nodes import node_gpus
from modelyard.kube.state import Node
from modelyard.names import MACHINE_LABEL
from modelyard.plan.cost.values import Money, Price

REGION_LABEL = "topology.kubernetes.io/region"
NO_GPU = "none"
"""Stands in place of a GPU for machines without GPUs."""
_EVERYWHERE = "(same in all regions)"


class Prices(NamedTuple):
    """The prices that a project sets. If empty, only list prices apply."""

    machines: Mapping[tuple[str, str, str], Price] = {}
    """By type, region and GPU: an id of the GPU table, or ``none``. An empty region means every region, and an empty
    GPU any GPU."""
    gpus: Mapping[str, Price] = {}
    """Prices of GPU models by their id in the GPU table."""


LIST = Prices()
"""No prices of a project, only list prices."""


def gpu_price(node: Node, prices: Prices) -> tuple[Price | None, str]:
    """What the GPUs of a node cost, or why that is unknown.

    The project's price of the machine comes first, then its price of the GPU, then the list price of the machine.
    A list price is valid only in its own region: the next region may cost a third more.
    """
    own = _own_machine(node, prices) or _own_gpu(node, prices)
    if own is not None:
        return own, ""
    kind, region = node.labels.get(MACHINE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    known = list_price(kind)
    if known is None:
        return None, _nowhere(node)
    if known.region in ("", region):
        return known, ""
    where = f"in {region}" if region else f"on a node without the label {REGION_LABEL}"
    return None, f"instance type {kind} {where} has no price; the list has {known.region}"


def cpu_price(node: Node, prices: Prices) -> tuple[Price | None, str]:
    """What a node without GPUs costs, or why that is unknown. Only the project sets such prices: the list has none."""
    own = _own_machine(node, prices)
    return own, "" if own is not None else _nowhere(node)


@lru_cache(maxsize=256)
def list_price(kind: str) -> Price | None:
    """The on-demand price of a machine type, None where the table has none."""
    row = by_type().get(kind)
    return None if row is None else listed(row)


def listed(row: Instance) -> Price | None:
    """The price in a row of the table of machine types; None if the row has none."""
    if row.usd_per_hour is None:
        return None
    region = "" if row.region.endswith(_EVERYWHERE) else row.region
    day = row.price_date.partition(" ")[0]
    return Price(
        unit="machine",
        name=row.type,
        # The shortest text of the number is what the table says, to the last digit.
        usd=Fraction(str(row.usd_per_hour)),
        region=region,
        date=day if day != "undated" else "",
        source=row.source,
        listed=True,
    )


def _own_machine(node: Node, prices: Prices) -> Price | None:
    """The most specific price of the machine: by GPU and region, by GPU, by region, by type."""
    if not prices.machines:
        return None
    kind, region = node.labels.get(MACHINE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    found = node_gpus(node)
    gpu = found.gpu.id if found.gpu is not None else NO_GPU if found.kind == "none" else ""
    places = ((kind, where, which) for which in (gpu, "") for where in (region, ""))
    return next((prices.machines[place] for place in places if place in prices.machines), None)


def _own_gpu(node: Node, prices: Prices) -> Price | None:
    if not prices.gpus:
        return None
    found = node_gpus(node)
    # A slice or a shared GPU is not a whole GPU.
    return prices.gpus.get(found.gpu.id) if found.kind == "whole" and found.gpu is not None else None


def _nowhere(node: Node) -> str:
    kind, region = node.labels.get(MACHINE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    if not kind:
        return f"{node.name} has no label {MACHINE_LABEL}"
    return f"instance type {kind}{f' in {region}' if region else ''} has no price"


# What a GPU costs by the hour on the machines that the clouds list.
class GpuPrice(NamedTuple):
    """The list prices of the machines that have a GPU, for one hour of one GPU."""

    usd: Money
    prices: tuple[Price, ...]
    """The machines' prices, sorted by type."""
    unverified: bool
    """Whether the lowest or highest price depends on an unverified number of GPUs."""


def gpu_prices(table: Iterable[Instance] | None = None) -> Mapping[str, GpuPrice]:
    """List prices by the GPU's id; a GPU that no cloud lists with a price is left out.

    A machine counts if it has a known number of whole GPUs. Fractions of a GPU, and prices of a GPU without its
    machine, are left out. Regions and days differ by cloud; each price shows its own. The built-in table is used unless
    another is given.
    """
    found: dict[str, list[tuple[Fraction, Instance, Price]]] = {}
    for row in instances() if table is None else table:
        price = listed(row)
        # A price of a GPU alone has no machine size.
        if price is not None and row.whole_gpus and row.gpus and row.vcpu is not None:
            found.setdefault(row.gpu_id, []).append((price.usd / row.gpus, row, price))
    return {gpu: _range(offers) for gpu, offers in found.items()}


def _range(offers: list[tuple[Fraction, Instance, Price]]) -> GpuPrice:
    offers.sort(key=lambda offer: (offer[0], offer[1].type))
    (low, first, _), (high, last, _) = offers[0], offers[-1]
    return GpuPrice(
        usd=Money(low, high),
        prices=tuple(sorted((price for _, _, price in offers), key=lambda price: price.name)),
        unverified="gpu_count" in f"{first.unverified} {last.unverified}".split(),
    )
