"""The view of GPUs: who holds them, and what stays unknown."""

import re
from typing import Any

import pytest

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.report.pool import RoomRequest, pool_text
from modelyard.runs.pool import PoolView, Usage, pool_view
from modelyard.runs.pool.usage import PodUsage
from modelyard.runs.pool.values import Idle
from modelyard.stack.config import Config
from modelyard.stack.pool import Team, WorkerCluster
from tests.support.example_stacks import environments
from tests.support.pool_objects import (
    LONG_AGO,
    NOW,
    RECENTLY,
    cluster_queue,
    condition,
    flavor,
    job,
    local_queue,
    node,
    pod,
    spec,
    waits,
    workload,
)
from tests.support.processor_time import takes_at_most

TEAMS = (Team("vision", ()), Team("speech", (), namespace="speech-ml"))


@pytest.fixture(scope="module")
def config() -> Config:
    """Of a stack with two teams."""
    return environments()["dev"][0].config._replace(teams=TEAMS)


@pytest.fixture
def view(config: Config) -> Any:
    """Makes the view of a pool."""

    def make(usage: Usage | None = None, **objects: Any) -> PoolView:
        given = {name: tuple(bodies) if isinstance(bodies, list) else bodies for name, bodies in objects.items()}
        return pool_view(PoolObjects(**{"nodes": (), "pods": (), **given}), config, usage, NOW)

    return make


def test_taken_and_free_by_product_node_and_owner(view: Any) -> None:
    found = view(
        nodes=[node("n1"), node("n2"), node("big", "NVIDIA-A100-SXM4-40GB", 8), node("cpu", "", 0)],
        pods=[
            pod("a-0", "n1", spec(2), run="train-abc12", owner=("Job", "train-abc12", "u")),
            pod("a-1", "n2", spec(1), run="train-abc12", owner=("Job", "train-abc12", "u")),
            pod("web-7f-x", "big", spec(3), namespace="apps", owner=("ReplicaSet", "web-7f", "r")),
            pod("cpu-only", "cpu", spec(0)),
        ],
    )
    assert [(one.product, one.nodes, one.gpus, one.taken, one.free) for one in found.products] == [
        ("NVIDIA-A10", 2, 4, 3, 1),
        ("NVIDIA-A100-SXM4-40GB", 1, 8, 3, 5),
    ]
    assert [(one.name, one.taken, one.free) for one in found.nodes] == [("big", 3, 5), ("n1", 2, 0), ("n2", 1, 1)]
    first, second = found.takers
    assert (first.owner.team, first.owner.name, first.owner.job, first.gpus, first.pods) == (
        "vision",
        "train-abc12",
        "train",
        3,
        2,
    )
    assert (first.nodes, first.since) == (("n1", "n2"), LONG_AGO)
    assert (second.owner.team, second.owner.namespace, second.owner.name, second.owner.job) == (
        None,
        "apps",
        "web",
        None,
    )


def test_nodes_that_take_no_pods_have_nothing_free(view: Any) -> None:
    cordoned, lost = node("cordoned"), node("lost")
    cordoned["spec"]["unschedulable"] = True
    lost["status"]["conditions"] = [condition("Ready", False)]
    found = view(nodes=[cordoned, lost, node("fine")], pods=[pod("p", "cordoned")])
    (product,) = found.products
    assert (product.gpus, product.taken, product.free, product.closed) == (6, 1, 2, 3)
    assert {one.name: one.state for one in found.nodes} == {
        "cordoned": "cordoned",
        "fine": "ready",
        "lost": "not ready",
    }


def test_parts_of_gpus_have_rows_of_their_own(view: Any) -> None:
    mig = node("mig", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 0)
    mig["status"]["allocatable"]["nvidia.com/mig-1g.5gb"] = "7"
    shared = node("shared", "NVIDIA-A10-SHARED", 0)
    shared["status"]["allocatable"]["nvidia.com/gpu.shared"] = "8"
    found = view(
        Usage({("vision", "s"): PodUsage(1, 1)}, 10),
        nodes=[mig, shared],
        pods=[pod("m", "mig", spec(2, "nvidia.com/mig-1g.5gb")), pod("s", "shared", spec(1, "nvidia.com/gpu.shared"))],
    )
    assert [(one.resource, one.gpus, one.taken, one.idle) for one in found.products] == [
        # The number is of the whole GPU, which others use too.
        ("nvidia.com/gpu.shared", 8, 1, Idle(0, 1)),
        ("nvidia.com/mig-1g.5gb", 7, 2, Idle(0, 2)),
    ]


