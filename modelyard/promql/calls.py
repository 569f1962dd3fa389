"""What functions make of the shapes of their arguments; ``functions`` has the table, here is what it cannot say."""

import math
from typing import Final

from modelyard.promql import syntax
from modelyard.promql.functions import FUNCTIONS, UNKNOWN, Function, Series
from modelyard.promql.labels import ABSENT, ANY, EMPTY, NAME, Labels, Values
from modelyard.promql.problems import Kind, Problem
from modelyard.promql.shape import Shape, scalar, vector
from modelyard.promql.syntax import Call, Node
from modelyard.promql.values import ANYTHING, Interval, exactly

_NO_SERIES: Final = vector(1, 1, EMPTY)
"""What a function of a moment takes where it has no argument: ``vector(time())``."""


def call(node: Call, args: tuple[Shape, ...], found: list[Problem]) -> Shape:
    """The shape of a function's answer."""
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
            return _absence(node, given, values, found)
        case Series.BUCKETS:
            labels = labels.having({"le": ABSENT})
            if node.function == "histogram_quantiles":
                named = {arg.value: ANY for arg in node.args if isinstance(arg, syntax.Text)}
                return vector(0, given.most * len(args), labels.having(named), values)
            return vector(0, given.most, labels, values)


def _each(node: Call, args: tuple[Shape, ...], given: Shape, labels: Labels, values: Interval) -> Shape:
    match node.function:
        case "label_replace" | "label_join":
            written = node.args[1]
            labels = labels.having({written.value: ANY}) if isinstance(written, syntax.Text) else labels
            return Shape("vector", min(1, given.least), given.most, labels, values)
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


def _window(function: Function, given: Shape, labels: Labels, values: Interval) -> Shape:
    # Two samples of one series are sure only where all samples are of one series.
    if given.labels.combinations == 1:
        enough = given.points >= function.samples
    else:
        enough = given.points >= 1 >= function.samples
    return vector(given.least if enough else 0, given.most, labels, values)


def _absence(node: Call, given: Shape, values: Interval, found: list[Problem]) -> Shape:
    labels = _absent_labels(node.args[0])
    if given.least:
        found.append(
            Problem(
                Kind.NEVER,
                node.span[0],
                f"{node.function} never answers: its argument always has a series",
                remedy="leave out what gives the argument a series, such as `or vector(0)`",
            )
        )
        return vector(0, 0, labels, values)
    return vector(1 if given.surely_empty else 0, 1, labels, values)


def _absent_labels(argument: Node) -> Labels:
    """The labels that ``absent`` takes over from a plain selector: the first ``=`` of each, unless more follows."""
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
