"""Findings about the queries of a plan's targets."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.promql import lexer
from modelyard.promql.answer import check_answer
from modelyard.promql.functions import EXPERIMENTAL_AGGREGATIONS, FUNCTIONS, UNKNOWN
from modelyard.promql.infer import infer
from modelyard.promql.labels import ANY, NAME, PRESENT, fitting
from modelyard.promql.parse import NotValid, parse
from modelyard.promql.problems import ProblemKind, QueryProblem, in_order
from modelyard.promql.syntax import Aggregate, Binary, Expression, FunctionCall, Matcher, Range, Selector, Span, every
from modelyard.promql.windows import LONGEST_JOB, check_windows

# Everything that is wrong with one query.
_EXCERPT = 80
"""Maximum characters of a query that are shown around a problem."""
_BEFORE = 30
"""Characters before a problem that are shown if few characters follow: a bracket alone is hard to find."""


def check_query(
    text: str, *, scrape_interval: float | None, longest_window: float = LONGEST_JOB
) -> tuple[QueryProblem, ...]:
    """Returns what is wrong with an autoscaler's query, by position.

    A good query is valid, gives exactly one number whatever series exist, and looks back a sensible time. Queries that
    are joined with ``&`` are checked separately. Never raises, whatever the text.

    Args:
        text: the text of the annotation.
        scrape_interval: seconds between two samples; None skips the checks that need it.
        longest_window: seconds for which GPUs may stay allocated after the last work.
    """
    parts = lexer.parts(text)
    found = []
    if len(parts) > 1:
        found.append(
            QueryProblem(
                kind=ProblemKind.JOINED,
                offset=parts[1].offset - 1,
                summary=f"{len(parts)} queries are joined with `&`, which is not a PromQL operator",
                detail="only the platform's own autoscaler splits at `&`; each part is checked separately",
                remedy="for any other autoscaler write one query: (…) + (…)",
                excerpt="&",
            )
        )
    for part in parts:
        problems = _part(part.text, scrape_interval, longest_window)
        found.extend(problem._replace(offset=part.offset + problem.offset) for problem in problems)
    return in_order(found)


def _part(text: str, scrape_interval: float | None, longest_window: float) -> Iterator[QueryProblem]:
    if reason := lexer.too_much(text):
        yield QueryProblem(
            ProblemKind.UNJUDGED,
            0,
            f"too long or too deeply nested to check: {reason}",
            remedy="shorten or split the query",
        )
        return
    if word := lexer.endless(text):
        words = f"{word.text} is not a duration: it is longer than 300 years"
        yield QueryProblem(ProblemKind.INVALID, word.start, f"not valid PromQL: {words}", excerpt=word.text)
        return
    try:
        tree = parse(text)
    except NotValid as refused:
        from modelyard.promql.mistake import mistake

        wrong = mistake(text, str(refused))
        summary, excerpt = f"not valid PromQL: {wrong.words}", _shortened(text[slice(*wrong.span)])
        yield QueryProblem(ProblemKind.INVALID, wrong.span[0], summary, remedy=wrong.remedy, excerpt=excerpt)
        return
    certain = infer(tree, scraped=False).problems
    reported = {problem.offset for problem in certain}
    unlikely = [
        problem._replace(
            kind=ProblemKind.UNLIKELY, detail=f"a scrape gives each series job and instance; {problem.detail}"
        )
        for problem in infer(tree, scraped=True).problems
        if problem.kind is ProblemKind.NEVER and problem.offset not in reported
    ]
    # A constant answer is no news if a part of it is always empty.
    answer = [problem for problem in check_answer(text, tree) if not (certain and problem.kind is ProblemKind.AWAKE)]
    windows = check_windows(tree, scrape_interval, longest_window)
    problems = [*certain, *unlikely, *answer, *windows, *check_parts(tree)]
    for problem in problems:
        yield problem if problem.excerpt else problem._replace(excerpt=_around(text, tree, problem.offset))


def _around(text: str, tree: Expression, offset: int) -> str:
    """Returns the longest part of a query that starts at a position and can be shown."""
    spans = [node.span for node in every(tree) if node.span[0] == offset]
    ends = sorted((end for _, end in spans if end - offset <= _EXCERPT), reverse=True)
    return _shortened(text[offset : ends[0] if ends else offset + _EXCERPT + 1])


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"


# Label matchers that do not select what they seem to, and parts that only some servers support.
_LOOKS_LIKE_A_LIST = re.compile(r"\||\.\*|\.\+")
_COUNTING_CALLS = frozenset({"count_over_time", "present_over_time"})
_COUNTING_AGGREGATIONS = frozenset({"count", "group"})


def check_parts(tree: Expression) -> Iterator[QueryProblem]:
    """Yields what is wrong with single parts of a query, regardless of their context."""
    for node in every(tree):
        match node:
            case Selector():
                yield from _selector(node)
            case FunctionCall():
                if node.experimental or FUNCTIONS.get(node.function, UNKNOWN).experimental:
                    yield _flag(node.span, node.function)
                if node.function in _COUNTING_CALLS:
                    yield from _counts(node.span, node.function, node.args[-1], "samples")
            case Aggregate():
                if node.operator in EXPERIMENTAL_AGGREGATIONS:
                    yield _flag(node.span, node.operator)
                if node.operator in _COUNTING_AGGREGATIONS:
                    yield from _counts(node.span, node.operator, node.inner, "series")
            case Binary():
                if any(node.matching.fill):
                    yield _flag(node.span, "fill")


def _flag(span: Span, name: str) -> QueryProblem:
    return QueryProblem(
        ProblemKind.FLAG,
        span[0],
        f"{name} is experimental: servers reject it without its feature flag",
        remedy="write the query without it, or waive the finding if your server accepts the query",
    )


def _counts(span: Span, name: str, inner: Expression, what: str) -> Iterator[QueryProblem]:
    if isinstance(inner, Selector | Range):
        yield QueryProblem(
            ProblemKind.COUNTS,
            span[0],
            f"{name} counts {what} regardless of their value: it stays above 0 while the series exists",
            detail="an empty queue still has its series, with the value 0",
            remedy="if the value is an amount, use sum or max_over_time, or count series above 0: count(… > 0)",
        )


def _selector(selector: Selector) -> Iterator[QueryProblem]:
    start = selector.span[0]
    if selector.alternatives:
        yield QueryProblem(
            ProblemKind.INVALID,
            start,
            "not valid PromQL: Prometheus does not support `or` between matchers",
            remedy='write =~"a|b", or join two selectors: x{…} or x{…}',
        )
    names = [matcher for matcher in selector.matchers if matcher.label == NAME]
    if all(fitting(matcher) in (ANY, PRESENT) for matcher in names):
        yield QueryProblem(
            ProblemKind.MATCHER,
            start,
            "the selector names no metric, so it matches series of every metric with these labels",
            detail="a rate of them fails if two have the same labels",
            remedy="write the metric's name before the braces",
        )
    for matcher in selector.matchers:
        if matcher.label != NAME:
            yield from _matcher(matcher, start)


def _matcher(matcher: Matcher, start: int) -> Iterator[QueryProblem]:
    shown = f'{matcher.label}{matcher.operator}"{matcher.value}"'
    if fitting(matcher) == ANY and matcher.value == ".*":
        yield QueryProblem(
            ProblemKind.MATCHER,
            start,
            f"{shown} matches everything, including series without the label",
            remedy="drop the matcher",
        )
    elif matcher.operator in ("=", "!=") and _LOOKS_LIKE_A_LIST.search(matcher.value):
        wanted = {"=": "=~", "!=": "!~"}[matcher.operator]
        yield QueryProblem(
            ProblemKind.MATCHER,
            start,
            f"{shown} compares with literal text, not with a pattern",
            detail="only =~ and !~ take regular expressions",
            remedy=f'write {matcher.label}{wanted}"{matcher.value}"',
        )


REJECTED: Final = frozenset({ProblemKind.INVALID, ProblemKind.UNJUDGED, ProblemKind.TYPE})
"""A server may reject the query: what matters to one that is sent once, not evaluated by an autoscaler."""
_CODES: Final[Mapping[ProblemKind, tuple[str, Severity]]] = {
    ProblemKind.INVALID: ("AUT010", Severity.ERROR),
    ProblemKind.UNJUDGED: ("AUT010", Severity.WARNING),
    ProblemKind.JOINED: ("AUT011", Severity.WARNING),
    ProblemKind.TYPE: ("AUT012", Severity.ERROR),
    ProblemKind.MANY: ("AUT013", Severity.WARNING),
    ProblemKind.EMPTY: ("AUT014", Severity.WARNING),
    ProblemKind.NEVER: ("AUT015", Severity.ERROR),
    ProblemKind.UNLIKELY: ("AUT015", Severity.WARNING),
    ProblemKind.AMBIGUOUS: ("AUT016", Severity.WARNING),
    ProblemKind.SHORT: ("AUT017", Severity.WARNING),
    ProblemKind.LONG: ("AUT018", Severity.WARNING),
    ProblemKind.STEP: ("AUT019", Severity.ADVICE),
    ProblemKind.MATCHER: ("AUT030", Severity.WARNING),
    ProblemKind.AWAKE: ("AUT031", Severity.WARNING),
    ProblemKind.FALLBACK: ("AUT031", Severity.ADVICE),
    ProblemKind.FLAG: ("AUT032", Severity.WARNING),
    ProblemKind.COUNTS: ("AUT033", Severity.ADVICE),
}
_WITH_KEDA: Final[Mapping[ProblemKind, tuple[str, Severity]]] = {ProblemKind.JOINED: ("AUT011", Severity.ERROR)}


class Query(NamedTuple):
    """The queries of one object, from its annotation or from an object of KEDA."""

    target: str
    text: str
    field: str
    """Where the text is written, as in ``Finding.field``."""
    ours: bool = True
    """Whether modelyard writes the query. A query that modelyard does not write gives a warning and stops nothing."""
    longest_window: float = LONGEST_JOB
    """Seconds for which GPUs may stay allocated after the last work."""
    keda: bool = False
    """Whether it is KEDA's, which sends the whole text to Prometheus; the platform's autoscaler splits it at ``&``."""


def check_queries(
    queries: Iterable[Query], *, scrape_interval: float | None, kinds: Collection[ProblemKind] = tuple(ProblemKind)
) -> Iterator[Finding]:
    """Yields findings about queries, each with its position in the query.

    Args:
        queries: queries of a plan's targets.
        scrape_interval: seconds between two samples, None if unknown.
        kinds: which problems to report.
    """
    for query in queries:
        for problem in _problems(query.text, scrape_interval=scrape_interval, longest_window=query.longest_window):
            if problem.kind in kinds:
                yield _finding(query, problem)


_problems = lru_cache(maxsize=1024)(check_query)
"""Cached: the stacks of one project mostly have equal queries."""


def _finding(query: Query, problem: QueryProblem) -> Finding:
    code, severity = (_WITH_KEDA if query.keda else _CODES).get(problem.kind, _CODES[problem.kind])
    if severity is Severity.ERROR and not query.ours:
        severity = Severity.WARNING
    before = " ".join(query.text[: problem.offset].split())
    after = f", after …{before[-_BEFORE:]}" if len(before) > _BEFORE > len(problem.excerpt) else ""
    place = f"at character {problem.offset + 1}{after}" + (f": {problem.excerpt}" if problem.excerpt else "")
    where = "" if query.ours else f"in {query.field} of {query.target}, which modelyard does not write"
    return Finding(
        code,
        severity,
        f"query: {problem.summary}",
        target=query.target,
        field=query.field,
        detail="; ".join(filter(None, (problem.detail, place, where))),
        remedy=problem.remedy,
    )
