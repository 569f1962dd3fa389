"""Rules without code: what they say, and what is wrong with their files."""

from typing import Any

import pytest

from modelyard.findings import Finding
from modelyard.policy import subject_of
from modelyard.policy.assertions import load_assertion
from modelyard.policy.judging import judge
from modelyard.policy.settings import Setting, Settings

FILE = "policies/assertions/mine.yaml"
HEAD = """\
code: POL901
title: Training pods have a priority
message: "{kind} {name} has {value} at {field}"
remedy: set it
why: Because.
example: "kind: Deployment"
fix: That.
"""
FACTS = {"training": "ray", "gpu": {"model": "A10"}}


def assertion(body: str, head: str = HEAD) -> tuple[Any, tuple[Finding, ...]]:
    return load_assertion((head + body).encode(), FILE)


def found(body: str, spec: dict[str, Any], **more: Any) -> list[Finding]:
    rule, wrong = assertion(body)
    assert rule is not None, wrong
    it = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "it"}, "spec": spec}
    seen = subject_of(it, facts=FACTS, **more)
    return judge(Settings([Setting(rule, rule.level, {})]), [seen])


def pods(**spec: Any) -> dict[str, Any]:
    return {"template": {"spec": spec}}


PRIORITY = "assert: [{field: pod.spec.priorityClassName, operator: in, value: [high, low]}]\n"


def test_a_field_of_the_pods_that_holds() -> None:
    assert found(PRIORITY, pods(priorityClassName="low")) == []


def test_a_field_of_the_pods_that_does_not_hold() -> None:
    (one,) = found(PRIORITY, pods(priorityClassName="other"))
    assert one.code == "POL901"
    assert one.summary == "Deployment it has other at spec.template.spec.priorityClassName"
    assert (one.field, one.target, one.remedy) == ("spec.template.spec.priorityClassName", "it", "set it")


def test_a_field_that_is_not_there_breaks_the_rule() -> None:
    (one,) = found(PRIORITY, pods())
    assert one.summary == "Deployment it has (none) at spec.template.spec.priorityClassName"


def test_but_not_where_only_a_part_of_the_object_is_known() -> None:
    assert found(PRIORITY, pods(), whole=False) == []
    assert found(PRIORITY, pods(priorityClassName="other"), whole=False)


def test_but_not_where_it_is_optional() -> None:
    assert found(PRIORITY.replace("}]", ", optional: true}]"), pods()) == []


@pytest.mark.parametrize("operator", ["notEquals", "notMatches"])
def test_nor_where_only_a_value_is_forbidden(operator: str) -> None:
    assert found(f"assert: [{{field: spec.paused, operator: {operator}, value: 'true'}}]\n", {}) == []


def test_a_field_that_must_not_be_there() -> None:
    body = "assert: [{field: spec.paused, operator: exists, value: false}]\n"
    assert found(body, {}) == []
    assert len(found(body, {"paused": False})) == 1


def test_every_condition_and_every_place_is_told() -> None:
    body = (
        "assert:\n"
        "  - {field: 'pod.spec.containers[*].image', operator: matches, value: 'a/.*'}\n"
        "  - {field: spec.replicas, operator: atMost, value: 3}\n"
    )
    spec = {"replicas": 4, **pods(containers=[{"name": "x", "image": "b/x"}, {"name": "y", "image": "a/y"}])}
    assert [one.field for one in found(body, spec)] == [
        "spec.template.spec.containers[name=x].image",
        "spec.replicas",
    ]


@pytest.mark.parametrize(
    ("match", "count"),
    [
        ("{kinds: [Deployment]}", 1),
        ("{kinds: [Job]}", 0),
        ("{kinds: [RayCluster]}", 0),
        ("{kinds: [apps/Deployment]}", 1),
        ("{kinds: [example.com/Deployment]}", 0),
        ("{roles: [celery]}", 0),
        ("{when: {training: ray}}", 1),
        ("{when: {training: [celery, ray], gpu.model: A10}}", 1),
        ("{when: {training: ray, gpu.model: A30}}", 0),
    ],
)
def test_what_an_assertion_is_about(match: str, count: int) -> None:
    assert len(found(f"match: {match}\n{PRIORITY}", pods())) == count


