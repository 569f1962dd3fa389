"""Rules without code: their findings, and mistakes in their files."""

from typing import Any

import pytest

from modelyard.findings import Finding
from modelyard.policy import subject_of
from modelyard.policy.assertions import load_assertion
from modelyard.policy.judging import judge
from modelyard.policy.settings import RuleSetting, Settings

FILE = "policies/assertions/mine.yaml"
HEAD = """\
code: POL901
title: Training pods have a priority
message: "{kind}/{name} {field}={value}"
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
    return judge(Settings([RuleSetting(rule, rule.level, {})]), [seen])


def pods(**spec: Any) -> dict[str, Any]:
    return {"template": {"spec": spec}}


PRIORITY = "assert: [{field: pod.spec.priorityClassName, operator: in, value: [high, low]}]\n"


@pytest.mark.parametrize(("spec", "value"), [({"priorityClassName": "other"}, "other"), ({}, "(none)")])
def test_a_wrong_or_missing_field_breaks_the_rule(spec: dict[str, Any], value: str) -> None:
    (one,) = found(PRIORITY, pods(**spec))
    assert one.code == "POL901"
    assert one.summary == f"Deployment/it spec.template.spec.priorityClassName={value}"
    assert (one.field, one.target, one.remedy) == ("spec.template.spec.priorityClassName", "it", "set it")


def test_an_accepted_field_and_accepted_missing_fields() -> None:
    assert found(PRIORITY, pods(priorityClassName="low")) == []
    # A missing field of a partial object may exist in the cluster.
    assert found(PRIORITY, pods(), whole=False) == []
    assert found(PRIORITY, pods(priorityClassName="other"), whole=False)
    assert found(PRIORITY.replace("}]", ", optional: true}]"), pods()) == []
    for operator in ("notEquals", "notMatches"):
        assert found(f"assert: [{{field: spec.paused, operator: {operator}, value: 'true'}}]\n", {}) == []


def test_a_field_that_must_not_exist() -> None:
    body = "assert: [{field: spec.paused, operator: exists, value: false}]\n"
    assert found(body, {}) == []
    assert len(found(body, {"paused": False})) == 1


def test_every_condition_and_every_place_is_reported() -> None:
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
def test_an_assertion_matches_by_kind_role_and_facts(match: str, count: int) -> None:
    assert len(found(f"match: {match}\n{PRIORITY}", pods())) == count


def test_an_assertion_about_some_stacks_is_silent_if_the_stack_is_unknown() -> None:
    rule, _ = assertion(f"match: {{when: {{training: ray}}}}\n{PRIORITY}")
    seen = subject_of({"kind": "Deployment", "spec": pods()})
    assert judge(Settings([RuleSetting(rule, "mandatory", {})]), [seen]) == []


def test_a_long_or_hostile_value_is_shown_safely() -> None:
    (one,) = found(PRIORITY, pods(priorityClassName="\x1b[31m" + "x" * 500))
    assert "\x1b" not in one.summary
    assert len(one.summary) < 200


def test_a_secret_is_never_shown() -> None:
    rule, _ = assertion("assert: [{field: 'data[*]', operator: equals, value: ''}]\n")
    seen = subject_of({"kind": "Secret", "metadata": {"name": "it"}, "data": {"password": "aGVsbG8="}})
    (one,) = judge(Settings([RuleSetting(rule, "mandatory", {})]), [seen])
    assert one.summary == "Secret/it data.password=[secret]"


def test_the_page_comes_from_the_file() -> None:
    rule, _ = assertion(PRIORITY)
    assert f"title: {rule.title}\n" in HEAD
    assert (rule.file, rule.line) == (FILE, 1)
    assert rule.page == "**Why.** Because.\n\n**Example.**\n\n```yaml\nkind: Deployment\n```\n\n**Fix.** That."


WRONG = (
    PRIORITY.replace("in,", "eq,"),
    PRIORITY.replace("[high, low]", "high"),
    *(PRIORITY.replace("pod.spec.priorityClassName", one) for one in ("'pod.spec['", "pod..spec", "pod.")),
    *(PRIORITY.replace("pod.spec.priorityClassName", one) for one in (".spec.replicas", "spec..replicas")),
    PRIORITY.replace("operator:", "op:"),
    "assert: []\n",
    "asserts: []\n",
    "",
    f"match: {{kinds: Deployment}}\n{PRIORITY}",
    f"match: {{roles: [worker]}}\n{PRIORITY}",
    f"match: {{kinds: [Job, Deploymnt]}}\n{PRIORITY}",
    f"match: {{kinds: [Widget]}}\n{PRIORITY}",
    f"match: {{when: {{trainning: ray}}}}\n{PRIORITY}",
    f"match: {{when: {{training: Ray}}}}\n{PRIORITY}",
    f"level: high\n{PRIORITY}",
    f"code: POL902\n{PRIORITY}",
    "assert: [\n",
    # Several mistakes are reported together.
    "level: high\nasserts: []\n",
)


def test_mistakes_in_a_file(golden: Any) -> None:
    shown = []
    for body in WRONG:
        rule, wrong = assertion(body)
        assert rule is None
        assert {(one.code, one.file) for one in wrong} == {("POL004", FILE)}
        shown += [f"{one.line}: {one.summary} → {one.remedy}" for one in wrong]
        shown.append("")
    golden(*shown)


def test_an_unknown_placeholder_in_a_message_is_an_error() -> None:
    rule, wrong = assertion(PRIORITY, HEAD.replace("{kind}", "{knid}"))
    assert rule is None
    (one,) = wrong
    assert (one.line, "{knid}" in one.summary) == (3, True)
    assert "kind?" in one.remedy


def test_a_code_has_one_form() -> None:
    for code in ("POL001", "ORG901", "POL9011", "pol901"):
        rule, wrong = assertion(PRIORITY, HEAD.replace("POL901", code))
        assert rule is None
        assert "match" in wrong[0].summary
