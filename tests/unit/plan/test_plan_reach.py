"""That worker clusters stay within Kueue's reach while jobs run there."""

from typing import Any

from modelyard.hiding import Confidential
from modelyard.plan.reach import in_turn
from modelyard.stack.pool import Flavor, Quota, Team, WorkerCluster

FARM, CLOUD = WorkerCluster("farm", "farm-kubeconfig"), WorkerCluster("cloud", "cloud-kubeconfig")
BOTH = Team("vision", (Quota("a10", gpus=2),), clusters=("farm", "cloud"))
ONE = BOTH._replace(clusters=("cloud",))


def pool(site: Any, *teams: Team, clusters: tuple[WorkerCluster, ...] = (FARM, CLOUD)) -> Any:
    return site.asking(teams=teams, flavors=(Flavor("a10", "A10"),), worker_clusters=clusters)


def waits(site: Any) -> dict[str, tuple[str, ...]]:
    """What each of Kueue's targets waits for, in their order, those that wait for nothing left out."""
    return {one.name: needs for one, needs in in_turn(site.plan().targets) if needs}


def busy(site: Any, jobs: int) -> Any:
    """The same, with so many jobs that have quota."""
    objects = {
        key: {**body, "status": {"reservingWorkloads": jobs}} if key.kind == "ClusterQueue" else body
        for key, body in site.applied().state.objects.reveal().items()
    }
    return site._replace(state=site.state._replace(objects=Confidential(objects)))


def told(site: Any) -> list[str]:
    return [one.summary for one in site.plan().findings if one.code == "QUE014"]


def test_what_is_named_is_made_first(dev: Any) -> None:
    made = pool(dev, BOTH)
    expected = {
        "clusters-vision": ("cluster-farm", "cluster-cloud"),
        "dispatch-vision": ("clusters-vision",),
        "team-vision": ("dispatch-vision",),
    }
    assert waits(made) == expected
    assert list(waits(made)) == list(expected)
    # The engine deletes in the opposite order what it knows to wait, also after a run that changed nothing.
    assert waits(made.applied()) == expected


def test_what_goes_waits_for_what_named_it(dev: Any) -> None:
    before = pool(dev, BOTH).applied()
    assert waits(pool(before, ONE, clusters=(CLOUD,)))["cluster-farm"] == ("clusters-vision",)
    gone = waits(pool(before, clusters=()))
    assert gone == {
        "dispatch-vision": ("team-vision",),
        "clusters-vision": ("dispatch-vision",),
        "cluster-farm": ("clusters-vision",),
        "cluster-cloud": ("clusters-vision",),
    }


def test_others_keep_their_order_and_wait_for_nothing(dev: Any) -> None:
    targets = pool(dev, BOTH).plan().targets
    order = [one.name for one, _ in in_turn(targets)]
    others = [one.name for one in targets if one.name not in waits(pool(dev, BOTH)) and "cluster-" not in one.name]
    assert order[: len(others)] == others
    assert sorted(order) == sorted(one.name for one in targets)


def test_a_cluster_in_which_jobs_may_run_is_not_dropped_in_silence(dev: Any) -> None:
    before = pool(dev, BOTH)
    (said,) = told(pool(busy(before, 2), ONE, clusters=(CLOUD,)))
    assert said.startswith("cluster-farm ")
    assert " 2 jobs of team-vision " in said
    assert told(pool(busy(before, 0), ONE, clusters=(CLOUD,))) == []
    assert told(pool(busy(before, 2), ONE)) == []
    # A queue that goes as well stays until its jobs have ended, and what leads to the cluster with it.
    assert told(pool(busy(before, 2), clusters=())) == []
