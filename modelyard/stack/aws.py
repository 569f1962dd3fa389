"""The AWS infrastructure of a stack, if you start from nothing."""

from collections.abc import Mapping
from typing import NamedTuple


class NodeGroup(NamedTuple):
    """Identical machines that scale together."""

    name: str
    types: tuple[str, ...]
    """Machine types, such as ``g6e.2xlarge``; AWS takes the first that is available."""
    least: int = 0
    most: int = 1
    wanted: int = 0
    """Machines at the start; afterwards an autoscaler decides."""
    disk: int = 100
    """GiB of each machine's root disk."""
    spot: bool = False
    labels: Mapping[str, str] = {}


class Access(NamedTuple):
    """What the pods of one service account may do with the bucket."""

    namespace: str
    service_account: str
    read: tuple[str, ...] = ()
    """Prefixes in the bucket that the pods may read, each with a slash at its end."""
    write: tuple[str, ...] = ()
    """Prefixes, each with a slash at its end, below which the pods may add objects; this does not grant reading."""


class Aws(NamedTuple):
    """A cluster, its network, its registry and its bucket."""

    name: str
    """Name of the cluster; the resources that belong to it are named after it."""
    account: str
    """Twelve digits."""
    region: str
    zones: tuple[str, ...] = ()
    """Availability zones of a new network, at least two; empty if ``subnets`` are given."""
    cidr: str = "10.40.0.0/16"
    """Addresses of a new network."""
    subnets: tuple[str, ...] = ()
    """Existing private subnets, in at least two zones."""
    public: tuple[str, ...] = ()
    """Networks (CIDR) that may reach the API server over the internet; empty: only from inside."""
    admins: tuple[str, ...] = ()
    """ARNs of the roles that administer the cluster; its creator is not added automatically."""
    kubernetes: str = "1.35"
    cpus: NodeGroup = NodeGroup(name="cpu", types=("m7i.4xlarge",), least=2, most=4, wanted=2, disk=200)
    """By default, one machine has room for the Ray head and two pods of the model service, each with the least size."""
    gpus: tuple[NodeGroup, ...] = ()
    access: tuple[Access, ...] = ()
    cuda: str = "11.7"
    """CUDA version that the platform's images need; it decides which GPUs are supported."""
    images_embed_ptx: bool = False
    """Whether the images contain PTX, which the driver compiles for newer GPUs."""
    partition: str = "aws"
    tags: Mapping[str, str] = {}
