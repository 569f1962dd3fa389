"""Findings about entries of a stack file."""

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Config, Gpu, Platform, about_entries
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.pool import Team

# More than ten, so that one name is the beginning of another: jobs[1 and jobs[10].
CONFIG = Config(
    "ray",
    Platform("23.10"),
    Gpu("A10"),
    resources=(Resource("deep", "training"),),
    jobs=tuple(Job("train", "training", "deep") for _ in range(11)),
    teams=(Team("vision", ()),),
)


def finding(field: str) -> Finding:
    return Finding("RES000", Severity.ERROR, "wrong", field=field)


def test_of_equal_entries_only_the_given_one_is_chosen() -> None:
    assert CONFIG.jobs[1] == CONFIG.jobs[2]
    assert CONFIG.entries(CONFIG.jobs[1]) == {"jobs[1]"}
    assert CONFIG.entries(*CONFIG.resources, *CONFIG.teams) == {"resources[0]", "teams[0]"}
    assert CONFIG.entries() == frozenset()


def test_findings_about_an_entry_or_what_is_in_it() -> None:
    fields = ("", "jobs", "jobs[1]", "jobs[1].env.A.B", "jobs[10]", "jobs[10].team", "resources[1]")
    found = about_entries(map(finding, fields), CONFIG.entries(CONFIG.jobs[1]))
    assert [one.field for one in found] == ["jobs[1]", "jobs[1].env.A.B"]