def test_shares_named_like_gpus_are_not_measured_as_gpus(view: Any) -> None:
    sliced = node("n", "NVIDIA-A10-SHARED", 8)
    found = view(Usage({("vision", "p"): PodUsage(1, 1)}, 10), nodes=[sliced], pods=[pod("p", "n")])
    assert found.takers[0].idle == Idle(0, 1)


@pytest.mark.parametrize(
    ("known", "since", "idle"),
    [
        (None, LONG_AGO, Idle(0, 2)),
        (PodUsage(2, 2), LONG_AGO, Idle(2, 0)),
        (PodUsage(2, 1), LONG_AGO, Idle(1, 0)),
        (PodUsage(2, 0), LONG_AGO, Idle(0, 0)),
        (PodUsage(1, 1), LONG_AGO, Idle(1, 1)),
        (PodUsage(2, 2), RECENTLY, Idle(0, 2)),
    ],
    ids=["no metrics", "all idle", "one idle", "busy", "one not measured", "just begun"],
)
def test_only_measured_gpus_are_idle(view: Any, known: PodUsage | None, since: str, idle: Idle) -> None:
    usage = Usage({("vision", "p"): known} if known else {}, 10)
    found = view(usage, nodes=[node("n")], pods=[pod("p", "n", spec(2), since=since)])
    assert found.takers[0].idle == found.nodes[0].idle == found.products[0].idle == idle
    assert view(None, nodes=[node("n")], pods=[pod("p", "n", spec(2))]).takers[0].idle == Idle(0, 2)


@pytest.mark.parametrize(
    ("known", "percent"),
    [
        (None, None),
        (PodUsage(2, 1, 97.0), 48),
        (PodUsage(2, 0, 190.0), 95),
        (PodUsage(1, 0, 60.0), 60),
        (PodUsage(4, 0, 200.0), 50),
    ],
    ids=["no metrics", "one idle", "busy", "one not measured", "more than it asked for"],
)
def test_utilisation_is_the_mean_of_what_was_measured(view: Any, known: PodUsage | None, percent: int | None) -> None:
    usage = Usage({("vision", "p"): known} if known else {}, 10)
    # Somebody whose GPU nobody measured is no reason to call the others less busy.
    pods = [pod("p", "n", spec(2), since=LONG_AGO), pod("q", "m", since=LONG_AGO)]
    found = view(usage, nodes=[node("n"), node("m")], pods=pods)
    (product,) = found.products
    assert product.idle.utilisation(product.taken) == percent
    assert [one.idle.utilisation(one.taken) for one in found.nodes if one.name == "n"] == [percent]
    assert [one.idle.utilisation(one.taken) for one in found.nodes if one.name == "m"] == [None]


