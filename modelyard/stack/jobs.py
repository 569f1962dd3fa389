"""The jobs of an ML workflow and the resources that they run on, as a stack file defines them.

Quantities stay the text that the operator wrote, as in ``config``. Numbers that may have a fraction are quantities too
(``requestTime: 50m`` is 50 milliseconds).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from modelyard.stack.remote import BucketPart, Remote
from modelyard.stack.units import Quantity, Seconds

JobType = Literal["data-sink", "dataset", "training", "batch-prediction", "serving", "llm-serving", "runtime"]
Engine = Literal["job", "ray", "spark"]
Precision = Literal["fp32", "fp16", "bf16", "fp8", "int8", "int4"]


class Model(NamedTuple):
    """The model that a job trains or serves. None means unknown."""

    parameters: Quantity | None = None
    """Number of parameters: ``7G`` is seven billion."""
    precision: Precision = "fp16"
    """Precision of the served weights."""
    size: Quantity | None = None
    """Size of the model file in bytes."""
    layers: int | None = None
    key_value_heads: int | None = None
    """Key-value heads in the attention of one layer."""
    head_size: int | None = None
    activation: Quantity | None = None
    """Bytes that one sample takes on the GPU during training, as a profiler reports."""


class Spark(NamedTuple):
    """Settings of a job with engine ``spark`` besides its resource, whose workers are the executors."""

    version: str | None = None
    """Version of Spark in the image; None is an error."""
    main_class: str | None = None
    """Main class of a JVM application."""
    driver_cpu: Quantity = "1"
    driver_memory: Quantity = "4Gi"
    """Memory of the driver's pod, overhead included."""
    overhead: Quantity | None = None
    """Memory besides the heap, as a fraction of it; None: Spark's default for the kind of application."""
    most_executors: int | None = None
    """With a number, executors scale with the work up to it; None: as many as the resource has workers."""
    least_executors: int = 0
    idle: Seconds = 60
    """Seconds after which an idle executor is removed, if executors scale."""
    service_account: str = "spark-operator-spark"
    """Service account of the driver, which creates the executors."""
    conf: Mapping[str, str] = {}


class Job(NamedTuple):
    """One stage of a workflow, with its size. None means unknown."""

    name: str
    type: JobType
    resource: str | None = None
    """Name of the resource that it runs on; None: its own resource, without a GPU."""
    rows: Quantity | None = None
    """Rows of the dataset."""
    columns: int | None = None
    request_rate: Quantity | None = None
    """Requests per second at the busiest hour."""
    request_time: Quantity | None = None
    """Seconds of one core, or of one GPU's batch, per request; for a batch prediction, per row."""
    within: Seconds | None = None
    """Seconds in which a batch prediction must finish."""
    batch: int = 1
    """Samples, or rows, that are processed together."""
    sequence: int | None = None
    """Tokens of the longest request to a language model, including the answer."""
    model: Model = Model()
    command: tuple[str, ...] = ()
    """What each submitted run executes once. Empty: the job is work for its resource's pods."""
    image: str | None = None
    """None: the image of its resource."""
    environment: str | None = None
    """The Python environment of its runs; None: that of its resource."""
    env: Mapping[str, str] = {}
    team: str | None = None
    """The team whose quota it uses; None: that of its resource."""
    priority: str | None = None
    engine: Engine = "job"
    """What runs its workers: plain indexed pods, the job's own Ray cluster, or Spark, whose executors they are."""
    spark: Spark = Spark()
    least_workers: int | None = None
    """With fewer GPUs free, the job starts with this many workers, and only Ray adds more; None: all or none start."""
    together: str | None = None
    """Node label whose value the nodes of all its workers share (``kubernetes.io/hostname``: one node)."""
    trials: int | None = None
    """Runs of one worker each that a search starts as GPUs become free."""
    time_limit: Seconds = 21600
    """Seconds that a run may take, without its time in the queue."""
    retries: int = 0
    keep: Seconds = 86400
    """Seconds that the objects of a finished run stay, for its logs; they hold no GPU."""

    @property
    def grows(self) -> bool:
        """Whether its runs start with ``least_workers``, and Ray adds workers while they run."""
        return self.engine == "ray" and self.least_workers is not None


class Runtime(NamedTuple):
    """The image of jobs if neither they nor their resource set one."""

    image: str | None = None
    cuda: str | None = None
    """CUDA version of that image, ``major.minor``; None: unknown."""


class Scale(NamedTuple):
    """How the pods that answer requests scale with them. The resource's ``workers`` is the minimum."""

    most: int
    cpu: int | None = None
    """Target CPU utilization of the pods in percent; None: 70 if there is no query."""
    query: str | None = None
    """PromQL for the load of all pods."""
    each: Quantity | None = None
    """Load of one pod."""


