"""Checks a query's result as a whole: an autoscaler needs one number, and 0 while there is no work."""

import math
from collections.abc import Iterator

from modelyard.promql.functions import FUNCTIONS, UNKNOWN, Series
from modelyard.promql.infer import infer
from modelyard.promql.labels import ABSENT, NAME
from modelyard.promql.problems import ProblemKind, QueryProblem
from modelyard.promql.syntax import COMPARISONS, Binary, Expression, FunctionCall, Selector, every
from modelyard.promql.values import SeriesShape

_LONGEST_REMEDY = 100
"""Maximum characters of a query that a remedy repeats."""


def check_answer(text: str, tree: Expression) -> Iterator[QueryProblem]:
    """Yields what is wrong with the result of a valid query."""
    shape = infer(tree, scraped=False).shape
    start = tree.span[0]
    if shape.kind == "matrix":
        remedy = "give the window to a function, such as sum(max_over_time(…))"
        yield QueryProblem(ProblemKind.TYPE, start, "the result is a window of samples, not a number", remedy=remedy)
        return
    if shape.kind == "string":
        yield QueryProblem(
            ProblemKind.TYPE, start, "the result is a string, not a number", remedy="drop the quotes around it"
        )
        return
    query = " ".join(text.split())
    short = query if len(query) <= _LONGEST_REMEDY else "…"
    if shape.most > 1:
        yield _many(tree, shape, short)
    if shape.least == 0 and shape.most:
        yield _empty(tree, shape, short)
    if shape.least:
        yield from _awake(tree, shape)
    yield from _lost_sums(tree)
    yield from _scalars(tree)
    yield from _fallbacks(tree)


def _many(tree: Expression, shape: SeriesShape, query: str) -> QueryProblem:
    number = "any number of" if shape.most == math.inf else f"up to {shape.most:.0f}"
    if isinstance(tree, Binary) and tree.operator == "or" and infer(tree.right, scraped=False).shape.labels.none:
        return QueryProblem(
            ProblemKind.MANY,
            tree.span[0],
            "the fallback is added to the series that it should replace, so the result can be several series",
            detail="`or` adds the series of its right operand whose labels the left operand does not have; this one "
            "has no labels",
            remedy="aggregate the left operand first, sum(…) or vector(0), or match on no label: … or on() vector(0)",
        )
    return QueryProblem(
        ProblemKind.MANY,
        tree.span[0],
        f"the result can be {number} series, but an autoscaler takes one number",
        detail="one for each " + _differing(shape),
        remedy=f"aggregate it: sum({query})",
    )


def _differing(shape: SeriesShape) -> str:
    """Describes what distinguishes the series of a result."""
    named = sorted(label for label, values in shape.labels.named.items() if values.number > 1 and label != NAME)
    if shape.labels.rest == ABSENT and named:
        return f"combination of {', '.join(named)}" if len(named) > 1 else f"value of {named[0]}"
    return "combination of labels that a scrape finds, such as job, instance and pod"


def _empty(tree: Expression, shape: SeriesShape, query: str) -> QueryProblem:
    one = shape.labels.none
    filled = f"{query} or vector(0)" if one else f"sum({query}) or vector(0)"
    if isinstance(tree, Binary) and tree.operator in COMPARISONS and not tree.returns_bool:
        return QueryProblem(
            ProblemKind.EMPTY,
            tree.span[0],
            f"the result is empty, not 0, if the comparison is false: {tree.operator} drops series",
            remedy=f"add `or vector(0)`; for 1 or 0, compare with bool: … {tree.operator} bool …",
        )
    calls = (FUNCTIONS.get(node.function, UNKNOWN) for node in every(tree) if isinstance(node, FunctionCall))
    if any(function.series is Series.ABSENCE for function in calls):
        return QueryProblem(
            ProblemKind.EMPTY,
            tree.span[0],
            "the result is empty, not 0, if absent finds a series",
            remedy=f"write {filled}",
        )
    if isinstance(tree, Binary) and tree.operator == "+" and one:
        filled = "(… or vector(0)) + (… or vector(0)): each operand needs its own, or the other operand's work is lost"
    metrics = sorted(
        {
            matcher.value
            for node in every(tree)
            if isinstance(node, Selector)
            for matcher in node.matchers
            if matcher.label == NAME and matcher.operator == "="
        }
    )
    cause = f"{' or '.join(metrics)} has no series" if metrics else "there is no such series"
    return QueryProblem(
        ProblemKind.EMPTY,
        tree.span[0],
        f"the result is empty, not 0, if {cause}",
        detail="this happens before the first job, and after a restart of the exporter",
        remedy=f"write {filled}",
    )


def _awake(tree: Expression, shape: SeriesShape) -> Iterator[QueryProblem]:
    start, values = tree.span[0], shape.values
    remedy = "query the queued or running work, which is 0 if there is none"
    if values.constant:
        never = "stops" if values.low > 0 else "starts"
        summary = f"the result is always {values.low:g}: the autoscaler never {never} pods"
        yield QueryProblem(ProblemKind.AWAKE, start, summary, remedy=remedy)
    elif values.positive:
        yield QueryProblem(
            ProblemKind.AWAKE,
            start,
            "the result is always above 0: the autoscaler never stops pods",
            remedy=remedy,
        )


def _lost_sums(tree: Expression) -> Iterator[QueryProblem]:
    """Finds sums inside a query of which one operand may be missing: then the other is lost as well."""
    for node in every(tree):
        if node is tree or not isinstance(node, Binary) or node.operator != "+":
            continue
        sides = [infer(side, scraped=False).shape for side in (node.left, node.right)]
        if all(side.kind == "vector" and side.labels.none for side in sides) and not all(side.least for side in sides):
            yield QueryProblem(
                ProblemKind.EMPTY,
                node.span[0],
                "the other operand of + is lost if one operand has no series",
                detail="+ then returns no value, even if the other operand has work",
                remedy="write (… or vector(0)) + (… or vector(0))",
            )


def _scalars(tree: Expression) -> Iterator[QueryProblem]:
    """Finds ``scalar`` with possibly none or several series: then its result is not a number."""
    for node in every(tree):
        if isinstance(node, FunctionCall) and node.function == "scalar":
            inner = infer(node.args[0], scraped=False).shape
            if inner.least == inner.most == 1:
                continue
            kind = ProblemKind.EMPTY if inner.most <= 1 else ProblemKind.MANY
            yield QueryProblem(
                kind,
                node.span[0],
                "scalar returns NaN if its argument is not exactly one series",
                detail="NaN is not above 0, so the autoscaler stops the pods",
                remedy="give it one series: scalar(sum(…) or vector(0))",
            )


def _fallbacks(tree: Expression) -> Iterator[QueryProblem]:
    """Finds numbers above 0 that replace missing series."""
    for node in every(tree):
        if not isinstance(node, Binary) or node.operator != "or":
            continue
        right = infer(node.right, scraped=False).shape
        left = infer(node.left, scraped=False).shape
        if right.values.constant and right.values.positive and right.least and not left.least:
            yield QueryProblem(
                ProblemKind.FALLBACK,
                node.right.span[0],
                f"without a series the result is {right.values.low:g}: GPUs stay allocated until a series exists",
                detail="this may be intended as a guard against lost metrics",
                remedy="write vector(0) if a missing series means no work",
            )
