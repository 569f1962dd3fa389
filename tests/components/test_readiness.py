"""What is not ready is left to the engine: it sends such an object again, whatever the plan says."""

from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.rollouts import rolled_out, unfinished
from tests.support.component_engine import Build, again, ready

HEAD = "deployment-ray-head"


def deployment(replicas: int = 2) -> dict[str, Any]:
    return ready({"metadata": {"generation": 3}, "spec": {"replicas": replicas}})


def test_an_object_that_is_not_ready_is_declared_as_it_is(build: Build) -> None:
    plan = again("dev")
    waiting = [
        target._replace(before=Confidential({**(target.before.reveal() or {}), "status": {}}))
        if target.name == HEAD
        else target
        for target in plan.targets
    ]
    found = {one.name: one for one in build(plan._replace(targets=tuple(waiting))).registered}
    applied = next(target.applied.reveal() for target in plan.targets if target.name == HEAD)
    assert found[HEAD].ignores == ()
    assert found[HEAD].inputs == applied
    assert found["deployment-model-service"].ignores == ("metadata", "spec")


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_a_deployment_with_all_its_pods_is_rolled_out(replicas: int) -> None:
    assert rolled_out(deployment(replicas))


@pytest.mark.parametrize(
    "status",
    [
        {"observedGeneration": 2},
        {"updatedReplicas": 1},
        {"availableReplicas": 1},
        {"replicas": 3},
    ],
    ids=str,
)
def test_an_incomplete_deployment_is_not_rolled_out(status: dict[str, int]) -> None:
    body = deployment()
    assert not rolled_out({**body, "status": {**body["status"], **status}})


def test_a_deployment_without_a_status_is_not_rolled_out() -> None:
    assert not rolled_out({**deployment(), "status": {}})
    assert not rolled_out(None)


def test_a_daemon_set_counts_nodes() -> None:
    counts = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}
    body = {"metadata": {"generation": 1}, "spec": {}, "status": {"observedGeneration": 1, **counts}}
    assert rolled_out(body)
    assert not rolled_out({**body, "status": {**body["status"], "numberAvailable": 1}})


def test_an_object_without_pods_is_rolled_out() -> None:
    assert rolled_out({"metadata": {}, "spec": {"selector": {"app": "it"}}, "status": {"loadBalancer": {}}})


@pytest.mark.parametrize(
    ("strategy", "updated", "done"),
    [
        ({"type": "RollingUpdate"}, 1, False),
        ({"type": "RollingUpdate"}, 2, True),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, 0, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, 1, True),
        ({"type": "OnDelete"}, 0, True),
    ],
)
def test_a_stateful_set_replaces_the_pods_of_its_strategy(
    strategy: dict[str, object], updated: int, done: bool
) -> None:
    body = {
        "kind": "StatefulSet",
        "metadata": {"generation": 1},
        "spec": {"replicas": 2, "updateStrategy": strategy},
        "status": {"observedGeneration": 1, "replicas": 2, "availableReplicas": 2, "updatedReplicas": updated},
    }
    assert rolled_out(body) is done


READY = [{"type": "UpgradeInProgress", "status": "False"}, {"type": "Ready", "status": "True"}]
ACTIVE = {"rayClusterName": "models-a", "rayClusterStatus": {"readyWorkerReplicas": 0}}


@pytest.mark.parametrize(
    ("status", "upgraded", "lacks"),
    [
        ({}, False, "it has no RayCluster yet"),
        ({"activeServiceStatus": ACTIVE, "conditions": READY}, False, ""),
        ({"activeServiceStatus": ACTIVE, "conditions": READY[:1]}, False, "no pod of it serves requests"),
        (
            {
                "activeServiceStatus": ACTIVE,
                "pendingServiceStatus": {"rayClusterName": "models-b"},
                "conditions": READY,
            },
            False,
            "its new RayCluster models-b does not serve yet",
        ),
        # KubeRay may never write that it has seen a change that leads to no new RayCluster.
        ({"observedGeneration": 2, "activeServiceStatus": ACTIVE, "conditions": READY}, False, ""),
        (
            {"observedGeneration": 2, "activeServiceStatus": ACTIVE, "conditions": READY},
            True,
            "KubeRay has not started its upgrade",
        ),
        ({"observedGeneration": 3, "activeServiceStatus": ACTIVE, "conditions": READY}, True, ""),
    ],
)
def test_a_ray_service_is_ready_once_it_serves_from_one_cluster(
    status: dict[str, Any], upgraded: bool, lacks: str
) -> None:
    body = {"kind": "RayService", "metadata": {"generation": 3}, "spec": {"rayClusterConfig": {}}, "status": status}
    assert unfinished(body, upgraded=upgraded) == lacks
    # Before an upgrade, what an apply has changed is already rolled out.
    assert rolled_out(body) is (lacks == "" or upgraded)
