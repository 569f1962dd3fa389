"""Reads a query with the parser; the only module that knows the parser.

The parser accepts Prometheus 3, and a few words of other servers, which ``Selector.alternatives`` reports. Its tree
and its messages have no positions: ``places`` and ``mistake`` find them.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import promql_parser

from modelyard.promql import syntax
from modelyard.promql.lexer import WORD_OPERATORS, Token, closing, tokens
from modelyard.promql.syntax import Expression, Matching, Span

# The positions of a query's operands, in the order in which the parser's tree visits them.
#
# An operand is what has a node in the tree and a word in the text: a selector, a number, a text, a call or
# aggregation, a pair of brackets. Words of clauses (`by (…)`, `on (…)`, `offset 5m`, the content of `[…]` and `{…}`)
# are not operands. So walking the tree from left to right, one operand at a time, gives every node its position.
_GROUPINGS = frozenset({"by", "without"})
_MATCHINGS = frozenset({"on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right"})
_NUMBERS = frozenset({"inf", "nan"})


class Operand(NamedTuple):
    """One operand: ``selector``, ``number``, ``text``, ``call`` or ``group``."""

    kind: str
    span: Span


class Places:
    """Returns the positions of operands, first to last.

    If tree and text do not agree, which no valid query should cause, every later position is the whole text.
    """

    def __init__(self, text: str) -> None:
        self._whole = (0, len(text))
        self._waiting = list(operands(text))
        self._waiting.reverse()
        words = tokens(text)
        shut = closing(words)
        self._brackets = {
            words[index - 1].end: words[shut[index]].end for index in shut if index and words[index].text == "["
        }

    def take(self, kind: str) -> Span:
        """Returns the position of the next operand, which should be of this kind."""
        if self._waiting and self._waiting[-1].kind == kind:
            return self._waiting.pop().span
        self._waiting.clear()
        return self._whole

    def windowed(self, span: Span) -> Span:
        """Returns the position of an operand including the square brackets behind it."""
        return (span[0], self._brackets.get(span[1], span[1]))


def operands(text: str) -> Iterator[Operand]:
    """Yields the operands of a valid query from left to right."""
    words = tokens(text)
    shut = closing(words)
    index, wanted = 0, True
    while index < len(words):
        word = words[index]
        following = words[index + 1].text if index + 1 < len(words) else ""
        if wanted and _is_clause(word, following):
            index, wanted = _between(words, shut, index)
        elif wanted:
            last = _operand_end(words, shut, index, following)
            if word.text == "(":
                yield Operand("group", (word.start, words[shut.get(index, index)].end))
            elif word.kind == "string":
                yield Operand("text", (word.start, word.end))
            elif word.kind == "number" or (word.text.lower() in _NUMBERS and following not in ("{", "(")):
                yield Operand("number", (word.start, word.end))
            elif word.kind == "name" and _called(following):
                yield Operand("call", (word.start, words[_call_end(words, shut, index)].end))
            elif word.kind == "name" or word.text == "{":
                yield Operand("selector", (word.start, words[last].end))
            # After an opening bracket or a function's name an operand follows; after the others an operator.
            wanted = word.kind == "operator" or word.text == "(" or (word.kind == "name" and _called(following))
            index = _arguments(words, shut, index) if word.kind == "name" and _called(following) else last + 1
        else:
            index, wanted = _between(words, shut, index)


def _called(following: str) -> bool:
    return following == "(" or following.lower() in _GROUPINGS


def _is_clause(word: Token, following: str) -> bool:
    """Whether a word right after an operator sets how its sides match. Only ``fill`` may also be a metric."""
    name = word.text.lower()
    return name == "bool" or (name in _MATCHINGS and (following == "(" or not name.startswith("fill")))


def _operand_end(words: tuple[Token, ...], shut: dict[int, int], index: int, following: str) -> int:
    """Returns the last word of the operand that starts here: a selector ends with its braces."""
    if words[index].text == "{":
        return shut.get(index, index)
    if words[index].kind == "name" and following == "{":
        return shut.get(index + 1, index)
    return index


def _arguments(words: tuple[Token, ...], shut: dict[int, int], index: int) -> int:
    """Returns the first word inside the brackets of the call whose name is at ``index``."""
    index += 1
    while index < len(words) and words[index].text.lower() in _GROUPINGS:
        index = shut.get(index + 1, index) + 1
    return index + 1


def _call_end(words: tuple[Token, ...], shut: dict[int, int], index: int) -> int:
    """Returns the last word of a call, including a clause ``by (…)`` behind it."""
    start = _arguments(words, shut, index) - 1
    end = shut.get(start, min(start, len(words) - 1))
    if end + 1 < len(words) and words[end + 1].text.lower() in _GROUPINGS:
        end = shut.get(end + 2, end)
    return end


def _between(words: tuple[Token, ...], shut: dict[int, int], index: int) -> tuple[int, bool]:
    """Returns the next word after an operand, and whether an operand is expected there."""
    word = words[index]
    name = word.text.lower()
    if word.kind == "open":
        return shut.get(index, index) + 1, False
    if name in _GROUPINGS:
        return shut.get(index + 1, index) + 1, False
    if word.text == "@" or name == "offset":
        return _moment_end(words, index), False
    if name == "bool":
        return index + 1, True
    if name in _MATCHINGS:
        return (shut[index + 1] + 1 if index + 1 in shut else index + 1), True
    return index + 1, word.kind == "operator" or name in WORD_OPERATORS


def _moment_end(words: tuple[Token, ...], index: int) -> int:
    """Returns the word after a moment or a duration: signs, then one number, or ``start()``."""
    index += 1
    while index < len(words) and words[index].text in ("+", "-"):
        index += 1
    if [word.text for word in words[index + 1 : index + 3]] == ["(", ")"]:
        return index + 3
    return index + 1


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
    """The parser rejects a text; the message is the parser's."""


