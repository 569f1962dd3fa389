"""Findings about the queries of targets."""

import re

from modelyard.explanations import explanations
from modelyard.findings import Severity
from modelyard.promql import ProblemKind
from modelyard.promql.queries import _CODES, Query, check_queries


def found(text: str, *, ours: bool = True) -> list[tuple[str, Severity]]:
    query = Query("workers", text, "autoscaling.queries", ours)
    return [(finding.code, finding.severity) for finding in check_queries([query], scrape_interval=30)]


def test_every_kind_of_problem_has_an_explained_code() -> None:
    assert set(_CODES) == set(ProblemKind)
    assert {code for code, _ in _CODES.values()} <= explanations().keys()


def test_codes_of_the_server_are_kept_apart() -> None:
    assert not [code for code, _ in _CODES.values() if re.fullmatch(r"AUT02\d", code)]


def test_a_finding_has_owner_place_and_remedy() -> None:
    query = Query("workers", "sum(a) or vector(0) & sum(b)", "patches[0].params.queries")
    joined, empty = check_queries([query], scrape_interval=30)
    assert (joined.code, joined.target, joined.field) == ("AUT011", "workers", "patches[0].params.queries")
    assert re.match(r"query: .* \bb has no", empty.summary)
    assert empty.detail.endswith("; at character 23: sum(b)")
    # A bracket alone is hard to find in a long query.
    text = 'sum(max_over_time(jobs_waiting{queue="training"}[30m]))) or vector(0)'
    (closed,) = check_queries([Query("keda", text, "x")], scrape_interval=15)
    assert closed.detail == 'at character 56, after …iting{queue="training"}[30m])): )'
    assert empty.remedy == "write sum(b) or vector(0)"


def test_only_a_query_of_the_stack_blocks_an_apply() -> None:
    assert found("sum(a[5m])") == [("AUT010", Severity.ERROR)]
    assert found("sum(a[5m])", ours=False) == [("AUT010", Severity.WARNING)]
    assert found("count(a) or vector(0)", ours=False) == [("AUT033", Severity.ADVICE)]
    (finding,) = check_queries([Query("workers", "a[5m]", "metadata.annotations.q", ours=False)], scrape_interval=30)
    assert finding.detail.partition("; ")[2].startswith("in metadata.annotations.q of workers, ")


def test_keda_cannot_split_joined_queries() -> None:
    joined = "sum(a) or vector(0) & sum(b) or vector(0)"
    for keda, severity in ((False, Severity.WARNING), (True, Severity.ERROR)):
        query = Query("workers", joined, "autoscaling.queries", keda=keda)
        assert [(one.code, one.severity) for one in check_queries([query], scrape_interval=30)] == [
            ("AUT011", severity)
        ]


def test_a_good_query_has_no_finding() -> None:
    assert found("sum(a) or vector(0)") == []
