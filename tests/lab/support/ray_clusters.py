"""RayClusters and RayServices that another tool creates and the real KubeRay runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, Object, environment
from tests.support.web_servers import Quiet, listening

_PATH = f"/apis/ray.io/v1/namespaces/{NAMESPACE}"


class _Serve(Quiet):
    """Answers as Ray Serve in the simulated pods: the application runs, and the proxies are healthy."""

    def do_GET(self) -> None:
        self.answer(json.dumps({"applications": {"models": {"name": "models", "status": "RUNNING"}}}).encode())

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"")


def _pod_template(name: str, *, gpu: bool = False, **amounts: str) -> Object:
    """A pod template with one container and its resources."""
    limits = {**amounts, **({"nvidia.com/gpu": "1"} if gpu else {})}
    container = {"name": name, "image": "images.example.com/ray:2.9.0"}
    container |= {"resources": {"limits": limits, "requests": limits}}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return {"spec": {"containers": [container], **({"tolerations": tolerations} if gpu else {})}}


def worker_group(name: str, pods: Object, *, least: int) -> Object:
    """A worker group with one worker, at most two."""
    size = {"replicas": 1, "minReplicas": least, "maxReplicas": 2}
    return {"groupName": name, **size, "rayStartParams": {}, "template": pods}


def gpu_cluster() -> tuple[Object, Object, Object]:
    """The head of a RayCluster, a worker group without GPUs, and a worker group with GPUs."""
    return (
        _pod_template("ray-head", cpu="1", memory="4Gi"),
        worker_group("cpu", _pod_template("ray-worker", cpu="500m", memory="1Gi"), least=1),
        worker_group("a10", _pod_template("ray-worker", gpu=True, cpu="4", memory="12Gi"), least=1),
    )


@contextmanager
def platform_on(folder: Path, key: ObjectKey) -> Iterator[Environment]:
    """The platform ``dev`` without its Ray Deployments, and a stack whose Ray targets are in ``key``, to be created."""
    kind = key.kind[0].lower() + key.kind[1:]
    with environment("dev", folder) as made:
        for name in ("deployment-ray-head", "deployment-ray-model-training-worker"):
            made.lab.request("DELETE", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}")
        text = made.stack_file.read_text().replace("modelyard:drain:\n", "modelyard:drain:\n    enabled: false\n")
        targets = f"""\
  modelyard:targets:
    rayHead: {{{kind}: {key.name}, container: ray-head}}
    rayWorker: {{{kind}: {key.name}, group: a10, container: ray-worker}}
"""
        made.stack_file.write_text(text + targets)
        made.init()
        yield made


def create_ray_cluster(env: Environment, name: str, head: Object, *groups: Object) -> None:
    """Starts KubeRay, creates a cluster, and waits for its pods: the head and one worker of each group."""
    env.lab.start_operators("kuberay")
    _create(env, "RayCluster", name, _cluster(head, groups))
    env.lab.wait("the pods of the cluster", lambda: len(ray_pods(env)) == 1 + len(groups))


@contextmanager
def ray_service(env: Environment, name: str, head: Object, *groups: Object) -> Iterator[None]:
    """A RayService that serves, with one worker per group and a simulated Ray Serve, until the context ends."""
    with listening(_Serve) as proxy:
        env.lab.start_operators("kuberay", proxy=proxy)
        cluster = {"rayClusterConfig": _cluster(head, groups), "rayClusterDeletionDelaySeconds": 1}
        _create(env, "RayService", name, {"serveConfigV2": "applications: [{name: models}]", **cluster})
        env.lab.wait("the pods of the service", lambda: len(ray_pods(env)) == 1 + len(groups))
        env.lab.wait("the service", lambda: serves(env, name))
        yield


def serves(env: Environment, name: str) -> bool:
    """Whether a RayService serves from its only RayCluster."""
    (status,) = (one.get("status", {}) for one in env.found("apis/ray.io/v1/…/rayservices") if _named(one, name))
    pending = status.get("pendingServiceStatus", {}).get("rayClusterName")
    return status.get("serviceStatus") == "Running" and not pending


def _named(body: Object, name: str) -> bool:
    return bool(body["metadata"]["name"] == name)


def _cluster(head: Object, groups: tuple[Object, ...]) -> Object:
    return {
        "rayVersion": "2.9.0",
        "headGroupSpec": {"rayStartParams": {}, "template": head},
        "workerGroupSpecs": list(groups),
    }


def _create(env: Environment, kind: str, name: str, spec: Object) -> None:
    body = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    answer = env.lab.request("POST", f"{_PATH}/{kind.lower()}s?fieldManager=helm", body)
    assert answer.status == 201, answer


def ray_pods(env: Environment, group: str = "") -> list[Object]:
    """The pods of RayClusters, or of one of their groups."""
    labels = [(one, one["metadata"].get("labels", {})) for one in env.found("api/v1/…/pods")]
    return [one for one, own in labels if own.get("ray.io/cluster") and group in ("", own.get("ray.io/group"))]
