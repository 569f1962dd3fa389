"""What is known of the pool now."""

from typing import Literal, NamedTuple

Queueing = Literal["quota", "check", "node"]
"""What work waits for: its team's quota, a check that its queue wants (as another cluster that takes it), or a node."""
NodeState = Literal["ready", "cordoned", "not ready"]


class Idle(NamedTuple):
    """How many GPUs that somebody has do nothing, and how busy they are."""

    idle: int = 0
    unknown: int = 0
    """GPUs of which nobody knows."""
    load: float = 0.0
    """Sum of the average utilisation of the others, in per cent."""

    def and_(self, other: "Idle") -> "Idle":
        """Both together."""
        return Idle(self.idle + other.idle, self.unknown + other.unknown, self.load + other.load)

    def utilisation(self, taken: int) -> int | None:
        """Per cent on average of those GPUs that are known, of so many that are taken; None where none is known."""
        known = taken - self.unknown
        return round(self.load / known) if known > 0 else None


class Owner(NamedTuple):
    """Whose pods they are."""

    team: str | None
    """None where no queue or namespace tells."""
    namespace: str
    name: str
    """Of the run, else of the workload that made them."""
    job: str | None = None
    """The job of a stack that the run is of; None: it is no run."""
    stack: str | None = None
    stage: str | None = None
    """Of a pipeline's run; None: it is no stage."""

    @property
    def words(self) -> str:
        """The name, and the stage."""
        return f"{self.name} (stage {self.stage})" if self.stage else self.name


class Taker(NamedTuple):
    """Somebody's GPUs of one kind."""

    owner: Owner
    product: str
    """The nodes' label ``nvidia.com/gpu.product``, empty where they have none."""
    resource: str
    """``nvidia.com/gpu``, ``nvidia.com/gpu.shared``, ``nvidia.com/mig-1g.5gb``, …"""
    gpus: int
    idle: Idle
    pods: int
    nodes: tuple[str, ...]
    since: str
    """When the first of the pods started, or was made; RFC 3339."""
    cluster: str | None = None
    """The worker cluster in which the pods are: no nodes and no product are known of it. None: they are here."""


class NodeUse(NamedTuple):
    """The GPUs of one resource on one node."""

    name: str
    product: str
    resource: str
    state: NodeState
    gpus: int
    taken: int
    idle: Idle
    owners: tuple[Owner, ...]
    slices: bool
    """Whether each is a part of a GPU: a MIG slice, or a share."""

    @property
    def free(self) -> int:
        """GPUs that a new pod could get: none of a node that takes no pods."""
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
    """GPUs that are not taken, on nodes that take no pods."""
    idle: Idle
    queued: int
    """GPUs that waiting work asks for and could get of these. What could take several kinds counts for each."""
    slices: bool
    """Whether each is a part of a GPU: a MIG slice, or a share."""


class QuotaUse(NamedTuple):
    """What a queue has of one flavor."""

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    """Of ``used``, what is others'."""
    borrow: int | None
    """How much more than its own it may use at most; None: whatever its cohort has free. 0 without a cohort."""

    @property
    def most(self) -> int | None:
        """What it can ever use; None: nobody set a limit."""
        return None if self.borrow is None else self.nominal + self.borrow


class QueueUse(NamedTuple):
    """A ClusterQueue: a team's quotas, and what waits for them."""

    name: str
    team: str | None
    """The stack's team whose queue it is; None: it is somebody else's."""
    cohort: str | None
    stopped: str
    """Why it admits nothing, empty where it does."""
    quotas: tuple[QuotaUse, ...]
    waiting: int
    """Workloads."""
    waiting_gpus: int


class Waiter(NamedTuple):
    """Work that has no GPU yet."""

    owner: Owner
    queue: str | None
    """ClusterQueue that it waits in; None: a scheduler's."""
    place: int | None
    """In that queue, from 1."""
    on: Queueing
    gpus: tuple[tuple[str, int], ...]
    """By resource."""
    since: str
    """Since when it waits: a stage of a pipeline since its turn came."""
    reason: str
    """In the words of Kueue or of the scheduler; of a check, its name and the clusters that were asked."""

    @property
    def total(self) -> int:
        """GPUs of every resource together."""
        return sum(count for _, count in self.gpus)
