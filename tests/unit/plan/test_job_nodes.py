"""Whether nodes can hold a run: the node index gives the same answer as a check of each node."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelyard.kube.scheduling import node_index as boxes
from modelyard.kube.scheduling.capacity import MANY, amount, obstacle, on_node
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import Node
from modelyard.names import NODE_POOL_LABEL
from modelyard.plan.checks.job_nodes import Kinds, RunRequest, Unplaced, unplaced
from modelyard.stack.pool import Flavor, Toleration
from modelyard.workloads.facts.jobs import HeadSize

GPU, PRODUCT, RACK, HOST = "nvidia.com/gpu", "nvidia.com/gpu.product", "rack", "kubernetes.io/hostname"
GI = 2**30
GPUS = {"A10": "NVIDIA-A10", "A30": "NVIDIA-A30"}
FLAVORS = (
    Flavor("a10", "A10", {PRODUCT: "NVIDIA-A10"}, topology=(RACK, HOST)),
    Flavor("spare", "A10", {PRODUCT: "NVIDIA-A10"}, topology=(HOST,), tolerations=(Toleration("spare", "Exists"),)),
    Flavor("any", None, {}, topology=(RACK, HOST)),
)
TAINTS = st.sampled_from(
    [(), ({"key": "nvidia.com/gpu", "effect": "NoSchedule"},), ({"key": "spare", "effect": "NoExecute"},)]
)


@st.composite
def nodes(draw: Any) -> list[Node]:
    """Draws nodes: equal, slightly different and very different ones, and some without resources."""
    found = []
    for number in range(draw(st.integers(1, 24))):
        labels = {HOST: f"n{number}"} | draw(st.sampled_from([{}, {RACK: "a"}, {RACK: "b"}]))
        labels |= draw(st.sampled_from([{}, *({PRODUCT: name} for name in GPUS.values())]))
        memory = draw(st.sampled_from([0, 4, 32, 64])) * GI - draw(st.integers(-3, 200)) * 1024
        cpu = Fraction(draw(st.sampled_from([0, 3999, 8000, 16000])) + draw(st.integers(0, 3)), 1000)
        have = {"cpu": cpu, "memory": Fraction(memory)} | draw(st.sampled_from([{}, {GPU: Fraction(4)}]))
        found.append(Node(f"n{number}", labels, draw(TAINTS), have, draw(st.integers(0, 9)) > 0))
    return found


@st.composite
def asks(draw: Any) -> RunRequest:
    memory = draw(st.sampled_from([0, 1, 8, 16, 32])) * GI + draw(st.integers(-90, 90)) * 1024
    cpu = draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(2), Fraction(7999, 1000), Fraction(16)]))
    requests = (("cpu", cpu), ("memory", Fraction(max(0, memory))), (GPU, Fraction(draw(st.integers(0, 5)))))
    gpus = draw(st.sampled_from([(), ("NVIDIA-A10",), ("NVIDIA-A10", "NVIDIA-A30")]))
    head = draw(st.sampled_from([None, HeadSize("head", (("cpu", Fraction(8)), ("memory", Fraction(GI))))]))
    together = draw(st.sampled_from([None, None, RACK, HOST]))
    return RunRequest("ml", requests, gpus, draw(st.sampled_from([1, 2, 9, 40, 10**7])), together, head)


def by_each_node(ask: RunRequest, there: list[Node], theirs: tuple[Flavor, ...] | None) -> Unplaced | None:
    """Returns the result of a check of each node."""
    found = pods_by_each_node(ask, there, theirs)
    if found is not None or ask.head is None:
        return found
    alone = RunRequest(ask.team, (*ask.head.requests, (GPU, Fraction(0))), (), 1, None, None)
    found = pods_by_each_node(alone, there, theirs)
    return None if found is None else Unplaced(f"no node can hold its {ask.head.what}", found.detail)


def pods_by_each_node(ask: RunRequest, there: list[Node], theirs: tuple[Flavor, ...] | None) -> Unplaced | None:
    flavors: list[Flavor | None] = list(theirs) if theirs is not None and ask.gpus else [None]
    if ask.together is not None:
        flavors = [one for one in flavors if one is None or ask.together in one.topology]
    reasons: dict[str, set[str]] = {}
    best = 0
    for flavor in flavors:
        rooms = Counter[str]()
        for node in there:
            if flavor is not None and not flavor.labels.items() <= node.labels.items():
                continue
            tolerations = [one._asdict() for one in flavor.tolerations] if flavor is not None else []
            tolerations += [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}] if ask.gpus else []
            spec: dict[str, Any] = {"tolerations": tolerations}
            if ask.products:
                rule = {"key": PRODUCT, "operator": "In", "values": list(ask.products)}
                terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
                spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
            reason = obstacle(Pods(spec, {}, 0), node)
            if not reason:
                room, short = on_node(ask.amounts, node, ())
                rooms[node.labels.get(ask.together or "", "")] += room
                if not room and short is not None:
                    word = {"cpu": "CPU", GPU: "GPUs"}.get(short.resource, short.resource)
                    wanted, have = amount(short.resource, short.wanted), amount(short.resource, short.have)
                    reason = f"has {have} of the {wanted} {word} that a pod needs"
            if reason:
                reasons.setdefault(reason, set()).add(node.name)
        best = max(best, *rooms.values(), 0)
    if best >= min(ask.workers, MANY):
        return None
    if best:
        place = "nodes of one flavor" if theirs is not None else "the nodes"
        place = f"nodes with the same {ask.together}" if ask.together else place
        return Unplaced(f"{place} hold {best} of its {ask.workers} workers", "counted on empty nodes")
    most = sorted(reasons.items(), key=lambda one: -len(one[1]))[:4]
    words = [f"1 node {reason}" if len(names) == 1 else f"{len(names)} nodes: each {reason}" for reason, names in most]
    why = "; ".join(words) or "no node has the labels of the flavors it may take"
    return Unplaced("no node can hold a worker", why)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(nodes(), st.lists(asks(), min_size=1, max_size=4), st.sampled_from([None, (), FLAVORS[:1], FLAVORS]))
def test_unplaced_equals_a_check_of_each_node(
    there: list[Node], runs: list[RunRequest], theirs: tuple[Flavor, ...] | None
) -> None:
    kinds = Kinds(there, FLAVORS, (), {})
    for ask in runs:
        assert unplaced(ask, kinds, theirs) == by_each_node(ask, there, theirs)


@pytest.mark.parametrize(
    ("gpus", "limits", "most"),
    [(0, {"pool": 4}, None), (2, {}, None), (2, {"pool": 5}, "hold 2 of its 3 workers"), (2, {"pool": 6}, None)],
)
def test_the_gpu_limit_of_a_node_pool_limits_workers_on_new_nodes(
    gpus: int, limits: dict[str, int], most: str | None
) -> None:
    have = {"cpu": Fraction(64), "memory": Fraction(256 * GI), GPU: Fraction(2)}
    coming = Node("pool/machine", {NODE_POOL_LABEL: "pool"}, (), have)
    ask = RunRequest("ml", (("cpu", Fraction(1)), ("memory", Fraction(GI)), (GPU, Fraction(gpus))), (), 3, None, None)
    found = unplaced(ask, Kinds([], (), (coming,), limits), None)
    assert (found is None) is (most is None)
    assert found is None or found.summary.endswith(most or "")


def test_nearly_equal_nodes_are_not_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    counted = boxes._pods

    def pods(*args: Any) -> int:
        nonlocal steps
        steps += 1
        return counted(*args)

    monkeypatch.setattr(boxes, "_pods", pods)
    there = [
        (number, Node(f"n{number}", {}, (), {"cpu": Fraction(64), "memory": Fraction(500 * GI + number * 1024)}))
        for number in range(1000)
    ]
    sizes = boxes.NodeIndex(there, ("cpu", "memory"))
    wants = [{"cpu": Fraction(1), "memory": Fraction(GI * gi)} for gi in range(4, 404)]
    assert [sizes.total(wanted) for wanted in wants] == [1000 * min(64, 500 // gi) for gi in range(4, 404)]
    # Half of the nodes hold one pod of the last size: a binary search takes about ten steps.
    assert sizes.total({"cpu": Fraction(1), "memory": Fraction(500 * GI + 500 * 1024)}) == 500
    assert steps < 2 * 400 + 50
