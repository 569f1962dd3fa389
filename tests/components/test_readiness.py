"""What is not ready is left to the engine: it sends such an object again, whatever the plan says."""

from typing import Any

import pytest

from modelyard.engine.program.rollouts import rolled_out
from modelyard.hiding import Confidential
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
def test_a_deployment_that_lacks_something_is_not(status: dict[str, int]) -> None:
    body = deployment()
    assert not rolled_out({**body, "status": {**body["status"], **status}})


def test_a_deployment_without_any_status_is_not() -> None:
    assert not rolled_out({**deployment(), "status": {}})
    assert not rolled_out(None)


def test_a_daemon_set_counts_nodes() -> None:
    counts = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}
    body = {"metadata": {"generation": 1}, "spec": {}, "status": {"observedGeneration": 1, **counts}}
    assert rolled_out(body)
    assert not rolled_out({**body, "status": {**body["status"], "numberAvailable": 1}})


def test_what_has_no_pods_has_nothing_to_wait_for() -> None:
    assert rolled_out({"metadata": {}, "spec": {"selector": {"app": "it"}}, "status": {"loadBalancer": {}}})
