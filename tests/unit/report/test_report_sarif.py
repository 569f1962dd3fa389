"""SARIF: valid, on the right line, with fingerprints that survive a moved line."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, FormatChecker

from modelyard import __version__
from modelyard.explanations import explanations
from modelyard.findings import Finding, Severity
from modelyard.plan.project import plan_recorded
from modelyard.report.ci.checked import Checked
from modelyard.report.ci.sarif import sarif_document

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "tests" / "ci" / "schemas" / "sarif-2.1.0.json").read_text())
GPU = Finding(
    "GPU001",
    Severity.ERROR,
    "L4 is not supported",
    stack="prod",
    field="gpu.model",
    detail="121 FP16 TFLOPS < 125",
    remedy="choose A10",
    file="stacks/Pulumi.prod.yaml",
    line=10,
    column=5,
)


def document(*findings: Finding, **changes: Any) -> dict[str, Any]:
    stacks = {"prod": "stacks/Pulumi.prod.yaml"}
    return sarif_document(Checked(findings, stacks)._replace(**changes))


def results(*findings: Finding, **changes: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = document(*findings, **changes)["runs"][0]["results"]
    return made


def physical(result: dict[str, Any]) -> tuple[str, int, int | None]:
    place = result["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"], place["region"].get("startColumn")


@pytest.mark.parametrize(
    "findings",
    [
        (),
        (GPU,),
        (GPU, GPU._replace(waived="until May"), Finding("PAT009", Severity.ADVICE, "x", file="/elsewhere/ä b.yaml")),
        (Finding("ZZZ999", Severity.WARNING, "a code without an explanation"),),
    ],
)
def test_every_document_follows_the_schema(findings: tuple[Finding, ...]) -> None:
    Draft4Validator(SCHEMA, format_checker=FormatChecker()).validate(document(*findings))


def test_the_findings_of_the_example_stacks_follow_the_schema_and_point_at_their_lines() -> None:
    findings = tuple(
        finding
        for name in ("dev", "prod", "staging")
        if (plan := plan_recorded(ROOT, ROOT / "stacks" / f"Pulumi.{name}.yaml", date(2026, 11, 21)).plan) is not None
        for finding in plan.findings
    )
    made = document(*findings)
    Draft4Validator(SCHEMA).validate(made)
    for finding, result in zip(findings, made["runs"][0]["results"], strict=True):
        uri, line, _ = physical(result)
        assert len((ROOT / uri).read_text().splitlines()) >= line
        assert line == (finding.line or 1)


def test_a_finding_lands_on_its_line_of_the_file() -> None:
    (result,) = results(GPU)
    assert physical(result) == ("stacks/Pulumi.prod.yaml", 10, 5)
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] == "%SRCROOT%"


def test_files_are_named_from_the_root_of_the_repository() -> None:
    (result,) = results(GPU, folder="infra/ml platform")
    assert physical(result)[0] == "infra/ml%20platform/stacks/Pulumi.prod.yaml"


def test_each_project_of_a_repository_has_its_own_category() -> None:
    # Code scanning reads a category only where something stands before a slash.
    assert document()["runs"][0]["automationDetails"] == {"id": "modelyard/"}
    assert document(folder="infra")["runs"][0]["automationDetails"] == {"id": "modelyard/infra/"}


def test_a_finding_without_a_file_is_shown_at_its_stack_and_else_at_the_project() -> None:
    # Code scanning refuses a whole upload for one result without a physical location.
    found = results(GPU._replace(file="", line=0, column=0), GPU._replace(stack="", file="", line=0, column=0))
    assert [physical(result) for result in found] == [("stacks/Pulumi.prod.yaml", 1, None), ("Pulumi.yaml", 1, None)]


def test_a_file_outside_the_project_has_a_whole_address() -> None:
    (result,) = results(GPU._replace(file="/srv/other stack.yaml"))
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///srv/other%20stack.yaml"}


def test_a_result_has_summary_detail_and_remedy() -> None:
    (result,) = results(GPU)
    text = result["message"]["text"]
    assert text.index(f"{GPU.summary}. ") < text.index(f"{GPU.detail}. ") < text.index(f"{GPU.remedy}.")
    assert (result["ruleId"], result["level"]) == ("GPU001", "error")


def test_levels_are_those_of_sarif() -> None:
    found = results(*(GPU._replace(severity=severity) for severity in Severity))
    assert [result["level"] for result in found] == ["error", "warning", "note"]


def test_a_waived_finding_is_suppressed_with_its_reason_and_fails_no_build() -> None:
    (result,) = results(GPU._replace(waived="until May"))
    assert result["suppressions"] == [{"kind": "inSource", "status": "accepted", "justification": "until May"}]
    assert result["level"] == "note"
    assert result["properties"]["severity"] == "error"
    assert "suppressions" not in results(GPU)[0]


def test_a_fingerprint_survives_a_new_line_and_new_numbers() -> None:
    (before,) = results(GPU)
    (after,) = results(GPU._replace(line=90, column=1, summary="L4 has 120 TFLOPS", detail="other words"))
    assert before["partialFingerprints"] == after["partialFingerprints"]


@pytest.mark.parametrize(
    "change", [{"code": "GPU002"}, {"stack": "dev"}, {"target": "x"}, {"field": "y"}, {"file": "z"}]
)
def test_another_finding_has_another_fingerprint(change: dict[str, Any]) -> None:
    one, other = results(GPU, GPU._replace(**change))
    assert set(one["partialFingerprints"].values()).isdisjoint(other["partialFingerprints"].values())


def test_two_findings_about_one_field_have_different_fingerprints() -> None:
    one, other = results(GPU, GPU._replace(summary="something else"))
    assert one["partialFingerprints"] != other["partialFingerprints"]


def test_user_text_is_neither_a_link_nor_a_placeholder() -> None:
    (result,) = results(GPU._replace(summary="{0} of [here](https://example.com) in {x}"))
    assert result["message"]["text"].startswith("{{0}} of [here] (https://example.com) in {x}.")


def test_a_rule_has_its_explanation_as_help() -> None:
    made = document(GPU)
    driver = made["runs"][0]["tool"]["driver"]
    (rule,) = driver["rules"]
    assert (driver["name"], driver["semanticVersion"]) == ("modelyard", __version__)
    assert rule["id"] == "GPU001"
    page = explanations()["GPU001"]
    assert rule["shortDescription"]["text"].lower().rstrip(".") == page.title.lower().rstrip(".")
    assert rule["fullDescription"]["text"]
    assert rule["fullDescription"]["text"] != rule["shortDescription"]["text"]
    assert "```yaml\nmodelyard:gpu: {model: L4}\n```" in rule["help"]["markdown"]
    assert "`" not in rule["help"]["text"]


@pytest.mark.parametrize("site", ["https://example.com/modelyard", "https://example.com/modelyard/"])
def test_a_rule_links_to_its_page_if_the_site_is_known(site: str) -> None:
    rule = sarif_document(Checked((GPU,), {}, documentation=site))["runs"][0]["tool"]["driver"]["rules"][0]
    assert rule["helpUri"] == "https://example.com/modelyard/rules/GPU001.html"
    assert "helpUri" not in document(GPU)["runs"][0]["tool"]["driver"]["rules"][0]


def test_each_rule_is_there_once_and_results_name_its_place() -> None:
    made = document(GPU, GPU._replace(code="CFG008"), GPU._replace(line=11))["runs"][0]
    rules = [rule["id"] for rule in made["tool"]["driver"]["rules"]]
    assert rules == ["CFG008", "GPU001"]
    assert [rules[result["ruleIndex"]] for result in made["results"]] == ["GPU001", "CFG008", "GPU001"]
