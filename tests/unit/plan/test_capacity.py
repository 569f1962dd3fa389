"""How many pods fit on nodes, and why others do not."""

from collections.abc import Collection
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.scheduling.capacity import MANY, by_node
from modelyard.kube.scheduling.pods import Pods, pods_of
from modelyard.kube.scheduling.room import Room, room_of
from modelyard.kube.state import ClusterState, Node, Pod, amounts

TAINT = ({"key": "nvidia.com/gpu", "effect": "NoSchedule"},)
ON_A10 = {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-A10"]}
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def pods(*rules: dict[str, Any], tolerations: Any = TOLERATED, selector: Any = None, **requests: str) -> Pods:
    """Returns the pods of a Deployment with node affinity rules."""
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"limits": dict(requests)}}]}
    spec |= {"tolerations": tolerations, "nodeSelector": selector}
    if rules:
        terms = {"nodeSelectorTerms": [{"matchExpressions": list(rules)}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pods_of({"spec": {"template": {"spec": spec}}})


def worker(**requests: str) -> Pods:
    return pods(ON_A10, **{"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1", **requests})


WORKER = worker()


def gpu_node(name: str, gpus: int = 1, product: str = "NVIDIA-A10", **changes: Any) -> Node:
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": product}
    resources = amounts({"cpu": "30", "memory": "200Gi", "nvidia.com/gpu": str(gpus)})
    return Node(name, labels, TAINT, resources)._replace(**changes)


def cpu_node(name: str) -> Node:
    return Node(name, {}, (), amounts({"cpu": "16", "memory": "64Gi"}))


def room(*nodes: Node, pods: tuple[Pod, ...] = ()) -> Room:
    return room_of(ClusterState("recorded", "id", "v1.35.4", Confidential({}), nodes, pods))


class Fit(NamedTuple):
    pods: int
    reasons: tuple[tuple[str, str], ...]


def fit(pods: Pods, room: Room, without: Collection[str] = (), upto: int = MANY) -> Fit:
    """Returns how many pods fit, and why each node holds no more."""
    pairs = ((name, reason) for reason, names in room.limits(pods, without).items() for name in names)
    return Fit(room.holds(pods, without, upto), tuple(sorted(pairs)))


def pod(node: str, owner: str, **requests: str) -> Pod:
    return Pod(node, owner, amounts({name.replace("gpu", "nvidia.com/gpu"): value for name, value in requests.items()}))


def test_each_gpu_holds_one_pod() -> None:
    assert fit(WORKER, room(gpu_node("a"), gpu_node("b", 3), cpu_node("c"))).pods == 4


def test_memory_limits_the_pods_of_a_node(golden: Any) -> None:
    found = fit(worker(memory="90Gi"), room(gpu_node("a", 8)))
    assert found.pods == 2
    golden(*map(": ".join, found.reasons))


def test_other_pods_use_capacity_unless_they_are_left_out() -> None:
    taken = (pod("a", "celery", cpu="8", memory="32Gi", gpu="1"),)
    assert fit(WORKER, room(gpu_node("a"), pods=taken)).pods == 0
    assert fit(WORKER, room(gpu_node("a"), pods=taken), without=["celery"]).pods == 1


def test_each_node_has_a_reason(golden: Any) -> None:
    nodes = (
        gpu_node("other-card", product="NVIDIA-A10G"),
        gpu_node("cordoned", schedulable=False),
        gpu_node("tainted", taints=(*TAINT, {"key": "maintenance", "effect": "NoExecute"})),
        gpu_node("small", allocatable=amounts({"cpu": "4", "memory": "200Gi", "nvidia.com/gpu": "1"})),
        cpu_node("plain"),
    )
    golden(*map(": ".join, fit(WORKER, room(*nodes)).reasons))


def test_a_cpu_workload_stays_off_gpu_nodes() -> None:
    head = pods({"key": "nvidia.com/gpu.present", "operator": "DoesNotExist"}, cpu="2", memory="16Gi")
    found = fit(head, room(gpu_node("a"), cpu_node("b")))
    assert (found.pods, found.reasons[0]) == (4, ("a", "is a GPU node"))


def test_amounts_are_exact_fractions() -> None:
    node = cpu_node("a")._replace(allocatable={"cpu": Fraction(1), "memory": Fraction(2**40)})
    assert fit(pods(cpu="100m", memory="1Gi"), room(node)).pods == 10


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "In", "values": ["b"]}, False),
        ({"key": "zone", "operator": "NotIn", "values": ["b"]}, True),
        ({"key": "absent", "operator": "NotIn", "values": ["b"]}, True),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "absent", "operator": "Exists"}, False),
        ({"key": "absent", "operator": "DoesNotExist"}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, False),
        ({"key": "cores", "operator": "Gt", "values": ["15"]}, True),
        ({"key": "cores", "operator": "Gt", "values": ["16"]}, False),
        ({"key": "cores", "operator": "Lt", "values": ["17"]}, True),
        ({"key": "absent", "operator": "Lt", "values": ["17"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["1"]}, False),
    ],
)
def test_node_affinity_operators(rule: dict[str, Any], matches: bool) -> None:
    node = cpu_node("a")._replace(labels={"zone": "a", "cores": "16"})
    assert fit(pods(rule, cpu="1"), room(node), upto=1).pods == int(matches)


