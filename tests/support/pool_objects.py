"""Objects of a GPU pool as an API server returns them, cut to what anybody reads."""

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONG_AGO, RECENTLY = "2026-11-22T09:00:00Z", "2026-11-22T11:58:00Z"
Body = dict[str, Any]
POOL = """
  modelyard:flavors: [{name: a10, gpu: A10}]
  modelyard:teams:
    - {name: vision, quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 2}]}
    - {name: speech, quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1}]}
"""
NOTEBOOK_POOL = """
  modelyard:notebooks: {image: images.example.com/notebook:1}
  modelyard:flavors:
    - {name: a10, gpu: A10}
    - {name: a30, gpu: A30}
  modelyard:teams:
    - name: vision
      quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1}, {flavor: a30, cpu: 16, memory: 128Gi, gpus: 1}]
"""
"""Sections of a stack file: notebooks, and a team with one GPU of each of two flavors."""


def node(name: str, product: str = "NVIDIA-A10", gpus: int = 2) -> Body:
    """A ready node."""
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": product} if product else {}},
        "spec": {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def spec(gpus: int = 1, resource: str = "nvidia.com/gpu", cpu: str = "1", **more: Any) -> Body:
    """A pod's spec."""
    amounts = {"cpu": cpu, **({resource: str(gpus)} if gpus else {})}
    container = {"name": "job", "image": "i", "resources": {"limits": amounts, "requests": amounts}}
    return {"containers": [container], **more}


def pod(
    name: str,
    on: str | None,
    wants: Body | None = None,
    *,
    namespace: str = "vision",
    run: str = "",
    owner: tuple[str, str, str] = ("", "", ""),
    phase: str = "Running",
    since: str = LONG_AGO,
    **status: Any,
) -> Body:
    """A pod on a node, or without one; ``owner`` is kind, name and uid."""
    kind, made_by, uid = owner
    labels = {"modelyard.dev/run": run, "modelyard.dev/job": run.rpartition("-")[0]} if run else {}
    references = [{"kind": kind, "name": made_by, "uid": uid, "controller": True}] if kind else []
    if kind == "Job":
        labels["batch.kubernetes.io/job-name"] = made_by
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-of-{name}",
            "labels": labels,
            "ownerReferences": references,
            "creationTimestamp": since,
        },
        "spec": {**(wants or spec()), **({"nodeName": on} if on else {})},
        "status": {"phase": phase, **({"startTime": since} if on else {}), **status},
    }


def job(
    name: str,
    *,
    run: str = "",
    stack: str = "dev",
    queue: str | None = "vision",
    namespace: str = "vision",
    workers: int = 1,
    wants: Body | None = None,
    suspend: bool = False,
    since: str = LONG_AGO,
    **status: Any,
) -> Body:
    """A Job as ``job submit`` makes it."""
    run = run or name
    labels = {"modelyard.dev/stack": stack, "modelyard.dev/job": run.rpartition("-")[0], "modelyard.dev/run": run}
    if queue:
        labels["kueue.x-k8s.io/queue-name"] = queue
    own = {key: value for key, value in labels.items() if key.startswith("modelyard") and not key.endswith("stack")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-of-{name}",
            "labels": labels,
            "creationTimestamp": since,
        },
        "spec": {
            "suspend": suspend,
            "parallelism": workers,
            "template": {"metadata": {"labels": own}, "spec": wants or spec()},
        },
        "status": status,
    }


def condition(kind: str, status: bool = True, **more: str) -> Body:
    """A condition."""
    return {"type": kind, "status": str(status), "lastTransitionTime": LONG_AGO, **more}


