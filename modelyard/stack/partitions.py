"""How the GPUs of nodes are divided, as a stack file asks for it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

PartitionMode = Literal["mig", "mps", "time-slicing"]
MigStrategy = Literal["mixed", "single"]


class Partition(NamedTuple):
    """One way to divide the GPUs of nodes. The nodes are those that carry its name as a label, all GPUs of them."""

    name: str
    mode: PartitionMode
    flavor: str | None = None
    """Of whose nodes it is; None: of nodes with the GPU."""
    gpu: str | None = None
    """The GPU; None: the flavor's, else the stack's."""
    layout: Mapping[str, int] = {}
    """Slices of one GPU by MIG profile."""
    strategy: MigStrategy = "mixed"
    """What MIG slices are called: ``mixed`` by their profile, ``single`` as if they were GPUs."""
    replicas: int | None = None
    """Pods that share one GPU; None with MIG."""
    rename: bool = True
    """Whether shared GPUs have a name of their own, so that nobody counts them as whole ones."""
    fail_requests_greater_than_one: bool = True
    """Whether a container that asks for several shared GPUs is refused; with MPS it always is."""
