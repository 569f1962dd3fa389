"""Reads Kubernetes objects: conditions, owners, and the GPUs that pods request."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard.kube.scheduling.pods import pods_of
from modelyard.names import is_gpu

LOCAL_QUEUE: Final = "kueue.x-k8s.io/local-queue-name"
"""Label of the pods that Kueue starts, with the name of their LocalQueue."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
NOTHING: Final[Mapping[str, Any]] = {}
"""Stands for a part that an object lacks."""


def gpus_of(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    """The GPUs among amounts of resources."""
    return {name: int(value) for name, value in amounts.items() if is_gpu(name) and value > 0}


def asks_for(spec: Mapping[str, Any]) -> dict[str, int]:
    """The GPUs that one pod of a spec requests, by resource."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if not any(
        is_gpu(name)
        for one in containers
        for part in ("limits", "requests")
        for name in (one.get("resources") or NOTHING).get(part) or ()
    ):
        # Most pods of a cluster have no GPU.
        return {}
    return gpus_of(pods_of({"spec": {"template": {"spec": spec}}}).requests)


def spec_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an object asks for."""
    return body.get("spec") or NOTHING


def status_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an object's controller reports."""
    return body.get("status") or NOTHING


class PodSet(NamedTuple):
    """Identical pods of a Workload."""

    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    number: int
    least: int
    """Pods that are enough to start."""
    level: str | None
    """Node label whose value the nodes of all pods must share; None: any nodes."""


def pod_sets_of(workload: Mapping[str, Any]) -> tuple[PodSet, ...]:
    """The pods that a Workload asks for."""
    return tuple(
        PodSet(
            spec_of(part.get("template") or NOTHING),
            labels_of(part.get("template") or NOTHING),
            int(part.get("count", 1)),
            int(part.get("minCount") or part.get("count", 1)),
            (part.get("topologyRequest") or NOTHING).get("required"),
        )
        for part in spec_of(workload).get("podSets") or ()
    )


def condition(body: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """An object's condition of a type; empty if there is none."""
    found = status_of(body).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), NOTHING)


def written_at(body: Mapping[str, Any], *path: str) -> str:
    """When the owner of a field last wrote to the object, from its managedFields; empty if the field has no owner."""
    found = ""
    for entry in body["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1") or NOTHING
        for step in path:
            fields = fields.get(f"f:{step}")
            if fields is None:
                break
        else:
            found = max(found, str(entry.get("time") or ""))
    return found


def is_true(body: Mapping[str, Any], kind: str) -> bool:
    """Whether a condition holds."""
    return bool(condition(body, kind).get("status") == "True")


def labels_of(body: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    return (body.get("metadata") or NOTHING).get("labels") or NOTHING


def made_by(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reference to the controller that created an object; empty if there is none."""
    references: Iterable[Mapping[str, Any]] = body["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller")), next(iter(references), NOTHING))


def workload_name(body: Mapping[str, Any]) -> str:
    """The name of a pod's workload: the Deployment of its ReplicaSet, or else its owner, or else the pod itself."""
    owner = made_by(body)
    name = str(owner.get("name") or body["metadata"]["name"])
    return name.rpartition("-")[0] or name if owner.get("kind") == "ReplicaSet" else name
