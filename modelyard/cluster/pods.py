"""Reads pods: what they hold of their nodes, and why they do not start."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from modelyard.kube.state import Pod, amounts
from modelyard.quantity import parse


def holds_resources(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has a place on a node and has not ended."""
    return bool(pod.get("spec", {}).get("nodeName")) and pod.get("status", {}).get("phase") not in (
        "Succeeded",
        "Failed",
    )


def not_started(pods: Iterable[Mapping[str, Any]]) -> str:
    """Why the first pod that cannot start does not start, from the scheduler or the kubelet; empty if all can start."""
    for pod in pods:
        status = pod.get("status") or {}
        if status.get("phase") != "Pending":
            continue
        for one in status.get("conditions") or ():
            if one.get("type") == "PodScheduled" and one.get("status") == "False":
                return f"{pod['metadata']['name']} has no node: {one.get('message') or one.get('reason') or ''}"
        for reason, message in waiting_containers(pod):
            return f"{pod['metadata']['name']}: {reason} {message or ''}".rstrip()
    return ""


def waiting_containers(pod: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Reason and message of each container of a pod that cannot start, as the kubelet reports them."""
    status = pod.get("status") or {}
    # Containers wait for the init containers before them and do not report it.
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            yield str(waiting["reason"]), waiting.get("message")


def ray_services(objects: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """The names of RayServices, by namespace and name of their RayClusters; an upgrade has two."""
    return {
        (body["metadata"].get("namespace", ""), str(name)): str(body["metadata"]["name"])
        for body in objects
        if body["kind"] == "RayService"
        for part in ("activeServiceStatus", "pendingServiceStatus")
        if (name := ((body.get("status") or {}).get(part) or {}).get("rayClusterName"))
    }


def request_of(pod: Mapping[str, Any], services: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """``{node, namespace, owner, requests}`` of a pod, with the sum of its containers' quantities.

    Pods of a RayCluster in ``services`` belong to its RayService.
    """
    total: dict[str, Any] = {}
    for container in pod["spec"]["containers"]:
        for name, value in (container.get("resources", {}).get("requests") or {}).items():
            total[name] = str(value) if name not in total else str(float(parse(total[name]) + parse(value)))
    return {
        "node": pod["spec"]["nodeName"],
        "namespace": pod["metadata"].get("namespace", ""),
        "owner": services.get((pod["metadata"].get("namespace", ""), _owner(pod)), _owner(pod)),
        "requests": dict(sorted(total.items())),
    }


def pod_of(pod: Mapping[str, Any]) -> Pod:
    """A pod from what ``request_of`` returned. Earlier versions left out the namespace."""
    return Pod(pod["node"], pod["owner"], amounts(pod["requests"]), pod.get("namespace", ""))


def _owner(pod: Mapping[str, Any]) -> str:
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference["kind"] == "ReplicaSet":
            return str(reference["name"]).rpartition("-")[0]
        return str(reference["name"])
    return str(pod["metadata"]["name"])
