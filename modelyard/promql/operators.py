"""Computes the shape of an operator's result from its two sides, and finds sides whose series cannot match.

Source: Prometheus' ``docs/querying/operators.md`` and ``VectorBinop`` of ``promql/engine.go``.
"""

from modelyard.promql.labels import (
    ABSENT,
    ANY,
    NAME,
    Labels,
    Values,
    always_meet,
    both,
    either,
    matched_on,
    never_meet,
    unique,
)
from modelyard.promql.problems import ProblemKind, QueryProblem
from modelyard.promql.syntax import COMPARISONS, SETS, Binary
from modelyard.promql.values import TRUTH, Interval, SeriesShape, combined, holds, hull, kept, scalar, vector


def operate(node: Binary, left: SeriesShape, right: SeriesShape, problems: list[QueryProblem]) -> SeriesShape:
    """Returns the shape of a binary expression."""
    if left.kind == right.kind == "scalar":
        return scalar(_values(node, left.values, right.values))
    if "scalar" in (left.kind, right.kind):
        return _with_number(node, left, right, problems)
    if node.operator in SETS:
        return _set(node, left, right, problems)
    return _matched(node, left, right, problems)


def _values(node: Binary, left: Interval, right: Interval) -> Interval:
    if node.operator not in COMPARISONS:
        return combined(node.operator, left, right)
    if not node.returns_bool:
        return kept(node.operator, left, right)
    known = holds(node.operator, left, right)
    return TRUTH if known is None else Interval(float(known), float(known), False)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _with_number(node: Binary, left: SeriesShape, right: SeriesShape, found: list[QueryProblem]) -> SeriesShape:
    """Combines each series with a number. A comparison keeps the series for which it is true, with their own values."""
    series, number = (right, left) if left.kind == "scalar" else (left, right)
    if node.operator not in COMPARISONS or node.returns_bool:
        values = _values(node, left.values, right.values)
        labels = series.labels.having({NAME: _name_after(node, series.labels)})
        return vector(series.least, series.most, labels, values)
    known = holds(node.operator, left.values, right.values)
    operator = node.operator if series is left else _MIRRORED.get(node.operator, node.operator)
    if known is False and not series.surely_empty:
        found.append(_never_true(node))
        return vector(0, 0, series.labels, series.values)
    values = kept(operator, series.values, number.values)
    return vector(series.least if known else 0, series.most, series.labels, values)


def _set(node: Binary, left: SeriesShape, right: SeriesShape, found: list[QueryProblem]) -> SeriesShape:
    matching = node.matching
    sure = always_meet(left.labels, right.labels, matching)
    apart = never_meet(left.labels, right.labels, matching)
    match node.operator:
        case "and":
            if apart:
                _report_unmatched(node, left, right, apart, found)
                return vector(0, 0, left.labels, left.values)
            counted = matched_on(left.labels, right.labels, matching)
            met = {name: both(left.labels.of(name), right.labels.of(name)) for name in counted}
            least = left.least if sure and right.least else 0
            return vector(least, 0 if right.surely_empty else left.most, left.labels.having(met), left.values)
        case "unless":
            if sure and right.least and not left.surely_empty:
                found.append(_takes_all(node))
                return vector(0, 0, left.labels, left.values)
            least = left.least if apart or right.surely_empty else 0
            return vector(least, left.most, left.labels, left.values)
        case _:
            names = {*left.labels.named, *right.labels.named}
            labels = Labels(
                {name: either(left.labels.of(name), right.labels.of(name)) for name in names},
                either(left.labels.rest, right.labels.rest),
            )
            values = hull(left.values, right.values)
            if left.surely_empty or right.surely_empty:
                return right if left.surely_empty else left
            if sure:
                # The right side counts only if the left one is empty.
                return vector(max(left.least, min(1, right.least)), max(left.most, right.most), labels, values)
            least = left.least + right.least if apart else max(left.least, min(1, right.least))
            return vector(least, left.most + right.most, labels, values)


