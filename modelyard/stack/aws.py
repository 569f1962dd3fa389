"""What the AWS side of an environment is to have, for those who start from nothing."""

from collections.abc import Mapping
from typing import NamedTuple


class NodeGroup(NamedTuple):
    """Machines that are alike and come and go together."""

    name: str
    types: tuple[str, ...]
    """Machine types, such as ``g6e.2xlarge``; AWS takes the first that it has."""
    least: int = 0
    most: int = 1
    wanted: int = 0
    """Machines at the start; afterwards an autoscaler's business."""
    disk: int = 100
    """GiB of each machine's root disk."""
    spot: bool = False
    labels: Mapping[str, str] = {}


class Access(NamedTuple):
    """What the pods of one service account may do with the bucket."""

    namespace: str
    service_account: str
    read: tuple[str, ...] = ()
    """Prefixes of the bucket, each with a slash at its end."""
    write: tuple[str, ...] = ()
    """The same, for adding objects; it gives no reading."""


class Aws(NamedTuple):
    """A cluster, its network, its registry and its bucket."""

    name: str
    """Of the cluster; what belongs to it is named after it."""
    account: str
    """Twelve digits."""
    region: str
    zones: tuple[str, ...] = ()
    """Availability zones of a network of its own, two at least; empty where ``subnets`` are given."""
    cidr: str = "10.40.0.0/16"
    """Addresses of a network of its own."""
    subnets: tuple[str, ...] = ()
    """Private subnets that are there already, in two zones at least."""
    public: tuple[str, ...] = ()
    """Networks (CIDR) from which the API server may be reached over the internet; empty: only from inside."""
    admins: tuple[str, ...] = ()
    """ARNs of the roles that administer the cluster; who creates it is none of them by itself."""
    kubernetes: str = "1.35"
    cpus: NodeGroup = NodeGroup("cpu", ("m7i.xlarge",), 2, 4, 2)
    gpus: tuple[NodeGroup, ...] = ()
    access: tuple[Access, ...] = ()
    cuda: str = "11.7"
    """CUDA version that the platform's images need: which GPUs are supported goes by it."""
    images_embed_ptx: bool = False
    """Whether the images carry PTX, so that newer GPUs can compile for themselves."""
    partition: str = "aws"
    tags: Mapping[str, str] = {}