def workload(of: Body, *conditions: Body, queue: str = "", flavor: str = "a10", priority: int = 0) -> Body:
    """The Workload that Kueue makes of a Job; with the name of a ClusterQueue it has quota there."""
    wanted, metadata = of["spec"], of["metadata"]
    amounts = {
        name: str(int(value) * wanted["parallelism"])
        for name, value in wanted["template"]["spec"]["containers"][0]["resources"]["requests"].items()
    }
    admission = {
        "clusterQueue": queue,
        "podSetAssignments": [
            {
                "name": "main",
                "count": wanted["parallelism"],
                "resourceUsage": amounts,
                "flavors": dict.fromkeys(amounts, flavor),
            }
        ],
    }
    return {
        "metadata": {
            "name": f"job-{metadata['name']}-x",
            "namespace": metadata["namespace"],
            "creationTimestamp": metadata["creationTimestamp"],
            "ownerReferences": [
                {"kind": "Job", "name": metadata["name"], "uid": metadata["uid"], "controller": True},
            ],
        },
        "spec": {
            "queueName": metadata["labels"].get("kueue.x-k8s.io/queue-name", ""),
            "priority": priority,
            "podSets": [{"name": "main", "count": wanted["parallelism"], "template": wanted["template"]}],
        },
        "status": {
            "conditions": [*([condition("QuotaReserved"), condition("Admitted")] if queue else []), *conditions],
            **({"admission": admission} if queue else {}),
        },
    }


def waits(words: str) -> Body:
    """Why a Workload has no quota."""
    return condition("QuotaReserved", False, reason="Pending", message=words)


def cluster_queue(
    name: str,
    nominal: int = 2,
    used: int = 0,
    *,
    flavor: str = "a10",
    cohort: str | None = None,
    borrowed: int = 0,
    limit: int | None = None,
    active: Body | None = None,
) -> Body:
    """A ClusterQueue with one flavor."""
    quota: Body = {"name": "nvidia.com/gpu", "nominalQuota": nominal}
    if limit is not None:
        quota["borrowingLimit"] = limit
    cpu = {"name": "cpu", "nominalQuota": "16"}
    return {
        "metadata": {"name": name},
        "spec": {
            **({"cohortName": cohort} if cohort else {}),
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "nvidia.com/gpu"],
                    "flavors": [{"name": flavor, "resources": [cpu, quota]}],
                }
            ],
        },
        "status": {
            "conditions": [active or condition("Active")],
            "flavorsReservation": [
                {
                    "name": flavor,
                    "resources": [{"name": "nvidia.com/gpu", "total": str(used), "borrowed": str(borrowed)}],
                }
            ],
        },
    }


def local_queue(name: str = "vision", namespace: str = "vision", queue: str = "team-vision") -> Body:
    """A LocalQueue."""
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": queue}}


def flavor(name: str = "a10", **labels: str) -> Body:
    """A ResourceFlavor of the nodes with an A10, unless other labels are given."""
    return {"metadata": {"name": name}, "spec": {"nodeLabels": labels or {"nvidia.com/gpu.product": "NVIDIA-A10"}}}


def spark(name: str, suspend: bool = False, state: str = "", message: str = "", **status: Any) -> dict[str, Any]:
    """A SparkApplication with three executors of two GPUs."""
    body = job(name, suspend=suspend)
    gpu = {"name": "nvidia.com/gpu", "quantity": 2}
    application = {"state": state, **({"errorMessage": message} if message else {})}
    return body | {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "spec": {"suspend": suspend, "driver": {"cores": 1}, "executor": {"instances": 3, "gpu": gpu}},
        "status": {**({"applicationState": application} if state else {}), **status},
    }


def stage(name: str, *, state: str = "", **more: Any) -> dict[str, Any]:
    """A part of the run ``nightly-1`` of a pipeline; without a state it is what starts the stages."""
    body = job(
        f"nightly-1-{name}" if state else "nightly-1", queue="modelyard-held" if state == "held" else "vision", **more
    )
    body["metadata"]["labels"] |= {"modelyard.dev/pipeline": "nightly", "modelyard.dev/pipeline-run": "nightly-1"}
    if state:
        body["metadata"]["labels"]["modelyard.dev/stage"] = name
    else:
        for label in ("job", "run"):
            del body["metadata"]["labels"][f"modelyard.dev/{label}"]
        del body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
        body["spec"]["template"]["spec"] = spec(0)
    if state:
        body["metadata"]["annotations"] = {"modelyard.dev/queue": "vision"}
    if state == "queued":
        body["metadata"]["annotations"]["modelyard.dev/released"] = "nightly-1"
    return body


DONE = {"conditions": [condition("Complete")]}
FAILED = {"conditions": [condition("Failed", reason="PodFailurePolicy")]}
UP = {"active": 1, "ready": 1, "startTime": LONG_AGO}
