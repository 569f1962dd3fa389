"""The nodes that pods run on before and after."""

import json
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState, Node, Pod
from modelyard.plan.project import Planned, plan_recorded
from modelyard.preview.topology import MANY_NODES, Running, Scene, Topology, topology, topology_to_json
from tests.support.git_repository import Repository
from tests.support.project_copies import ROOT

CELERY = "deployment-model-training-tasks-gpu"
RAY = "deployment-ray-model-training-worker"
GPU = {"nvidia.com/gpu": Fraction(1)}


@pytest.fixture(scope="module")
def prod() -> Planned:
    return plan_recorded(ROOT, ROOT / "stacks" / "Pulumi.prod.yaml", date(2026, 11, 21))


def drawn(planned: Planned, change: Callable[[ClusterState], ClusterState] = lambda state: state) -> Topology:
    assert planned.state is not None
    found = topology(planned, planned._replace(state=change(planned.state)))
    assert found is not None
    return found


def running(scene: Scene | None, name: str) -> Running:
    assert scene is not None
    return next(one for one in scene.workloads if one.name == name)


def on(picture: Topology, name: str) -> dict[str, int]:
    return {picture.places[place].name: pods for place, pods in running(picture.after, name).on}


def test_pods_stay_where_they_run_and_new_ones_take_the_first_node_with_room(prod: Planned) -> None:
    picture = drawn(prod)
    assert on(picture, CELERY) == {"prod-gpu-01": 2, "prod-gpu-02": 1}
    assert running(picture.after, RAY).pods == 0
    assert [place.name for place in picture.places][:2] == ["prod-gpu-01", "prod-gpu-02"]
    assert picture.places[0][2:4] == ("NVIDIA-A30", 2)


def test_gpus_of_other_pods_are_not_free(prod: Planned) -> None:
    stranger = Pod("prod-gpu-01", "notebook", GPU)
    picture = drawn(prod, lambda state: state._replace(pods=(*state.pods, stranger)))
    assert picture.places[0].others == 1
    assert on(picture, CELERY) == {"prod-gpu-01": 1, "prod-gpu-02": 2}


def test_pods_without_a_node_are_pending(prod: Planned) -> None:
    stranger = Pod("prod-gpu-01", "notebook", {"nvidia.com/gpu": Fraction(2)})
    picture = drawn(prod, lambda state: state._replace(pods=(*state.pods, stranger)))
    workers = running(picture.after, CELERY)
    assert (workers.pods, workers.pending) == (3, 1)


def test_a_cordoned_node_gets_no_new_pod(prod: Planned) -> None:
    def cordoned(state: ClusterState) -> ClusterState:
        nodes = (node._replace(schedulable=node.name != "prod-gpu-02") for node in state.nodes)
        return state._replace(nodes=tuple(nodes), pods=())

    picture = drawn(prod, cordoned)
    assert on(picture, CELERY) == {"prod-gpu-01": 2}
    assert [place.cordoned for place in picture.places[:2]] == [False, True]


def test_pods_that_are_not_replaced_stay_on_a_cordoned_node(prod: Planned) -> None:
    assert prod.plan is not None

    def cordoned(state: ClusterState) -> ClusterState:
        return state._replace(nodes=tuple(node._replace(schedulable=False) for node in state.nodes))

    still = prod.plan._replace(targets=tuple(target._replace(replaces_pods=0) for target in prod.plan.targets))
    picture = drawn(prod._replace(plan=still), cordoned)
    assert on(picture, CELERY) == {"prod-gpu-01": 1, "prod-gpu-02": 1}
    assert running(picture.after, CELERY).pending == 1


def test_equal_nodes_of_a_large_cluster_are_one_place(prod: Planned) -> None:
    def large(state: ClusterState) -> ClusterState:
        gpu = next(node for node in state.nodes if node.name == "prod-gpu-01")
        copies: tuple[Node, ...] = tuple(gpu._replace(name=f"card-{number:03}") for number in range(MANY_NODES + 1))
        return state._replace(nodes=(*state.nodes, *copies))

    picture = drawn(prod, large)
    gpus = [place for place in picture.places if place.gpus]
    assert [(place.nodes, place.gpus) for place in gpus] == [(MANY_NODES + 3, 2 * (MANY_NODES + 3))]
    assert gpus[0].name == f"{MANY_NODES + 3} nodes"


