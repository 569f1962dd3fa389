"""Patches of parts of a RayCluster that KubeRay runs: one worker group (the apply sends the whole list) and a map."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, comparable, environment, managed_fields
from tests.lab.support.ray_clusters import create_ray_cluster, ray_pods, worker_group

KEY = ObjectKey("ray.io/v1", "RayCluster", NAMESPACE, "trainer")
TEMPLATE = """\
# target: trainer
apiVersion: ray.io/v1
kind: RayCluster
spec:
  workerGroupSpecs:
    - groupName: large
      maxReplicas: 4
      template:
        spec:
          containers:
            - name: worker
              resources:
                requests: {cpu: "1", memory: 2Gi}
"""


PARAMS = """\
# target: trainer
apiVersion: ray.io/v1
kind: RayCluster
spec:
  headGroupSpec:
    rayStartParams: {num-gpus: "1"}
"""
WITH, WITHOUT = "config:\n", "config:\n  modelyard:patches: [{name: head-params, enabled: false}]\n"


def pods(name: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": name, "image": "images.example.com/ray:2.9.0", "resources": resources}]}}


def write(env: Environment, patch: str, meta: str, template: str) -> None:
    place = env.folder / "patches" / patch / "v1"
    place.mkdir(parents=True)
    (place / "meta.yaml").write_text(meta)
    (place / "schema.json").write_text("{}")
    (place / "patch.yaml.j2").write_text(template)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with environment("dev", tmp_path) as made:
        groups = [worker_group(name, pods("worker"), least=0) for name in ("small", "large")]
        create_ray_cluster(made, KEY.name, pods("head"), *groups)
        write(made, "large-workers", "description: Size.\nitems: {spec.workerGroupSpecs: groupName}\n", TEMPLATE)
        made.init()
        yield made


def _pods(env: Environment) -> list[str]:
    return [one["metadata"]["uid"] for one in ray_pods(env)]


def test_a_patch_of_one_worker_group_keeps_the_others(env: Environment) -> None:
    running = _pods(env)
    plan = env.plan()
    assert not plan.blocked
    target = next(one for one in plan.targets if one.key == KEY)
    assert {one.code for one in plan.findings if one.target == KEY.name} >= {"OWN001", "OWN018", "RES110"}
    before = target.before.reveal()
    assert before is not None
    env.modelyard("apply", env.name, "--yes", "--no-drain")
    live = env.get(KEY)
    assert live is not None
    assert comparable(live) == comparable(target.after.reveal())
    small, large = live["spec"]["workerGroupSpecs"]
    assert small == before["spec"]["workerGroupSpecs"][0]
    assert large["maxReplicas"] == 4
    assert large["template"]["spec"]["containers"][0]["image"] == "images.example.com/ray:2.9.0"
    # KubeRay keeps the pods.
    assert sorted(_pods(env)) == sorted(running)
    assert env.plan().changed == ()

    env.modelyard("destroy", env.name, "--yes")
    restored = env.get(KEY)
    assert restored is not None
    assert restored["spec"] == before["spec"]


def test_undoing_the_first_entry_of_a_map_keeps_the_empty_map(env: Environment) -> None:
    """An apply without the entry would send null, which the API server rejects."""
    write(env, "head-params", "description: Parameters of the head.\n", PARAMS)

    def params() -> Any:
        live = env.get(KEY)
        assert live is not None
        return live["spec"]["headGroupSpec"]["rayStartParams"]

    before = env.get(KEY)
    assert before is not None
    assert params() == {}
    env.modelyard("apply", env.name, "--yes", "--no-drain")
    assert params() == {"num-gpus": "1"}

    env.edit(WITH, WITHOUT)
    plan = env.plan()
    assert not plan.blocked
    target = next(one for one in plan.targets if one.key == KEY)
    assert [str(change.path) for change in target.changes if "annotations" not in str(change.path)] == [
        "spec.headGroupSpec.rayStartParams.num-gpus"
    ]
    env.modelyard("apply", env.name, "--yes", "--no-drain")
    live = env.get(KEY)
    assert live is not None
    assert params() == {}
    assert comparable(live) == comparable(target.after.reveal())
    assert env.plan().changed == ()
    env.modelyard("drift", env.name)

    env.edit(WITHOUT, WITH)
    env.modelyard("apply", env.name, "--yes", "--no-drain")
    assert params() == {"num-gpus": "1"}
    env.modelyard("destroy", env.name, "--yes")
    restored = env.get(KEY)
    assert restored is not None
    assert restored["spec"] == before["spec"]
    assert managed_fields(restored) == managed_fields(before)
