"""A platform whose Ray head and workers are a RayCluster that KubeRay runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, Object, comparable
from tests.lab.support.ray_clusters import create_ray_cluster, gpu_cluster, platform_on, ray_pods

CELERY = "deployment-model-training-tasks-gpu"
KEY = ObjectKey("ray.io/v1", "RayCluster", NAMESPACE, "training")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with platform_on(tmp_path, KEY) as made:
        create_ray_cluster(made, KEY.name, *gpu_cluster())
        yield made


def _groups(body: Object) -> dict[str, Object]:
    return {one["groupName"]: one for one in body["spec"]["workerGroupSpecs"]}


CONTAINER = "template/spec/containers/0"


def _patch(env: Environment, path: str, value: object) -> None:
    """Changes one value of the RayCluster as another field manager."""
    change = json.dumps([{"op": "replace", "path": path, "value": value}])
    env.lab.kubectl("patch", "raycluster", KEY.name, "--namespace", NAMESPACE, "--type", "json", "--patch", change)


def test_a_ray_cluster_matches_its_plan_and_a_switch_stops_its_workers(env: Environment) -> None:
    running = sorted(one["metadata"]["uid"] for one in ray_pods(env))
    plan = env.plan()
    assert not plan.blocked
    target = next(one for one in plan.targets if one.key == KEY)
    assert (target.action, target.role, target.replicas, target.gpus) == ("update", "rayWorker", (1, 1), (1, 1))
    codes = {one.code for one in plan.findings if one.target == KEY.name}
    assert codes >= {"OWN018", "RES110"}
    before = target.before.reveal()
    assert before is not None
    env.modelyard("apply", env.name, "--yes")
    live = env.get(KEY)
    assert live is not None
    assert comparable(live) == comparable(target.after.reveal())
    assert _groups(live)["cpu"] == _groups(before)["cpu"]
    # KubeRay keeps the pods.
    assert sorted(one["metadata"]["uid"] for one in ray_pods(env)) == running
    assert env.plan().changed == ()
    blamed = env.modelyard("blame", "--live", env.name, KEY.name, "workerGroupSpecs[groupName=a10].replicas").stdout
    assert "training-replicas@v4" in blamed
    verified = env.modelyard("verify", env.name, "--timeout", "1s", check=False)
    assert verified.returncode == 1
    assert "the old template" in verified.stdout

    # Another manager changes the group and thus owns the list: its changes stay, and modelyard's are restored.
    _patch(env, "/spec/workerGroupSpecs/1/maxReplicas", 3)
    assert _groups(env.get(KEY) or {})["a10"]["maxReplicas"] == 3
    assert "no drift" in env.modelyard("drift", env.name).stdout
    assert env.plan().changed == ()
    _patch(env, f"/spec/workerGroupSpecs/1/{CONTAINER}/resources/requests/memory", "9Gi")
    drifted = env.modelyard("drift", env.name, check=False)
    assert drifted.returncode == 1
    assert "memory" in drifted.stdout
    assert "9Gi" in drifted.stdout
    env.modelyard("apply", env.name, "--yes")
    wanted = target.after.reveal()["spec"]["workerGroupSpecs"]
    (live_groups, asked) = (env.get(KEY) or {})["spec"]["workerGroupSpecs"], wanted
    assert live_groups == [one | ({"maxReplicas": 3} if one["groupName"] == "a10" else {}) for one in asked]

    text = env.stack_file.read_text()
    because = "reason: small pods, expires: 2099-01-01, by: tests"
    off = f"""config:
  modelyard:patches: [{{name: ray-worker, enabled: false}}]
  modelyard:waivers: [{{code: RAY008, {because}}}, {{code: RES001, {because}}}]
"""
    env.stack_file.write_text(text.replace("config:\n", off))
    env.modelyard("apply", env.name, "--yes")
    assert _groups(env.get(KEY) or {})["a10"] == _groups(before)["a10"] | {"maxReplicas": 3}
    env.stack_file.write_text(text)
    env.modelyard("apply", env.name, "--yes")

    env.stack_file.write_text(env.stack_file.read_text().replace("training: ray", "training: celery"))
    switch = next(one for one in env.plan().targets if one.key == KEY)
    assert (switch.phase, switch.replicas, switch.gpus) == ("down", (1, 0), (1, 0))
    env.modelyard("apply", env.name, "--yes")
    # An apply waits until the workers are gone.
    assert ray_pods(env, "a10") == []
    assert len(ray_pods(env, "cpu")) == 1
    live = env.get(KEY)
    assert live is not None
    assert comparable(live) == comparable(switch.after.reveal())
    assert env.plan().changed == ()

    _patch(env, "/spec/workerGroupSpecs/0/maxReplicas", 6)
    destroyed = env.modelyard("destroy", env.name, "--yes")
    assert "RES110" in destroyed.stdout
    assert f"ray.io/cluster={KEY.name},ray.io/group=headgroup" in " ".join(destroyed.stdout.split())
    assert "still asks for what was undone" in destroyed.stdout
    restored = env.get(KEY)
    assert restored is not None
    groups = [one | {"maxReplicas": most} for one, most in zip(before["spec"]["workerGroupSpecs"], (6, 3), strict=True)]
    assert restored["spec"] == before["spec"] | {"workerGroupSpecs": groups}
    managers = {one["manager"] for one in restored["metadata"]["managedFields"]}
    assert "modelyard" not in managers
    env.lab.wait("the workers of the cluster", lambda: len(ray_pods(env, "a10")) == 1)
