"""The jobs of an ML workflow and the resources that they run on, as a stack file asks for them.

Quantities stay the text that the operator wrote, as in ``config``; numbers that may have a fraction are quantities too
(``requestTime: 50m`` is 50 milliseconds).
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, get_args

from modelyard.stack.remote import Place, Remote

JobType = Literal["data-sink", "dataset", "training", "batch-prediction", "serving", "llm-serving", "runtime"]
JOB_TYPES: Final[tuple[JobType, ...]] = get_args(JobType)
Engine = Literal["job", "ray", "spark"]
Precision = Literal["fp32", "fp16", "bf16", "fp8", "int8", "int4"]


class Model(NamedTuple):
    """The model that a job trains or serves. What nobody said is None, and unknown."""

    parameters: str | None = None
    """How many it has: ``7G`` is seven billion."""
    precision: Precision = "fp16"
    """Of the weights that are served."""
    size: str | None = None
    """Bytes of its file."""
    layers: int | None = None
    key_value_heads: int | None = None
    """Of one layer's attention."""
    head_size: int | None = None
    activation: str | None = None
    """Bytes that one sample takes on the GPU while it is trained on, as a profiler says."""


class Spark(NamedTuple):
    """What a job of engine ``spark`` says beside its resource, whose workers are the executors."""

    version: str | None = None
    """Of Spark in the image; None: nobody said, which is an error."""
    main_class: str | None = None
    """Of an application of the JVM."""
    driver_cpu: str = "1"
    driver_memory: str = "4Gi"
    """Of the driver's pod, overhead included."""
    overhead: str | None = None
    """Memory beside the heap, as a part of it; None: Spark's own, by the kind of application."""
    most_executors: int | None = None
    """With a number, executors come and go with the work up to it; None: as many as the resource has workers."""
    least_executors: int = 0
    idle: int = 60
    """Seconds after which an executor without work goes, where they come and go."""
    service_account: str = "spark-operator-spark"
    """Of the driver, which makes the executors."""
    conf: Mapping[str, str] = {}


class Job(NamedTuple):
    """One stage of a workflow, with its size. What nobody said is None, and unknown."""

    name: str
    type: JobType
    resource: str | None = None
    """Name of the resource that it runs on; None: one of its own, without a GPU."""
    rows: str | None = None
    """Of the dataset."""
    columns: int | None = None
    request_rate: str | None = None
    """Requests a second at the busiest hour."""
    request_time: str | None = None
    """Seconds that one core, or one GPU's batch, works on a request; of a batch prediction, on a row."""
    within: int | None = None
    """Seconds in which a batch prediction has to be done."""
    batch: int = 1
    """Samples, or rows, that are worked on together."""
    sequence: int | None = None
    """Tokens of the longest request to a language model, its answer included."""
    model: Model = Model()
    command: tuple[str, ...] = ()
    """What it runs, once, whenever it is submitted. Without one it is work for its resource's pods."""
    image: str | None = None
    """None: its resource's."""
    environment: str | None = None
    """Whose packages its runs have; None: its resource's."""
    env: Mapping[str, str] = {}
    team: str | None = None
    """Whose quota it takes; None: its resource's."""
    priority: str | None = None
    engine: Engine = "job"
    """Who runs its workers: plain pods with an index, a Ray cluster of its own, or Spark, whose executors they are."""
    spark: Spark = Spark()
    least_workers: int | None = None
    """With fewer GPUs free it starts with so many and stays so; None: whole or not at all."""
    together: str | None = None
    """Label of nodes whose value all of its workers' nodes share (``kubernetes.io/hostname``: one node)."""
    trials: int | None = None
    """Runs of one worker each that a search begins as GPUs come free."""
    time_limit: int = 21600
    """Seconds that a run may take, its time in the queue not counted."""
    retries: int = 0
    keep: int = 86400
    """Seconds that what is left of a run stays, for its logs; it holds no GPU."""


class Runtime(NamedTuple):
    """What jobs run in where neither they nor their resource say it."""

    image: str | None = None


class Scale(NamedTuple):
    """How the pods that answer requests become more with them. ``workers`` of the resource is the fewest."""

    most: int
    cpu: int | None = None
    """Percent of their CPU that pods shall use; None: 70, where no query is asked."""
    query: str | None = None
    """PromQL for the load of all pods."""
    each: str | None = None
    """Load of one pod."""