def parse(text: str) -> Expression:
    """Returns the tree of a query that passed ``lexer.too_much`` and ``lexer.endless``.

    Raises:
        NotValid: the text is not PromQL.
    """
    expression = understood(text)
    try:
        return _node(expression, Places(text))
    except (OverflowError, ValueError) as error:  # a duration that is too large for Python
        raise NotValid("a duration or number in it is too large") from error


def understood(text: str) -> Any:
    """Returns the parser's own tree.

    Raises:
        NotValid: the text is not PromQL.
    """
    try:
        return promql_parser.parse(text)
    except ValueError as error:
        raise NotValid(str(error)) from error
    except BaseException as error:
        # A panic inside the parser is not an Exception. It concerns only this text.
        if type(error).__name__ != "PanicException":
            raise
        raise NotValid("the parser cannot read it") from error


def _node(expression: Any, places: Places) -> Expression:
    """Returns the tree of a parser's expression. Operands are taken in the order in which they are written."""
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
            return syntax.Subquery(
                span=places.windowed(inner.span),
                inner=inner,
                window=_seconds(expression.range),
                step=None if expression.step is None else _seconds(expression.step),
                offset=_seconds(expression.offset),
                pinned=_pinned(expression),
            )
        case promql_parser.Call():
            span, function = places.take("call"), expression.func
            args = tuple(_node(arg, places) for arg in expression.args)
            gives = _GIVES[str(function.return_type)]
            return syntax.FunctionCall(span, function.name, args, gives, function.experimental)
        case promql_parser.AggregateExpr():
            return _aggregate(expression, places)
        case promql_parser.BinaryExpr():
            left = _node(expression.lhs, places)
            right = _node(expression.rhs, places)
            modifier = expression.modifier
            return syntax.Binary(
                span=(left.span[0], right.span[1]),
                operator=str(expression.op).strip(),
                left=left,
                right=right,
                returns_bool=modifier is not None and modifier.return_bool,
                matching=_matching(modifier),
            )
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
    grouping: Any = None
    labels: tuple[str, ...] = ()
    if (modifier := expression.modifier) is not None:
        grouping = "by" if modifier.type == promql_parser.AggModifierType.By else "without"
        labels = tuple(modifier.labels)
    return syntax.Aggregate(span, str(expression.op), inner, param=param, grouping=grouping, labels=labels)


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
