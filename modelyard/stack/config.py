"""The settings of a stack as frozen values: one NamedTuple per section of the stack file.

Quantities stay the text that the operator wrote (they are checked); ``modelyard.quantity`` turns them into numbers.
For GPU workloads, ``memory`` is per GPU and ``cpu`` is per pod.
"""

import re
from collections.abc import Container, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hiding import hidden
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Job, Notebooks, Pipeline, Resource, Runtime
from modelyard.stack.pool import Flavor, NodePool, Partition, Priority, Team, WorkerCluster
from modelyard.stack.remote import Bucket, Provider
from modelyard.stack.units import COMPUTED, OneLine, Quantity, Seconds

Mode = Literal["existing", "managed"]
Allocation = Literal["single", "partial", "multi_gpu"]
AutoscalingMode = Literal["none", "annotations", "keda"]
Queries = Literal["valid", "vendor"]
RuleLevel = Literal["mandatory", "advisory", "disabled"]
StackPath = tuple[str | int, ...]
"""Path of a value in a stack file, section first: ``("rayWorker", "memory")``."""


def dotted(path: StackPath) -> str:
    """Returns a path as people write it, without secrets in its keys: ``rayWorker.memory``, ``patches[0].name``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{hidden(part)}" for part in path).removeprefix(".")


def nearest_place(
    places: Mapping[StackPath, tuple[int, int]], path: StackPath, nowhere: tuple[int, int] = (0, 0)
) -> tuple[int, int]:
    """Returns line and column of a path in a YAML file, or of its nearest ancestor that has them."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path, nowhere)


def about_entries(findings: Iterable[Finding], entries: Container[str]) -> list[Finding]:
    """Returns the findings about entries of a stack file or what is in them: of ``jobs[0]``, also ``jobs[0].team``."""
    return [one for one in findings if one.field.partition(".")[0] in entries]


class Platform(NamedTuple):
    """The platform that the workloads belong to."""

    release: str
    """``YY.MM``, such as ``23.10``."""
    mode: Mode = "existing"
    """``existing`` patches the Deployments in the cluster; ``managed`` also owns their base."""
    namespace: str = "default"
    cuda: str = "11.7"
    """CUDA version that the platform's images need."""
    images_embed_ptx: bool = False
    """Whether the images contain PTX, which the driver compiles for newer GPUs."""
    installers: tuple[str, ...] = ()
    """Field managers that do not write by themselves, regardless of their names."""
    without: tuple[str, ...] = ()
    """Workloads that the platform does not have, by their keys under ``targets``."""


class SeenGpu(NamedTuple):
    """What a cluster's nodes say of a GPU whose name modelyard does not know."""

    labels: tuple[str, ...]
    """Values of the label ``nvidia.com/gpu.product`` that are the name, letter case aside."""
    memory_gb: int | None
    """Least memory on these nodes in GB of 10^9 bytes, rounded down; None if one has no label with it."""


class Gpu(NamedTuple):
    """The GPU of the training backend."""

    model: str
    per_worker: int = 1
    """GPUs of one worker pod."""
    allocation: Allocation = "single"
    """Default mode of training tasks; each task may choose its own."""
    seen: Annotated[SeenGpu | None, COMPUTED] = None
    """Set for a plan if the name is unknown and nodes have it."""


class ModelService(NamedTuple):
    """CPU inference."""

    replicas: int = 1
    cpu: Quantity = "4"
    memory: Quantity = "16Gi"
    image: str | None = None
    volume: Quantity = "50Gi"
    gpu: int = 0


class RayHead(NamedTuple):
    """The head of the Ray cluster: one pod on a CPU node."""

    replicas: int = 1
    cpu: Quantity = "2"
    memory: Quantity = "16Gi"
    image: str | None = None
    gpu: int = 0


class RayWorker(NamedTuple):
    """Ray training workers. ``memory`` is per GPU."""

    replicas: int = 1
    cpu: Quantity = "4"
    memory: Quantity = "24Gi"
    image: str | None = None
    grace_period: Seconds = 21900
    """Seconds that a pod may keep running after it is asked to stop."""


class CeleryVariables(NamedTuple):
    """Names of the environment variables by which a Celery worker learns its settings; an empty one is not set.

    ``CELERY_`` and the name of the setting is what Celery reads with ``namespace="CELERY"`` (Celery documentation,
    first steps with Django; configuration: ``worker_concurrency``, ``task_time_limit``). Which queues a worker takes is
    no setting but an option, ``--queues``; the platform's own arguments read it from ``CELERY_QUEUES``.
    """

    queue: str = "CELERY_QUEUES"
    concurrency: str = "CELERY_WORKER_CONCURRENCY"
    job_limit: str = "CELERY_TASK_TIME_LIMIT"


