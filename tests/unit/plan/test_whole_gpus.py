"""Resources that grow by a restart: whole GPUs while enough are free and no other pod waits, otherwise slices."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState, Node, Pod, Waiting
from modelyard.plan.store import moved
from modelyard.plan.whole_gpus import growing, with_whole_gpus
from modelyard.runs.pool.waiting_pods import waiting_pods
from modelyard.stack.jobs import Job, Model, Resource, Runtime, Scale
from modelyard.stack.pool import Flavor, Partition, Team, TeamQuota
from tests.support.pool_objects import (
    cluster_queue,
    condition,
    flavor,
    job,
    local_queue,
    pod,
    spec,
    waits,
    workload,
)

GPU, PRODUCT = "nvidia.com/gpu", "NVIDIA-A100-SXM4-80GB"
SMALL = Partition("small", "mig", gpu="a100-80gb", layout={"3g.40gb": 1, "1g.10gb": 4})
EVEN = Partition("even", "mps", gpu="a100-80gb", replicas=4)
SHARED = Partition("shared", "time-slicing", gpu="a100-80gb", replicas=4)
CHAT = Resource(
    "chat", "serving", workers=2, cpu="2", memory="8Gi", partition="small", slice="1g.10gb", grow=True, gpu="a100-80gb"
)
TALK = Job("talk", "serving", "chat")
GPU_TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OURS, THEIRS = ("ml-platform", "resource-chat"), ("other", "resource-chat")


def node(name: str = "whole", gpus: int = 2, cpu: int = 32, *taints: dict[str, str], **labels: str) -> Node:
    amounts = {"cpu": Fraction(cpu), "memory": Fraction(256 * 2**30), GPU: Fraction(gpus)}
    return Node(name, {"nvidia.com/gpu.product": PRODUCT, **labels}, (GPU_TAINT, *taints), amounts)


def held(gpus: int = 1, owner: tuple[str, str] = THEIRS, on: str = "whole") -> Pod:
    return Pod(on, owner[1], {GPU: Fraction(gpus)}, owner[0])


def wait(owner: tuple[str, str] = ("vision", "train"), gpus: int = 1, cpu: str = "1", **more: Any) -> Waiting:
    more = {"tolerations": [{"key": GPU, "operator": "Exists"}], **more}
    return Waiting("train-x", owner[0], owner[1], Confidential(spec(gpus, cpu=cpu, **more)))


SLICED = node("sliced", **{"nvidia.com/device-plugin.config": "small"})
IDLE = (node(),)
A10 = node("other", **{"nvidia.com/gpu.product": "NVIDIA-A10"})


def site(dev: Any, resource: Resource = CHAT, *, nodes: Any = IDLE, pods: Any = (), waiting: Any = ()) -> Any:
    made = dev.asking(
        runtime=Runtime("images.example.com/jobs:1"),
        partitions=(SMALL, EVEN, SHARED),
        resources=(resource,),
        jobs=(TALK,),
    )
    return made._replace(
        state=made.state._replace(nodes=(*made.state.nodes, *nodes), pods=(*made.state.pods, *pods), waiting=waiting)
    )


def decided(made: Any) -> tuple[Resource, str]:
    """Returns the planned resource and the reason."""
    grown = with_whole_gpus(made.stack, made.state)
    (note,) = grown.findings
    assert (note.code, note.field, note.target) == ("PAR018", "resources[0].grow", "resource-chat")
    return grown.stack.config.resources[0], note.summary.removeprefix("resource chat gets ")


WHOLE = CHAT._replace(partition=None, slice=None, grow=False, gpus=1)
ENOUGH = "whole GPUs: its 2 pods need 2 × a100-80gb, and 2 are free or in use by it; no other pod waits for one"
ONE = "slice 1g.10gb of partition small: its 2 pods need 2 × a100-80gb, and 1 is free or in use by it"
NONE = "slice 1g.10gb of partition small: its 2 pods need 2 × a100-80gb, and 0 are free or in use by it"
SOMEBODY = "slice 1g.10gb of partition small: train-x of vision waits for a GPU"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ENOUGH),
        ({"nodes": [node(gpus=3)], "pods": [held()]}, ENOUGH),
        ({"nodes": [node("a", 1), node("b", 1)]}, ENOUGH),
        ({"pods": [held()]}, ONE),
        ({"pods": [held(2)]}, NONE),
        ({"nodes": []}, NONE),
        # Its own pods with whole GPUs would be replaced.
        ({"pods": [held(1, OURS), held(1, OURS)]}, ENOUGH),
        ({"pods": [held(1, OURS), held(1, THEIRS)]}, ONE),
        # Nodes that its pods cannot use.
        ({"nodes": [SLICED]}, NONE),
        ({"nodes": [node(**{"nvidia.com/device-plugin.config": "default"})]}, ENOUGH),
        ({"nodes": [A10]}, NONE),
        ({"nodes": [node("whole", 2, 32, NOT_READY)]}, NONE),
        ({"nodes": [node()._replace(schedulable=False)]}, NONE),
        ({"nodes": [node("whole", 2, 32, {"key": "team", "value": "vision", "effect": "NoSchedule"})]}, NONE),
        ({"nodes": [node(cpu=3)]}, ONE),
        ({"nodes": [node(**{"nvidia.com/gpu.replicas": "4"})]}, NONE),
        # Waiting pods that could use a GPU there.
        ({"waiting": [wait()]}, SOMEBODY),
        ({"waiting": [wait(THEIRS)]}, "slice 1g.10gb of partition small: train-x of other waits for a GPU"),
        ({"pods": [held(2, OURS)], "waiting": [wait()]}, SOMEBODY),
        ({"waiting": [wait(OURS)]}, ENOUGH),
        ({"waiting": [wait(gpus=4)]}, ENOUGH),
        ({"waiting": [wait(cpu="64")]}, ENOUGH),
        ({"waiting": [wait(tolerations=[])]}, ENOUGH),
        ({"waiting": [wait(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A10"})]}, ENOUGH),
        ({"waiting": [wait(nodeSelector={"nvidia.com/gpu.product": PRODUCT})]}, SOMEBODY),
        ({"waiting": None}, "slice 1g.10gb of partition small: the pods that wait for a GPU are unknown"),
    ],
)
def test_a_resource_grows_while_gpus_are_free_and_no_pod_waits(dev: Any, changes: Any, why: str) -> None:
    resource, said = decided(site(dev, **changes))
    assert said == why
    assert resource == (WHOLE if why == ENOUGH else CHAT)


def test_a_resource_with_mps_grows_too(dev: Any) -> None:
    even = CHAT._replace(partition="even", slice=None)
    assert decided(site(dev, even)) == (WHOLE, ENOUGH)
    assert decided(site(dev, even, waiting=[wait()])) == (
        even,
        SOMEBODY.replace("slice 1g.10gb of partition small", "slices of partition even"),
    )


@pytest.mark.parametrize(
    "resource",
    [
        CHAT._replace(partition="shared", slice=None),
        CHAT._replace(partition=None, slice=None),
        CHAT._replace(grow=False),
        CHAT._replace(slice="2g.20gb"),
        WHOLE,
    ],
)
def test_other_resources_do_not_grow(dev: Any, resource: Resource) -> None:
    made = site(dev, resource)
    assert not growing(made.stack.config)
    assert with_whole_gpus(made.stack, made.state) == (made.stack, (), {})


def test_pods_that_an_autoscaler_may_add_need_gpus_too(dev: Any) -> None:
    scaled = CHAT._replace(workers=1, scale=Scale(3, cpu=70))
    resource, why = decided(site(dev, scaled))
    assert (resource, "3 pods need 3 ×" in why, "2 are free" in why) == (scaled, True, True)
    assert decided(site(dev, scaled, nodes=[node(gpus=3)]))[0].partition is None


def test_a_resource_with_an_error_in_its_slice_does_not_grow(dev: Any) -> None:
    """Otherwise only the plan that returns to slices would report the error."""
    large = site(dev).asking(jobs=(TALK._replace(type="llm-serving", model=Model("7G")),))
    large = large.asking(resources=(CHAT._replace(type="llm-serving"),))
    assert decided(large)[1] == "slice 1g.10gb of partition small: PAR014 is an error"
    assert decided(large.asking(resources=(CHAT._replace(type="llm-serving", slice="3g.40gb"),)))[0].partition is None


def test_no_gpu_is_used_by_two_resources(dev: Any) -> None:
    made = site(dev, nodes=[node(gpus=3)])
    second = Resource("more", "serving", workers=1, cpu="2", memory="8Gi", partition="even", grow=True)
    jobs = (TALK, Job("add", "serving", "more"))

    def kinds(*resources: Resource) -> list[str | None]:
        both = made.asking(resources=resources, jobs=jobs)
        return [one.partition for one in with_whole_gpus(both.stack, both.state).stack.config.resources]

    assert kinds(CHAT, second) == [None, None]
    assert kinds(CHAT, second._replace(workers=2)) == [None, "even"]
    assert kinds(second._replace(workers=2), CHAT) == [None, "small"]


def test_the_quota_of_a_team_must_admit_whole_gpus(dev: Any) -> None:
    made = site(dev, CHAT._replace(team="vision"))
    slices = TeamQuota("big", gpus=4, resource="nvidia.com/mig-1g.10gb")

    def reason(*quotas: TeamQuota, nodes: Any = IDLE, pods: Any = (), **flavor: Any) -> str:
        flavors = (Flavor("big", "a100-80gb", **flavor), Flavor("a10", "A10"))
        team = made.asking(teams=(Team("vision", quotas),), flavors=flavors)
        return decided(team._replace(state=made.state._replace(nodes=nodes, pods=pods)))[1]

    enough = reason(slices, TeamQuota("big", "64", "512Gi", gpus=2))
    assert enough == ENOUGH
    assert reason(slices) == "slice 1g.10gb of partition small: team vision has no quota of nvidia.com/gpu"
    assert (
        reason(TeamQuota("big", gpus=2))
        == "slice 1g.10gb of partition small: team vision has no quota of nvidia.com/mig-1g.10gb"
    )
    some = "slice 1g.10gb of partition small: team vision has quota for 1 × a100-80gb, for its 2 pods"
    assert reason(slices, TeamQuota("big", gpus=1), TeamQuota("a10", gpus=8)) == some
    busy = {"nodes": [node(gpus=8)], "pods": [held(1, ("vision", "train")), held(1, ("speech", "train"))]}
    assert reason(slices, TeamQuota("big", gpus=2), **busy) == some
    assert reason(slices, TeamQuota("big", gpus=3), **busy) == ENOUGH.replace("and 2 are", "and 6 are")
    # Kueue sends the pods to nodes of the flavor.
    assert reason(slices, TeamQuota("big", gpus=2), labels={"zone": "a"}) == NONE


def test_growing_is_planned_like_any_change_of_the_template(dev: Any) -> None:
    """From slices to whole GPUs and back is a rollout, like a change of the image."""

    def planned(made: Any) -> Any:
        return made._replace(stack=with_whole_gpus(made.stack, made.state).stack)

    def change(made: Any, running: Any) -> tuple[Any, Any, Any]:
        """Returns the Deployment, the steps and the drains of a plan after another plan was applied."""
        (ran,) = [one for one in running.plan().targets if one.name == "resource-chat"]
        objects = {**made.state.objects.reveal(), ran.key: ran.after.reveal()}
        plan = made._replace(state=made.state._replace(objects=Confidential(objects))).plan()
        (target,) = [one for one in plan.targets if one.name == "resource-chat"]
        return target, [step[:2] for step in plan.steps], plan.drains

    def limits(target: Any) -> dict[str, str]:
        container = target.after.reveal()["spec"]["template"]["spec"]["containers"][0]
        return {name: value for name, value in container["resources"]["limits"].items() if name.startswith("nvidia")}

    slices, whole = planned(site(dev, waiting=[wait()])), planned(site(dev))
    other = change(slices.asking(runtime=Runtime("images.example.com/jobs:2")), slices)
    grown, back = change(whole, slices), change(slices, whole)
    for target, steps, waits_for in (grown, back):
        assert (target.action, target.phase, target.replaces_pods) == (other[0].action, "normal", 2)
        assert (steps, waits_for) == other[1:]
    assert limits(grown[0]) == {GPU: "1"}
    assert limits(back[0]) == {"nvidia.com/mig-1g.10gb": "1"}
    assert [change(one, one)[0].action for one in (slices, whole)] == ["none", "none"]


# Waiting pods and workloads as the API server returns them.
QUEUES: dict[str, Any] = {
    "queues": (cluster_queue("team-vision", 2, flavor="big"),),
    "local_queues": (local_queue(),),
    "flavors": (flavor("big", **{"nvidia.com/gpu.product": PRODUCT}),),
    "kueue": True,
}
UNSCHEDULABLE = {"phase": "Pending", "conditions": [condition("PodScheduled", False, reason="Unschedulable")]}
RUN = job("train-x", wants=spec(tolerations=[{"key": GPU, "operator": "Exists"}]), suspend=True)


def owners(dev: Any, **objects: Any) -> list[tuple[str, str, str]]:
    found = waiting_pods(PoolObjects(**{"nodes": (), "pods": (), **objects}), dev.stack.config)
    assert found is not None
    return [one[:3] for one in found]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ({"pods": (pod("a", None, **UNSCHEDULABLE),)}, [("a", "vision", "a")]),
        (
            {"pods": (pod("chat-5f-x", None, owner=("ReplicaSet", "chat-5f", "u"), **UNSCHEDULABLE),)},
            [("chat-5f-x", "vision", "chat")],
        ),
        ({"pods": (pod("a", None, spec(0), **UNSCHEDULABLE),)}, []),
        ({"pods": (pod("a", None, spec(resource="nvidia.com/mig-1g.10gb"), **UNSCHEDULABLE),)}, []),
        ({"pods": (pod("a", "node", phase="Pending"), pod("b", None, phase="Pending"), pod("c", "node"))}, []),
        ({**QUEUES, "workloads": (workload(RUN, waits("no quota")),)}, [("train-x", "vision", "train-x")]),
        ({**QUEUES, "workloads": (workload(RUN, queue="team-vision"),)}, []),
        ({**QUEUES, "workloads": (workload(RUN, condition("Finished")),)}, []),
        ({**QUEUES, "workloads": (workload(job("a", wants=spec(0)), waits("no quota")),)}, []),
        ({**QUEUES, "local_queues": (), "workloads": (workload(RUN, waits("no queue")),)}, []),
        (
            {
                **QUEUES,
                "queues": (cluster_queue("team-vision", active=condition("Active", False, reason="Stopped")),),
                "workloads": (workload(RUN, waits("stopped")),),
            },
            [],
        ),
    ],
)
def test_waiting_pods_have_their_owner(dev: Any, objects: Any, expected: list[tuple[str, str, str]]) -> None:
    assert owners(dev, **objects) == expected


def test_a_pod_that_kueue_gates_belongs_to_its_deployment(dev: Any) -> None:
    made = pod("chat-5f-x", None, phase="Pending", owner=("ReplicaSet", "chat-5f", "u"))
    work = workload(RUN, waits("no quota"))
    work["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "chat-5f-x", "uid": "u2", "controller": True}]
    assert owners(dev, **QUEUES, pods=(made,), workloads=(work,)) == [("chat-5f-x", "vision", "chat")]


def test_a_run_in_a_queue_waits_for_the_nodes_of_its_flavor(dev: Any) -> None:
    def waiting(product: str) -> Any:
        flavors = (flavor("big", **{"nvidia.com/gpu.product": product}),)
        objects = PoolObjects(
            nodes=(), pods=(), **{**QUEUES, "flavors": flavors}, workloads=(workload(RUN, waits("")),)
        )
        return waiting_pods(objects, dev.stack.config)

    assert decided(site(dev, waiting=waiting(PRODUCT)))[1] == SOMEBODY
    assert decided(site(dev, waiting=waiting("NVIDIA-A10")))[1] == ENOUGH


def test_without_the_right_to_read_workloads_waiting_pods_are_unknown(dev: Any) -> None:
    assert waiting_pods(PoolObjects(nodes=(), pods=(), unread=("workloads",)), dev.stack.config) is None


def test_only_the_scheduling_fields_of_a_waiting_pod_are_kept(dev: Any) -> None:
    secret = spec(volumes=[{"name": "key"}], affinity={"podAffinity": {"x": 1}})
    secret["containers"][0]["env"] = [{"name": "TOKEN", "value": "hidden"}]
    objects = PoolObjects(nodes=(), pods=(pod("a", None, secret, **UNSCHEDULABLE),))
    (one,) = waiting_pods(objects, dev.stack.config) or ()
    container = secret["containers"][0]
    assert one.spec.reveal() == {"containers": [{"name": "job", "resources": container["resources"]}]}


def test_a_plan_approved_for_another_size_is_stale(dev: Any) -> None:
    def plan(state: Callable[[ClusterState], ClusterState]) -> Any:
        made = site(dev)
        grown = with_whole_gpus(made.stack, state(made.state))
        return made._replace(stack=grown.stack).plan()._replace(inputs=grown.inputs)

    whole, slices = plan(lambda state: state), plan(lambda state: state._replace(waiting=(wait(),)))
    assert moved(whole, whole) == ()
    assert "input resource chat changed" in moved(whole, slices)