def test_runs_waiting_for_quota_have_a_place_and_others_a_reason(view: Any) -> None:
    runs = [job("first-aaaaa", suspend=True), job("urgent-bbbbb", suspend=True, since=RECENTLY)]
    held = job("held-ccccc", workers=2)
    found = view(
        nodes=[node("n")],
        pods=[
            pod("h", "n", spec(2), run="held-ccccc", owner=("Job", "held-ccccc", "uid-of-held-ccccc")),
            pod(
                "late",
                None,
                spec(2),
                namespace="apps",
                phase="Pending",
                conditions=[condition("PodScheduled", False, message="0/1 nodes are available")],
            ),
            pod("gated", None, spec(1, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]), phase="Pending"),
        ],
        workloads=[
            workload(runs[0], waits("insufficient unused quota")),
            workload(runs[1], waits("insufficient unused quota"), priority=10),
            workload(held, queue="team-vision"),
            workload(job("done-ddddd"), condition("Finished"), queue="team-vision"),
        ],
        queues=[cluster_queue("team-vision", 2, 2, cohort="research", limit=1), cluster_queue("other")],
        local_queues=[local_queue()],
        flavors=[flavor()],
        kueue=True,
    )
    assert [(one.owner.name, one.place, one.on, one.total) for one in found.waiters] == [
        ("urgent-bbbbb", 1, "quota", 1),
        ("first-aaaaa", 2, "quota", 1),
        ("late", None, "node", 2),
    ]
    assert found.waiters[2].reason.startswith("0/1 nodes ")
    assert found.products[0].queued == 4
    other, ours = found.queues
    assert (other.team, other.quotas[0].borrow) == (None, 0)
    assert (ours.team, ours.waiting, ours.waiting_gpus) == ("vision", 2, 2)
    assert (ours.quotas[0].nominal, ours.quotas[0].used, ours.quotas[0].borrow) == (2, 2, 1)


def test_a_waiting_stage_is_shown_with_its_run_and_its_own_time(view: Any) -> None:
    """The labels of its pods say whose it is; its Workload is as old as the run."""
    first, second = job("night-1-a"), job("night-1-b", suspend=True)
    for name, body in (("a", first), ("b", second)):
        body["spec"]["template"]["metadata"]["labels"] |= {
            "modelyard.dev/pipeline-run": "night-1",
            "modelyard.dev/stage": name,
        }
    runs = pod("x", "n", run="night-1-a", owner=("Job", "night-1-a", "uid-of-night-1-a"))
    runs["metadata"]["labels"] |= first["spec"]["template"]["metadata"]["labels"]
    waiting = workload(second, waits("insufficient unused quota"))
    waiting["metadata"]["managedFields"] = [{"time": RECENTLY, "fieldsV1": {"f:spec": {"f:queueName": {}}}}]
    found = view(
        nodes=[node("n")],
        pods=[runs],
        workloads=[workload(first, queue="team-vision"), waiting, workload(job("late-1", since=RECENTLY), waits("no"))],
        queues=[cluster_queue("team-vision", 1, 1)],
        local_queues=[local_queue()],
        kueue=True,
    )
    (taker,) = found.takers
    assert (taker.owner.name, taker.owner.stage, taker.owner.team) == ("night-1", "a", "vision")
    # Kueue counts its place from when the Workload was made.
    assert [(one.owner.name, one.owner.stage, one.place, one.since) for one in found.waiters] == [
        ("night-1", "b", 1, RECENTLY),
        ("late-1", None, 2, RECENTLY),
    ]
    text = "\n".join(pool_text(found, RoomRequest("dev", NOW, None)))
    for row in ("vision  night-1 (stage a)  1", "vision  night-1 (stage b)  1     2m"):
        assert row in text


def test_a_part_of_the_pool_counts_its_queued_gpus(view: Any) -> None:
    waiting = job("first-aaaaa", suspend=True)
    found = view(
        nodes=[node("n")],
        pods=[pod("h", "n", spec(2), run="held-ccccc")],
        workloads=[workload(waiting, waits("no room"))],
        queues=[cluster_queue("team-vision")],
        local_queues=[local_queue()],
    )
    for part in (found, found.of_team("speech"), found.of_node("n")):
        assert (part.queued, part.products[0].queued) == (1, 1)
    # A node has no queue.
    assert (found.of_node("n").queues, found.of_node("n").waiters) == ((), ())
    assert [one.name for one in found.of_node("n").nodes] == ["n"]