class Celery(NamedTuple):
    """Celery training tasks. ``memory`` is per GPU; each replica trains one job at a time."""

    replicas: int = 1
    cpu: Quantity = "4"
    memory: Quantity = "24Gi"
    image: str | None = None
    concurrency: int = 1
    queue: str = "celery-model-training-tasks-gpu"
    job_limit: Seconds = 21600
    """Seconds that one training job may take."""
    grace_period: Seconds = 21900
    consumer_timeout: Seconds | None = None
    """Seconds after which the broker takes back an unacknowledged job; None: not set."""
    variables: CeleryVariables = CeleryVariables()
    arguments: tuple[str, ...] = ()
    """The container's arguments, with ``{queue}``, ``{concurrency}`` and ``{jobLimit}``; empty: the platform's own."""


class Autoscaling(NamedTuple):
    """Whether and how the training backend scales down when there is no training job."""

    mode: AutoscalingMode = "none"
    max_replicas: int = 1
    """Maximum replicas of the active backend; the other backend stays at 0."""
    queries: Queries = "valid"
    scrape_interval: Seconds = 30
    """Seconds between two samples of the metrics in the queries. The default is that of the Prometheus Operator."""
    prometheus: str | None = None
    """Address of the server that KEDA queries; set in mode keda."""
    polling_interval: Seconds = 30
    """Seconds between two queries of KEDA; the default is KEDA's."""
    cooldown_period: Seconds = 300
    """Seconds without work after which KEDA scales a backend to zero; the default is KEDA's. A pod with a job gets its
    grace period on top."""


class RayJobs(NamedTuple):
    """How to count Ray's jobs; with neither field set, through the API server's proxy of the head's Service."""

    jobs: str | None = None
    """Address of the dashboard."""
    query: str | None = None
    """PromQL for the number of jobs; it wins over ``jobs``."""


class CeleryJobs(NamedTuple):
    """How to count Celery's jobs at the broker; with neither field set, the number of jobs is unknown."""

    management: str | None = None
    """Address of RabbitMQ's management API."""
    virtual_host: str = "/"
    query: str | None = None
    """PromQL for the number of jobs; it wins over ``management``."""


class Drain(NamedTuple):
    """Waiting for running jobs before GPU pods are stopped."""

    enabled: bool = True
    timeout: Seconds = 21900
    """Seconds after which an apply gives up: the longest job plus five minutes."""
    quiet: Seconds | None = None
    """Seconds without a job after which a backend is idle; None: the grace period of the pods that send requests."""
    ray: RayJobs = RayJobs()
    celery: CeleryJobs = CeleryJobs()
    prometheus: str | None = None
    """Address of the server that answers the queries."""


class Target(NamedTuple):
    """Names of the object of one of the platform's workloads, and of the container that patches change."""

    deployment: str
    container: str
    stateful_set: str | None = None
    """Name of the StatefulSet, if the workload is one; then ``deployment`` does not count."""
    ray_cluster: str | None = None
    """Name of KubeRay's RayCluster, if the workload is a part of one; then ``deployment`` does not count."""
    ray_service: str | None = None
    """Name of KubeRay's RayService, if the workload is a part of one; then ``deployment`` does not count."""
    group: str = ""
    """Name of the worker group in the RayCluster or RayService; empty for its head."""

    @property
    def kind(self) -> str:
        """Kind of the object."""
        kinds = {"StatefulSet": self.stateful_set, "RayCluster": self.ray_cluster, "RayService": self.ray_service}
        return next((kind for kind, name in kinds.items() if name), "Deployment")

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.stateful_set or self.ray_cluster or self.ray_service or self.deployment


RAY_KINDS: Final = {"rayCluster": "RayCluster", "rayService": "RayService"}
"""The kinds that only Ray's workloads may have, by the key with the name of the object."""
TARGET_KINDS: Final = {"deployment": "Deployment", "statefulSet": "StatefulSet", **RAY_KINDS}
"""The kinds of a target, by the key with its name."""


class Targets(NamedTuple):
    """The objects of the platform's workloads: the vendor's Deployments, unless the stack names others."""

    api_server: Target = Target("deployment-api-server", "api-server")
    model_service: Target = Target("deployment-model-service", "model-service")
    ray_head: Target = Target("deployment-ray-head", "ray-head")
    ray_worker: Target = Target("deployment-ray-model-training-worker", "ray-model-training-worker")
    celery: Target = Target("deployment-model-training-tasks-gpu", "model-training-tasks-gpu")


ROLES: tuple[str, ...] = tuple(re.sub(r"_(.)", lambda found: found[1].upper(), field) for field in Targets._fields)
"""The platform's workloads by what they do: the keys under ``targets``."""
WORKERS: Mapping[str, str] = {"ray": "rayWorker", "celery": "celery"}
"""The workload that takes the jobs of each training backend."""
PARTS: tuple[str, ...] = (*ROLES, "gpu", "autoscaling")
"""The sections of a stack file that are about parts of the platform: its workloads, their GPU and their scaling."""


class PatchChoice(NamedTuple):
    """A patch that the stack adds, pins, parametrises or drops."""

    name: str
    version: str | None = None
    params: Mapping[str, Any] = {}
    enabled: bool = True


