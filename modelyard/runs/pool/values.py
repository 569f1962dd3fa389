"""The state of the pool, as values."""

from typing import Literal, NamedTuple

Queueing = Literal["quota", "check", "node"]
"""What a run or pod waits for: its team's quota, an admission check of its queue (such as another cluster), or a
node."""
NodeState = Literal["ready", "cordoned", "not ready"]


class Idle(NamedTuple):
    """How many of an owner's GPUs are idle, and how busy the others are."""

    idle: int = 0
    unknown: int = 0
    """GPUs without known use."""
    load: float = 0.0
    """Sum of the average utilisation of the others, in per cent."""

    def and_(self, other: "Idle") -> "Idle":
        """The sum of both."""
        return Idle(self.idle + other.idle, self.unknown + other.unknown, self.load + other.load)

    def utilisation(self, taken: int) -> int | None:
        """Average utilisation, in per cent, of the taken GPUs whose use is known; None if none is."""
        known = taken - self.unknown
        return round(self.load / known) if known > 0 else None


class PodOwner(NamedTuple):
    """The owner of pods."""

    team: str | None
    """The owner's team; None if neither a queue nor a namespace names it."""
    namespace: str
    name: str
    """Name of the run, or else of the workload that created the pods."""
    job: str | None = None
    """Name of the run's job in a stack; None: the owner is no run."""
    stack: str | None = None
    stage: str | None = None
    """Stage of a pipeline's run; None: the owner is no stage."""

    @property
    def words(self) -> str:
        """The owner's name, with the stage."""
        return f"{self.name} (stage {self.stage})" if self.stage else self.name


class Taker(NamedTuple):
    """One owner's GPUs of one kind."""

    owner: PodOwner
    product: str
    """The nodes' label ``nvidia.com/gpu.product``, empty if they have none."""
    resource: str
    """``nvidia.com/gpu``, ``nvidia.com/gpu.shared``, ``nvidia.com/mig-1g.5gb``, …"""
    gpus: int
    idle: Idle
    pods: int
    nodes: tuple[str, ...]
    since: str
    """When the first of the pods started, or was created; RFC 3339."""
    cluster: str | None = None
    """The worker cluster of the pods, whose nodes and product are unknown. None: this cluster."""


class NodeUse(NamedTuple):
    """The GPUs of one resource on one node."""

    name: str
    product: str
    resource: str
    state: NodeState
    gpus: int
    taken: int
    idle: Idle
    owners: tuple[PodOwner, ...]
    slices: bool
    """Whether each is a part of a GPU: a MIG slice, or a share."""

    @property
    def free(self) -> int:
        """GPUs that a new pod could get: none on a node that accepts no pods."""
        return max(0, self.gpus - self.taken) if self.state == "ready" else 0


class ProductUse(NamedTuple):
    """All GPUs of one product and resource."""

    product: str
    resource: str
    nodes: int
    gpus: int
    taken: int
    free: int
    closed: int
    """Free GPUs on nodes that accept no pods."""
    idle: Idle
    queued: int
    """GPUs of this product that waiting runs and pods request. A request that several products can meet counts for
    each."""
    slices: bool
    """Whether each is a part of a GPU: a MIG slice, or a share."""


class QuotaUse(NamedTuple):
    """A queue's quota of one flavor."""

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    """The part of ``used`` that is borrowed."""
    borrow: int | None
    """The most that the queue may borrow; None: whatever its cohort has free. 0 without a cohort."""

    @property
    def most(self) -> int | None:
        """The most that the queue can ever use of the flavor; None: no limit."""
        return None if self.borrow is None else self.nominal + self.borrow


class QueueUse(NamedTuple):
    """A ClusterQueue: a team's quotas, and what waits for them."""

    name: str
    team: str | None
    """The stack's team that owns the queue; None: it has another owner."""
    cohort: str | None
    stopped: str
    """Why the queue admits nothing; empty if it admits."""
    quotas: tuple[QuotaUse, ...]
    waiting: int
    """Workloads."""
    waiting_gpus: int


class Waiter(NamedTuple):
    """A run or pod that waits for GPUs."""

    owner: PodOwner
    queue: str | None
    """The ClusterQueue in which it waits; None: it waits for the scheduler."""
    place: int | None
    """Place in that queue, from 1."""
    on: Queueing
    gpus: tuple[tuple[str, int], ...]
    """The requested GPUs, by resource."""
    since: str
    """The time since which it waits: for a stage of a pipeline, its turn."""
    reason: str
    """Why it waits, in the words of Kueue or the scheduler; for an admission check, its name and the clusters that were
    asked."""

    @property
    def total(self) -> int:
        """GPUs of all resources together."""
        return sum(count for _, count in self.gpus)
