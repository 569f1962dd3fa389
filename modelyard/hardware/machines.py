"""A cloud's machine types for a GPU, and how their nodes name it. Read only when needed."""

from modelyard.hardware.gpu_models import GpuModel, products, rows
from modelyard.hardware.instances import Instance, instances
from modelyard.hardware.regions import may_be_in

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
