"""explanations/POL.md explains every mistake around rules, with real messages as examples."""

import re

import pytest

from modelyard.explanations import explanations
from modelyard.policy.rules import PARTS
from tests.support.policy_project import Project

PAGES = {code: page.body for code, page in explanations().items() if code.startswith("POL")}


def block(code: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGES[code], re.DOTALL)
    assert found is not None
    return found[1].strip()


@pytest.mark.parametrize("code", PAGES)
def test_the_parts_are_there_in_order(code: str) -> None:
    assert re.findall(r"^\*\*(\w+)\.\*\*", PAGES[code], re.MULTILINE) == list(PARTS)


@pytest.mark.parametrize("code", ["POL001", "POL002", "POL006"])
def test_the_stack_of_an_example_gives_the_finding(project: Project, code: str) -> None:
    project.own()
    project.add(block(code, "yaml"))
    assert [one.summary for one in project.check() if one.code == code] == [block(code, "text")]


def test_a_file_with_a_syntax_error(project: Project) -> None:
    project.write("rules/mine.py", "def mine(\n")
    (one,) = project.policies().findings
    assert (one.code, one.summary) == ("POL003", block("POL003", "text"))


def test_an_assertion_with_an_unknown_operator(project: Project) -> None:
    project.own()
    text = (project.root / "policies/assertions/no-surge.yaml").read_text()
    project.write("assertions/no-surge.yaml", text.replace("operator: in", "operator: eq"))
    (one,) = project.policies().findings
    assert (one.code, one.summary) == ("POL004", block("POL004", "text"))


def test_a_rule_that_assumes_a_field(project: Project) -> None:
    body = "return () if subject.name != 'deployment-ray-head' else ({}['replicas'],)"
    project.rule(body)
    (one,) = (finding for finding in project.check() if finding.code == "POL005")
    assert one.summary == block("POL005", "text")
