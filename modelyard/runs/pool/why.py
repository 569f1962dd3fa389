"""Why a run waits or failed (quota, queue, nodes and pods, in this order), and what would help."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from modelyard.cluster.pods import waiting_containers
from modelyard.cluster.pool_objects import RELEASED, PoolObjects, WorkerClusterObjects
from modelyard.kube.state import annotations_of
from modelyard.runs.pool.diagnosis import Diagnosis, DiagnosisBuilder, Evidence
from modelyard.runs.pool.dispatch import add_clusters, add_unreached, located
from modelyard.runs.pool.kueue import Queues
from modelyard.runs.pool.objects import INDEX, NOTHING, condition, labels_of, status_of, written_at
from modelyard.runs.pool.room import add_places, floor_of
from modelyard.runs.pool.runs import Run, RunPart
from modelyard.runs.pool.states import pod_sets
from modelyard.runs.pool.waiting import add_evicted, add_growing, add_waiting
from modelyard.runs.pool.words import seconds_since, span
from modelyard.stack.config import Config
from modelyard.stack.words import few, plural

_NO_CLAIM = re.compile(r'persistentvolumeclaim "([^"]+)" not found')


def why(
    run: Run,
    pods: Iterable[Mapping[str, Any]],
    objects: PoolObjects,
    *,
    config: Config,
    now: datetime,
    by_cluster: Mapping[str, WorkerClusterObjects] = MappingProxyType({}),
) -> Diagnosis:
    """Why a run waits or has failed; for a run that is active or has succeeded, since when.

    Args:
        run: the run.
        pods: the run's pods, including ended ones.
        objects: the pool, with everything that runs there.
        config: the stack's config.
        now: the present, with a time zone.
        by_cluster: the run's objects on worker clusters, by the stack's names of the clusters that were read.
    """
    diagnosis, known = DiagnosisBuilder(), Evidence(objects, Queues(objects, config), now, config, by_cluster)
    (run,) = located((run,), objects.workloads, config)
    ours = [*pods, *(pod for name in run.clusters if name in by_cluster for pod in by_cluster[name].pods.reveal())]
    match run.state:
        case "succeeded":
            return diagnosis.why(run, f"succeeded{_lasted(run, now)}")
        case "failed":
            return _failed(run, ours, diagnosis, known)
        case "cancelled":
            living = [pod for pod in ours if status_of(pod).get("phase") in ("Pending", "Running")]
            still = "is" if len(living) == 1 else "are"
            return diagnosis.why(run, f"was cancelled; {plural(len(living), 'pod')} {still} still stopping")
        case "held":
            _given_up(run, diagnosis)
            return diagnosis.why(run, "cannot start")
        case "suspended":
            diagnosis.cause("queue", "its objects are suspended and name no queue, so they cannot start")
            first = "" if run.remote else "give its job or resource a team, and "
            diagnosis.helps.append(f"{first}{run.again}")
            return diagnosis.why(run, "is suspended")
        case "queued":
            waiting = [part for part in run.parts if part.state == "queued"]
            add_waiting(run, waiting[0], diagnosis, known)
            _given_up(run, diagnosis)
            more = f" ({plural(len(waiting), run.noun)})" if len(run.parts) > 1 else ""
            return diagnosis.why(run, f"{_waited(waiting, known)}{more}")
        case _:
            _started(run, ours, diagnosis, known)
            queued = any(part.queue for part in run.parts if part.state == "starting")
            state = f"{'has its quota but ' * queued}is not running yet"
            waiting = [part for part in run.parts if part.state == "queued"]
            if run.state == "running":
                state = _running("partly running" if waiting else "running", run, now)
            if waiting:
                add_waiting(run, waiting[0], diagnosis, known)
                state += f": {run.count('running')} of {plural(len(run.work), run.noun)}"
            for part in run.parts:
                add_growing(run, part, diagnosis, known)
            _given_up(run, diagnosis)
            return diagnosis.why(run, state)


def _lasted(run: Run, now: datetime) -> str:
    start, end = seconds_since(run.started, now), seconds_since(run.ended, now)
    return "" if start is None or end is None else f" after {span(start - end)}"


def _running(words: str, run: Run, now: datetime) -> str:
    start = seconds_since(run.started, now)
    return f"is {words}" if start is None else f"has been {words} for {span(start)}"


def _waited(waiting: Iterable[RunPart], known: Evidence) -> str:
    seconds = seconds_since(min(_waits_since(part, known) for part in waiting), known.now)
    return "is waiting for its GPUs" if seconds is None else f"has been waiting for its GPUs for {span(seconds)}"


def _waits_since(part: RunPart, known: Evidence) -> str:
    """The time since which a part waits; for a stage, its turn instead of the submission of the run."""
    if (work := known.queues.by_uid.get(part.uid)) is not None:
        return work.since
    return written_at(part.body.reveal(), "metadata", "annotations", RELEASED) if part.stage else part.created


def _given_up(run: Run, diagnosis: DiagnosisBuilder) -> None:
    """Adds that stages which wait for other stages will not start, because nothing starts stages any more."""
    leader, held = run.leader, run.count("held")
    if not held or (leader is not None and not leader.over):
        return
    end = "is gone" if leader is None else "has ended" if leader.state == "succeeded" else str(leader.state)
    stages = "they" if held == len(run.stages) else plural(held, "stage")
    diagnosis.cause(
        "queue", f"the Job that starts its stages {end}, so {stages} cannot start", leader.message if leader else None
    )
    diagnosis.helps.append(run.again)


def _failed(run: Run, pods: list[Mapping[str, Any]], diagnosis: DiagnosisBuilder, known: Evidence) -> Diagnosis:
    for part in run.parts:
        if part.state == "failed":
            name = f"{part.name}: " if len(run.parts) > 1 else ""
            diagnosis.cause("end", name + WORDS.get(part.reason, part.reason or "it failed"), part.message)
    ends = failed_pods(pods)
    if ends:
        first = f"{plural(len(ends), 'pod')} failed{', first' if len(ends) > 1 else ':'} {ends[0]}"
        diagnosis.cause("pods", first, *(str(end) for end in ends[1:5]))
    elif run.clusters:
        add_clusters(run, diagnosis)
        diagnosis.helps.append(
            f"{run.again}; follow its log while it runs: modelyard job logs {run.stack} RUN --follow"
        )
    elif not pods and run.reason != "DeadlineExceeded":
        diagnosis.cause("pods", "its pods are deleted, so their exit codes are unknown")
    for part in run.parts:
        add_evicted(part, diagnosis, known)
    diagnosis.helps += what_would_help(run, ends, logs=bool(pods))
    return diagnosis.why(run, f"failed{_lasted(run, known.now)}")


def _started(run: Run, pods: list[Mapping[str, Any]], diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds what keeps pods that may run from running."""
    add_clusters(run, diagnosis)
    # Its waiting parts report this too.
    if run.dispatched and not run.count("queued"):
        add_unreached(run, diagnosis, known)
    for part in run.parts:
        work = known.queues.by_uid.get(part.uid)
        admitted = condition(work.body, "Admitted") if work is not None and part.state == "starting" else NOTHING
        if admitted.get("status") == "False":
            diagnosis.cause("queue", "the run has its quota but is not admitted yet", admitted.get("message"))
    living = [pod for pod in pods if status_of(pod).get("phase") == "Pending"]
    # What Kueue holds back waits for quota.
    homeless = [pod for pod in living if not (pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"))]
    if homeless:
        diagnosis.cause(
            "pods",
            f"{plural(len(homeless), 'pod')} {'is' if len(homeless) == 1 else 'are'} not scheduled",
            str(condition(homeless[0], "PodScheduled").get("message") or ""),
        )
        # The nodes of other clusters are not known here.
        floor = floor_of(diagnosis, known) if not run.clusters else None
        found = floor.places(homeless[0]["spec"], len(homeless)) if floor is not None else None
        if found is not None:
            add_places(found, len(homeless), diagnosis)
        if missing := _claims(homeless):
            where = f" of {few(run.clusters)}" if run.clusters else ""
            diagnosis.helps.append(
                f"create the PersistentVolumeClaim {few(missing)} in namespace {run.namespace}{where}"
            )
        elif not (run.clusters or run.remote) and (found is None or found.room < len(homeless)):
            diagnosis.helps.append(f"see which runs hold the GPUs: modelyard gpus --live {run.stack}")
    for pod in living:
        _not_started(run, pod, diagnosis)
    if run.state == "starting" and not (pods or diagnosis.causes):
        sets = [count for part in run.parts if part.state == "starting" for _, count in pod_sets(part.body.reveal())]
        diagnosis.cause("pods", f"0 of {plural(sum(sets), 'pod')} created")
        diagnosis.helps.append(
            "wait a few seconds; if nothing changes, its controller is not running or a ResourceQuota of the namespace "
            "is used up"
        )


def _claims(pods: Iterable[Mapping[str, Any]]) -> list[str]:
    """The PersistentVolumeClaims that keep pods from getting a node."""
    words = (str(condition(pod, "PodScheduled").get("message") or "") for pod in pods)
    return [*dict.fromkeys(name for one in words for name in _NO_CLAIM.findall(one))]


def _not_started(run: Run, pod: Mapping[str, Any], diagnosis: DiagnosisBuilder) -> None:
    """Adds the containers of a pod that cannot start."""
    for reason, message in waiting_containers(pod):
        diagnosis.cause("pods", f"{pod['metadata']['name']}: {reason}", message)
        if "Image" in reason:
            diagnosis.helps += (
                "if the image's name is wrong, correct it in the stack file, then "
                f"modelyard job cancel {run.words}, and {run.again}",
                "if the right to pull it is missing, grant it: Kubernetes then tries again",
            )


# Why a run failed: what its objects say of their end, and what their pods' containers ended with.
WORDS: Final[Mapping[str, str]] = {
    "DeadlineExceeded": "it ran longer than its time limit",
    "BackoffLimitExceeded": "a worker failed, and no retry was left",
    "FailedIndexes": "a worker failed, and no retry was left",
    "MaxFailedIndexesExceeded": "too many workers failed",
    "PodFailurePolicy": "a worker failed in a way that is not retried",
    "AppFailed": "its program failed",
    "SubmissionFailed": "Ray could not start it",
    "JobDeploymentStatusTransitionGracePeriodExceeded": "Ray lost track of it",
}
"""What the reasons of Kubernetes and KubeRay mean."""


class PodEnd(NamedTuple):
    """How one pod ended."""

    pod: str
    worker: str
    """The pod's number among the run's workers; empty if it has none."""
    reason: str
    """``OOMKilled``, ``Error``, ``Evicted``, ``PreemptionByScheduler``, …"""
    exit_code: int | None
    message: str

    def __str__(self) -> str:
        """The end of the pod, for a sentence."""
        code = "" if self.exit_code is None else f", exit code {self.exit_code}"
        return f"{self.pod}: {self.reason}{code}{f' ({self.message})' if self.message else ''}"


def failed_pods(pods: Iterable[Mapping[str, Any]]) -> list[PodEnd]:
    """How each failed pod of a run ended, in the order of their ends."""
    found = []
    for pod in pods:
        status = status_of(pod)
        if status.get("phase") == "Failed" or any(True for _ in _crashes(status)):
            ended, end = _end(pod)
            found.append((ended, end))
    return [end for _, end in sorted(found, key=lambda one: (one[0], one[1].pod))]


def _crashes(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ends of containers that did not succeed, from the last start or the one before."""
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        for state in ("state", "lastState"):
            end = (one.get(state) or NOTHING).get("terminated") or NOTHING
            if end.get("exitCode"):
                yield end
                break


def _end(pod: Mapping[str, Any]) -> tuple[str, PodEnd]:
    status = status_of(pod)
    crash = next(_crashes(status), NOTHING)
    disrupted = condition(pod, "DisruptionTarget")
    reason = crash.get("reason") or "Failed"
    message = crash.get("message") or ""
    if disrupted.get("status") == "True":
        reason, message = disrupted.get("reason") or reason, disrupted.get("message") or message
    elif status.get("reason"):
        reason, message = status["reason"], status.get("message") or message
    worker = labels_of(pod).get(INDEX) or annotations_of(pod).get(INDEX) or ""
    end = PodEnd(
        str(pod["metadata"]["name"]), str(worker), str(reason), crash.get("exitCode"), " ".join(str(message).split())
    )
    return str(crash.get("finishedAt") or status.get("startTime") or ""), end


def what_would_help(run: Run, ends: Iterable[PodEnd], *, logs: bool) -> Iterator[str]:
    """What to do about a failure, the most promising first.

    Args:
        run: the failed run.
        ends: the ends of its pods.
        logs: whether there are pods whose logs can be read.
    """
    reasons = {end.reason for end in ends}
    is_notebook = bool(run.result or run.function)
    if "OOMKilled" in reasons:
        if is_notebook:
            yield f"raise notebooks.memory (for each GPU) in the stack file, then {run.again}"
        else:
            yield f"give the job's resource more memory (modelyard size {run.stack} has an estimate), then {run.again}"
    # For a SparkApplication, only the driver reports it.
    if "DeadlineExceeded" in (run.reason, *reasons):
        limit = "notebooks.timeLimit in the stack file" if is_notebook else "the job's timeLimit in the stack file"
        if run.function:
            limit = "time_limit of the call"
        yield f"raise {limit}, or let its program continue from a checkpoint, then {run.again}"
    if reasons & {"Evicted", "PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager"}:
        yield f"its node removed the pods, so a new run may succeed; {run.again}"
    if logs and ("Error" in reasons or not reasons):
        yield f"read its log: modelyard job logs {run.words}"