def test_where_nobody_knows_the_stack_an_assertion_about_some_stacks_says_nothing() -> None:
    rule, _ = assertion(f"match: {{when: {{training: ray}}}}\n{PRIORITY}")
    seen = subject_of({"kind": "Deployment", "spec": pods()})
    assert judge(Settings([Setting(rule, "mandatory", {})]), [seen]) == []


def test_a_long_or_hostile_value_is_shown_safely() -> None:
    (one,) = found(PRIORITY, pods(priorityClassName="\x1b[31m" + "x" * 500))
    assert "\x1b" not in one.summary
    assert len(one.summary) < 200


def test_a_secret_is_never_shown() -> None:
    rule, _ = assertion("assert: [{field: 'data[*]', operator: equals, value: ''}]\n")
    seen = subject_of({"kind": "Secret", "metadata": {"name": "it"}, "data": {"password": "aGVsbG8="}})
    (one,) = judge(Settings([Setting(rule, "mandatory", {})]), [seen])
    assert one.summary == "Secret it has [secret] at data.password"


def test_the_page_comes_from_the_file() -> None:
    rule, _ = assertion(PRIORITY)
    assert (rule.title, rule.file, rule.line) == ("Training pods have a priority", FILE, 1)
    assert rule.page == "**Why.** Because.\n\n**Example.**\n\n```yaml\nkind: Deployment\n```\n\n**Fix.** That."


WRONG = [
    (PRIORITY.replace("in,", "eq,"), 8, 'assert[0].operator is "eq"; it must be exists, equals'),
    (PRIORITY.replace("[high, low]", "high"), 8, "assert[0].value is not a list of values, which operator in requires"),
    (PRIORITY.replace("pod.spec.priorityClassName", "'pod.spec['"), 8, "assert[0].field is not a path"),
    *(
        (PRIORITY.replace("pod.spec.priorityClassName", field), 8, "assert[0].field is not a path")
        for field in ("pod..spec", "pod.", ".spec.replicas", "spec..replicas")
    ),
    (PRIORITY.replace("operator:", "op:"), 8, "unknown key assert[0].op"),
    ("assert: []\n", 8, "assert is a list: it is empty"),
    ("asserts: []\n", 8, "unknown key asserts"),
    ("", 1, "assert is missing"),
    (f"match: {{kinds: Deployment}}\n{PRIORITY}", 8, 'match.kinds is "Deployment"; it must be a list'),
    (f"match: {{roles: [worker]}}\n{PRIORITY}", 8, 'match.roles[0] is "worker"; it must be apiServer'),
    (f"match: {{kinds: [Job, Deploymnt]}}\n{PRIORITY}", 8, "match.kinds has the unknown kind Deploymnt"),
    (f"match: {{kinds: [Widget]}}\n{PRIORITY}", 8, "match.kinds has the unknown kind Widget"),
    (f"match: {{when: {{trainning: ray}}}}\n{PRIORITY}", 8, "match.when has the unknown fact trainning"),
    (f"level: high\n{PRIORITY}", 8, 'level is "high"; it must be mandatory, advisory or disabled'),
    (f"code: POL902\n{PRIORITY}", 8, '"code" is given twice, first on line 1'),
    ("assert: [\n", 9, "the text is not YAML"),
]


@pytest.mark.parametrize(("body", "line", "said"), WRONG)
def test_what_is_wrong_with_a_file(body: str, line: int, said: str) -> None:
    rule, wrong = assertion(body)
    assert rule is None
    assert {one.code for one in wrong} == {"POL004"}
    assert any((one.file, one.line) == (FILE, line) and said in one.summary and one.remedy for one in wrong), wrong


def test_several_mistakes_come_at_once() -> None:
    _, wrong = assertion("level: high\nasserts: []\n")
    assert len(wrong) == 3


def test_a_message_may_only_have_what_an_object_has() -> None:
    rule, wrong = assertion(PRIORITY, HEAD.replace("{kind}", "{knid}"))
    assert rule is None
    (one,) = wrong
    assert (one.line, one.summary) == (3, "message has the unknown placeholder {knid}")
    assert one.remedy == "did you mean kind?"


def test_a_code_has_one_form() -> None:
    for code in ("POL001", "ORG901", "POL9011", "pol901"):
        rule, wrong = assertion(PRIORITY, HEAD.replace("POL901", code))
        assert rule is None
        assert "it does not match" in wrong[0].summary
