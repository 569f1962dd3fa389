"""Node affinity and tolerations as text, with the scheduler's meaning."""

from typing import Any

import pytest

from modelyard.kube import merge
from modelyard.report.values import EVERYTHING, fitted, nodes, preferred_nodes, text_of, tolerations, writer


def wish(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def terms(*wishes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": list(some)} for some in wishes]}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (terms([wish("gpu", "In", "A10")]), "gpu in A10"),
        (terms([wish("gpu", "In", "A10", "A30")]), "gpu in A10, A30"),
        (terms([wish("gpu", "NotIn", "A10")]), "gpu not in A10"),
        (terms([wish("gpu", "Exists")]), "with label gpu"),
        (terms([wish("gpu", "DoesNotExist")]), "without label gpu"),
        (terms([wish("count", "Gt", "4")]), "count > 4"),
        (terms([wish("count", "Lt", "4")]), "count < 4"),
        (terms([wish("x", "Sometimes", "y")]), "x Sometimes y"),
        (terms([wish("a", "Exists"), wish("b", "DoesNotExist")]), "with label a and without label b"),
        (terms([wish("a", "Exists")], [wish("b", "Exists")]), "with label a or with label b"),
        ({"nodeSelectorTerms": [{"matchFields": [wish("metadata.name", "In", "n1")]}]}, "metadata.name in n1"),
        (terms([]), "no node"),
        ({"nodeSelectorTerms": [{}]}, "no node"),
        ({"unknown": 1}, "{unknown: 1}"),
        ("nonsense", "nonsense"),
        (
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a"}]}]},
            "{nodeSelectorTerms: [{matchExpressions: [{key: a}]}]}",
        ),
    ],
)
def test_nodes_in_words(value: Any, words: str) -> None:
    assert nodes(value, EVERYTHING) == words


def test_preferred_nodes_have_their_weight() -> None:
    value = [{"weight": 10, "preference": {"matchExpressions": [wish("zone", "In", "a")]}}]
    assert preferred_nodes(value, EVERYTHING) == "zone in a (weight 10)"
    assert preferred_nodes([{"weight": 1}], EVERYTHING) == "[{weight: 1}]"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}], "nvidia.com/gpu:NoSchedule"),
        ([{"key": "spot", "value": "true"}], "spot=true"),
        ([{"key": "spot", "operator": "Equal", "value": "true", "effect": "NoExecute"}], "spot=true:NoExecute"),
        ([{"operator": "Exists"}], "every taint"),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": 0}], "a for 0 s"),
        ([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}], "a, b"),
        ([], "none"),
        (["nonsense"], "[nonsense]"),
    ],
)
def test_tolerations_in_words(value: Any, words: str) -> None:
    assert tolerations(value, EVERYTHING) == words


def test_long_lists_are_cut_at_an_item() -> None:
    value = terms([wish("nvidia.com/gpu.product", "In", *(f"NVIDIA-A{number}" for number in range(5)))])
    assert fitted(value, 60, nodes) == "nvidia.com/gpu.product in NVIDIA-A0, NVIDIA-A1, … 3 more"
    taints = [{"key": f"taint-{number}", "operator": "Exists"} for number in range(9)]
    assert fitted(taints, 30, tolerations) == "taint-0, taint-1, … 7 more"


@pytest.mark.parametrize(
    ("path", "write"),
    [
        ("spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", nodes),
        ("spec.template.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", preferred_nodes),
        ("spec.template.spec.tolerations", tolerations),
        ("spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", text_of),
        ("spec.replicas", text_of),
    ],
)
def test_fields_with_a_text_form_of_their_own(path: str, write: Any) -> None:
    assert writer(merge.Path.parse(path)) is write
