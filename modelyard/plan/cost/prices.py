"""The price of a node: the project's own where it has one, else a cloud's list price, else none."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from modelyard.hardware.nodes import node_gpus
from modelyard.kube.state import Node
from modelyard.names import MACHINE_LABEL
from modelyard.plan.cost.values import Price

if TYPE_CHECKING:
    from modelyard.hardware.instances import Instance

TYPE_LABEL = MACHINE_LABEL
REGION_LABEL = "topology.kubernetes.io/region"
NO_CARD = "none"
"""Instead of a GPU: only machines without GPUs."""
_EVERYWHERE = "(same in all regions)"


class Prices(NamedTuple):
    """What a project says that things cost. Empty, list prices are all there is."""

    machines: Mapping[tuple[str, str, str], Price] = {}
    """By type, region and GPU: an id of the GPU table, or ``none``. Empty is every region, and whatever the GPU."""
    cards: Mapping[str, Price] = {}
    """By id in the GPU table."""


LIST = Prices()
"""List prices alone."""


def gpu_price(node: Node, prices: Prices) -> tuple[Price | None, str]:
    """What the GPUs of a node cost, or why that is unknown.

    The project's price of the machine wins, then its price of the GPU, then the list price of the machine. A list
    price holds in its own region only: the next region may be a third dearer.
    """
    own = _own_machine(node, prices) or _own_card(node, prices)
    if own is not None:
        return own, ""
    kind, region = node.labels.get(TYPE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    known = list_price(kind)
    if known is None:
        return None, _nowhere(node)
    if known.region in ("", region):
        return known, ""
    where = f"in {region}" if region else f"on a node without the label {REGION_LABEL}"
    return None, f"{kind} {where} has no price, the list has {known.region}"


def cpu_price(node: Node, prices: Prices) -> tuple[Price | None, str]:
    """What a node without GPUs costs, or why that is unknown. There is no list of such machines, only the project's."""
    own = _own_machine(node, prices)
    return own, "" if own is not None else _nowhere(node)


@lru_cache(maxsize=256)
def list_price(kind: str) -> Price | None:
    """The on-demand price of a machine type, None where the table has none."""
    # A table that is read when somebody asks for it, and only then.
    from modelyard.hardware.instances import by_type

    row = by_type().get(kind)
    return None if row is None else listed(row)


def listed(row: "Instance") -> Price | None:
    """The price in a row of the table of machine types, None where it has none."""
    if row.usd_per_hour is None:
        return None
    region = "" if row.region.endswith(_EVERYWHERE) else row.region
    day = row.price_date.partition(" ")[0]
    # The shortest text of the number is what the table says, to the last digit.
    usd = Fraction(str(row.usd_per_hour))
    return Price("machine", row.type, usd, region, day if day != "undated" else "", row.source, listed=True)


def _own_machine(node: Node, prices: Prices) -> Price | None:
    """The price that says most of the machine: of its GPU and region, of its GPU, of its region, of its type."""
    if not prices.machines:
        return None
    kind, region = node.labels.get(TYPE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    found = node_gpus(node.labels, node.allocatable)
    card = found.card.id if found.card is not None else NO_CARD if found.kind == "none" else ""
    places = ((kind, where, which) for which in (card, "") for where in (region, ""))
    return next((prices.machines[place] for place in places if place in prices.machines), None)


def _own_card(node: Node, prices: Prices) -> Price | None:
    if not prices.cards:
        return None
    found = node_gpus(node.labels, node.allocatable)
    # A slice or a shared GPU is not a whole GPU.
    return prices.cards.get(found.card.id) if found.kind == "whole" and found.card is not None else None


def _nowhere(node: Node) -> str:
    kind, region = node.labels.get(TYPE_LABEL, ""), node.labels.get(REGION_LABEL, "")
    if not kind:
        return f"{node.name} has no label {TYPE_LABEL}"
    return f"{kind}{f' in {region}' if region else ''} has no price"
