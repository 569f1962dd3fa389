"""Whether the pods of an object are up to date and available."""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard import quantity
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.pods import (
    image_version,
    is_ray_head,
    is_rolled,
    pod_annotations,
    pod_places,
    pod_spec,
    ray_group,
    replicas_of,
)


def rolled_out(live: Mapping[str, Any] | None) -> bool:
    """Whether a live object has all the pods that it asks for, up to date and available.

    True for an object that asks for no pods.
    """
    if live is None:
        return False
    spec, status = live.get("spec") or {}, live.get("status") or {}
    generation = live["metadata"].get("generation", 0)
    if live.get("kind") == "RayCluster":
        return _workers_ready(live)
    if live.get("kind") == "RayService":
        return not _upgrade(live)
    wanted = spec.get("replicas", status.get("desiredNumberScheduled", 0))
    # A StatefulSet may leave some pods, or all, as they are.
    kept = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0
    replaced = max(wanted - kept, 0) if is_rolled(live) else 0
    updated = status.get("updatedReplicas", status.get("updatedNumberScheduled", 0))
    return bool(
        status.get("observedGeneration", generation) >= generation
        and (updated == wanted or replaced <= updated < wanted)
        and status.get("availableReplicas", status.get("numberAvailable", 0)) == wanted
        and status.get("replicas", wanted) == wanted
    )


def old_pods(cluster: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> dict[Path, list[str]]:
    """The pods of a RayCluster that do not have what its templates set, by their place.

    KubeRay and admission add containers, variables, labels and requests, so only what a template sets counts. Of an
    image, its tag and its digest count: admission may replace the rest with the name of a mirror.

    Args:
        cluster: the RayCluster.
        pods: the pods of its namespace.
    """
    found: dict[Path, list[str]] = {}
    places = {ray_group(place): place for place in pod_places(cluster)}
    for pod in pods:
        metadata, labels = pod["metadata"], pod["metadata"].get("labels") or {}
        place = places.get(str(labels.get("ray.io/group")))
        if place is None or labels.get("ray.io/cluster") != cluster["metadata"]["name"]:
            continue
        template = {"metadata": pod_annotations(cluster, place), "spec": pod_spec(cluster, place)}
        if "deletionTimestamp" not in metadata and not _fits(pod, template):
            found.setdefault(place, []).append(str(metadata["name"]))
    return found


_SPEC = ("affinity", "terminationGracePeriodSeconds", "priorityClassName")
"""Fields of a pod's spec that stay as its template has them."""


def _fits(pod: Mapping[str, Any], template: Mapping[str, Any]) -> bool:
    spec, wanted = pod["spec"], template["spec"]
    if not (
        template["metadata"].items() <= (pod["metadata"].get("annotations") or {}).items()
        and (wanted.get("nodeSelector") or {}).items() <= (spec.get("nodeSelector") or {}).items()
        and all(spec.get(name) == wanted[name] for name in _SPEC if name in wanted)
    ):
        return False
    containers = {one.get("name"): one for one in spec.get("containers") or ()}
    return all(
        _has_resources(have, one) and _env(one).items() <= _env(have).items() and _has_version(have, one)
        for one in wanted.get("containers") or ()
        if (have := containers.get(one.get("name"))) is not None
    )


def _env(container: Mapping[str, Any]) -> dict[str, str]:
    """The variables with a plain value."""
    return {str(one.get("name")): str(one["value"]) for one in container.get("env") or () if "value" in one}


def _has_version(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a container's image has the tag and the digest of a template, as far as both name them."""
    versions = (image_version(str(one.get("image") or "")) for one in (have, wanted))
    return all(one == other or not (one and other) for one, other in zip(*versions, strict=True))


def _has_resources(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a container has all amounts of a template."""
    there, those = have.get("resources") or {}, wanted.get("resources") or {}
    sets = ((there.get(kind) or {}, those.get(kind) or {}) for kind in ("limits", "requests"))
    pairs = ((found.get(name), amount) for found, amounts in sets for name, amount in amounts.items())
    return all(one == other or quantity.same(one, other) for one, other in pairs)


def unfinished(live: Mapping[str, Any] | None, *, upgraded: bool = False) -> str:
    """What the rollout of a workload still lacks, in words; empty when it is complete.

    Args:
        live: the workload's object; None if it does not exist.
        upgraded: whether KubeRay makes a new RayCluster for the last change of a RayService. Without one, it may never
            write that it has seen the change.
    """
    if live is None:
        return "it does not exist"
    seen = (live.get("status") or {}).get("observedGeneration", 0)
    if upgraded and seen < live["metadata"].get("generation", 0):
        return "KubeRay has not started its upgrade"
    if rolled_out(live):
        return ""
    status = live.get("status") or {}
    if live.get("kind") == "RayCluster":
        ready, wanted = status.get("readyWorkerReplicas", 0), status.get("desiredWorkerReplicas", 0)
        return f"{ready} of {wanted} workers ready" if ready <= wanted else f"{ready} workers ready, {wanted} wanted"
    if live.get("kind") == "RayService":
        return _upgrade(live)
    if seen < live["metadata"].get("generation", 0):
        return "its controller has not seen the change yet"
    wanted = (live.get("spec") or {}).get("replicas", 1)
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if available == wanted and updated < wanted:
        return f"{updated} of {wanted} pods up to date"
    return f"{available} of {wanted} pods available"


def _upgrade(live: Mapping[str, Any]) -> str:
    """What the upgrade of a RayService still lacks, in words; empty if it serves from its only RayCluster.

    Its status has the workers of its RayClusters as they once were.
    """
    status = live.get("status") or {}
    if name := (status.get("pendingServiceStatus") or {}).get("rayClusterName"):
        return f"its new RayCluster {name} does not serve yet"
    if not (status.get("activeServiceStatus") or {}).get("rayClusterName"):
        return "it has no RayCluster yet"
    ready = [one for one in status.get("conditions") or () if one.get("type") == "Ready"]
    return "" if any(one.get("status") == "True" for one in ready) else "no pod of it serves requests"


def _workers_ready(live: Mapping[str, Any]) -> bool:
    """Whether as many workers run and are ready as the groups ask for.

    KubeRay 1.5 writes ``observedGeneration`` only when another part of the status changes.
    """
    status = live.get("status") or {}
    wanted = sum(replicas_of(live, place) or 0 for place in pod_places(live) if not is_ray_head(place))
    return {status.get(f"{name}WorkerReplicas", 0) for name in ("desired", "available", "ready")} == {wanted}
