"""Which pods fit on which nodes, and why not."""

from fractions import Fraction
from typing import Any

from modelyard.cluster import ClusterState, Node, Pod
from modelyard.cluster.state import amounts
from modelyard.plan.capacity import fit
from modelyard.workloads import Workload

TAINT = ({"key": "nvidia.com/gpu", "effect": "NoSchedule"},)
WORKER = Workload("rayWorker", "ray", "ray", 1, cpu="8", memory="32Gi", gpus=1, nodes="gpu", products=("NVIDIA-A10",))


def gpu_node(name: str, gpus: int = 1, product: str = "NVIDIA-A10", **changes: Any) -> Node:
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": product}
    resources = amounts({"cpu": "30", "memory": "200Gi", "nvidia.com/gpu": str(gpus)})
    return Node(name, labels, TAINT, resources)._replace(**changes)


def cpu_node(name: str) -> Node:
    return Node(name, {}, (), amounts({"cpu": "16", "memory": "64Gi"}))


def state(*nodes: Node, pods: tuple[Pod, ...] = ()) -> ClusterState:
    return ClusterState("recorded", "id", "v1.35.4", {}, nodes, pods)


def pod(node: str, owner: str, **requests: str) -> Pod:
    return Pod(node, owner, amounts({name.replace("gpu", "nvidia.com/gpu"): value for name, value in requests.items()}))


def test_one_pod_a_card() -> None:
    assert fit(WORKER, state(gpu_node("a"), gpu_node("b", 3), cpu_node("c"))).pods == 4


def test_memory_can_be_what_runs_out_first() -> None:
    found = fit(WORKER._replace(memory="90Gi"), state(gpu_node("a", 8)))
    assert found.pods == 2
    assert found.reasons == (("a", "200Gi of 200Gi memory free, a pod needs 90Gi"),)


def test_other_pods_take_room_unless_they_are_gone() -> None:
    taken = (pod("a", "celery", cpu="8", memory="32Gi", gpu="1"),)
    assert fit(WORKER, state(gpu_node("a"), pods=taken)).pods == 0
    assert fit(WORKER, state(gpu_node("a"), pods=taken), without=["celery"]).pods == 1


def test_every_node_has_its_reason() -> None:
    nodes = (
        gpu_node("other-card", product="NVIDIA-A10G"),
        gpu_node("cordoned", schedulable=False),
        gpu_node("tainted", taints=(*TAINT, {"key": "maintenance", "effect": "NoExecute"})),
        gpu_node("small", allocatable=amounts({"cpu": "4", "memory": "200Gi", "nvidia.com/gpu": "1"})),
        cpu_node("plain"),
    )
    assert fit(WORKER, state(*nodes)).reasons == (
        ("cordoned", "is cordoned"),
        ("other-card", "has NVIDIA-A10G"),
        ("plain", "has no GPU"),
        ("small", "4 of 4 CPU free, a pod needs 8"),
        ("tainted", "has the taint maintenance"),
    )


def test_a_cpu_workload_stays_off_gpu_nodes() -> None:
    head = Workload("rayHead", "head", "head", 1, cpu="2", memory="16Gi", nodes="cpu")
    found = fit(head, state(gpu_node("a"), cpu_node("b")))
    assert (found.pods, found.reasons[0]) == (4, ("a", "is a GPU node"))


def test_exact_fractions() -> None:
    thirds = WORKER._replace(cpu="100m", gpus=0, memory="1Gi")
    node = gpu_node("a", allocatable={"cpu": Fraction(1), "memory": Fraction(2**40)})
    assert fit(thirds, state(node)).pods == 10
