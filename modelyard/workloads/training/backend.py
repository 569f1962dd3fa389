"""What the rest of modelyard knows about a training backend: one value."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from modelyard.findings import Finding
from modelyard.hardware.rules.shared import PodSizes
from modelyard.stack.config import Allocation, Config, Stack, StackPath, Target
from modelyard.workloads.facts.fact import Fact


class Dashboard(NamedTuple):
    """Ray's dashboard, which has the jobs API."""

    url: str


class HeadService(NamedTuple):
    """Ray's dashboard behind the API server's proxy, at the Service that selects the head's pods."""

    context: str | None
    """Context of the kubeconfig, None for its current one."""
    namespace: str
    deployment: str
    """Object of the Ray head's pods."""
    kind: str = "Deployment"


class Broker(NamedTuple):
    """A queue in RabbitMQ, by its management API."""

    url: str
    virtual_host: str
    queue: str


class Numbers(NamedTuple):
    """A query whose one value is the number of jobs."""

    server: str
    """URL of the Prometheus server."""
    query: str
    interval: int
    """Seconds between two samples."""


class NoJobSource(NamedTuple):
    """The stack names no source of jobs."""

    why: str
    remedy: str


JobSource = Dashboard | HeadService | Broker | Numbers | NoJobSource


class _Sizes(Protocol):
    """What every section of the stack file about a backend's pods has."""

    @property
    def replicas(self) -> int: ...
    @property
    def cpu(self) -> str: ...
    @property
    def memory(self) -> str: ...
    @property
    def image(self) -> str | None: ...


class _WorkerSizes(_Sizes, Protocol):
    """The section for the pods that take jobs; ``memory`` is per GPU."""

    @property
    def grace_period(self) -> int: ...


class _HeadSizes(_Sizes, Protocol):
    """The section for a backend's head."""

    @property
    def gpu(self) -> int: ...


class HeadWorkload(NamedTuple):
    """The workload that keeps a backend's list of jobs, on a CPU node, and stays up while the backend is idle."""

    role: str
    """Also the section of the stack file."""
    sizes: Callable[[Config], _HeadSizes]
    """That section."""
    target: Callable[[Config], Target]
    rules: Callable[[Stack, PodSizes], list[Finding]]
    """What is wrong with its pods."""

    def pods(self, config: Config) -> PodSizes:
        """The sizes of its pods, as in the stack file."""
        own = self.sizes(config)
        return PodSizes(
            role=self.role,
            deployment=self.target(config).name,
            replicas=own.replicas,
            cpu=own.cpu,
            memory=own.memory,
            gpus=own.gpu,
        )


class BackendQueries(NamedTuple):
    """PromQL for the work that a backend has; ``%(queue)s`` stands for its queue."""

    valid: str
    """One number even if no series exists, above 0 in the 30 minutes after work."""
    vendor: str
    """As the platform's documentation prints it, which is not valid PromQL: see AUT001."""
    keda: str
    """For an autoscaler that starts as many pods as the number says: a message that is taken from the queue within the
    window counts once, not as both waiting and in progress."""


class Backend(NamedTuple):
    """A way to train: its workloads, rules, queries and jobs. ``modelyard:training`` names one, the others are idle."""

    name: str
    """The value of ``modelyard:training``."""
    title: str
    worker: str
    """Role of the workload that takes jobs; also the section of the stack file with its sizes."""
    unit: str
    """What one of its pods is called."""
    sizes: Callable[[Config], _WorkerSizes]
    """That section."""
    target: Callable[[Config], Target]
    """The object whose pods take jobs."""
    gpus: Callable[[Config], int]
    """GPUs of one of its pods."""
    allocations: Callable[[Config], tuple[Allocation, ...]]
    """The modes that tasks may choose, in the order single, partial, multi_gpu."""
    longest_job: Callable[[Config], int]
    """Seconds."""
    rules: Callable[[Stack], list[Finding]]
    """What is wrong with the backend on a stack, except with its pods."""
    pod_rules: Callable[[Stack, PodSizes], list[Finding]]
    """What is wrong with pods that take jobs."""
    jobs: Callable[[Stack], JobSource]
    """Where its jobs are counted if the stack names no query."""
    query: Callable[[Config], str | None]
    """The stack's own PromQL for the number of jobs."""
    queue: Callable[[Config], str]
    """Where its waiting jobs are."""
    queries: BackendQueries
    released: Callable[[Config], bool] = lambda _: True
    """Whether the platform's release has it."""
    gpus_set_by: StackPath = ()
    """Path in the stack file of the number of GPUs; empty if no line sets it."""
    head: HeadWorkload | None = None
    facts: tuple[Fact[Config], ...] = ()
    """What patches may ask of it besides the sizes of its workloads."""
    container_rules: Callable[[Stack, Mapping[str, Any]], list[Finding]] = lambda *_: []
    """What is wrong with the container that takes jobs, as it will be in the cluster, except for its sizes."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the workloads that a job needs."""
        return (self.worker,) if self.head is None else (self.head.role, self.worker)

    def available(self, config: Config) -> bool:
        """Whether the platform has it."""
        return self.worker not in config.platform.without and self.released(config)

    def pods(self, config: Config) -> PodSizes:
        """The sizes of the pods that take jobs, as in the stack file."""
        own = self.sizes(config)
        return PodSizes(
            role=self.worker,
            deployment=self.target(config).name,
            replicas=own.replicas,
            cpu=own.cpu,
            memory=own.memory,
            gpus=self.gpus(config),
            grace_period=own.grace_period,
        )

    def queries_of(self, config: Config) -> BackendQueries:
        """The queries with the stack's own queue."""
        return BackendQueries(*(text % {"queue": self.queue(config)} for text in self.queries))

    def source(self, stack: Stack) -> JobSource:
        """Where its jobs are counted: the stack's own query wins."""
        config = stack.config
        query = self.query(config)
        if query is None:
            return self.jobs(stack)
        if config.drain.prometheus is None:
            return NoJobSource(
                f"drain.{self.name}.query needs drain.prometheus, which is not set",
                "set drain.prometheus: http://prometheus.example.com:9090",
            )
        return Numbers(config.drain.prometheus, query, config.autoscaling.scrape_interval)
