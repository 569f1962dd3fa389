"""The arguments of components: the keys of the stack file's sections, in Python's spelling.

What is left out has the default of the stack file. Quantities are those of Kubernetes (``4``, ``500m``, ``16Gi``);
durations are seconds, or text such as ``6h5m``. All values are plain: a plan needs them before the engine has made
anything, so no argument takes an output of another resource.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypedDict

BackendName = Literal["ray", "celery"]
QuantityText = str | int | float
Duration = str | int


class TargetSection(TypedDict, total=False):
    """The name of a Deployment, and of the container in it that patches change."""

    deployment: str
    """The vendor's name by default, such as ``deployment-model-service``."""
    stateful_set: str
    """Name of the StatefulSet, if the workload is one."""
    container: str


class RayTargetSection(TargetSection, total=False):
    """The object of the Ray head or workers, which may be a part of a RayCluster or RayService."""

    ray_cluster: str
    """Name of KubeRay's RayCluster, if it is in one."""
    ray_service: str
    """Name of KubeRay's RayService, if it is in one."""
    group: str
    """Name of the worker group in the RayCluster or RayService that has the Ray workers."""


class PodSection(TargetSection, total=False):
    """The pods of a workload."""

    replicas: int
    """Number of pods; 1 by default."""
    cpu: QuantityText
    """Cores of one pod."""
    memory: QuantityText
    """Memory of one pod; for training, memory per GPU."""
    image: str
    """Used in mode ``managed``; in mode ``existing`` the platform keeps its own."""


class ModelServiceSection(PodSection, total=False):
    """CPU inference; by default 4 cores, 16Gi, and a volume of 50Gi."""

    volume: QuantityText
    """Local volume for models."""


class RayHeadSection(PodSection, RayTargetSection, total=False):
    """The Ray head: one pod on a CPU node; by default 2 cores and 16Gi."""


class RayWorkerSection(PodSection, RayTargetSection, total=False):
    """Ray training workers; by default 4 cores and 24Gi per GPU."""

    grace_period: Duration
    """How long a pod may keep running after it is asked to stop; 6h5m by default."""


class CeleryVariablesSection(TypedDict, total=False):
    """Names of the environment variables by which a Celery worker learns its settings; an empty one is not set."""

    queue: str
    concurrency: str
    job_limit: str


class CelerySection(PodSection, total=False):
    """Celery training tasks; by default 4 cores and 24Gi per GPU. Each pod trains one job at a time."""

    concurrency: int
    queue: str
    """Name of the queue that the workers take jobs from."""
    job_limit: Duration
    """How long one job may take; 6h by default."""
    grace_period: Duration
    """How long a pod may keep running after it is asked to stop; 6h5m by default."""
    consumer_timeout: Duration
    """After this time the broker takes back a job that is not acknowledged."""
    variables: CeleryVariablesSection
    arguments: Sequence[str]
    """The container's arguments, with ``{queue}``, ``{concurrency}`` and ``{jobLimit}``."""


class GpuSection(TypedDict, total=False):
    """The GPU of the training pods."""

    model: str
    """Such as ``A10``; ``modelyard gpus`` lists all."""
    per_worker: int
    """GPUs of one Ray worker; 1 by default."""
    allocation: Literal["single", "partial", "multi_gpu"]


class AutoscalingSection(TypedDict, total=False):
    """How training scales down when there is no job."""

    mode: Literal["annotations", "keda"]
    """``annotations`` (default): the platform's own autoscaler; ``keda``: ScaledObjects that the component owns."""
    max_replicas: int
    """Maximum number of pods of the active training backend; 1 by default."""
    queries: Literal["valid", "vendor"]
    scrape_interval: Duration
    """Time between two samples of the metrics; 30 seconds by default."""
    prometheus: str
    """Address of the server that KEDA queries; needed in mode ``keda``."""
    polling_interval: Duration
    """Time between two queries of KEDA; 30 seconds by default."""
    cooldown_period: Duration
    """Time without work after which KEDA scales to zero; 5 minutes by default."""


class RayJobsSection(TypedDict, total=False):
    """How to count Ray's jobs; by default at the head, through the API server."""

    jobs: str
    """Address of the dashboard."""
    query: str
    """PromQL for the number of jobs."""


class CeleryJobsSection(TypedDict, total=False):
    """How to count Celery's jobs."""

    management: str
    """Address of RabbitMQ's management API."""
    virtual_host: str
    query: str
    """PromQL for the number of jobs."""


class DrainSection(TypedDict, total=False):
    """Waiting for running jobs before GPU pods are stopped."""

    enabled: bool
    """True by default."""
    timeout: Duration
    """After this time an update gives up; 6h5m by default."""
    quiet: Duration
    """Time without a job after which a training backend is idle."""
    ray: RayJobsSection
    celery: CeleryJobsSection
    prometheus: str
    """Address of the server that answers the queries."""


