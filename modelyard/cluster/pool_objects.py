"""What is read of a pool and its runs, as values without a client."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from modelyard.names import STACK_NOTE

STACK: Final = STACK_NOTE
"""Label of what a stack submits: the stack's name."""
JOB: Final = "modelyard.dev/job"
"""Label of the same: the name of the job."""
QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""Label that names the LocalQueue of a job."""
RUN: Final = "modelyard.dev/run"
"""Label of a run's objects and pods: the run's name."""
PIPELINE: Final = "modelyard.dev/pipeline"
"""Label of what a run of a pipeline is made of: the name of the pipeline."""
PIPELINE_RUN: Final = "modelyard.dev/pipeline-run"
"""The same: the name of the run."""
STAGE: Final = "modelyard.dev/stage"
"""Label of a stage's objects: the name of the stage; what starts the stages has none."""
RELEASED: Final = "modelyard.dev/released"
"""Annotation of a stage that may start."""
LATER: Final = "modelyard.dev/queue"
"""Annotation of a stage: the queue that it goes into at its turn."""
JOB_NAME: Final = "batch.kubernetes.io/job-name"
"""Label of a Job's pods: its name."""
HELD: Final = "modelyard-held"
"""The queue of stages that wait. No LocalQueue has this name; with none, Kueue might give them its default one."""
Objects = tuple[Mapping[str, Any], ...]


class PoolObjects(NamedTuple):
    """What a cluster has of its GPU pool, as the API server returned it."""

    nodes: Objects
    pods: Objects
    """Those that have not ended, on a node or without one."""
    workloads: Objects = ()
    queues: Objects = ()
    """ClusterQueues."""
    local_queues: Objects = ()
    flavors: Objects = ()
    cohorts: Objects = ()
    """Those that are objects of their own."""
    kueue: bool = False
    """Whether the cluster has Kueue."""
    unread: tuple[str, ...] = ()
    """Lists that these credentials may not read."""
    worker_clusters: Objects = ()
    """MultiKueueClusters, where somebody asked for them."""


class FarObjects(NamedTuple):
    """What a worker cluster has of a run that Kueue sent there, as its API server returned it."""

    workloads: Objects | None
    """Of the run's namespace; None: these credentials may not read them."""
    pods: Objects
    """The run's, ended ones too."""


class RunObjects(NamedTuple):
    """The objects that submissions made, of whichever stack."""

    jobs: Objects
    ray_jobs: Objects
    spark_applications: Objects = ()
    unread: tuple[str, ...] = ()
    """Lists that these credentials may not read."""