def _matched(node: Binary, left: SeriesShape, right: SeriesShape, found: list[QueryProblem]) -> SeriesShape:
    """Combines series by arithmetic or comparison: each with its partner of the other side."""
    matching, filled = node.matching, any(node.matching.fill)
    labels = _result_labels(node, left.labels, right.labels)
    values = _values(node, left.values, right.values)
    apart = never_meet(left.labels, right.labels, matching)
    if apart and not filled:
        _report_unmatched(node, left, right, apart, found)
        return vector(0, 0, labels, values)
    _report_ambiguous(node, left, right, found)
    filters = node.operator in COMPARISONS and not node.returns_bool
    known = holds(node.operator, left.values, right.values) if filters else True
    if known is False and not left.surely_empty and not right.surely_empty and not filled:
        found.append(_never_true(node))
        return vector(0, 0, labels, values)
    many, one = (right, left) if matching.group == "right" else (left, right)
    most = many.most if matching.group else min(left.most, right.most)
    least = 0
    if known and always_meet(left.labels, right.labels, matching) and one.least and many.least:
        least = many.least
    if filled:
        most = left.most + right.most
        ours = max(left.least * matching.fill[1], right.least * matching.fill[0])
        least = max(least, ours) if known else 0
    elif left.surely_empty or right.surely_empty:
        most = 0
    return vector(least, most, labels, values)


def _result_labels(node: Binary, left: Labels, right: Labels) -> Labels:
    """Returns the labels of the answer: those of the side that may have many series, met with those of its partner."""
    matching = node.matching
    many, one = (right, left) if matching.group == "right" else (left, right)
    names = matched_on(left, right, matching)
    filled = any(matching.fill)
    meet = either if filled else both
    named = {**many.named, **{name: meet(many.of(name), one.of(name)) for name in names}}
    rest = many.rest
    if node.operator not in COMPARISONS or node.returns_bool:
        named[NAME] = _name_after(node, many)
    if not matching.group:
        if matching.on:
            named = {label: named.get(label, many.of(label)) for label in matching.labels}
            rest = ABSENT
        else:
            named.update(dict.fromkeys(matching.labels, ABSENT))
            rest = meet(left.rest, right.rest)
    for label in matching.include:
        named[label] = ANY
    return Labels(named, rest)


def _name_after(node: Binary, labels: Labels) -> Values:
    """Returns what remains of the metric's name: nothing, except that Prometheus 2 keeps it for atan2."""
    return either(ABSENT, labels.of(NAME)) if node.operator == "atan2" else ABSENT


def _report_unmatched(
    node: Binary, left: SeriesShape, right: SeriesShape, label: str, found: list[QueryProblem]
) -> None:
    """Reports two operands that never match although each could have series."""
    if left.surely_empty or right.surely_empty:
        return
    found.append(
        QueryProblem(
            ProblemKind.NEVER,
            node.span[0],
            f"the two operands of {node.operator} never match: they always differ in label {label}",
            detail=f"on the left it is {_words(left.labels, label)}, on the right {_words(right.labels, label)}; "
            f"{node.operator} joins series with the same labels only",
            remedy=f"aggregate both operands to the same labels, as in sum(…) {node.operator} sum(…), or list the "
            f"labels to match on: {node.operator} on (…)",
        )
    )


def _words(labels: Labels, label: str) -> str:
    values = labels.of(label)
    if values == ABSENT:
        return "absent"
    if values.others:
        return "present" if values.listed == frozenset({""}) else "another value"
    return " or ".join(sorted(f'"{value}"' if value else "absent" for value in values.listed))


def _never_true(node: Binary) -> QueryProblem:
    summary = f"the comparison {node.operator} is never true"
    return QueryProblem(ProblemKind.NEVER, node.span[0], summary, remedy="correct the operator or one of its operands")


def _takes_all(node: Binary) -> QueryProblem:
    return QueryProblem(
        ProblemKind.NEVER,
        node.span[0],
        "unless always removes everything: its right operand always has a series that matches the left one",
        remedy="compare in the right operand, so that it can be empty: … unless … > 0",
    )


def _report_ambiguous(node: Binary, left: SeriesShape, right: SeriesShape, found: list[QueryProblem]) -> None:
    group = node.matching.group
    unclear = [
        name
        for name, side in (("left", left), ("right", right))
        if group != name and side.most > 1 and not unique(side.labels, node.matching)
    ]
    if not unclear:
        return
    sides = " or ".join(unclear)
    labels = ", ".join(node.matching.labels)
    same = by = ""
    if labels:
        same = f" with the same {labels}" if node.matching.on else f" that differ in {labels} only"
        by = f" by ({labels})" if node.matching.on else ""
    found.append(
        QueryProblem(
            ProblemKind.AMBIGUOUS,
            node.span[0],
            f"{node.operator} fails as soon as its {sides} operand has two series{same}",
            detail="the server then answers with an error instead of a number",
            remedy=f"aggregate that operand by the matching labels: sum{by} (…)",
        )
    )
