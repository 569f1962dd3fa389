"""A platform whose Ray head and workers are a RayService that KubeRay runs and upgrades."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import LabError
from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, Object, comparable
from tests.lab.support.ray_clusters import gpu_cluster, platform_on, ray_pods, ray_service, serves

KEY = ObjectKey("ray.io/v1", "RayService", NAMESPACE, "models")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with platform_on(tmp_path, KEY) as made, ray_service(made, KEY.name, *gpu_cluster()):
        yield made


def _groups(body: Object) -> dict[str, Object]:
    return {one["groupName"]: one for one in body["spec"]["rayClusterConfig"]["workerGroupSpecs"]}


def _live(env: Environment) -> Object:
    live = env.get(KEY)
    assert live is not None
    return live


def _uids(env: Environment) -> set[str]:
    return {one["metadata"]["uid"] for one in ray_pods(env)}


def test_a_ray_service_matches_its_plan_and_a_switch_stops_its_workers(env: Environment) -> None:
    running = _uids(env)
    plan = env.plan()
    assert not plan.blocked
    target = next(one for one in plan.targets if one.key == KEY)
    assert (target.action, target.role, target.replicas, target.gpus) == ("update", "rayWorker", (1, 1), (1, 1))
    assert (target.replaces_pods, target.upgrades) == (3, True)
    codes = {one.code for one in plan.findings if one.target == KEY.name}
    assert codes >= {"OWN018", "RES112"}
    assert "RES110" not in codes
    before = target.before.reveal()
    assert before is not None
    env.modelyard("apply", env.name, "--yes")
    live = _live(env)
    assert comparable(live) == comparable(target.after.reveal())
    assert _groups(live)["cpu"] == _groups(before)["cpu"]
    # The apply waits until the new RayCluster serves; KubeRay deletes the old one.
    assert serves(env, KEY.name)
    env.lab.wait("the pods of the new RayCluster only", lambda: len(_uids(env)) == 3 and not _uids(env) & running)
    assert env.plan().changed == ()
    field = "rayClusterConfig.workerGroupSpecs[groupName=a10].replicas"
    assert "training-replicas@v4" in env.modelyard("blame", "--live", env.name, KEY.name, field).stdout

    env.stack_file.write_text(env.stack_file.read_text().replace("training: ray", "training: celery"))
    switch = next(one for one in env.plan().targets if one.key == KEY)
    assert (switch.phase, switch.replicas, switch.gpus) == ("down", (1, 0), (1, 0))
    env.modelyard("apply", env.name, "--yes")
    assert comparable(_live(env)) == comparable(switch.after.reveal())
    env.lab.wait("the workers to stop", lambda: not ray_pods(env, "a10"))
    assert env.plan().changed == ()

    env.modelyard("destroy", env.name, "--yes")
    assert _live(env)["spec"] == before["spec"]
    env.lab.wait("the workers of the service", lambda: len(ray_pods(env, "a10")) == 1)


def test_kuberay_applies_replicas_only_to_a_new_ray_cluster(env: Environment) -> None:
    """This is the reason for RES111, and for the annotation that training-replicas sets."""
    running, live = _uids(env), _live(env)
    _groups(live)["a10"]["replicas"] = 2
    path = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/rayservices/{KEY.name}"
    assert env.lab.request("PUT", path, live).status == 200
    with pytest.raises(LabError):
        env.lab.wait("another worker", lambda: len(ray_pods(env)) == 4, within=20)
    assert _uids(env) == running
    live = _live(env)
    _groups(live)["a10"]["template"]["metadata"] = {"annotations": {"modelyard.dev/replicas": "2"}}
    assert env.lab.request("PUT", path, live).status == 200
    env.lab.wait("the workers of the new RayCluster", lambda: len(_uids(env)) == 4 and not _uids(env) & running)
