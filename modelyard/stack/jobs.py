"""The jobs of an ML workflow and the resources that they run on, as a stack file asks for them.

Quantities stay the text that the operator wrote, as in ``config``; numbers that may have a fraction are quantities too
(``requestTime: 50m`` is 50 milliseconds).
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, get_args

from modelyard.stack.remote import Remote

JobType = Literal["data-sink", "dataset", "training", "batch-prediction", "serving", "llm-serving", "runtime"]
JOB_TYPES: Final[tuple[JobType, ...]] = get_args(JobType)
Engine = Literal["job", "ray"]
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
    """Who runs its workers: plain pods with an index, or a Ray cluster of its own."""
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
    """The card; None: the stack's."""
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
