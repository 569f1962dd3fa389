"""The operators of assertions, and the fields that they look at."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.kube.merge import ABSENT
from modelyard.policy.assertions import OPERATORS, field_path, fits, values_at
from modelyard.policy.shapes import ASSERTION_SCHEMA

HOLDS = [
    ("exists", True, "x"),
    ("exists", False, ABSENT),
    ("exists", False, None),
    ("equals", 1, 1),
    ("equals", "1", 1),
    ("equals", 1, "1"),
    ("equals", "true", True),
    ("equals", True, True),
    ("notEquals", "a", "b"),
    ("notEquals", "1", 2),
    ("in", [0, "0%"], "0%"),
    ("in", [0, "0%"], 0),
    ("notIn", ["a", "b"], "c"),
    ("matches", "team-[a-z]+", "team-a"),
    ("matches", "[0-9]+", 12),
    ("notMatches", "team-.*", "other"),
    ("notMatches", "team-.*", ["team-a"]),
    ("atLeast", "16Gi", "17179869184"),
    ("atLeast", 4, "4000m"),
    ("atMost", "1", "999m"),
]
BREAKS = [
    ("exists", True, ABSENT),
    ("exists", True, None),
    ("exists", False, 0),
    ("equals", "a", "A"),
    ("equals", 1, [1]),
    ("equals", 1, True),
    ("notEquals", 1, "1"),
    ("in", ["a"], "b"),
    ("in", ["a"], {"a": 1}),
    ("notIn", [1], "1"),
    ("matches", "a", "aa"),
    ("matches", ".*", {}),
    ("notMatches", "a+", "aaa"),
    ("atLeast", "16Gi", "16G"),
    ("atLeast", 1, "lots"),
    ("atLeast", 1, True),
    ("atMost", "1", "1001m"),
]


@pytest.mark.parametrize(("operator", "wanted", "value"), HOLDS)
def test_a_value_that_holds(operator: str, wanted: object, value: object) -> None:
    assert fits(OPERATORS[operator].takes, wanted) == ""
    assert OPERATORS[operator].holds(value, wanted)


@pytest.mark.parametrize(("operator", "wanted", "value"), BREAKS)
def test_a_value_that_does_not(operator: str, wanted: object, value: object) -> None:
    assert not OPERATORS[operator].holds(value, wanted)


def test_every_operator_is_tested_and_in_the_schema() -> None:
    schema = json.loads(ASSERTION_SCHEMA.read_text())
    known = schema["properties"]["assert"]["items"]["properties"]["operator"]["enum"]
    assert known == list(OPERATORS)
    assert {operator for operator, _, _ in HOLDS} == {operator for operator, _, _ in BREAKS} == set(known)


@pytest.mark.parametrize(
    ("takes", "value", "said"),
    [
        ("flag", "yes", "is not true or false"),
        ("list", "a", "is not a list of values"),
        ("list", [], "is not a list of values"),
        ("list", [{}], "is not a list of values"),
        ("pattern", "(", "is not a regular expression: missing ), unterminated subpattern at position 0"),
        ("pattern", 1, "is not a regular expression: it is not text"),
        ("quantity", "16GB", "is not a Kubernetes quantity such as 16Gi, 500m or 4"),
        ("scalar", ["a"], "is not one plain value"),
        ("scalar", None, "is not one plain value"),
    ],
)
def test_a_value_that_an_operator_cannot_compare(takes: str, value: object, said: str) -> None:
    assert fits(takes, value) == said


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(anything)
def test_no_operator_breaks_on_a_value(value: object) -> None:
    wanted = {"flag": True, "list": ["a"], "pattern": "a.*", "quantity": "1Gi", "scalar": "a"}
    for operator in OPERATORS.values():
        assert isinstance(operator.holds(value, wanted[operator.takes]), bool)


BODY = {
    "metadata": {"labels": {"app.kubernetes.io/name": "it", "team": "a"}},
    "spec": {
        "replicas": 2,
        "containers": [{"name": "main", "image": "a"}, {"name": "1", "env": [{"name": "A", "value": "x"}]}],
        "args": ["one", "two"],
        "empty": [],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("spec.replicas", [("spec.replicas", 2)]),
        ("spec.paused", [("spec.paused", ABSENT)]),
        ("spec.deep.er", [("spec.deep.er", ABSENT)]),
        ('metadata.labels["app.kubernetes.io/name"]', [('metadata.labels["app.kubernetes.io/name"]', "it")]),
        ("spec.containers[name=main].image", [("spec.containers[name=main].image", "a")]),
        ("spec.containers[name=other].image", [("spec.containers[name=other].image", ABSENT)]),
        (
            "spec.containers[*].image",
            [("spec.containers[name=main].image", "a"), ('spec.containers[name="1"].image', ABSENT)],
        ),
        ("spec.containers[*].env[*].value", [('spec.containers[name="1"].env[name=A].value', "x")]),
        ("spec.args[*]", [("spec.args[0]", "one"), ("spec.args[1]", "two")]),
        ("spec.args[1]", [("spec.args[1]", "two")]),
        ("spec.args[2]", [("spec.args[2]", ABSENT)]),
        ("spec.empty[*].image", []),
        ("spec.missing[*].image", []),
        ("metadata.labels[*]", [('metadata.labels["app.kubernetes.io/name"]', "it"), ("metadata.labels.team", "a")]),
    ],
)
def test_values_at_a_field_path(path: str, found: list[tuple[str, object]]) -> None:
    assert [(str(at), value) for at, value in values_at(BODY, field_path(path))] == found


@given(anything)
def test_no_field_breaks_on_an_object(body: object) -> None:
    for path in ("a.b", "a[*].b", "a[name=b].c", "a[0].b", 'a[="b"]'):
        list(values_at(body, field_path(path)))