class Resource(NamedTuple):
    """Pods that jobs of one type share. What nobody said is None: the jobs' estimates say it."""

    name: str
    type: JobType
    workers: int | None = None
    cpu: str | None = None
    """Of one worker, as ``memory`` is."""
    memory: str | None = None
    gpus: int | None = None
    """Of one worker; None: none, or one slice where it names a partition."""
    gpu: str | None = None
    """The GPU; None: the stack's, or that of the machine which it rents."""
    remote: Remote | None = None
    """Where its jobs run instead of the platform's cluster; None: there."""
    image: str | None = None
    """None: the runtime's."""
    environment: str | None = None
    """Of the runs of its jobs; None: their image alone."""
    team: str | None = None
    """Whose quota its pods take; None: none, in the platform's namespace."""
    partition: str | None = None
    """Whose slices its GPUs are; None: its GPUs are whole."""
    slice: str | None = None
    """The MIG profile; None: the only one that the partition has."""
    grow: bool = False
    """Whether a worker is to use the whole GPU while the others that share it are idle."""
    scale: Scale | None = None
    """None: as many pods as ``workers``, whatever the load."""
    port: int | None = None
    """On which its pods answer requests, which a Service spreads over them; None: nobody asks them."""


# Notebooks that are submitted as jobs, and the servers they are written in, as a stack file describes them.
class NotebookUser(NamedTuple):
    """Somebody with a notebook server of their own."""

    name: str
    """Of the server, and the key of the login's Secret that is theirs."""
    team: str | None = None
    """In whose namespace the server is, and submits; None: the only team's, else the platform's namespace."""


class NotebookServers(NamedTuple):
    """The servers in which people write notebooks, one for each. They never have a GPU."""

    image: str
    """With JupyterLab, the extension and modelyard."""
    login: str
    """The Secret with a hashed password for each user, one of this name in each namespace with servers."""
    project: str | None = None
    """The project's folder, as the servers see it; None: the workspace."""
    cpu: str = "1"
    memory: str = "4Gi"
    kernel_idle: int = 3600
    """Seconds without work after which a kernel ends."""
    users: tuple[NotebookUser, ...] = ()


class Notebooks(NamedTuple):
    """The pods of submitted notebooks. ``memory`` is per GPU and ``cpu`` is for the pod, as for training workers."""

    image: str | None = None
    """With papermill and the notebooks' kernel; None: nothing can be submitted."""
    environment: str | None = None
    """With papermill and the kernel, instead of ``image``."""
    claim: str = "workspace"
    """The PersistentVolumeClaim with people's files, one of this name in each namespace that notebooks run in."""
    path: str = "/home/jovyan/work"
    """Where the volume is mounted, in the job as in Jupyter."""
    cpu: str = "4"
    memory: str = "24Gi"
    time_limit: int = 21600
    """Seconds that one notebook may run."""
    keep: int = 86400
    """Seconds for which a finished job and its log stay."""
    servers: NotebookServers | None = None
    """None: Jupyter is somebody else's."""


# Pipelines as a stack file asks for them: stages that run jobs one after another, and what they hand on in storage.
class Stage(NamedTuple):
    """One step: a run of a job, or the roll-out of a model to the pods that serve it."""

    name: str
    job: str | None = None
    """Name of a job with a command."""
    rollout: str | None = None
    """Name of a resource whose pods are replaced by ones that serve what the stage reads."""
    needs: tuple[str, ...] = ()
    """Stages that have to succeed before it starts."""
    reads: tuple[str, ...] = ()
    """Artifacts, by the names under which stages before it write them, or the pipeline has them as inputs."""
    writes: tuple[str, ...] = ()


class Pipeline(NamedTuple):
    """Stages that are submitted together."""

    name: str
    stages: tuple[Stage, ...]
    artifacts: Place | None = None
    """Where its runs write, each below its own name; None: its stages hand on nothing."""
    inputs: Mapping[str, Place] = {}
    """What is there before the first stage, by the name under which stages read it."""
    image: str | None = None
    """With Python, for the pod that starts one stage after another; None: the runtime's."""
    keep: int = 86400
    """Seconds that a finished run stays, with all of its stages, for their logs; it holds no GPU."""

    @property
    def jobs(self) -> frozenset[str]:
        """Names of the jobs that its stages run."""
        return frozenset(stage.job for stage in self.stages if stage.job)
