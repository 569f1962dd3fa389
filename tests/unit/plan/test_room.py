"""Capacity for the pods of Deployments: the node index gives the same answer as a check of each node."""

from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelyard.hiding import Confidential
from modelyard.kube.scheduling.capacity import obstacle, on_node
from modelyard.kube.scheduling.placement import WantedPods, placed
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.scheduling.room import room_of
from modelyard.kube.state import ClusterState, Node, Pod

GPU, PRODUCT, GI = "nvidia.com/gpu", "nvidia.com/gpu.product", 2**30
OWNERS = ("web", "train", "other")
WHOLE = {"cpu": Fraction(8), "memory": Fraction(64 * GI), GPU: Fraction(4)}
TAINTS = [(), ({"key": GPU, "effect": "NoSchedule"},), ({"key": "team", "value": "a", "effect": "NoExecute"},)]
TOLERATIONS = [[], [{"key": GPU, "operator": "Exists"}], [{"operator": "Exists"}]]
RULES = [
    {"matchExpressions": [{"key": PRODUCT, "operator": "In", "values": ["NVIDIA-A10"]}]},
    {"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]},
    {"matchExpressions": [{"key": PRODUCT, "operator": "DoesNotExist"}]},
    {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n01", "n03"]}]},
    {},
]


def amounts(rng: Random) -> dict[str, Fraction]:
    memory = max(0, rng.choice([0, 1, 8, 30, 32, 64]) * GI + rng.randint(-90, 90) * 1024)
    cpu = rng.choice([Fraction(0), Fraction(1, 3), Fraction(2), Fraction(3999, 1000), Fraction(8)])
    gpus = {GPU: Fraction(rng.randint(0, 4))} if rng.random() < 0.5 else {}
    return {"cpu": cpu, "memory": Fraction(memory), **gpus}


def state(rng: Random) -> ClusterState:
    """Returns equal, slightly different and very different nodes, with pods on some of them."""
    nodes, pods = [], []
    for number in range(rng.randint(0, 16)):
        name = f"n{number:02}"
        product = rng.choice([{}, {PRODUCT: "NVIDIA-A10"}, {PRODUCT: "NVIDIA-A30"}])
        labels = product | rng.choice([{}, {"zone": "1"}, {"zone": "2"}])
        have = WHOLE if rng.random() < 0.5 else amounts(rng)
        nodes.append(Node(name, labels, rng.choice(TAINTS), have, rng.random() < 0.9))
        pods += [Pod(name, rng.choice(OWNERS), amounts(rng)) for _ in range(rng.randint(0, 2))]
    return ClusterState("recorded", "id", "v1.35.4", Confidential({}), tuple(nodes), tuple(pods))


def asking(rng: Random) -> Pods:
    spec: dict[str, Any] = {"tolerations": rng.choice(TOLERATIONS)}
    spec["nodeSelector"] = rng.choice([None, None, {"zone": "1"}])
    if rng.random() < 0.5:
        terms = {"nodeSelectorTerms": rng.choices(RULES, k=rng.randint(0, 2))}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return Pods(spec, amounts(rng), 0)


def by_each_node(pods: Pods, there: ClusterState, without: Collection[str]) -> tuple[int, dict[str, list[str]]]:
    """Returns the pods that fit and the reasons of nodes, by checking each node."""
    total, found = 0, dict[str, list[str]]()
    for node in there.nodes:
        reason = obstacle(pods, node)
        if not reason:
            taken = [pod.requests for pod in there.pods if pod.node == node.name and pod.owner not in without]
            count, short = on_node(pods.requests, node, taken)
            total, reason = total + count, "" if short is None else str(short)
        found.setdefault(reason, []).append(node.name)
    return total, found


@settings(max_examples=250, deadline=None)
@given(st.randoms(use_true_random=True))
def test_the_capacity_equals_a_check_of_each_node(rng: Random) -> None:
    there = state(rng)
    room = room_of(there)
    for _ in range(4):
        pods, without = asking(rng), set(rng.choices(OWNERS, k=rng.randint(0, 2)))
        total, reasons = by_each_node(pods, there, without)
        assert room.holds(pods, without, 10**9) == total
        assert room.holds(pods, without, 3) == min(total, 3)
        assert list(room.limits(pods, without).items()) == list(reasons.items())


@settings(max_examples=250, deadline=None)
@given(st.randoms(use_true_random=True))
def test_owners_get_the_pods_that_fit(rng: Random) -> None:
    before, pods, number, replaced = state(rng), asking(rng), rng.randint(0, 6), rng.random() < 0.5
    gone = WantedPods("ns", "other", asking(rng), 0, {}, replaced=False)
    train = WantedPods("ns", "train", pods, number, pods.requests, replaced)
    after, (homes, none) = placed(before, [train, gone])
    have, want = ([pod for pod in there.pods if pod.owner == "train"] for there in (before, after))
    kept = () if replaced else tuple(have[:number])
    assert tuple(want[: len(kept)]) == kept
    web = tuple(pod for pod in before.pods if pod.owner == "web")
    assert tuple(pod for pod in after.pods if pod.owner != "train") == web
    assert all(pod.requests == pods.requests for pod in want[len(kept) :])
    assert (Counter(pod.node for pod in want), {}) == (homes, none)
    # Capacity that another owner releases counts in any order.
    fit = by_each_node(pods, before._replace(pods=(*web, *kept)), ())[0]
    assert len(want) == len(kept) + min(number - len(kept), fit)
    assert placed(before, [gone, train])[0].pods == after.pods


@pytest.mark.parametrize(("replaced", "homes"), [(False, [{"b": 1}, {"a": 2, "b": 1}, {"a": 1}]), (True, None)])
def test_pods_of_a_ray_cluster_belong_to_the_group_whose_requests_they_have(
    replaced: bool, homes: list[dict[str, int]] | None
) -> None:
    head, small, large, larger = ({"cpu": Fraction(cores)} for cores in (1, 2, 4, 6))
    nodes = [Node(name, {}, (), {"cpu": Fraction(9)}) for name in ("a", "b")]
    running = [Pod("b", "ray", small, "ns"), *[Pod("a", "ray", large, "ns")] * 2, Pod("b", "ray", head, "ns")]
    before = ClusterState("recorded", "id", "v1.35.4", Confidential({}), tuple(nodes), tuple(running))
    sizes = ((head, head, 1), (small, small, 3), (large, larger, 1))
    ray = [WantedPods("ns", "ray", Pods({}, new, 0), number, old, replaced) for old, new, number in sizes]
    after, found = placed(before, ray)
    if homes is not None:
        assert list(found) == homes
        # Pods that are not replaced keep their requests, and the head keeps its node.
        assert [pod.requests for pod in after.pods] == [small, large, head, small, small]
    else:
        assert found[0] == {"b": 1}
        assert found[2] == {"a": 1}
        assert [pod.requests for pod in after.pods].count(larger) == 1


def test_replaced_pods_return_to_their_node_unless_it_rejects_them() -> None:
    nodes = [Node(name, {"zone": name}, (), {"cpu": Fraction(8)}) for name in ("a", "b")]
    pod = Pod("b", "web", {"cpu": Fraction(1)}, "ns")
    before = ClusterState("recorded", "id", "v1.35.4", Confidential({}), tuple(nodes), (pod,))
    for spec, cordoned, home in (({}, False, "b"), ({"nodeSelector": {"zone": "a"}}, False, "a"), ({}, True, "a")):
        there = before._replace(nodes=(nodes[0], nodes[1]._replace(schedulable=not cordoned)))
        _, (homes,) = placed(
            there, [WantedPods("ns", "web", Pods(spec, {"cpu": Fraction(2)}, 0), 1, {}, replaced=True)]
        )
        assert homes == {home: 1}