class Waiver(NamedTuple):
    """A finding that this stack accepts until a date."""

    code: str
    reason: OneLine
    expires: date
    """Last day on which the waiver holds."""
    target: str | None = None
    by: str | None = None


class RuleChoice(NamedTuple):
    """Settings for one rule of the project's policies; what is left out does not change."""

    level: RuleLevel | None = None
    params: Mapping[str, Any] = {}


class Policy(NamedTuple):
    """A stack's settings for rules, by code; they override what ``policies/policy.yaml`` sets for the project."""

    rules: Mapping[str, RuleChoice] = {}


class Config(NamedTuple):
    """Everything under ``modelyard:`` in one stack file."""

    training: str
    """Name of the training backend that is active: ``workloads.training`` has them."""
    platform: Platform
    gpu: Gpu
    kubernetes_version: str = "1.35"
    labels: Mapping[str, str] = {}
    """What the command line chooses stacks by, such as region and tier."""
    model_service: ModelService = ModelService()
    ray_head: RayHead = RayHead()
    ray_worker: RayWorker = RayWorker()
    celery: Celery = Celery()
    autoscaling: Autoscaling = Autoscaling()
    notebooks: Notebooks = Notebooks()
    runtime: Runtime = Runtime()
    drain: Drain = Drain()
    targets: Targets = Targets()
    policy: Policy = Policy()
    providers: tuple[Provider, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    environments: tuple[Environment, ...] = ()
    resources: tuple[Resource, ...] = ()
    jobs: tuple[Job, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    partitions: tuple[Partition, ...] = ()
    worker_clusters: tuple[WorkerCluster, ...] = ()
    teams: tuple[Team, ...] = ()
    priorities: tuple[Priority, ...] = ()
    patches: tuple[PatchChoice, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    prices: str | None = None
    """Path of the price file, relative to the project; None: only list prices are used."""

    def entries(self, *chosen: Job | Resource | Team | Pipeline | Environment) -> frozenset[str]:
        """Returns entries of this config as findings name them, such as ``jobs[0]``; recognizes them by identity."""
        known = {id(one) for one in chosen}
        return frozenset(
            f"{section}[{index}]"
            for section in ("jobs", "resources", "teams", "pipelines", "environments")
            for index, one in enumerate(getattr(self, section))
            if id(one) in known
        )


class Scope(NamedTuple):
    """What a stack that one component makes is about: some of the platform's workloads, the others are left alone."""

    component: str
    """The component in the engine's state: its type and name, ``ModelService::m``."""
    sections: frozenset[str]
    """Sections of the stack file that the component sets. A patch takes part if it reads one of them."""
    roles: frozenset[str]
    """Workloads whose objects it may change."""
    patches: Path
    """Folder that holds ``patches/``."""
    former: tuple[str, ...] = ()
    """Earlier names of the component, as ``component``."""

    def concerns(self, finding: Finding, deployments: Mapping[str, str]) -> bool:
        """Whether a finding is about the component; ``deployments`` has the workload of each Deployment."""
        section = finding.field.partition(".")[0].partition("[")[0]
        if section in PARTS and section not in self.sections:
            return False
        if section == "resources" and ".remote.cluster" not in finding.field:
            return False  # about jobs, which only stack files have
        return deployments.get(finding.target, "") in {"", *self.roles}


class Stack(NamedTuple):
    """One stack: its config, and the position of each value."""

    name: str
    file: str
    """Path as shown to the user, relative to the project."""
    sha256: str
    """Of the settings that a plan reads. Comments, layout and Pulumi's own keys (``encryptionsalt``) do not count."""
    config: Config
    context: str | None
    """``kubernetes:context`` of the stack; None: the current context of the kubeconfig."""
    positions: Mapping[StackPath, tuple[int, int]]
    """1-based line and column of every key and list item, by path in the file's own spelling."""
    project: str = ""
    """Name of the project in Pulumi.yaml; empty if it was not read."""
    remote: str = ""
    """Name of the remote cluster of this part of the stack; empty: the platform's cluster."""
    scope: Scope | None = None
    """The part of the platform that it is about; None: all of it."""

    @property
    def full_name(self) -> str:
        """``project/name``, which is unique across projects, wherever their states are stored."""
        return f"{self.project}/{self.name}" if self.project else self.name

    def finding(
        self,
        code: str,
        severity: Severity,
        path: StackPath,
        summary: str,
        remedy: str,
        *,
        detail: str = "",
        target: str = "",
    ) -> Finding:
        """Returns a finding about the value at ``path`` of the stack file."""
        found = Finding(code, severity, summary, target=target, field=dotted(path), detail=detail, remedy=remedy)
        return self.place(found, *path)

    def position(self, path: StackPath) -> tuple[int, int]:
        """Returns line and column of ``path`` or its nearest ancestor in the stack file; zeros if it has neither."""
        return nearest_place(self.positions, path)

    def place(self, finding: Finding, *path: str | int) -> Finding:
        """Returns the finding with this stack's name, and the position of ``path`` or its nearest ancestor."""
        line, column = self.position(path)
        return finding._replace(stack=self.name, file=self.file, line=line, column=column)