class _Named(TypedDict):
    name: str


class PatchEntry(_Named, total=False):
    """A patch that is added, pinned to a version, given parameters, or left out."""

    version: str
    params: Mapping[str, Any]
    enabled: bool


class _Waived(TypedDict):
    code: str
    reason: str
    expires: date | str


class WaiverEntry(_Waived, total=False):
    """A finding that is accepted until a date."""

    target: str
    by: str


class PlatformSection(TypedDict, total=False):
    """The platform that the workloads belong to."""

    release: str
    """``YY.MM``; 23.10 by default."""
    mode: Literal["existing", "managed"]
    """``existing`` (default) patches what is installed; ``managed`` also creates the objects."""
    namespace: str
    """By default the one of ``kubernetes:namespace``, else ``default``."""
    cuda: str
    """CUDA version that the platform's images need."""
    images_embed_ptx: bool
    """Whether the images contain PTX, which the driver compiles for newer GPUs."""
    installers: Sequence[str]
    """Field managers that do not write by themselves."""
    without: Sequence[str]
    """Workloads that the platform does not have, such as ``celery``."""


class Surroundings(TypedDict, total=False):
    """The platform and cluster of a component. Every component except ``RemoteCluster`` takes these arguments too."""

    platform: PlatformSection
    """As in the section ``platform`` of a stack file; the release is 23.10 by default."""
    namespace: str
    """Short for ``namespace`` in ``platform``; by default the one of ``kubernetes:namespace``, else ``default``."""
    context: str
    """Context of the kubeconfig; by default the one of ``kubernetes:context``, else the current one."""
    project: Path | str
    """Folder that holds ``patches/``; by default the Pulumi project. Without a ``patches.lock``, all built-in patches
    are used as well."""
    kubernetes_version: str
    """Version of Kubernetes, such as ``1.35``."""
    drain: DrainSection
    """As in the section ``drain`` of a stack file."""
    patches: Sequence[PatchEntry]
    """As in the section ``patches`` of a stack file."""
    waivers: Sequence[WaiverEntry]
    """As in the section ``waivers`` of a stack file."""


class ModelServiceArgs(ModelServiceSection, Surroundings, total=False):
    """All arguments of ``ModelService``."""


class CeleryTrainingArgs(CelerySection, Surroundings, total=False):
    """The arguments of ``CeleryTraining`` except its GPU."""


class AutoscalingArgs(AutoscalingSection, Surroundings, total=False):
    """The arguments of ``Autoscaling`` except the training backend."""


class TrainingSwitchArgs(TargetSection, Surroundings, total=False):
    """The arguments of ``TrainingSwitch`` except the training backend."""


class RemoteQuotaSection(TypedDict, total=False):
    """What jobs may have in a remote cluster at once."""

    cpu: QuantityText
    memory: QuantityText
    gpus: int


class RemoteClusterArgs(TypedDict, total=False):
    """The arguments of ``RemoteCluster``."""

    controller: str
    """Required: its API server, as IP address or host name, with ``:PORT`` unless that is 6443, or as URL."""
    context: str
    """Required: kubeconfig context of the remote cluster."""
    namespace: str
    """Namespace of the jobs there; ``modelyard-remote`` by default."""
    create_namespace: bool
    """Whether the component creates and deletes that namespace; true by default."""
    quota: RemoteQuotaSection
    """If unset, jobs start at once."""
    read_secret: str
    """Secret there with the credentials that read the jobs' data."""
    write_secret: str
    """Name prefix of the Secrets there with the credentials for the jobs' results."""
    home_context: str
    """Context of the home cluster; by default the one of ``kubernetes:context``, else the current one."""
    project: Path | str
    """Folder that holds ``patches/``, as for other components."""
    kubernetes_version: str
    """Version of Kubernetes, such as ``1.35``."""


def gpu_section(gpu: str | GpuSection) -> GpuSection:
    """The section of a GPU that may be named by its model alone."""
    return {"model": gpu} if isinstance(gpu, str) else gpu


def autoscaling_section(autoscaling: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The section of autoscaling by its name; none where nothing is to scale."""
    return {} if autoscaling is None else {"autoscaling": {"mode": "annotations", **autoscaling}}


def divided(args: Mapping[str, Any]) -> tuple[dict[str, Any], Surroundings]:
    """A component's own arguments, and its surroundings."""
    around: Any = {name: value for name, value in args.items() if name in Surroundings.__annotations__}
    return {name: value for name, value in args.items() if name not in around}, around
