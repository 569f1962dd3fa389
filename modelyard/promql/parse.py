"""Reading a query with the parser; the only module that knows it.

It takes what Prometheus 3 takes, and a few words of other servers, which ``Selector.alternatives`` tells. Its tree and
its messages have no places: ``places`` and ``mistake`` find them.
"""

from datetime import timedelta
from typing import Any

import promql_parser

from modelyard.promql import syntax
from modelyard.promql.places import Places
from modelyard.promql.syntax import Matching, Node, Span

_OPERATORS: dict[Any, Any] = {
    "MatchOp.Equal": "=",
    "MatchOp.NotEqual": "!=",
    "MatchOp.Re": "=~",
    "MatchOp.NotRe": "!~",
}
_GIVES: dict[str, Any] = {
    "ValueType.Vector": "vector",
    "ValueType.Scalar": "scalar",
    "ValueType.Matrix": "matrix",
    "ValueType.String": "string",
}


class NotValid(Exception):
    """The parser refuses a text; the message is the parser's."""


def parse(text: str) -> Node:
    """The tree of a query that ``lexer.too_much`` and ``lexer.endless`` have nothing against.

    Raises:
        NotValid: it is no PromQL.
    """
    expression = understood(text)
    try:
        return _node(expression, Places(text))
    except (OverflowError, ValueError) as error:  # a duration that Python has no room for
        raise NotValid(str(error)) from error


def understood(text: str) -> Any:
    """The parser's own tree.

    Raises:
        NotValid: it is no PromQL.
    """
    try:
        return promql_parser.parse(text)
    except ValueError as error:
        raise NotValid(str(error)) from error
    except BaseException as error:
        # A panic inside the parser is no Exception. It concerns this text only.
        if type(error).__name__ != "PanicException":
            raise
        raise NotValid("the parser cannot read it") from error


def _node(expression: Any, places: Places) -> Node:
    """The tree of an expression of the parser. Operands are taken in the order in which they are written."""
    match expression:
        case promql_parser.VectorSelector():
            return _selector(expression, places.take("selector"))
        case promql_parser.MatrixSelector():
            span = places.take("selector")
            return syntax.Range(
                places.windowed(span), _selector(expression.vector_selector, span), _seconds(expression.range)
            )
        case promql_parser.NumberLiteral():
            return syntax.Number(places.take("number"), expression.val)
        case promql_parser.StringLiteral():
            return syntax.Text(places.take("text"), expression.val)
        case promql_parser.ParenExpr():
            span = places.take("group")
            return _node(expression.expr, places)._replace(span=span)
        case promql_parser.UnaryExpr():
            inner = _node(expression.expr, places)
            return syntax.Negation(inner.span, inner)
        case promql_parser.SubqueryExpr():
            inner = _node(expression.expr, places)
            step = None if expression.step is None else _seconds(expression.step)
            window, offset = _seconds(expression.range), _seconds(expression.offset)
            return syntax.Subquery(places.windowed(inner.span), inner, window, step, offset, _pinned(expression))
        case promql_parser.Call():
            span, function = places.take("call"), expression.func
            args = tuple(_node(arg, places) for arg in expression.args)
            gives = _GIVES[str(function.return_type)]
            return syntax.Call(span, function.name, args, gives, function.experimental)
        case promql_parser.AggregateExpr():
            return _aggregate(expression, places)
        case promql_parser.BinaryExpr():
            left = _node(expression.lhs, places)
            right = _node(expression.rhs, places)
            span = (left.span[0], right.span[1])
            modifier = expression.modifier
            returns_bool = modifier is not None and modifier.return_bool
            return syntax.Binary(span, str(expression.op).strip(), left, right, returns_bool, _matching(modifier))
        case _:
            raise NotValid(f"{type(expression).__name__} is a part that this version does not know")


def _selector(expression: Any, span: Span) -> syntax.Selector:
    matchers = [syntax.Matcher(one.name, _OPERATORS[str(one.op)], one.value) for one in expression.matchers.matchers]
    if expression.name is not None:
        matchers.insert(0, syntax.Matcher("__name__", "=", expression.name))
    alternatives = bool(expression.matchers.or_matchers)
    return syntax.Selector(span, tuple(matchers), _seconds(expression.offset), _pinned(expression), alternatives)


def _aggregate(expression: Any, places: Places) -> syntax.Aggregate:
    span = places.take("call")
    param = None if expression.param is None else _node(expression.param, places)
    inner = _node(expression.expr, places)
    modifier = expression.modifier
    if modifier is None:
        return syntax.Aggregate(span, str(expression.op), inner, param, None, ())
    grouping: Any = "by" if modifier.type == promql_parser.AggModifierType.By else "without"
    return syntax.Aggregate(span, str(expression.op), inner, param, grouping, tuple(modifier.labels))


def _matching(modifier: Any) -> Matching:
    if modifier is None:
        return Matching(on=False)
    on, labels = False, ()
    if modifier.matching is not None:
        on = modifier.matching.type == promql_parser.LabelModifierType.Include
        labels = tuple(modifier.matching.labels)
    group: Any = {"VectorMatchCardinality.ManyToOne": "left", "VectorMatchCardinality.OneToMany": "right"}.get(
        str(modifier.card), ""
    )
    fill = (modifier.fill_values.lhs is not None, modifier.fill_values.rhs is not None)
    return Matching(on, labels, group, tuple(modifier.group_labels or ()), fill)


def _pinned(expression: Any) -> bool:
    return expression.at is not None and expression.at.type == promql_parser.AtModifierType.At


def _seconds(duration: timedelta | None) -> float:
    return 0.0 if duration is None else duration.total_seconds()
