"""Which machine types a cloud has for a GPU, and how their nodes name it. Read only when asked for."""

from modelyard.hardware.cards import Card, products, rows
from modelyard.hardware.instances import Instance, instances
from modelyard.hardware.regions import may_be_in

_NAMED = {"aws": 4, "gcp": 6}
"""Columns of the label table that say under which label a cloud's nodes have a GPU. A cloud that is not here rents
boards of one GPU that have several names."""


def machines(cloud: str, card: Card, region: str | None = None) -> tuple[Instance, ...]:
    """The machine types of a cloud with whole GPUs of one kind, by price and name.

    Args:
        cloud: ``aws``, ``azure`` or ``gcp``.
        card: one variant, or a family, which stands for all of its variants.
        region: only those that are offered there, or of which nobody knows; None: all.
    """
    wanted = card.members or (card.id,)
    found = [one for one in whole(cloud, region) if one.card_id in wanted]
    return tuple(sorted(found, key=lambda one: (one.usd_per_hour is None, one.usd_per_hour or 0, one.type)))


def whole(cloud: str, region: str | None = None) -> tuple[Instance, ...]:
    """The machine types of a cloud, or of one of its regions, with whole GPUs of any kind, in the table's order."""
    return tuple(
        one
        for one in instances()
        if one.cloud == cloud and one.whole_gpus and one.gpus and (region is None or may_be_in(one, region))
    )


def product_on(cloud: str, card: Card) -> str | None:
    """The value of ``nvidia.com/gpu.product`` on a cloud's nodes with this GPU; None where there are several."""
    names = products(card)
    if len(names) == 1:
        return names[0]
    column = _NAMED.get(cloud)
    told = {row[2] for row in rows("labels.csv") if row[0] == card.id and column is not None and row[column]}
    return told.pop() if len(told) == 1 else None
