"""Platforms in which KubeRay runs the Ray head and workers: an object with a CPU group and a GPU group."""

from typing import Any

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.scheduling.pods import RAY_CLUSTERS
from modelyard.kube.state import ObjectKey
from modelyard.stack.config import Target
from tests.support.example_stacks import Site

CLUSTER = ObjectKey("ray.io/v1", "RayCluster", "ml-platform", "training")
SERVICE = ObjectKey("ray.io/v1", "RayService", "ml-platform", "models")
HEAD, WORKERS = "deployment-ray-head", "deployment-ray-model-training-worker"


def pods(name: str, **limits: str) -> dict[str, Any]:
    container = {"name": name, "image": "ray:2.52.0", "resources": {"limits": limits, "requests": dict(limits)}}
    gpus = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return {"spec": {"containers": [container], **({"tolerations": gpus} if len(limits) > 2 else {})}}


def group(name: str, replicas: int, template: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    size = {"replicas": replicas, "minReplicas": 0, "maxReplicas": 4, "numOfHosts": 1}
    return {"groupName": name, **size, "rayStartParams": {}, "template": template} | more


def ray_object(key: ObjectKey, **gpu: Any) -> dict[str, Any]:
    """The object as Helm would have made it: two CPU workers and one with a GPU, which ``gpu`` changes."""
    gpus = {"cpu": "4", "memory": "12Gi", "nvidia.com/gpu": "1"}
    spec: dict[str, Any] = {
        "headGroupSpec": {"rayStartParams": {}, "template": pods("ray-head", cpu="1", memory="8Gi")},
        "workerGroupSpecs": [
            group("cpu", 2, pods("ray-worker", cpu="1", memory="2Gi"), {}),
            group("a10", 1, pods("ray-worker", **gpus), gpu),
        ],
    }
    for field in reversed(RAY_CLUSTERS[key.kind]):
        spec = {field: spec}
    metadata = {"name": key.name, "namespace": key.namespace}
    body = {"apiVersion": key.api_version, "kind": key.kind, "metadata": metadata, **spec}
    return merge.server_side(None, body, "helm", merge.MergeSchema.kubernetes("1.35").of(*key[:2])).object


def with_ray_object(site: Site, key: ObjectKey, body: dict[str, Any]) -> Site:
    """A platform that has the object instead of the Deployments of the Ray head and workers."""
    name = {"ray_cluster" if key == CLUSTER else "ray_service": key.name}
    targets = site.stack.config.targets._replace(
        ray_head=Target(HEAD, "ray-head", **name), ray_worker=Target(WORKERS, "ray-worker", group="a10", **name)
    )
    others = {key: one for key, one in site.state.objects.reveal().items() if key.name not in (HEAD, WORKERS)}
    running = tuple(pod._replace(owner=key.name) if pod.owner in (HEAD, WORKERS) else pod for pod in site.state.pods)
    state = site.state._replace(objects=Confidential({**others, key: body}), pods=running)
    return site.asking(targets=targets)._replace(state=state)


def groups_of(body: dict[str, Any]) -> dict[str, Any]:
    """The worker groups by name."""
    for field in RAY_CLUSTERS[body["kind"]]:
        body = body[field]
    return {one["groupName"]: one for one in body["workerGroupSpecs"]}
