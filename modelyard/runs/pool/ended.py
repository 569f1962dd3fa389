"""Why a run failed: what its objects say of their end, and what their pods' containers ended with."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from modelyard.runs.pool.objects import INDEX, NOTHING, condition, labels_of
from modelyard.runs.pool.runs import Run

WORDS: Final[Mapping[str, str]] = {
    "DeadlineExceeded": "it ran longer than its time limit",
    "BackoffLimitExceeded": "a worker failed, and no retry was left",
    "FailedIndexes": "a worker failed, and no retry was left",
    "MaxFailedIndexesExceeded": "too many workers failed",
    "PodFailurePolicy": "a worker failed in a way that is not tried again",
    "AppFailed": "its program failed",
    "SubmissionFailed": "Ray could not start it",
    "JobDeploymentStatusTransitionGracePeriodExceeded": "Ray lost sight of it",
}
"""What the reasons of Kubernetes and KubeRay mean."""


class PodEnd(NamedTuple):
    """How one pod ended."""

    pod: str
    worker: str
    """Its number among the run's workers; empty where it has none."""
    reason: str
    """``OOMKilled``, ``Error``, ``Evicted``, ``PreemptionByScheduler``, …"""
    exit_code: int | None
    message: str

    def __str__(self) -> str:
        """In a sentence's words."""
        code = "" if self.exit_code is None else f", exit code {self.exit_code}"
        return f"{self.pod}: {self.reason}{code}{f' ({self.message})' if self.message else ''}"


def failed_pods(pods: Iterable[Mapping[str, Any]]) -> list[PodEnd]:
    """How each pod of a run that failed did so, in the order in which they ended."""
    found = []
    for pod in pods:
        status = pod.get("status") or NOTHING
        if status.get("phase") == "Failed" or any(True for _ in _crashes(status)):
            ended, end = _end(pod)
            found.append((ended, end))
    return [end for _, end in sorted(found, key=lambda one: (one[0], one[1].pod))]


def _crashes(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ends of containers that did not succeed, of the last start or the one before."""
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        for state in ("state", "lastState"):
            end = (one.get(state) or NOTHING).get("terminated") or NOTHING
            if end.get("exitCode"):
                yield end
                break


def _end(pod: Mapping[str, Any]) -> tuple[str, PodEnd]:
    status = pod.get("status") or NOTHING
    crash = next(_crashes(status), NOTHING)
    disrupted = condition(pod, "DisruptionTarget")
    reason = crash.get("reason") or "Failed"
    message = crash.get("message") or ""
    if disrupted.get("status") == "True":
        reason, message = disrupted.get("reason") or reason, disrupted.get("message") or message
    elif status.get("reason"):
        reason, message = status["reason"], status.get("message") or message
    worker = labels_of(pod).get(INDEX) or ((pod["metadata"].get("annotations") or NOTHING).get(INDEX) or "")
    end = PodEnd(
        str(pod["metadata"]["name"]), str(worker), str(reason), crash.get("exitCode"), " ".join(str(message).split())
    )
    return str(crash.get("finishedAt") or status.get("startTime") or ""), end


def what_would_help(run: Run, ends: Iterable[PodEnd], *, logs: bool) -> Iterator[str]:
    """What to do about a failure, the surest first.

    Args:
        run: that failed.
        ends: of its pods.
        logs: whether there are pods whose logs can be read.
    """
    reasons = {end.reason for end in ends}
    if "OOMKilled" in reasons:
        yield f"give the job's resource more memory; modelyard size {run.stack} shows what it is estimated to need"
    # Of a SparkApplication only the driver says it.
    if "DeadlineExceeded" in (run.reason, *reasons):
        yield "raise the job's timeLimit, or have it continue from a checkpoint"
    if reasons & {"Evicted", "PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager"}:
        yield f"its node took the pods away, so the same may go well again: {run.again}"
    if logs and ("Error" in reasons or not reasons):
        yield f"read what it wrote: modelyard job logs {run.words}"
