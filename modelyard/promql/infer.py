"""Infers from a query's tree what its answer can be: how many series, with which labels and values.

An abstract interpretation: each node's ``SeriesShape`` is computed from those of its children, and errors that any
server would have are reported once, where they occur.
"""

import math
from typing import Final, NamedTuple

from modelyard.promql import syntax
from modelyard.promql.functions import FUNCTIONS, UNKNOWN, Function, Series
from modelyard.promql.labels import ABSENT, ANY, EMPTY, NAME, PRESENT, Labels, Values, selected
from modelyard.promql.operators import operate
from modelyard.promql.problems import ProblemKind, QueryProblem
from modelyard.promql.syntax import Aggregate, Expression, FunctionCall, Subquery
from modelyard.promql.values import (
    ANYTHING,
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    ONE,
    TEXT,
    Interval,
    SeriesShape,
    exactly,
    negative,
    scalar,
    vector,
)

DEFAULT_STEP = 60.0
"""Seconds: the default ``global.evaluation_interval`` of a server, which is the step of a subquery without a step."""


class Inferred(NamedTuple):
    """What is known of a query's answer."""

    shape: SeriesShape
    problems: tuple[QueryProblem, ...]
    """Problems of kinds NEVER and AMBIGUOUS, which occur inside, whatever the answer."""


def infer(tree: Expression, *, scraped: bool) -> Inferred:
    """Returns the shape of a query's answer.

    Args:
        tree: the query's tree.
        scraped: whether to rely on the labels ``job`` and ``instance`` that a scrape gives each series. Without it the
            result holds for any series; with it, for series that did not lose these labels by relabelling.
    """
    found: list[QueryProblem] = []
    return Inferred(_shape(tree, scraped, found), tuple(found))


def _shape(node: Expression, scraped: bool, found: list[QueryProblem]) -> SeriesShape:
    match node:
        case syntax.Number():
            return scalar(exactly(node.value))
        case syntax.Text():
            return TEXT
        case syntax.Selector():
            shape = vector(0, math.inf, selected(node.matchers, scraped=scraped))
            if shape.surely_empty and not scraped:
                found.append(_contradiction(node, shape.labels))
            return shape
        case syntax.Range():
            return _shape(node.selector, scraped, found)._replace(kind="matrix")
        case syntax.Subquery():
            return _subquery(node, _shape(node.inner, scraped, found))
        case syntax.Negation():
            inner = _shape(node.inner, scraped, found)
            return inner._replace(labels=inner.labels.nameless(), values=negative(inner.values))
        case syntax.Aggregate():
            param = None if node.param is None else _shape(node.param, scraped, found)
            return _aggregate(node, _shape(node.inner, scraped, found), param)
        case syntax.FunctionCall():
            return call(node, tuple(_shape(arg, scraped, found) for arg in node.args), found)
        case syntax.Binary():
            left = _shape(node.left, scraped, found)
            return operate(node, left, _shape(node.right, scraped, found), found)


def _contradiction(node: syntax.Selector, labels: Labels) -> QueryProblem:
    label = next(label for label, values in labels.named.items() if values.number == 0)
    return QueryProblem(
        ProblemKind.NEVER,
        node.span[0],
        f"no series can match the matchers of label {label}",
        detail="the matchers of the label exclude each other",
        remedy='for one of several values write one matcher: =~"a|b"',
    )


def _subquery(node: Subquery, inner: SeriesShape) -> SeriesShape:
    """Returns everything that the inner expression gave in the window, even series that never exist together."""
    step = node.step or DEFAULT_STEP
    points = math.floor(node.window / step)
    most = inner.labels.combinations if inner.most else 0
    least = min(1, inner.least) if points else 0
    return SeriesShape(
        kind="matrix", least=int(min(least, most)), most=most, labels=inner.labels, values=inner.values, points=points
    )


def _aggregate(node: Aggregate, inner: SeriesShape, param: SeriesShape | None) -> SeriesShape:
    labels = grouped(node, inner.labels)
    least, most = min(1, inner.least), inner.most
    match node.operator:
        case "topk" | "bottomk" | "limitk":
            number = param.values if param is not None else ANYTHING
            wanted = math.floor(number.low) if number.constant and abs(number.low) < math.inf else None
            if wanted is not None and wanted < 1:
                return vector(0, 0, inner.labels, inner.values)
            each = math.inf if wanted is None else wanted
            groups = max(1.0, min(inner.most, labels.combinations))
            return vector(0 if wanted is None else least, min(most, each * groups), inner.labels, inner.values)
        case "limit_ratio":
            return vector(0, most, inner.labels, inner.values)
        case "count_values":
            name = node.param.value if isinstance(node.param, syntax.Text) else ""
            # A label that `without` names is dropped again.
            dropped = node.grouping == "without" and name in node.labels
            return vector(least, most, labels.having({name: ANY if dropped else PRESENT}), AT_LEAST_ONE)
        case _:
            return vector(least, most, labels, _aggregated(node.operator, inner.values))