def divided(node: Node, labels: dict[str, str], **offers: int) -> Node:
    """The node with other GPU resources: ``gpu``, ``shared`` and MIG profiles by their last name."""
    names = {"gpu": "nvidia.com/gpu", "shared": "nvidia.com/gpu.shared"}
    rest = {name: amount for name, amount in node.allocatable.items() if not name.startswith("nvidia.com")}
    own = {
        names.get(name, f"nvidia.com/mig-{name[1:].replace('_', '.')}"): Fraction(count)
        for name, count in offers.items()
    }
    return node._replace(labels={**node.labels, **labels}, allocatable={**rest, **own})


def on_divided(prod: Planned, labels: dict[str, str], *pods: Pod, **offers: int) -> Topology:
    """The picture in which prod-gpu-01 is divided."""

    def change(state: ClusterState) -> ClusterState:
        nodes = (divided(node, labels, **offers) if node.name == "prod-gpu-01" else node for node in state.nodes)
        return state._replace(nodes=tuple(nodes), pods=(*state.pods, *pods))

    return drawn(prod, change)


def test_each_kind_of_slice_is_a_place_of_its_own(prod: Planned) -> None:
    holder = Pod("prod-gpu-01", "notebook", {"nvidia.com/mig-1g.6gb": Fraction(2)})
    picture = on_divided(prod, {}, holder, gpu=1, m1g_6gb=4, m2g_12gb=1)
    found = [(one.resource, one.unit, one.gpus, one.others) for one in picture.places if one.name == "prod-gpu-01"]
    assert found == [
        ("nvidia.com/gpu", "GPU", 1, 0),
        ("nvidia.com/mig-1g.6gb", "MIG slice", 4, 2),
        ("nvidia.com/mig-2g.12gb", "MIG slice", 1, 0),
    ]
    # Whole GPUs are still what the workers ask for.
    assert on(picture, CELERY) == {"prod-gpu-01": 1, "prod-gpu-02": 2}


@pytest.mark.parametrize(
    ("labels", "offers", "place"),
    [
        ({}, {"shared": 8}, ("nvidia.com/gpu.shared", "share", 8)),
        ({"nvidia.com/gpu.replicas": "4"}, {"gpu": 8}, ("nvidia.com/gpu", "share", 8)),
        ({"nvidia.com/gpu.product": "NVIDIA-A30-MIG-1g.6gb"}, {"gpu": 8}, ("nvidia.com/gpu", "MIG slice", 8)),
    ],
)
def test_slices_have_their_own_name(
    prod: Planned, labels: dict[str, str], offers: dict[str, int], place: tuple[str, str, int]
) -> None:
    picture = on_divided(prod, labels, **offers)
    (found,) = [one for one in picture.places if one.name == "prod-gpu-01"]
    assert (found.resource, found.unit, found.gpus) == place


def test_pods_on_slices_are_drawn_on_the_slices(prod: Planned) -> None:
    assert prod.plan is not None

    def sliced(target: Any) -> Any:
        if target.name != CELERY:
            return target
        text = json.dumps(target.after.reveal()).replace('"nvidia.com/gpu": "1"', '"nvidia.com/gpu.shared": "1"')
        assert "gpu.shared" in text
        return target._replace(after=Confidential(json.loads(text)))

    plan = prod.plan._replace(targets=tuple(map(sliced, prod.plan.targets)))
    picture = on_divided(prod._replace(plan=plan), {}, shared=8)
    workers = running(picture.after, CELERY)
    assert (workers.resource, workers.unit, workers.gpus, workers.pending) == ("nvidia.com/gpu.shared", "share", 1, 0)
    (place,) = [picture.places[at] for at, _ in workers.on]
    assert (place.name, place.resource, place.gpus) == ("prod-gpu-01", "nvidia.com/gpu.shared", 8)


