"""A platform whose Ray workers are a StatefulSet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, Object, comparable, environment

RAY = "deployment-ray-model-training-worker"
SET = ObjectKey("apps/v1", "StatefulSet", NAMESPACE, "ray-workers")
APP = "ray-model-training-worker"
PATH = f"/apis/apps/v1/namespaces/{NAMESPACE}"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with environment("dev", tmp_path) as made:
        old = made.deployment(RAY)
        made.lab.request("DELETE", f"{PATH}/deployments/{RAY}")
        spec = {name: old["spec"][name] for name in ("replicas", "selector", "template")}
        body = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": SET.name, "labels": old["metadata"].get("labels") or {}},
            "spec": {**spec, "serviceName": "ray"},
        }
        answer = made.lab.request("POST", f"{PATH}/statefulsets?fieldManager=helm", body)
        assert answer.status == 201, answer
        made.lab.wait("the old pods to be gone", lambda: all(map(_is_of_set, made.pods(APP))))
        with made.stack_file.open("a") as file:
            file.write(f"  modelyard:targets:\n    rayWorker: {{statefulSet: {SET.name}}}\n")
        made.init()
        yield made


def _is_of_set(pod: Object) -> bool:
    return bool(pod["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet")


def test_a_stateful_set_matches_its_plan_and_replaces_its_pods(env: Environment) -> None:
    plan = env.plan()
    assert not plan.blocked
    target = next(one for one in plan.targets if one.key == SET)
    assert (target.action, target.role, target.replaces_pods) == ("update", "rayWorker", 1)
    env.modelyard("apply", env.name, "--yes", "--no-drain")
    live = env.get(SET)
    assert live is not None
    assert comparable(live) == comparable(target.after.reveal())
    # The apply has waited for the rollout.
    assert live["status"]["updatedReplicas"] == live["status"]["availableReplicas"] == 1
    (pod,) = env.pods(APP)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["memory"] == "32Gi"
    assert env.plan().changed == ()

    env.modelyard("destroy", env.name, "--yes")
    restored = env.get(SET)
    assert restored is not None
    before = target.before.reveal()
    assert before is not None
    assert restored["spec"] == before["spec"]
