"""Which pods fit on one node, and how many: exact for the identical pods of one Deployment.

Considers the scheduler's hard filters (resources, node selector, required node affinity, taints), not preferences or
rules between pods (anti-affinity, topology spread).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, NODE_POOL_LABEL, PRESENT_LABEL, PRODUCT_LABEL

MANY = 1_000_000
"""Number of pods that stands for no limit."""
NAMED = 6
"""Maximum number of nodes that are named individually before they are only counted."""
_BYTES = ("memory", "ephemeral-storage")
_ZERO = Fraction(0)


class Shortage(NamedTuple):
    """What a node runs out of first."""

    resource: str
    free: Fraction
    have: Fraction
    wanted: Fraction
    """Request of one pod."""

    def __str__(self) -> str:
        free, have = (amount(self.resource, value) for value in (self.free, self.have))
        return shortage(self.resource, free, have, self.wanted)


def left_of(most: Mapping[str, int], nodes: Iterable[Node]) -> dict[str, int]:
    """Returns the GPUs that the nodes of node pools may still get, by pool.

    Args:
        most: maximum number of GPUs of each pool's nodes together.
        nodes: the existing nodes.
    """
    left = dict(most)
    for node in nodes:
        if (pool := node.labels.get(NODE_POOL_LABEL)) in left:
            left[pool] -= int(node.allocatable.get(GPU_RESOURCE, 0))
    return {pool: max(gpus, 0) for pool, gpus in left.items()}


def may_be_added(node: Node, left: Mapping[str, int]) -> bool:
    """Returns whether a node pool may still get a node, by the GPUs that are left of its limit."""
    return node.allocatable.get(GPU_RESOURCE, 0) <= left.get(node.labels.get(NODE_POOL_LABEL, ""), MANY)


def gate(node: Node) -> Hashable:
    """Returns what keeps pods off a node besides its labels and its size: nodes with equal gates reject equal pods."""
    return (node.schedulable, *(tuple(sorted(taint.items())) for taint in node.taints))


def label_keys(pods: Pods) -> tuple[str, ...] | None:
    """Returns the labels by which the pods select nodes; None if they select them by name."""
    keys = dict.fromkeys(pods.selector)
    for term in pods.terms or ():
        if term.get("matchFields"):
            return None
        keys |= dict.fromkeys(rule.get("key", "") for rule in term.get("matchExpressions") or ())
    return tuple(keys)


def by_node(groups: Mapping[str, Sequence[str]]) -> str:
    """Describes nodes by group: a few by name, more of them counted, the largest group first.

    Args:
        groups: node names in order, by what is said of them; the group of the first node comes first.
    """
    if sum(map(len, groups.values())) <= NAMED:
        pairs = sorted((name, reason) for reason, names in groups.items() for name in names)
        return "; ".join(f"{name} {reason}" for name, reason in pairs)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    words = [
        f"{names[0]} {reason}" if len(names) == 1 else f"{len(names):,} nodes such as {names[0]}: each {reason}"
        for reason, names in ordered[:NAMED]
    ]
    rest = sum(len(names) for _, names in ordered[NAMED:])
    return "; ".join((*words, f"{rest:,} nodes have other reasons") if rest else words)


def obstacle(pods: Pods, node: Node) -> str:
    """Returns why the pods can never be on the node, even if it is empty; an empty text if they can."""
    if not node.schedulable:
        return "is cordoned"
    return _unwanted(pods, node) or next((f"has the taint {key}" for key in untolerated(pods, node)), "")


def _unwanted(pods: Pods, node: Node) -> str:
    """Returns what the pods require of a node that this node lacks."""
    for key, value in pods.selector.items():
        if node.labels.get(key) != value:
            return _lacks(node, key)
    terms = pods.terms
    if terms is None:
        return ""
    reasons = [_mismatch(term, node) for term in terms]
    return "" if "" in reasons else reasons[0] if reasons else "matches no node selector term"


def _mismatch(term: Mapping[str, Any], node: Node) -> str:
    """Returns the first requirement of a term that the node fails; empty if it meets all."""
    fields = {"metadata.name": node.name}
    rules = [(rule, node.labels) for rule in term.get("matchExpressions") or ()]
    rules += [(rule, fields) for rule in term.get("matchFields") or ()]
    if not rules:
        # As the API defines it: an empty term matches nothing.
        return "matches no node selector term"
    return next((_lacks(node, rule.get("key", "")) for rule, values in rules if not _holds(rule, values)), "")


def _holds(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    have = labels.get(rule.get("key", ""))
    wanted: Sequence[str] = rule.get("values") or ()
    match rule.get("operator"):
        case "In":
            return have in wanted
        case "NotIn":
            return have not in wanted
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case "Gt" | "Lt" as operator:
            ours, theirs = _number(have), _number(next(iter(wanted), None))
            if ours is None or theirs is None:
                return False
            return ours > theirs if operator == "Gt" else ours < theirs
    return False


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _lacks(node: Node, key: str) -> str:
    have = node.labels.get(key)
    if key == PRESENT_LABEL:
        return "is a GPU node" if have is not None else "has no GPU"
    if key == PRODUCT_LABEL:
        return f"has {have}" if have else "has no GPU"
    return f"has {key} {have}" if have is not None else f"has no label {key}"


def untolerated(pods: Pods, node: Node) -> list[str]:
    """Returns the keys of the node's taints that keep the pods away."""
    return [
        str(taint.get("key"))
        for taint in node.taints
        if taint.get("effect") in ("NoSchedule", "NoExecute")
        and not any(_tolerates(toleration, taint) for toleration in pods.tolerations)
    ]


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return toleration.get("key") == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")


def on_node(
    request: Mapping[str, Fraction], node: Node, taken: Iterable[Mapping[str, Fraction]]
) -> tuple[int, Shortage | None]:
    """Returns how many pods fit on a node that may hold them, and what runs out first."""
    count, short = MANY, None
    for name, wanted in request.items():
        if not wanted:
            continue
        have = free = node.allocatable.get(name, _ZERO)
        for theirs in taken:
            if name in theirs:
                free -= theirs[name]
        room = max(0, free // wanted)
        if room < count:
            count = int(room)
            short = Shortage(name, free, have, wanted)
    return count, short


def shortage(resource: str, free: str, have: str, wanted: Fraction) -> str:
    """Describes nodes that have too little of a resource left, out of their total."""
    return f"{free} of {have} {word_of(resource)} free, each pod needs {amount(resource, wanted)}"


_WORDS = {GPU_RESOURCE: "GPUs", "cpu": "CPU"}


def word_of(resource: str) -> str:
    """Returns a resource's usual name."""
    return _WORDS.get(resource, resource)


def amount(name: str, value: Fraction) -> str:
    """Returns an amount of a resource as people write it: cores and counts as such, bytes in Gi."""
    if name == "cpu":
        return f"{float(value):.10g}"
    if name not in _BYTES:
        return quantity.cpu(value)
    return quantity.memory(value) if value % quantity.GI == 0 else f"{float(value / quantity.GI):.1f}Gi"
