"""Which pods fit on which nodes: exact for the identical pods of one Deployment.

Looks at what the scheduler's hard filters look at (resources, required node labels, taints), not at preferences.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard import quantity
from modelyard.cluster import ClusterState, Node
from modelyard.cluster.state import GPU_RESOURCE
from modelyard.workloads import Workload

PRODUCT_LABEL = "nvidia.com/gpu.product"
_BYTES = ("memory", "ephemeral-storage")
_NOBODY: Mapping[str, Fraction] = {}


class Fit(NamedTuple):
    """How many pods of a kind a cluster can hold, and why each node takes no more."""

    pods: int
    reasons: tuple[tuple[str, str], ...]
    """Node name and reason, by node name."""


def pod_request(workload: Workload) -> dict[str, Fraction]:
    """What one pod of a workload asks for."""
    wanted = {"cpu": workload.cpu, "memory": workload.memory, "ephemeral-storage": workload.volume}
    request = {name: quantity.parse(value) for name, value in wanted.items() if value is not None}
    if workload.gpus:
        request[GPU_RESOURCE] = Fraction(workload.gpus)
    return request


def fit(workload: Workload, state: ClusterState, without: Iterable[str] = (), upto: int = 1_000_000) -> Fit:
    """How many pods of the workload the nodes can hold when the pods of ``without`` (owners) are gone.

    ``upto`` ends the count early; reasons tell what stopped each node, for nodes that take none.
    """
    gone = frozenset(without)
    used: dict[str, dict[str, Fraction]] = {}
    for pod in state.pods:
        if pod.owner not in gone:
            on_node = used.setdefault(pod.node, {})
            for name, value in pod.requests.items():
                on_node[name] = on_node.get(name, Fraction(0)) + value
    request = pod_request(workload)
    total = 0
    reasons = []
    for node in sorted(state.nodes, key=lambda node: node.name):
        count, reason = _on_node(workload, request, node, used.get(node.name, _NOBODY))
        total += count
        reasons.append((node.name, reason))
        if total >= upto:
            break
    return Fit(min(total, upto), tuple(reasons))


def _on_node(
    workload: Workload, request: Mapping[str, Fraction], node: Node, used: Mapping[str, Fraction]
) -> tuple[int, str]:
    if not node.schedulable:
        return 0, "is cordoned"
    product = node.labels.get(PRODUCT_LABEL)
    if workload.nodes == "gpu" and product not in workload.products:
        return 0, f"has {product}" if product else "has no GPU"
    if workload.nodes == "cpu" and "nvidia.com/gpu.present" in node.labels:
        return 0, "is a GPU node"
    for taint in node.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not (
            workload.nodes == "gpu" and taint.get("key") == GPU_RESOURCE
        ):
            return 0, f"has the taint {taint.get('key')}"
    count, short = 1_000_000, ""
    for name, wanted in request.items():
        if not wanted:
            continue
        have = node.allocatable.get(name, Fraction(0))
        free = have - used.get(name, Fraction(0))
        room = max(0, free // wanted)
        if room < count:
            count = int(room)
            word = _WORDS.get(name, name)
            short = f"{_amount(name, free)} of {_amount(name, have)} {word} free, a pod needs {_amount(name, wanted)}"
    return count, short


_WORDS = {GPU_RESOURCE: "GPUs", "cpu": "CPU"}


def _amount(name: str, value: Fraction) -> str:
    if name not in _BYTES:
        return quantity.cpu(value)
    return quantity.memory(value) if value % quantity.GI == 0 else f"{float(value / quantity.GI):.1f}Gi"
