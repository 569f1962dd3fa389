"""Findings about field owners: one for each target and owner in text, one for each field in JSON."""

from typing import Any

import pytest

from modelyard.findings import Finding, Severity, ordered
from modelyard.kube.merge import Owner, Path
from modelyard.plan import FieldChange
from modelyard.plan.ownership import take_over
from modelyard.report.finding import findings_text, gathered, taken_over, tally
from modelyard.report.style import Style

POD = "spec.template.spec.containers[name=worker]"
FIELDS = ("spec.replicas", f"{POD}.resources.limits.cpu", f"{POD}.resources.requests.cpu", f"{POD}.image")

MANY = tuple(f"spec.field{number}.value" for number in range(30))


def taken(owner: str, *fields: str, target: str = "d") -> list[Finding]:
    """What the plan itself says when it takes fields over."""
    changes = [FieldChange(Path.parse(field), 1, 2, "p@v1", (Owner(owner, "Update"),), True) for field in fields]
    return [one._replace(file="s.yaml") for change in changes for one in take_over(target, change)]


@pytest.mark.parametrize(
    ("owner", "code"),
    [("helm", "OWN001"), ("kubectl-edit", "OWN001"), ("keda-operator", "OWN002"), ("argocd", "OWN003")],
)
def test_fields_of_one_target_and_owner_are_one_finding(owner: str, code: str, golden: Any) -> None:
    found = taken(owner, *FIELDS)
    lines = findings_text(found)
    assert sum(code in line for line in lines) == 1
    assert tally(found).startswith("1 ")
    golden(*lines, "one field:", *findings_text(taken(owner, FIELDS[3])), "")


@pytest.mark.parametrize(
    "owners", [("keda-operator", "vpa-updater"), ("argocd", "argocd-application"), ("go-http-client", "axios")]
)
def test_fields_of_one_target_and_several_owners_are_one_finding(owners: tuple[str, ...], golden: Any) -> None:
    several = tuple(Owner(owner, "Update") for owner in owners)
    changes = [FieldChange(Path.parse(field), 1, 2, "p@v1", several, True) for field in FIELDS]
    golden(*findings_text([one for change in changes for one in take_over("d", change)]), "")


def test_other_targets_owners_and_waivers_stay_apart() -> None:
    found = [
        *taken("helm", *FIELDS),
        *taken("helm", *FIELDS, target="e"),
        *taken("kubectl-edit", *FIELDS),
        *(one._replace(waived="known") for one in taken("argocd", *FIELDS)),
    ]
    assert len(gathered(ordered(found))) == 4
    assert tally(found) == "3 notes, 1 waived"


def test_a_remedy_stands_once_below_the_findings_that_share_it(golden: Any) -> None:
    found = [*taken("helm", *FIELDS), *taken("helm", *FIELDS, target="e"), *taken("argocd", *FIELDS, target="f")]
    lines = findings_text(found)
    assert sum("→" in line for line in lines) == 2
    golden(*lines, "")


@pytest.mark.parametrize("columns", [80, 100])
def test_many_fields_of_a_warning_take_two_lines_and_end_with_a_count(columns: int) -> None:
    lines = findings_text(taken("argocd", *MANY), Style(False, columns))
    assert lines[2].split() == ["s.yaml", "d"]
    assert max(map(len, lines)) <= columns
    shown = (lines[0] + lines[1]).count(".value")
    assert shown > 2
    assert lines[1].endswith(f"… {30 - shown} more")


@pytest.mark.parametrize("columns", [80, 100])
def test_a_note_lists_all_fields(columns: int) -> None:
    lines = findings_text(taken("helm", *MANY), Style(False, columns))
    assert max(map(len, lines)) <= columns
    assert all(f" {field.removeprefix('spec.')}" in " ".join(lines) for field in MANY)
    assert "more" not in " ".join(lines)


def test_equal_findings_that_are_not_about_owners_are_not_gathered() -> None:
    error = Finding("GPU001", Severity.ERROR, "too slow", "dev", "d", "spec.replicas")
    other = Finding("OWN001", Severity.ADVICE, "other words than the plan's", "dev", "d", "spec.replicas")
    assert [one.finding for one in gathered([error, error, other])] == [error, error, other]


def test_fields_taken_over_are_counted_by_owner() -> None:
    found = [*taken("helm", *FIELDS), *taken("argocd", *FIELDS), *taken("kubectl-edit", FIELDS[0])]
    assert taken_over(found) == {"helm": 4, "kubectl-edit": 1}
    assert taken_over([one._replace(waived="known") for one in found]) == {}
