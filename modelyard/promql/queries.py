"""Findings about the queries that a plan's targets carry."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.promql.check import check_query
from modelyard.promql.problems import Kind, Problem
from modelyard.promql.windows import LONGEST_JOB

_CODES: Final[Mapping[Kind, tuple[str, Severity]]] = {
    Kind.INVALID: ("AUT010", Severity.ERROR),
    Kind.UNJUDGED: ("AUT010", Severity.WARNING),
    Kind.JOINED: ("AUT011", Severity.WARNING),
    Kind.TYPE: ("AUT012", Severity.ERROR),
    Kind.MANY: ("AUT013", Severity.WARNING),
    Kind.EMPTY: ("AUT014", Severity.WARNING),
    Kind.NEVER: ("AUT015", Severity.ERROR),
    Kind.UNLIKELY: ("AUT015", Severity.WARNING),
    Kind.AMBIGUOUS: ("AUT016", Severity.WARNING),
    Kind.SHORT: ("AUT017", Severity.WARNING),
    Kind.LONG: ("AUT018", Severity.WARNING),
    Kind.STEP: ("AUT019", Severity.ADVICE),
    Kind.MATCHER: ("AUT030", Severity.WARNING),
    Kind.AWAKE: ("AUT031", Severity.WARNING),
    Kind.FALLBACK: ("AUT031", Severity.ADVICE),
    Kind.FLAG: ("AUT032", Severity.WARNING),
    Kind.COUNTS: ("AUT033", Severity.ADVICE),
}


class Query(NamedTuple):
    """The queries of one object, as its annotation holds them."""

    target: str
    text: str
    field: str
    """Where the text is written, as in ``Finding.field``."""
    ours: bool = True
    """Whether modelyard writes it. What another wrote stops nothing: it is told as a warning."""


def check_queries(
    queries: Iterable[Query],
    *,
    scrape_interval: float | None,
    longest_window: float = LONGEST_JOB,
) -> Iterator[Finding]:
    """Findings about queries, each with the place in the query.

    Args:
        queries: of a plan's targets.
        scrape_interval: seconds between two samples, None where nobody knows.
        longest_window: seconds for which GPUs may stay awake after the last work.
    """
    for query in queries:
        for problem in _problems(query.text, scrape_interval=scrape_interval, longest_window=longest_window):
            yield _finding(query, problem)


_problems = lru_cache(maxsize=1024)(check_query)
"""Stacks of one project mostly ask the same."""


def _finding(query: Query, problem: Problem) -> Finding:
    code, severity = _CODES[problem.kind]
    if severity is Severity.ERROR and not query.ours:
        severity = Severity.WARNING
    place = f"at character {problem.offset + 1}" + (f": {problem.excerpt}" if problem.excerpt else "")
    return Finding(
        code,
        severity,
        f"query: {problem.summary}",
        target=query.target,
        field=query.field,
        detail=f"{problem.detail}; {place}" if problem.detail else place,
        remedy=problem.remedy,
    )
