"""Numbers of pods: fixed, an autoscaler's, or unknown."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.plan.cost.values import Count, Money
from modelyard.stack.config import Autoscaling
from modelyard.stack.jobs import Job, Resource, Runtime, Scale
from modelyard.stack.pool import NodePool

WORKER = "deployment-ray-model-training-worker"
TASKS = "deployment-model-training-tasks-gpu"


def money(low: str, high: str | None = None) -> Money:
    return Money(Fraction(low), Fraction(low if high is None else high))


def scaled(most: str) -> Any:
    def change(body: dict[str, Any]) -> None:
        body["metadata"].setdefault("annotations", {}).update(
            {"autoscaling/enabled": "true", "autoscaling/max_replicas": most}
        )

    return change


def test_an_autoscaler_runs_from_none_to_the_most_it_may(dev: Any) -> None:
    worker = dev.asking(autoscaling=Autoscaling("annotations", 3)).of(WORKER)
    assert worker.pods == (Count(1, 1), Count(0, 3))
    assert worker.usd == (money("1.29"), money("0", "3.87"))
    assert worker.delta == money("-1.29", "2.58")


def test_the_inactive_backend_runs_no_pod_and_costs_nothing(staging: Any) -> None:
    tasks = staging.of(TASKS)
    assert tasks.pods[1] == Count(0, 0)
    assert tasks.usd[1] == money("0")


def test_an_autoscaler_that_stays_changes_nothing(staging: Any) -> None:
    later = staging.applied()
    worker = later.of(WORKER)
    assert worker.pods == (Count(0, 2), Count(0, 2))
    assert worker.usd == (money("0", "29.38708"),) * 2
    assert later.cost().delta == (money("0"), Count(0, 0))


def test_a_higher_bound_costs_from_nothing_to_the_pods_more(staging: Any) -> None:
    """At the same demand the higher bound never runs fewer: 2 pods more at 14.69354."""
    more = staging.applied().asking(autoscaling=Autoscaling("annotations", 4))
    assert more.of(WORKER).delta == money("0", "29.38708")


def test_an_autoscaler_of_the_platforms_own_counts_on_both_sides(dev: Any) -> None:
    server = dev.having("deployment-api-server", scaled("5")).of("deployment-api-server")
    assert server.pods == (Count(0, 5), Count(0, 5))


@pytest.mark.parametrize("most", ["", "many", "²"])
def test_an_invalid_bound_makes_the_cost_unknown(dev: Any, most: str) -> None:
    priced = dev.paying("machines:", "  - {type: cpu_16x_general, usdPerHour: 1}")
    site = priced.having("deployment-api-server", scaled(most))
    server = site.of("deployment-api-server")
    assert (server.pods, server.usd, server.delta) == ((None, None), (None, None), None)
    assert "number of its pods" in server.unknown
    assert site.cost().after.unknown is None


def test_a_deployment_without_replicas_has_one_pod(dev: Any) -> None:
    site = dev.having(TASKS, lambda body: body["spec"].pop("replicas"))
    assert site.of(TASKS).pods[0] == Count(1, 1)


def test_a_target_that_is_made_costs_nothing_before(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    worker = managed.of(WORKER)
    assert (worker.pods, worker.usd) == ((Count(0, 0), Count(1, 1)), (money("0"), money("1.29")))
    assert worker.delta == money("1.29")
    assert managed.cost().before == (money("0"), Count(0, 0))


def test_objects_without_pods_are_not_counted(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    assert "PodDisruptionBudget" in {target.key.kind for target in managed.plan().targets}
    assert {target.kind for target in managed.cost().targets} == {"Deployment"}


def test_pods_that_follow_their_load_never_are_fewer_than_their_workers(dev: Any) -> None:
    site = dev.asking(
        runtime=Runtime("images.example.com/jobs:1.2.3"),
        resources=(Resource("chat", "serving", 2, "1", "1Gi", gpus=1, scale=Scale(4, cpu=70)),),
        jobs=(Job("talk", "serving", "chat"),),
    )
    chat = site.of("resource-chat")
    assert (chat.pods, chat.gpus) == ((Count(0, 0), Count(2, 4)), (Count(0, 0), Count(2, 4)))
    assert chat.usd[1] == money("2.58", "5.16")
    assert site.applied().cost().delta == (money("0"), Count(0, 0))


def test_a_node_pool_has_no_pods_of_its_own(dev: Any) -> None:
    plain, pool = dev.cost(), dev.asking(node_pools=(NodePool("a10g", "A10G", 8, "gpu"),)).cost()
    assert [one.name for one in pool.targets] == [one.name for one in plain.targets]
    assert pool.delta == plain.delta
