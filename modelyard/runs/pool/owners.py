"""The owner of pods and workloads: a team's run if labels name it, or else the workload that created the pods."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from modelyard.cluster.pool_objects import JOB, JOB_NAME, PIPELINE_RUN, QUEUE, RUN, STACK, STAGE
from modelyard.runs.pool.kueue import Queues, Work, owner_name, quota_of
from modelyard.runs.pool.objects import LOCAL_QUEUE, NOTHING, labels_of, made_by, workload_name
from modelyard.runs.pool.runs import Run
from modelyard.runs.pool.values import PodOwner


def owner_of_pod(pod: Mapping[str, Any], queues: Queues) -> PodOwner:
    """The owner of a pod."""
    labels, namespace = labels_of(pod), str(pod["metadata"].get("namespace") or "")
    # A notebook's pods have no label for the run, which has the name of its Job.
    name = _run(labels) or (labels.get(JOB_NAME) if labels.get(JOB) else None) or workload_name(pod)
    return _owner(_team(pod, namespace, queues), namespace, name, labels)


def owner_of_work(work: Work, queues: Queues) -> PodOwner:
    """The owner of a workload: Kueue does not copy the job's labels to it, but its pods have them."""
    labels = next((pods.labels for pods in work.pod_sets if RUN in pods.labels or JOB in pods.labels), NOTHING)
    return _owner(queues.team_of(work.queue), work.namespace, _run(labels) or owner_name(work), labels)


def _owner(team: str | None, namespace: str, name: str, labels: Mapping[str, str]) -> PodOwner:
    return PodOwner(team, namespace, name, labels.get(JOB), labels.get(STACK), labels.get(STAGE))


def _run(labels: Mapping[str, str]) -> str | None:
    """The run that commands such as ``job why`` accept: for a stage, its pipeline's run."""
    return labels.get(PIPELINE_RUN) or labels.get(RUN)


def _team(pod: Mapping[str, Any], namespace: str, queues: Queues) -> str | None:
    labels = labels_of(pod)
    local = labels.get(QUEUE) or labels.get(LOCAL_QUEUE)
    queue = queues.queue_of(namespace, local) if local else None
    work = queues.by_uid.get(str(made_by(pod).get("uid") or "")) or queues.by_run.get((namespace, labels.get(RUN, "")))
    if queue is None and work is not None:
        queue = work.queue
    return queues.team_of(queue) or queues.team_in(namespace)


# The share of a run in the pool: GPUs of running pods, and quota of GPUs for pods that do not run yet.
class Stake(NamedTuple):
    """GPUs that become free when a run is stopped."""

    gpus: int
    """GPUs of the run's running parts, and of parts whose pods are still stopping."""
    quota: int
    """GPUs for which the run has quota and that none of its pods uses yet."""
    asked: int
    """GPUs of parts that start without a queue: their pods request them from the scheduler, and may have them
    already."""

    @property
    def total(self) -> int:
        """All GPUs of the stake."""
        return sum(self)


def stake(run: Run, workloads: Iterable[Mapping[str, Any]]) -> Stake:
    """The GPUs that a run holds now in the pool.

    Args:
        run: the run.
        workloads: Kueue's workloads in the run's namespace, which have the quota of a part before it starts, for
            example while an admission check has not passed. Empty without the right to read them.
    """
    reserved = Counter[str]()
    for body in workloads:
        for owner in body["metadata"].get("ownerReferences") or ():
            # A run that has grown has ended workloads too.
            reserved[str(owner.get("uid"))] += quota_of(body)
    starting = [part for part in run.parts if part.state == "starting"]
    return Stake(
        sum(part.gpus for part in run.parts if part.state in ("running", "cancelled")),
        sum(part.gpus for part in starting if part.queue)
        + sum(reserved[part.uid] for part in run.parts if part.state == "queued"),
        sum(part.gpus for part in starting if not part.queue),
    )
