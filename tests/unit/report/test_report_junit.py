"""JUnit XML as GitLab and Jenkins read it."""

from typing import Any
from xml.etree import ElementTree

import pytest

from modelyard.explanations import explanations
from modelyard.findings import Finding, Severity
from modelyard.report.ci.checked import Checked
from modelyard.report.ci.junit import document

ERROR = Finding(
    "GPU001",
    Severity.ERROR,
    "L4 is not supported",
    stack="prod",
    remedy="choose A10",
    file="s/p.yaml",
    line=10,
    column=5,
)
WARNING = ERROR._replace(code="RES102", severity=Severity.WARNING, summary="a pod will be stopped", target="worker")
STACKS = {"dev": "s/d.yaml", "prod": "s/p.yaml"}


def read(*findings: Finding, **changes: Any) -> ElementTree.Element:
    return ElementTree.fromstring(document(Checked(findings, STACKS)._replace(**changes)))


def case(root: ElementTree.Element, suite: str, code: str) -> ElementTree.Element:
    (found,) = (
        one for one in root.iterfind(f"testsuite[@name='{suite}']/testcase") if one.get("name", "").startswith(code)
    )
    return found


def test_a_stack_is_a_suite_and_a_rule_a_case_that_passes() -> None:
    root = read()
    assert [suite.get("name") for suite in root] == ["dev", "prod"]
    names = [one.get("name", "")[:6] for one in root.iterfind("testsuite[@name='dev']/testcase")]
    assert names == list(explanations())
    assert list(root.iter("failure")) == []


def test_an_error_fails_the_case_of_its_rule_and_only_there() -> None:
    root = read(ERROR)
    (failure,) = root.iter("failure")
    assert failure is case(root, "prod", "GPU001").find("failure")
    assert failure.get("message") == ERROR.summary
    # GitLab shows the text alone, so the place and the remedy are in it.
    first, summary, remedy = (failure.text or "").splitlines()
    assert first == "error GPU001 s/p.yaml:10:5"
    assert summary == f"  {ERROR.summary}."
    assert remedy.endswith(f": {ERROR.remedy}.")


def test_a_case_names_its_file_from_the_root_of_the_repository() -> None:
    assert case(read(ERROR, folder="infra"), "prod", "GPU001").get("file") == "infra/s/p.yaml"


def test_all_errors_of_a_rule_are_in_one_failure() -> None:
    root = read(ERROR, ERROR._replace(line=11, summary="another"))
    (failure,) = root.iter("failure")
    assert failure.text is not None
    assert failure.text.count("error GPU001") == 2


def test_a_warning_is_the_output_of_a_case_that_passes() -> None:
    found = case(read(WARNING), "prod", "RES102")
    assert [child.tag for child in found] == ["system-out"]
    assert found[0].text is not None
    assert found[0].text.startswith(f"warning RES102 s/p.yaml:10:5 (worker)\n  {WARNING.summary}.\n")


def test_a_waived_error_skips_its_case() -> None:
    found = case(read(ERROR._replace(waived="until May")), "prod", "GPU001")
    assert [child.tag for child in found] == ["skipped", "system-out"]
    assert found[0].get("message") == "waived: until May"


def test_a_stack_that_could_not_be_planned_has_no_case_that_passes() -> None:
    root = read(ERROR._replace(code="CFG013"), unplanned=frozenset({"prod"}))
    (only,) = root.iterfind("testsuite[@name='prod']/testcase")
    assert only.find("error") is not None
    assert only.find("failure") is None


def test_counts_match_the_elements() -> None:
    root = read(ERROR, WARNING, ERROR._replace(code="GPU002", waived="x"))
    for element in (root, *root):
        assert element.get("tests") == str(len(list(element.iter("testcase"))))
        assert element.get("failures") == str(len(list(element.iter("failure"))))
        assert element.get("skipped") == str(len(list(element.iter("skipped"))))
    assert root.get("failures") == "1"


def test_no_two_cases_of_a_suite_have_one_name() -> None:
    # GitLab keeps one of several with the same classname and name.
    root = read(ERROR, ERROR._replace(line=11), WARNING, WARNING._replace(target="head"))
    keys = [(one.get("classname"), one.get("name")) for one in root.iter("testcase")]
    assert len(keys) == len(set(keys))


def test_findings_without_a_stack_have_their_own_suite() -> None:
    root = read(ERROR._replace(stack="", code="PAT009"))
    assert [suite.get("name") for suite in root] == ["dev", "prod", "project"]
    assert root[2][0].get("classname") == "modelyard.project"


@pytest.mark.parametrize("text", ["<&>\"'", "\x00\x1b[31m", "\ud800", "\uffff", "]]>", "ä €"])
def test_any_text_gives_xml_that_can_be_read(text: str) -> None:
    root = read(ERROR._replace(summary=text, detail=text, target=text, file=text, stack=text))
    assert len(list(root.iter("failure"))) == 1