def test_a_node_selector_limits_the_nodes() -> None:
    nodes = (
        cpu_node("a")._replace(labels={"pool": "train"}),
        cpu_node("b")._replace(labels={"pool": "web"}),
        cpu_node("c"),
    )
    found = fit(pods(selector={"pool": "train"}, cpu="16"), room(*nodes))
    assert found.pods == 1
    assert found.reasons[1:] == (("b", "has pool web"), ("c", "has no label pool"))


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "value": "absent"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], tolerated: bool) -> None:
    taints = ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},)
    found = fit(pods(tolerations=[toleration], cpu="1"), room(gpu_node("a", taints=taints)), upto=1)
    assert found.pods == int(tolerated)


def test_requests_count_the_largest_init_container_and_all_sidecars() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [container("3"), container("9"), container("1", restartPolicy="Always")],
        "containers": [container("2"), container("4")],
    }
    assert pods_of({"spec": {"template": {"spec": spec}}}).requests == {"cpu": 9}
    spec["containers"].append(container("5"))
    assert pods_of({"spec": {"template": {"spec": spec}}}).requests == {"cpu": 12}


def test_similar_nodes_differ_by_their_pods_and_selected_labels() -> None:
    """Nodes differ by the pods that run on them and by labels that the new pods select."""
    nodes = [gpu_node(f"n{number}", 2, labels=gpu_node("x").labels | {"zone": str(number % 2)}) for number in range(6)]
    taken = (pod("n0", "other", gpu="1"), pod("n1", "other", gpu="2"))
    assert fit(WORKER, room(*nodes, pods=taken)).pods == 9
    assert fit(WORKER, room(*nodes, pods=taken), without=["other"]).pods == 12
    one_zone = {"key": "zone", "operator": "In", "values": ["0"]}
    found = fit(pods(ON_A10, one_zone, **{"nvidia.com/gpu": "1"}), room(*nodes, pods=taken))
    assert found.pods == 5
    assert found.reasons[1] == ("n1", "has zone 1")


def test_node_affinity_selects_a_node_by_name() -> None:
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "10"}}}]}
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    terms = {"nodeSelectorTerms": [fields]}
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    asked = pods_of({"spec": {"template": {"spec": spec}}})
    assert fit(asked, room(cpu_node("a"), cpu_node("b"), cpu_node("c"))).pods == 1


def test_few_nodes_are_named_and_many_are_counted() -> None:
    assert by_node({"is full": ["a", "c"], "is cordoned": ["b"]}) == "a is full; b is cordoned; c is full"
    full = [f"n{number:04}" for number in range(2_000) if number % 10]
    cordoned = [f"n{number:04}" for number in range(0, 2_000, 10)]
    assert (
        by_node({"is cordoned": cordoned, "is full": full})
        == "1,800 nodes such as n0001: each is full; 200 nodes such as n0000: each is cordoned"
    )
    different = {f"has {number} left": [f"n{number}"] for number in range(9)}
    assert by_node(different).endswith("n5 has 5 left; 3 nodes have other reasons")
