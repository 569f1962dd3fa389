"""The GPU pool that teams share, as a stack file asks for it: flavors of nodes, teams with quotas, priorities, and
clusters to which their jobs go.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from modelyard.names import GPU_RESOURCE

Reclaim = Literal["any", "lower", "never"]
Within = Literal["lower", "never"]


class Toleration(NamedTuple):
    """A taint that pods on a flavor's nodes put up with; the fields are Kubernetes' own."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class Flavor(NamedTuple):
    """Nodes that are alike: one GPU, one place, one price."""

    name: str
    gpu: str | None = None
    """The GPU of the nodes; None: they have none, or ``labels`` say it."""
    labels: Mapping[str, str] = {}
    """Of the nodes, beside the GPU's."""
    tolerations: tuple[Toleration, ...] = ()
    topology: tuple[str, ...] = ()
    """Labels by which its nodes lie near each other, from the widest to the narrowest; none: nobody looks at places."""


class Quota(NamedTuple):
    """What a team has of one flavor."""

    flavor: str
    cpu: str | None = None
    """None: CPU and memory are those of its quotas without GPUs, on whatever nodes."""
    memory: str | None = None
    """Said when ``cpu`` is."""
    gpus: int = 0
    borrow: int | None = None
    """GPUs that it may take from others of its cohort when they are free; None: all that are."""
    lend: int | None = None
    """GPUs that others may take when they are free; None: all of its own."""
    resource: str = GPU_RESOURCE
    """What ``gpus``, ``borrow`` and ``lend`` count: whole GPUs, or slices of them."""


class Team(NamedTuple):
    """People who share quotas."""

    name: str
    quotas: tuple[Quota, ...]
    namespace: str | None = None
    """Where its jobs run; None: the namespace of the team's name."""
    cohort: str | None = None
    """Teams of one cohort lend each other what is free; None: it is on its own."""
    reclaim: Reclaim = "any"
    """Whose jobs in the cohort end for its own quota: any that borrow, those of lower priority, none."""
    within: Within = "lower"
    """Whose jobs of its own end for one with a higher priority."""
    clusters: tuple[str, ...] = ()
    """Names of worker clusters that its jobs run in, the preferred ones first; none: the stack's own cluster."""


class WorkerCluster(NamedTuple):
    """A cluster to which Kueue of the stack's cluster, the manager, sends jobs."""

    name: str
    secret: str
    """Name of a Secret of Kueue's namespace with a kubeconfig; nothing here reads it."""
    context: str | None = None
    """Of the user's kubeconfig, by which runs there are looked at; None: nobody looks."""


class Priority(NamedTuple):
    """A name for how urgent a job is."""

    name: str
    value: int
    """The larger, the more urgent."""
    description: str = ""


# How the GPUs of nodes are divided, as a stack file asks for it.
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


# Pools of GPU nodes that Karpenter adds and takes away, as a stack file asks for them.
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