def grouped(node: Aggregate, labels: Labels) -> Labels:
    """Returns the labels by which an aggregation groups."""
    if node.grouping == "by":
        return Labels({label: labels.of(label) for label in node.labels}, ABSENT)
    if node.grouping == "without":
        return labels.having(dict.fromkeys((*node.labels, NAME), ABSENT))
    return EMPTY


def _aggregated(operator: str, values: Interval) -> Interval:
    match operator:
        case "count":
            return AT_LEAST_ONE
        case "group":
            return ONE
        case "stddev" | "stdvar":
            return NOT_NEGATIVE
        case "avg" | "min" | "max":
            return values
        case "sum":
            low = values.low if values.low >= 0 else -math.inf
            high = values.high if values.high <= 0 else math.inf
            return Interval(low, high, values.maybe_nan)
        case _:
            return ANYTHING


# The shapes of function results; `functions` has the table, the rest is here.
_NO_SERIES: Final = vector(1, 1, EMPTY)
"""Input of a function of a moment without an argument: ``vector(time())``."""


def call(node: FunctionCall, args: tuple[SeriesShape, ...], problems: list[QueryProblem]) -> SeriesShape:
    """Returns the shape of a function's answer."""
    function = FUNCTIONS.get(node.function, UNKNOWN)
    given = next((arg for arg in args if arg.kind in ("vector", "matrix")), _NO_SERIES)
    values = given.values if function.keeps_values else function.values
    labels = given.labels if function.keeps_name else given.labels.nameless()
    match function.series:
        case Series.NUMBER:
            return scalar(values) if node.gives == "scalar" else vector(1, 1, EMPTY, values)
        case Series.ONE:
            return vector(1, 1, EMPTY, args[0].values if args else ANYTHING)
        case Series.EACH:
            return _each(node, args, given, labels, values)
        case Series.SOME:
            if node.function == "info":
                labels = Labels(labels.named, ANY)
            return vector(0, given.most, labels, values)
        case Series.WINDOW:
            return _window(function, given, labels, values)
        case Series.ABSENCE:
            return _absence(node, given, values, problems)
        case Series.BUCKETS:
            labels = labels.having({"le": ABSENT})
            if node.function == "histogram_quantiles":
                named = {arg.value: ANY for arg in node.args if isinstance(arg, syntax.Text)}
                return vector(0, given.most * len(args), labels.having(named), values)
            return vector(0, given.most, labels, values)


def _each(
    node: FunctionCall, args: tuple[SeriesShape, ...], given: SeriesShape, labels: Labels, values: Interval
) -> SeriesShape:
    match node.function:
        case "label_replace" | "label_join":
            written = node.args[1]
            labels = labels.having({written.value: ANY}) if isinstance(written, syntax.Text) else labels
            return SeriesShape(kind="vector", least=min(1, given.least), most=given.most, labels=labels, values=values)
        case "clamp" | "clamp_min" | "clamp_max":
            low = args[1].values if node.function != "clamp_max" else exactly(-math.inf)
            high = args[-1].values if node.function != "clamp_min" else exactly(math.inf)
            if low.low > high.high:
                return vector(0, 0, labels, values)
            least = given.least if low.high <= high.low else 0
            return vector(least, given.most, labels, _clamped(given.values, low, high))
        case _:
            return vector(given.least, given.most, labels, values)


def _clamped(values: Interval, low: Interval, high: Interval) -> Interval:
    least = min(max(values.low, low.low), high.low)
    most = min(max(values.high, low.high), high.high)
    return Interval(least, most, values.maybe_nan or low.maybe_nan or high.maybe_nan)


def _window(function: Function, given: SeriesShape, labels: Labels, values: Interval) -> SeriesShape:
    # Two samples of one series are certain only if all samples are of one series.
    if given.labels.combinations == 1:
        enough = given.points >= function.samples
    else:
        enough = given.points >= 1 >= function.samples
    return vector(given.least if enough else 0, given.most, labels, values)


def _absence(node: FunctionCall, given: SeriesShape, values: Interval, found: list[QueryProblem]) -> SeriesShape:
    labels = _absent_labels(node.args[0])
    if given.least:
        found.append(
            QueryProblem(
                ProblemKind.NEVER,
                node.span[0],
                f"{node.function} never returns a value, because its argument always has a series",
                remedy="drop the part that always adds a series, such as `or vector(0)`",
            )
        )
        return vector(0, 0, labels, values)
    return vector(1 if given.surely_empty else 0, 1, labels, values)


def _absent_labels(argument: Expression) -> Labels:
    """Returns the labels that ``absent`` takes from a plain selector: the first ``=`` of each, unless more follows."""
    selector = argument.selector if isinstance(argument, syntax.Range) else argument
    if not isinstance(selector, syntax.Selector):
        return EMPTY
    named: dict[str, Values] = {}
    seen: set[str] = set()
    for matcher in selector.matchers:
        if matcher.label == NAME:
            continue
        if matcher.operator == "=" and matcher.label not in seen:
            named[matcher.label] = Values(frozenset({matcher.value}), False)
            seen.add(matcher.label)
        else:
            named.pop(matcher.label, None)
    return Labels(named, ABSENT)
