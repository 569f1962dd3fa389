"""ResourceQuotas that allow or reject the pods of a plan."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.kube.state import Quota, quotas_of
from modelyard.plan.checks.placement import charged

GPUS = "requests.nvidia.com/gpu"
RAY = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"


def under(site: Any, hard: dict[str, int], used: dict[str, int], namespace: str = "ml-platform") -> Any:
    """Returns the site with one quota."""
    amounts = [{name: Fraction(value) for name, value in each.items()} for each in (hard, used)]
    return site._replace(state=site.state._replace(quotas=(Quota(namespace, "team", *amounts),)))


def findings_of(plan: Any) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == "RES108"]


def with_workers(site: Any, count: int) -> Any:
    return site.asking(ray_worker=site.stack.config.ray_worker._replace(replicas=count))


def test_pods_that_a_quota_would_reject_are_an_error(dev: Any) -> None:
    plan = under(with_workers(dev.applied(), 3), {GPUS: 2}, {GPUS: 1}).plan()
    (finding,) = findings_of(plan)
    assert " team " in finding.summary
    assert " 2 more requests.nvidia.com/gpu, and 1 of 2 " in finding.summary
    assert finding.target == RAY
    assert finding.blocks


def test_a_quota_that_is_just_enough_has_no_finding(dev: Any) -> None:
    assert findings_of(under(with_workers(dev.applied(), 3), {GPUS: 3}, {GPUS: 1}).plan()) == []


@pytest.mark.parametrize(
    ("name", "hard", "used"),
    [("pods", 5, 5), ("limits.memory", 2**30, 0), ("memory", 2**30, 0), ("requests.cpu", 8, 8), ("count/pods", 5, 5)],
)
def test_each_name_of_a_pod_resource_in_a_quota_counts(dev: Any, name: str, hard: int, used: int) -> None:
    plan = under(with_workers(dev.applied(), 2), {name: hard}, {name: used}).plan()
    assert [finding.target for finding in findings_of(plan)] == [RAY]


@pytest.mark.parametrize("hard", [{"services": 0}, {"requests.example.com/fpga": 0}])
def test_a_quota_of_resources_that_no_pod_uses_is_ignored(dev: Any, hard: dict[str, int]) -> None:
    assert findings_of(under(with_workers(dev.applied(), 2), hard, {}).plan()) == []


def test_a_quota_of_another_namespace_is_ignored(dev: Any) -> None:
    assert findings_of(under(with_workers(dev.applied(), 3), {GPUS: 1}, {GPUS: 1}, "elsewhere").plan()) == []


def test_an_exhausted_quota_does_not_block_a_plan_that_uses_less(dev: Any) -> None:
    plan = under(with_workers(dev.applied(), 0), {GPUS: 1}, {GPUS: 5}).plan()
    assert plan.changed != ()
    assert findings_of(plan) == []


def test_under_a_quota_for_one_backend_the_old_one_stops_first(dev: Any) -> None:
    switched = dev.applied().asking(training="celery")
    free = [step.target for step in switched.plan().steps if step.phase in ("up", "down")]
    plan = under(switched, {GPUS: 1}, {GPUS: 1}).plan()
    bound = [step.target for step in plan.steps if step.phase in ("up", "down")]
    assert (free, bound) == ([CELERY, RAY], [RAY, CELERY])
    assert findings_of(plan) == []
    assert any("0 of 1" in step.why for step in plan.steps)


def test_quotas_with_scopes_are_ignored() -> None:
    head = {"metadata": {"namespace": "n", "name": "q"}, "status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    assert quotas_of([{**head, "spec": {"scopes": ["BestEffort"]}}]) == ()
    assert quotas_of([{**head, "spec": {"scopeSelector": {"matchExpressions": []}}}]) == ()
    assert quotas_of([{**head, "spec": {}}]) == (Quota("n", "q", {"pods": Fraction(1)}, {"pods": Fraction(0)}),)


def test_a_pod_uses_quota_as_on_the_api_server() -> None:
    containers = [
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}},
        {"resources": {"limits": {"nvidia.com/gpu": 1}}},
    ]
    first = [{"resources": {"requests": {"cpu": "3"}}}]
    body = {"spec": {"template": {"spec": {"containers": containers, "initContainers": first}}}}
    assert charged(body) == {
        "pods": 1,
        "count/pods": 1,
        "cpu": 3,
        "memory": 2**30,
        "requests.cpu": 3,
        "requests.memory": 2**30,
        "requests.nvidia.com/gpu": 1,
        "limits.cpu": 2,
        "limits.memory": 2**30,
        "limits.nvidia.com/gpu": 1,
    }
    assert charged(None) == {}
