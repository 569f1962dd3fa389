"""Kueue can reach a worker cluster while jobs run there."""

from typing import Any

from modelyard.hiding import Confidential
from modelyard.plan.reach import in_turn
from modelyard.stack.pool import Flavor, Team, TeamQuota, WorkerCluster

FARM, CLOUD = WorkerCluster("farm", "farm-kubeconfig"), WorkerCluster("cloud", "cloud-kubeconfig")
BOTH = Team("vision", (TeamQuota("a10", gpus=2),), clusters=("farm", "cloud"))
ONE = BOTH._replace(clusters=("cloud",))


def pool(site: Any, *teams: Team, clusters: tuple[WorkerCluster, ...] = (FARM, CLOUD)) -> Any:
    return site.asking(teams=teams, flavors=(Flavor("a10", "A10"),), worker_clusters=clusters)


def waits(site: Any) -> dict[str, tuple[str, ...]]:
    """Returns the dependencies of each target of Kueue that has some, in order."""
    return {one.name: needs for one, needs in in_turn(site.plan().targets) if needs}


def busy(site: Any, jobs: int) -> Any:
    """Returns the applied site with this number of admitted jobs."""
    objects = {
        key: {**body, "status": {"reservingWorkloads": jobs}} if key.kind == "ClusterQueue" else body
        for key, body in site.applied().state.objects.reveal().items()
    }
    return site._replace(state=site.state._replace(objects=Confidential(objects)))


def summaries(site: Any) -> list[str]:
    return [one.summary for one in site.plan().findings if one.code == "QUE014"]


def test_a_referenced_object_is_created_first(dev: Any) -> None:
    made = pool(dev, BOTH)
    expected = {
        "clusters-vision": ("cluster-farm", "cluster-cloud"),
        "dispatch-vision": ("clusters-vision",),
        "team-vision": ("dispatch-vision",),
    }
    assert waits(made) == expected
    assert list(waits(made)) == list(expected)
    # Pulumi deletes dependent targets in reverse order, so the dependencies are also needed without changes.
    assert waits(made.applied()) == expected


def test_a_referenced_object_is_deleted_last(dev: Any) -> None:
    before = pool(dev, BOTH).applied()
    assert waits(pool(before, ONE, clusters=(CLOUD,)))["cluster-farm"] == ("clusters-vision",)
    gone = waits(pool(before, clusters=()))
    assert gone == {
        "dispatch-vision": ("team-vision",),
        "clusters-vision": ("dispatch-vision",),
        "cluster-farm": ("clusters-vision",),
        "cluster-cloud": ("clusters-vision",),
    }


def test_other_objects_keep_their_order(dev: Any) -> None:
    targets = pool(dev, BOTH).plan().targets
    order = [one.name for one, _ in in_turn(targets)]
    others = [one.name for one in targets if one.name not in waits(pool(dev, BOTH)) and "cluster-" not in one.name]
    assert order[: len(others)] == others
    assert sorted(order) == sorted(one.name for one in targets)


def test_dropping_a_worker_cluster_with_jobs_is_reported(dev: Any) -> None:
    before = pool(dev, BOTH)
    (said,) = summaries(pool(busy(before, 2), ONE, clusters=(CLOUD,)))
    assert said.startswith("cluster-farm ")
    assert " 2 runs of team-vision " in said
    assert summaries(pool(busy(before, 0), ONE, clusters=(CLOUD,))) == []
    assert summaries(pool(busy(before, 2), ONE)) == []
    # A deleted queue stays until its jobs have ended, and so do the objects that it needs.
    assert summaries(pool(busy(before, 2), clusters=())) == []
