"""The objects of a pool and its runs, as values without a client."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from modelyard.hiding import Confidential
from modelyard.names import STACK_NOTE

STACK: Final = STACK_NOTE
"""Label of the objects that a stack submits: the stack's name."""
JOB: Final = "modelyard.dev/job"
"""Label of the objects that a stack submits: the name of the job."""
QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""Label that names the LocalQueue of a job."""
USER: Final = "modelyard.dev/user"
"""Label of a run's objects: the user who submitted it."""
FLAVOR: Final = "modelyard.dev/flavor"
"""Annotation of a notebook's Job: the flavor that was chosen."""
FUNCTION: Final = "modelyard.dev/function"
"""Annotation of a call's Job: the function's name."""
NOTEBOOK: Final = "modelyard.dev/notebook"
"""Annotation of a notebook's Job: the path of the notebook, as the job sees it."""
RESULT: Final = "modelyard.dev/result"
"""Annotation of a notebook's Job: the path of its result, as the job sees it."""
RUN: Final = "modelyard.dev/run"
"""Label of a run's objects and pods: the run's name."""
PIPELINE: Final = "modelyard.dev/pipeline"
"""Label of the objects of a pipeline run: the name of the pipeline."""
PIPELINE_RUN: Final = "modelyard.dev/pipeline-run"
"""Label of the objects of a pipeline run: the name of the run."""
STAGE: Final = "modelyard.dev/stage"
"""Label of a stage's objects: the name of the stage; the object that starts the stages has no such label."""
KEPT: Final = "modelyard.dev/kept-artifacts"
"""Annotation of the Job that starts the stages of a continued run: the artifacts that it does not write again, and the
run that wrote each, as a JSON object."""
RELEASED: Final = "modelyard.dev/released"
"""Annotation of a stage that may start."""
LATER: Final = "modelyard.dev/queue"
"""Annotation of a stage: the queue that it enters at its turn."""
JOB_NAME: Final = "batch.kubernetes.io/job-name"
"""Label of a Job's pods: the Job's name."""
WAITING_QUEUE: Final = "modelyard-held"
"""The queue of stages that wait. No LocalQueue has this name; without a name, Kueue might use its default queue."""
ListedObjects = tuple[Mapping[str, Any], ...]


class PoolObjects(NamedTuple):
    """The GPU pool of a cluster, as the API server returned it."""

    nodes: ListedObjects
    pods: ListedObjects
    """Pods that have not ended, with or without a node."""
    workloads: ListedObjects = ()
    queues: ListedObjects = ()
    """ClusterQueues."""
    local_queues: ListedObjects = ()
    flavors: ListedObjects = ()
    cohorts: ListedObjects = ()
    """Cohorts that are objects."""
    kueue: bool = False
    """Whether the cluster has Kueue."""
    unread: tuple[str, ...] = ()
    """Lists that these credentials may not read."""
    worker_clusters: ListedObjects = ()
    """MultiKueueClusters, if requested."""


class WorkerClusterObjects(NamedTuple):
    """The objects of a run in a worker cluster, as the API server of that cluster returned them."""

    workloads: Confidential[ListedObjects] | None
    """Workloads in the run's namespace; None: these credentials may not read them."""
    pods: Confidential[ListedObjects]
    """The run's pods, including ended ones."""


class RunObjects(NamedTuple):
    """The objects that submissions created, of all stacks."""

    jobs: ListedObjects
    ray_jobs: ListedObjects
    spark_applications: ListedObjects = ()
    unread: tuple[str, ...] = ()
    """Lists that these credentials may not read."""