def test_new_jobs_go_to_the_queue_of_the_active_backend(repository: Repository) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray")
    picture = repository.preview().stacks[0].topology
    assert picture is not None
    assert picture.before is not None
    assert picture.after is not None
    assert [(queue.name, queue.takes_new) for queue in picture.before.queues] == [
        ("celery-model-training-tasks-gpu", True),
        ("deployment-ray-head", False),
    ]
    assert [queue.takes_new for queue in picture.after.queues] == [False, True]
    assert [(running(side, CELERY).pods, running(side, RAY).pods) for side in (picture.before, picture.after)] == [
        (3, 0),
        (0, 3),
    ]


def test_the_bounds_of_an_autoscaler_are_shown() -> None:
    staging = plan_recorded(ROOT, ROOT / "stacks" / "Pulumi.staging.yaml", date(2026, 11, 21))
    workers = running(drawn(staging).after, RAY)
    assert (workers.pods, workers.most, workers.gpus) == (1, 2, 4)


def test_a_revision_that_cannot_be_planned_is_not_drawn(prod: Planned) -> None:
    picture = topology(prod, prod._replace(plan=None))
    assert picture is not None
    assert picture.before is not None
    assert picture.after is None
    assert topology(Planned(None, None, ()), prod._replace(plan=None)) is None


def test_the_picture_is_plain_json(prod: Planned) -> None:
    document: Any = json.loads(json.dumps(topology_to_json(drawn(prod))))
    assert document["after"]["queues"][0]["takesNew"] is True
    assert document["after"]["workloads"][-1]["on"] == [[0, 2], [1, 1]]
    assert topology_to_json(None) is None


def test_a_preview_knows_the_version_of_every_patch(repository: Repository) -> None:
    repository.next_patch("model-service", "patch.yaml.j2", "cpu: {{ cpu }}", "cpu: {{ cpu }} ")
    stacks = {one.stack: one for one in repository.preview().stacks}
    moves = {one.name: (one.before, one.after) for one in stacks["dev"].patches}
    assert moves["model-service"] == ("v1", "v3")
    assert moves["ray-worker"] == ("v1", "v1")


def test_a_deleted_target_is_drawn_only_before(prod: Planned) -> None:
    assert prod.plan is not None
    (celery,) = [one for one in prod.plan.targets if one.name == CELERY]
    gone = celery._replace(action="delete", after=Confidential({}), replicas=(celery.replicas[0], 0))
    after = prod._replace(plan=prod.plan._replace(targets=(gone,)))
    picture = topology(prod, after)
    assert picture is not None
    assert running(picture.before, CELERY).pods == 3
    assert picture.after is not None
    assert CELERY not in {one.name for one in picture.after.workloads}


def test_a_restored_target_with_another_name_keeps_its_role(prod: Planned) -> None:
    assert prod.plan is not None
    (celery,) = [one for one in prod.plan.targets if one.name == CELERY]
    old = celery._replace(
        key=celery.key._replace(name="old", namespace="before"), action="restore", in_earlier_namespace=True
    )
    picture = topology(prod, prod._replace(plan=prod.plan._replace(targets=(*prod.plan.targets, old))))
    assert picture is not None
    assert (running(picture.after, "before/old").role, running(picture.after, "before/old").pods) == ("celery", 3)


def test_pods_that_a_deleted_object_leaves_are_room_for_others(prod: Planned) -> None:
    assert prod.plan is not None
    (celery,) = [one for one in prod.plan.targets if one.name == CELERY]
    gone = celery._replace(action="delete", after=Confidential({}), replicas=(celery.replicas[0], 0))
    copy = celery._replace(key=celery.key._replace(name="celery2"), action="create", before=Confidential(None))
    picture = topology(prod, prod._replace(plan=prod.plan._replace(targets=(gone, copy))))
    assert picture is not None
    assert (running(picture.after, "celery2").pods, running(picture.after, "celery2").pending) == (3, 0)


def test_pods_of_that_name_in_another_namespace_are_others(prod: Planned) -> None:
    stranger = Pod("prod-gpu-01", CELERY, GPU, "elsewhere")
    picture = drawn(prod, lambda state: state._replace(pods=(*state.pods, stranger)))
    assert picture.places[0].others == 1
