"""Pools of GPU nodes that Karpenter adds and takes away, as a stack file asks for them."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Cloud = Literal["aws", "azure", "gcp"]
Capacity = Literal["on-demand", "spot", "any"]


class NodePool(NamedTuple):
    """Nodes with one GPU."""

    name: str
    gpu: str
    """The GPU, one variant of it."""
    gpus: int
    """Most GPUs of all its nodes together."""
    node_class: str
    """Name of the cloud's node class in the cluster: images, networks, disks, roles."""
    cloud: Cloud = "aws"
    region: str | None = None
    """Where the cluster is; None: machine types are not held against what a region has."""
    zones: tuple[str, ...] = ()
    """Zones for its nodes; empty: those of the node class."""
    types: tuple[str, ...] = ()
    """Machine types; empty: all that have whole GPUs of this kind."""
    capacity: Capacity = "on-demand"
    idle: int = 600
    """Seconds for which a node must have had nothing to do before it goes."""
    taint: bool = True
    """Whether pods that do not ask for GPUs are kept away."""
    labels: Mapping[str, str] = {}
    """Of its nodes, beside those of the GPU."""