class Resource(NamedTuple):
    """Pods that jobs of one type share. None: the jobs' estimates decide."""

    name: str
    type: JobType
    workers: int | None = None
    cpu: Quantity | None = None
    """CPU of one worker; ``memory`` is per worker too."""
    memory: Quantity | None = None
    gpus: int | None = None
    """GPUs of one worker; None: none, or one slice if the resource names a partition."""
    gpu: str | None = None
    """The GPU model; None: that of the stack, or of the machine that the resource rents."""
    remote: Remote | None = None
    """Where its jobs run instead of the platform's cluster; None: in the platform's cluster."""
    image: str | None = None
    """None: the image of the runtime."""
    cuda: str | None = None
    """CUDA version of its jobs' images, ``major.minor``; None: that of the runtime."""
    environment: str | None = None
    """The Python environment of its jobs' runs; None: only their image."""
    team: str | None = None
    """The team whose quota its pods use; None: no team, and the pods run in the platform's namespace."""
    partition: str | None = None
    """The partition whose slices it uses; None: whole GPUs."""
    slice: str | None = None
    """The MIG profile; None: the only profile of the partition."""
    grow: bool = False
    """Whether a worker may use a whole GPU: with time-slicing while the others that share it are idle, with MIG and MPS
    by a restart on a whole GPU while enough are free.
    """
    scale: Scale | None = None
    """None: always ``workers`` pods, whatever the load."""
    port: int | None = None
    """Port on which its pods answer requests, behind a Service; None: the pods get no requests."""


# Notebooks that are submitted as jobs, and the servers in which people write them.
class NotebookUser(NamedTuple):
    """A person with a notebook server."""

    name: str
    """Name of the server, and this user's key in the login Secret."""
    team: str | None = None
    """The team whose namespace holds the server and its runs; None: the only team's, else the platform's namespace."""


class NotebookServers(NamedTuple):
    """The servers in which people write notebooks, one per person. They never have a GPU."""

    image: str
    """Image with JupyterLab, the extension and modelyard."""
    login: str
    """The Secret with a hashed password for each user, with this name in each namespace that has servers."""
    project: str | None = None
    """The project folder, as the servers see it; None: the workspace."""
    cpu: Quantity = "1"
    memory: Quantity = "4Gi"
    kernel_idle: Seconds = 3600
    """Seconds without work after which a kernel stops."""
    users: tuple[NotebookUser, ...] = ()


class Notebooks(NamedTuple):
    """The pods of submitted notebooks. ``memory`` is per GPU and ``cpu`` is per pod, as for training workers."""

    image: str | None = None
    """Image with papermill and the notebooks' kernel; None: notebooks cannot be submitted."""
    environment: str | None = None
    """Python environment with papermill and the kernel, instead of ``image``."""
    cuda: str | None = None
    """CUDA version of that image, ``major.minor``; None: unknown."""
    claim: str = "workspace"
    """The PersistentVolumeClaim with people's files, with this name in each namespace that runs notebooks."""
    path: str = "/home/jovyan/work"
    """Mount path of the users' files, in the job as in Jupyter."""
    cpu: Quantity = "4"
    memory: Quantity = "24Gi"
    time_limit: Seconds = 21600
    """Seconds that one notebook may run."""
    keep: Seconds = 86400
    """Seconds that a finished job and its log stay."""
    servers: NotebookServers | None = None
    """None: modelyard does not manage Jupyter."""


# Pipelines: stages that run jobs one after another, and the artifacts that they pass on in storage.
class Stage(NamedTuple):
    """One stage: a run of a job, or the rollout of a model to the pods that serve it."""

    name: str
    job: str | None = None
    """Name of a job with a command."""
    rollout: str | None = None
    """Name of a resource whose pods are replaced by pods that serve what the stage reads."""
    needs: tuple[str, ...] = ()
    """Stages that must succeed before it starts."""
    reads: tuple[str, ...] = ()
    """Artifacts, by the names under which earlier stages write them or the pipeline lists them as inputs."""
    writes: tuple[str, ...] = ()


class Pipeline(NamedTuple):
    """Stages that are submitted together."""

    name: str
    stages: tuple[Stage, ...]
    artifacts: BucketPart | None = None
    """Where its runs write, each below its own name; None: its stages pass on nothing."""
    inputs: Mapping[str, BucketPart] = {}
    """Data that exists before the first stage, by the name under which stages read it."""
    image: str | None = None
    """Image with Python for the pod that starts the stages; None: that of the runtime."""
    keep: Seconds = 86400
    """Seconds that a finished run and all of its stages stay, for their logs; they hold no GPU."""

    @property
    def jobs(self) -> frozenset[str]:
        """Names of the jobs that its stages run."""
        return frozenset(stage.job for stage in self.stages if stage.job)
