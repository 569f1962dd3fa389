"""The GPU pool of a stack file: flavors of nodes, teams with quotas, priorities, and the clusters that run the teams'
jobs.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from modelyard.names import GPU_RESOURCE
from modelyard.stack.units import OneLine, Quantity, Seconds

Reclaim = Literal["any", "lower", "never"]
Within = Literal["lower", "never"]


class Toleration(NamedTuple):
    """A taint that the pods on a flavor's nodes tolerate; the fields are those of Kubernetes."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class Flavor(NamedTuple):
    """Identical nodes: one GPU model, one place, one price."""

    name: str
    gpu: str | None = None
    """The GPU model of the nodes. None: the nodes have no GPUs, or ``labels`` describe them."""
    labels: Mapping[str, str] = {}
    """Labels of the nodes besides those of the GPU."""
    tolerations: tuple[Toleration, ...] = ()
    topology: tuple[str, ...] = ()
    """Labels that say which nodes are close together, widest first. Empty: placement ignores the topology."""


class TeamQuota(NamedTuple):
    """A team's quota of one flavor."""

    flavor: str
    cpu: Quantity | None = None
    """None: the team's quotas without GPUs cover CPU and memory, on any nodes."""
    memory: Quantity | None = None
    """Set if ``cpu`` is set."""
    gpus: int = 0
    borrow: int | None = None
    """GPUs that the team may borrow from its cohort when they are free; None: all free ones."""
    lend: int | None = None
    """GPUs that other teams may borrow when they are free; None: all of the team's own."""
    resource: str = GPU_RESOURCE
    """What ``gpus``, ``borrow`` and ``lend`` count: whole GPUs, or slices of GPUs."""


class Team(NamedTuple):
    """People who share quotas."""

    name: str
    quotas: tuple[TeamQuota, ...]
    namespace: str | None = None
    """The namespace of the team's jobs; None: the namespace with the team's name."""
    cohort: str | None = None
    """Teams of one cohort lend each other free quota; None: the team has no cohort."""
    reclaim: Reclaim = "any"
    """Jobs of the cohort preempted for the team's own quota: any that borrow, those of lower priority, none."""
    within: Within = "lower"
    """Which of the team's own jobs are preempted for a job with a higher priority."""
    clusters: tuple[str, ...] = ()
    """Names of the worker clusters that run its jobs, preferred ones first; empty: the stack's own cluster."""


class WorkerCluster(NamedTuple):
    """A cluster to which Kueue in the stack's cluster, the manager, sends jobs."""

    name: str
    secret: str
    """Name of a Secret with a kubeconfig in Kueue's namespace; modelyard does not read it."""
    context: str | None = None
    """Kubeconfig context that modelyard uses to read the runs of this cluster; None: it does not read them."""


class Priority(NamedTuple):
    """A name for how urgent a job is."""

    name: str
    value: int
    """Higher is more urgent."""
    description: OneLine = ""


# How a stack file divides the GPUs of nodes.
PartitionMode = Literal["mig", "mps", "time-slicing"]
MigStrategy = Literal["mixed", "single"]


class Partition(NamedTuple):
    """One way to divide GPUs. It applies to all GPUs of the nodes that carry its name as a label."""

    name: str
    mode: PartitionMode
    flavor: str | None = None
    """The flavor whose nodes it divides; None: any nodes with the GPU."""
    gpu: str | None = None
    """The GPU model; None: the flavor's, else the stack's."""
    layout: Mapping[str, int] = {}
    """Slices of one GPU by MIG profile."""
    strategy: MigStrategy = "mixed"
    """How pods name MIG slices: ``mixed`` by profile, ``single`` as if they were GPUs."""
    replicas: int | None = None
    """Pods that share one GPU; None with MIG."""
    rename: bool = True
    """Whether shared GPUs get their own resource name, so that they are not counted as whole GPUs."""
    fail_requests_greater_than_one: bool = True
    """Whether a container that requests several shared GPUs is rejected; with MPS it always is."""


# Pools of GPU nodes that Karpenter adds and removes.
Cloud = Literal["aws", "azure", "gcp"]
Capacity = Literal["on-demand", "spot", "any"]


class NodePool(NamedTuple):
    """Nodes with one GPU model."""

    name: str
    gpu: str
    """The GPU model, as one variant."""
    gpus: int
    """Maximum number of GPUs across all of its nodes."""
    node_class: str
    """Name of the cloud's node class in the cluster: images, networks, disks, roles."""
    cloud: Cloud = "aws"
    region: str | None = None
    """The region of the cluster; None: machine types are not checked against a region."""
    zones: tuple[str, ...] = ()
    """Zones for its nodes; empty: the zones of the node class."""
    types: tuple[str, ...] = ()
    """Machine types; empty: all types with whole GPUs of this model."""
    capacity: Capacity = "on-demand"
    idle: Seconds = 600
    """Seconds that a node must be idle before Karpenter removes it."""
    taint: bool = True
    """Whether a taint keeps away pods that do not request GPUs."""
    labels: Mapping[str, str] = {}
    """Labels of its nodes besides those of the GPU."""
