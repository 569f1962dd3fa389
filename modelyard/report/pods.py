"""What a pod requires of its nodes, in words."""

from collections.abc import Mapping
from typing import Any

from modelyard.kube import merge
from modelyard.report.values import Write, some, text_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def writer(path: merge.Path) -> Write:
    """The function that formats the values of a field: a special one for node affinity and for tolerations."""
    if path[-2:] == ("nodeAffinity", _REQUIRED):
        return nodes
    if path[-2:] == ("nodeAffinity", _PREFERRED):
        return preferred_nodes
    return tolerations if path[-1:] == ("tolerations",) else text_of


def nodes(value: Any, most: int) -> str:
    """Which nodes a pod may run on: ``nvidia.com/gpu.product in NVIDIA-A10 and without example.com/old``."""
    try:
        terms = [_term(term, most) for term in value["nodeSelectorTerms"]]
    except (KeyError, TypeError, AttributeError):
        return text_of(value, most)
    return some(terms, most, " or ") or "no node"


def preferred_nodes(value: Any, most: int) -> str:
    """Which nodes a pod prefers, each preference with its weight."""
    try:
        wishes = [f"{_term(wish['preference'], most)} (weight {wish['weight']})" for wish in value]
    except (KeyError, TypeError, AttributeError):
        return text_of(value, most)
    return some(wishes, most) or "none"


def _term(term: Mapping[str, Any], most: int) -> str:
    wishes = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
    # For the scheduler, an empty term matches no node.
    return some([_expression(wish, most) for wish in wishes], most, " and ") if wishes else "no node"


def _expression(wish: Mapping[str, Any], most: int) -> str:
    key, operator, values = wish["key"], wish["operator"], [str(value) for value in wish.get("values") or ()]
    match operator:
        case "In":
            return f"{key} in {some(values, most)}"
        case "NotIn":
            return f"{key} not in {some(values, most)}"
        case "Exists":
            return f"with label {key}"
        case "DoesNotExist":
            return f"without label {key}"
        case "Gt" | "Lt":
            return f"{key} {'>' if operator == 'Gt' else '<'} {some(values, most)}"
        case _:
            return f"{key} {operator} {some(values, most)}"


def tolerations(value: Any, most: int) -> str:
    """Which taints a pod tolerates, as kubectl writes taints: ``nvidia.com/gpu:NoSchedule, spot=true for 300 s``."""
    try:
        return some([_toleration(one) for one in value], most) or "none"
    except (TypeError, AttributeError):
        return text_of(value, most)


def _toleration(one: Mapping[str, Any]) -> str:
    text = one.get("key") or "every taint"
    if one.get("operator", "Equal") != "Exists":
        text += f"={one.get('value') or ''}"
    if one.get("effect"):
        text += f":{one['effect']}"
    seconds = one.get("tolerationSeconds")
    return text if seconds is None else f"{text} for {seconds} s"
