"""What a GPU costs by the hour on the machines that the clouds list."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard.hardware.instances import Instance, instances
from modelyard.plan.cost.prices import listed
from modelyard.plan.cost.values import Money, Price


class CardPrice(NamedTuple):
    """The list prices of the machines that have a GPU, for one hour of one GPU."""

    card_id: str
    usd: Money
    cheapest: str
    """Machine type at the lower end, and its cloud: ``lambda gpu_1x_a10``."""
    dearest: str
    prices: tuple[Price, ...]
    """Of the machines, sorted by type."""
    unverified: bool
    """Whether an end rests on a number of GPUs that nobody could verify."""


def card_prices(table: Iterable[Instance] | None = None) -> Mapping[str, CardPrice]:
    """List prices by id of the GPU; a GPU that no cloud lists with a price is not there.

    A machine counts where it has a known number of whole GPUs. Left out are fractions of a GPU and the prices of a GPU
    without its machine. Regions and days differ from cloud to cloud; each price says its own.

    Args:
        table: machine types, the built-in table unless given.
    """
    found: dict[str, list[tuple[Fraction, Instance, Price]]] = {}
    for row in instances() if table is None else table:
        price = listed(row)
        # Only a price of a GPU alone has no size of a machine beside it.
        if price is not None and row.whole_gpus and row.gpus and row.vcpu is not None:
            found.setdefault(row.card_id, []).append((price.usd / row.gpus, row, price))
    return {card: _range(card, offers) for card, offers in found.items()}


def _range(card: str, offers: list[tuple[Fraction, Instance, Price]]) -> CardPrice:
    offers.sort(key=lambda offer: (offer[0], offer[1].type))
    (low, first, _), (high, last, _) = offers[0], offers[-1]
    return CardPrice(
        card,
        Money(low, high),
        f"{first.cloud} {first.type}",
        f"{last.cloud} {last.type}",
        tuple(sorted((price for _, _, price in offers), key=lambda price: price.name)),
        "gpu_count" in f"{first.unverified} {last.unverified}".split(),
    )
