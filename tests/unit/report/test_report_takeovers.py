"""Findings about the owners of fields: one a target and owner for readers, each as it is in JSON."""

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
    ("owner", "words"),
    [
        ("helm", "note    OWN001  takes ownership of 4 fields from helm: replicas; resources cpu (limits and"),
        ("kubectl-edit", "note    OWN001  takes ownership of 4 fields from kubectl-edit: replicas; resources cpu"),
        ("keda-operator", "error   OWN002  keda-operator keeps writing 4 fields: replicas; resources cpu (limits and"),
        ("argocd", "warning OWN003  argocd holds 4 fields and will write them again at its next sync:"),
    ],
)
def test_fields_of_one_target_and_owner_are_one_finding(owner: str, words: str) -> None:
    found = taken(owner, *FIELDS)
    lines = findings_text(found)
    assert lines[0].startswith(f"  {words}")
    assert sum(found[0].code in line for line in lines) == 1
    assert tally(found).startswith("1 ")


def test_a_single_field_is_named_and_where_it_stops_something_with_its_whole_path() -> None:
    assert "takes ownership of 1 field from helm: image" in findings_text(taken("helm", FIELDS[3]))[0]
    assert f"argocd holds {FIELDS[3]} and will write it" in findings_text(taken("argocd", FIELDS[3]))[0]


def test_other_targets_owners_and_waivers_stay_apart() -> None:
    found = [
        *taken("helm", *FIELDS),
        *taken("helm", *FIELDS, target="e"),
        *taken("kubectl-edit", *FIELDS),
        *(one._replace(waived="known") for one in taken("argocd", *FIELDS)),
    ]
    assert len(gathered(ordered(found))) == 4
    assert tally(found) == "3 notes, 1 waived"


def test_what_to_do_stands_once_below_several_that_say_the_same() -> None:
    found = [*taken("helm", *FIELDS), *taken("helm", *FIELDS, target="e"), *taken("argocd", *FIELDS, target="f")]
    lines = findings_text(found)
    assert sum("→ no action needed" in line for line in lines) == 1
    assert sum("→ configure it to ignore" in line for line in lines) == 1
    assert "→ no action needed" in lines[-5]


@pytest.mark.parametrize("columns", [80, 100])
def test_many_fields_of_a_warning_take_two_lines_and_say_how_many_more_there_are(columns: int) -> None:
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


def test_findings_that_are_not_about_owners_stay_as_they_are_even_when_they_are_alike() -> None:
    error = Finding("GPU001", Severity.ERROR, "too slow", "dev", "d", "spec.replicas")
    other = Finding("OWN001", Severity.ADVICE, "other words than the plan's", "dev", "d", "spec.replicas")
    assert [one.finding for one in gathered([error, error, other])] == [error, error, other]


def test_what_a_plan_takes_over_as_a_matter_of_course() -> None:
    found = [*taken("helm", *FIELDS), *taken("argocd", *FIELDS), *taken("kubectl-edit", FIELDS[0])]
    assert taken_over(found) == {"helm": 4, "kubectl-edit": 1}
    assert taken_over([one._replace(waived="known") for one in found]) == {}
