"""Label matchers that do not select what they seem to, and parts that only some servers know."""

import re
from collections.abc import Iterator

from modelyard.promql.functions import EXPERIMENTAL_AGGREGATIONS, FUNCTIONS, UNKNOWN
from modelyard.promql.labels import ANY, NAME, PRESENT, fitting
from modelyard.promql.problems import Kind, Problem
from modelyard.promql.syntax import Aggregate, Binary, Call, Matcher, Node, Range, Selector, Span, children

_LOOKS_LIKE_A_LIST = re.compile(r"\||\.\*|\.\+")
_COUNTING_CALLS = frozenset({"count_over_time", "present_over_time"})
_COUNTING_AGGREGATIONS = frozenset({"count", "group"})


def check_parts(tree: Node) -> Iterator[Problem]:
    """What is wrong with single parts of a query, whatever stands around them."""
    match tree:
        case Selector():
            yield from _selector(tree)
        case Call():
            if tree.experimental or FUNCTIONS.get(tree.function, UNKNOWN).experimental:
                yield _flag(tree.span, tree.function)
            if tree.function in _COUNTING_CALLS:
                yield from _counts(tree.span, tree.function, tree.args[-1], "samples")
        case Aggregate():
            if tree.operator in EXPERIMENTAL_AGGREGATIONS:
                yield _flag(tree.span, tree.operator)
            if tree.operator in _COUNTING_AGGREGATIONS:
                yield from _counts(tree.span, tree.operator, tree.inner, "series")
        case Binary():
            if any(tree.matching.fill):
                yield _flag(tree.span, "fill")
    for child in children(tree):
        yield from check_parts(child)


def _flag(span: Span, name: str) -> Problem:
    return Problem(
        Kind.FLAG,
        span[0],
        f"{name} is experimental: a server refuses it unless it was started with its feature flag",
        remedy="ask the server: modelyard check --prometheus URL; or write the query without it",
    )


def _counts(span: Span, name: str, inner: Node, what: str) -> Iterator[Problem]:
    if isinstance(inner, Selector | Range):
        yield Problem(
            Kind.COUNTS,
            span[0],
            f"{name} counts {what}, whatever their value: it stays above 0 while the series is there",
            "a queue that is empty still has its series, with the value 0",
            "where the value says how much there is, take sum or max_over_time, or count those above 0: count(… > 0)",
        )


def _selector(selector: Selector) -> Iterator[Problem]:
    start = selector.span[0]
    if selector.alternatives:
        yield Problem(
            Kind.INVALID,
            start,
            "not valid PromQL: `or` between matchers is known to other servers, not to Prometheus",
            remedy='write =~"a|b", or join two selectors: x{…} or x{…}',
        )
    names = [matcher for matcher in selector.matchers if matcher.label == NAME]
    if all(fitting(matcher) in (ANY, PRESENT) for matcher in names):
        yield Problem(
            Kind.MATCHER,
            start,
            "no metric is named: series of every metric with these labels are taken together",
            "a rate of them fails: without their names two of them may be the same",
            "write the metric's name before the braces",
        )
    for matcher in selector.matchers:
        if matcher.label != NAME:
            yield from _matcher(matcher, start)


def _matcher(matcher: Matcher, start: int) -> Iterator[Problem]:
    shown = f'{matcher.label}{matcher.operator}"{matcher.value}"'
    if fitting(matcher) == ANY and matcher.value == ".*":
        yield Problem(Kind.MATCHER, start, f"{shown} fits everything, also series without the label", remedy="drop it")
    elif matcher.operator in ("=", "!=") and _LOOKS_LIKE_A_LIST.search(matcher.value):
        wanted = {"=": "=~", "!=": "!~"}[matcher.operator]
        yield Problem(
            Kind.MATCHER,
            start,
            f"{shown} compares with this very text, not with a pattern",
            "only =~ and !~ take regular expressions",
            f'write {matcher.label}{wanted}"{matcher.value}"',
        )
