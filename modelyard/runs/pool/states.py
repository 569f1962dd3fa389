"""The state of a run's part, read from the part's object: state, pods, start and end.

The states of a SparkApplication are those of the Spark operator (ApplicationStateType of its API v1beta2).
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from modelyard.cluster.pool_objects import QUEUE, RELEASED, STAGE
from modelyard.kube.state import annotations_of
from modelyard.runs.pool.objects import NOTHING, condition, labels_of, spec_of, status_of

RunState = Literal["queued", "starting", "running", "succeeded", "failed", "cancelled", "held", "suspended"]
"""``held``: a stage of a pipeline that waits for the stages that it needs."""
ENDED: Final = ("succeeded", "failed")
_SPARK_RUNS: Final = ("RUNNING", "SUCCEEDING", "FAILING", "UNKNOWN")
"""States of an application whose driver has been seen and whose end is unknown."""
_SPARK_LIVES: Final = ("PENDING", "RUNNING", "UNKNOWN")
"""States of an executor that exists."""


def state_of(body: Mapping[str, Any]) -> tuple[RunState, str, str]:
    """The state of a Job, RayJob or SparkApplication; for a failure also the reason in one word, and a message."""
    status = status_of(body)
    match body["kind"]:
        case "RayJob":
            over, runs = _ray(status)
        case "SparkApplication":
            over, runs = _spark(status)
        case _:
            over, runs = _job(body), bool(status.get("ready"))
    if over is not None:
        return over
    if "deletionTimestamp" in body["metadata"]:
        return "cancelled", "", ""
    if spec_of(body).get("suspend"):
        return _held_back(body), "", ""
    return ("running" if runs else "starting"), "", ""


def times_of(body: Mapping[str, Any], state: RunState) -> tuple[str, str]:
    """When a part started and ended; each empty if it has not."""
    status = status_of(body)
    started = status.get("startTime") or status.get("lastSubmissionAttemptTime")
    ended = status.get("completionTime") or status.get("endTime") or status.get("terminationTime")
    if state == "failed" and not ended:
        ended = condition(body, "Failed").get("lastTransitionTime")
    return (
        str(started or "") if state not in ("queued", "suspended") else "",
        str(ended or "") if state in ENDED else "",
    )


def pod_sets(body: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int]]:
    """The pod specs of a part, each with its wanted number of pods; Ray's head and Spark's driver first.

    Workers that a run on Ray adds count once they are ready, because requested workers may wait for quota.
    """
    spec = spec_of(body)
    if body["kind"] == "SparkApplication":
        return [(_spark_spec(spec.get("driver") or NOTHING), 1), (_spark_spec(_executor(body)), _executors(body))]
    if body["kind"] != "RayJob":
        return [(_spec(spec), int(spec.get("parallelism", 1)))]
    cluster = spec.get("rayClusterSpec") or NOTHING
    head = _spec(cluster.get("headGroupSpec") or NOTHING)
    groups = cluster.get("workerGroupSpecs") or ()
    seen = status_of(body).get("rayClusterStatus") or NOTHING
    ready = int(seen.get("readyWorkerReplicas") or 0) if cluster.get("enableInTreeAutoscaling") else 0
    return [(head, 1), *((_spec(group), max(int(group.get("replicas", 1)), ready)) for group in groups)]


def _spec(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    return spec_of(holder.get("template") or NOTHING)


def _executor(body: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = spec_of(body).get("executor") or NOTHING
    return found


def _executors(body: Mapping[str, Any]) -> int:
    """The wanted number of executors; if the number varies, the current one, or the initial one."""
    dynamic = spec_of(body).get("dynamicAllocation") or NOTHING
    if not dynamic.get("enabled"):
        return int(_executor(body).get("instances", 1))
    states = (status_of(body).get("executorState") or NOTHING).values()
    least = dynamic.get("initialExecutors") or dynamic.get("minExecutors") or 0
    return sum(state in _SPARK_LIVES for state in states) if states else int(least)


def _spark_spec(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod spec of Spark with the pod's GPUs, which the application lists next to the template."""
    gpu = pod.get("gpu") or NOTHING
    amounts = {str(gpu["name"]): str(gpu["quantity"])} if gpu.get("quantity") else {}
    container = {"name": "spark", "resources": {"limits": amounts, "requests": amounts}}
    return {"containers": [container]}


def _job(body: Mapping[str, Any]) -> tuple[RunState, str, str] | None:
    """How a Job ended; None if it has not."""
    if condition(body, "Complete").get("status") == "True":
        return "succeeded", "", ""
    failed = condition(body, "Failed")
    if failed.get("status") == "True":
        return "failed", str(failed.get("reason") or ""), str(failed.get("message") or "")
    return None


def _ray(status: Mapping[str, Any]) -> tuple[tuple[RunState, str, str] | None, bool]:
    """How a RayJob ended, and whether it runs."""
    deployment, job = status.get("jobDeploymentStatus") or "", status.get("jobStatus") or ""
    if deployment == "Complete" and job == "SUCCEEDED":
        return ("succeeded", "", ""), False
    if deployment in ("Complete", "Failed"):
        return ("failed", str(status.get("reason") or "") or job, str(status.get("message") or "")), False
    return None, deployment == "Running"


def _spark(status: Mapping[str, Any]) -> tuple[tuple[RunState, str, str] | None, bool]:
    """How a SparkApplication ended, and whether it runs. After a failed submission, it is retried, or it fails too."""
    found = status.get("applicationState") or NOTHING
    state = found.get("state") or ""
    if state == "COMPLETED":
        return ("succeeded", "", ""), False
    if state == "FAILED":
        return ("failed", "", str(found.get("errorMessage") or "")), False
    return None, state in _SPARK_RUNS


def _held_back(body: Mapping[str, Any]) -> RunState:
    if STAGE in labels_of(body) and RELEASED not in annotations_of(body):
        return "held"
    return "queued" if labels_of(body).get(QUEUE) else "suspended"