def test_queued_gpus_count_for_the_products_that_could_serve_them(view: Any) -> None:
    picky = spec(1, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A30"})
    found = view(
        nodes=[node("a10"), node("a30", "NVIDIA-A30")],
        pods=[
            pod("any", None, spec(2), phase="Pending"),
            pod("picky", None, picky, phase="Pending"),
        ],
    )
    assert {one.product: one.queued for one in found.products} == {"NVIDIA-A10": 2, "NVIDIA-A30": 3}


def test_the_team_is_that_of_the_queue_then_that_of_the_namespace(view: Any) -> None:
    foreign = job("x-11111", queue="shared", namespace="somewhere")
    found = view(
        nodes=[node("n", gpus=4)],
        pods=[
            pod("a", "n", namespace="somewhere", owner=("Job", "x-11111", "uid-of-x-11111")),
            pod("w", "n", namespace="somewhere", run="x-11111", owner=("RayCluster", "x-11111-z", "other")),
            pod("b", "n", namespace="speech-ml"),
            pod("c", "n", namespace="elsewhere"),
        ],
        workloads=[workload(foreign, queue="research")],
        queues=[cluster_queue("research")],
        local_queues=[local_queue("shared", "somewhere", "research")],
        kueue=True,
    )
    assert [(one.owner.namespace, one.owner.team) for one in found.takers] == [
        ("somewhere", "research"),
        ("somewhere", "research"),
        ("speech-ml", "speech"),
        ("elsewhere", None),
    ]
    assert [one.owner.team for one in found.of_team("speech").takers] == ["speech"]
    assert found.teams == ("research", "speech")


def test_a_stopped_queue_has_its_reason(view: Any) -> None:
    inactive = condition("Active", False, reason="FlavorNotFound", message="no flavor: a10")
    found = view(nodes=[node("n")], queues=[cluster_queue("team-vision", active=inactive)], kueue=True)
    assert found.queues[0].stopped == "no flavor: a10"


def test_a_large_pool_is_seen_in_little_time(view: Any) -> None:
    """5,000 nodes and 20,000 pods: what grows with their product would take minutes."""
    nodes = [node(f"n{number:04}", gpus=8) for number in range(5000)]
    pods = [pod(f"p{number}", f"n{number % 5000:04}", spec(2), run=f"r-{number % 300}") for number in range(20_000)]
    with takes_at_most(20):
        found = view(nodes=nodes, pods=pods)
    assert (found.products[0].gpus, found.products[0].free, len(found.takers)) == (40_000, 0, 300)


def test_runs_in_worker_clusters_hold_gpus_and_unassigned_runs_wait(view: Any, config: Config) -> None:
    there, asked, here = job("there-aaaaa", workers=2), job("asked-bbbbb"), job("here-ccccc")
    works = [workload(body, queue="team-vision") for body in (there, asked, here)]
    works[0]["status"]["clusterName"] = "cluster-farm"
    works[1]["status"] |= {
        "conditions": [condition("QuotaReserved")],
        "nominatedClusterNames": ["cluster-farm", "cluster-cloud"],
        "admissionChecks": [
            {"name": "budget", "state": "Ready"},
            {"name": "dispatch-vision", "state": "Pending", "message": "no answer"},
        ],
    }
    queues = {"queues": [cluster_queue("team-vision", 8, 4)], "local_queues": [local_queue()], "flavors": [flavor()]}
    found = view(workloads=works, kueue=True, **queues)
    (taker,) = found.takers
    assert (taker.owner.name, taker.gpus, taker.pods, taker.cluster, taker.nodes) == (
        "there-aaaaa",
        2,
        2,
        "cluster-farm",
        (),
    )
    assert taker.idle == Idle(0, 2)
    (waiter,) = found.waiters
    assert (waiter.owner.name, waiter.on, waiter.total, waiter.place) == ("asked-bbbbb", "check", 1, None)
    assert waiter.reason == "dispatch-vision: no answer; cluster-farm, cluster-cloud asked"
    named = config._replace(worker_clusters=(WorkerCluster("farm", "farm-kubeconfig"),))
    asked_now = RoomRequest("dev", NOW, None)
    shown = pool_text(pool_view(PoolObjects((), (), workloads=tuple(works), kueue=True), named, None, NOW), asked_now)
    assert re.match("dev: .* no GPU nodes, 1 queued$", shown[0])
    assert "in farm" in "\n".join(shown)
    assert re.match("dev: .* no GPU nodes$", pool_text(view(), asked_now)[0])
