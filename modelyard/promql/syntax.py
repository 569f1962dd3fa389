"""A query as a tree of frozen values, each with its position.

The parser's own tree has no positions, and only ``parse`` knows it.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Span = tuple[int, int]
"""Index of the first character and of the one after the last."""


class Matcher(NamedTuple):
    """``label operator "value"`` in braces; the metric's name is the label ``__name__``."""

    label: str
    operator: Literal["=", "!=", "=~", "!~"]
    value: str


class Selector(NamedTuple):
    """The newest sample of each series that all matchers select."""

    span: Span
    matchers: tuple[Matcher, ...]
    offset: float
    """Seconds into the past; negative into the future."""
    pinned: bool
    """Whether ``@`` fixes the moment, so that the answer never changes."""
    alternatives: bool = False
    """Whether the braces hold ``or``, which other servers support and Prometheus does not."""


class Range(NamedTuple):
    """All samples of a window, by series."""

    span: Span
    selector: Selector
    window: float
    """Seconds."""


class Subquery(NamedTuple):
    """An expression evaluated at every step of a window."""

    span: Span
    inner: "Expression"
    window: float
    step: float | None
    """Seconds; None: the server's default."""
    offset: float
    pinned: bool


class Number(NamedTuple):
    """A number."""

    span: Span
    value: float


class Text(NamedTuple):
    """A quoted text."""

    span: Span
    value: str


class FunctionCall(NamedTuple):
    """A function with its arguments."""

    span: Span
    function: str
    args: tuple["Expression", ...]
    gives: Literal["scalar", "vector", "matrix", "string"]
    """The function's result type, from the parser."""
    experimental: bool


class Aggregate(NamedTuple):
    """An aggregation over series."""

    span: Span
    operator: str
    inner: "Expression"
    param: "Expression | None"
    grouping: Literal["by", "without"] | None
    labels: tuple[str, ...]


class Matching(NamedTuple):
    """How the series of two sides match."""

    on: bool
    """Whether ``labels`` are those that count (``on``) or those that do not (``ignoring``)."""
    labels: tuple[str, ...] = ()
    group: Literal["", "left", "right"] = ""
    """The side that may have many series for one of the other side."""
    include: tuple[str, ...] = ()
    """Labels that the many side takes from the other side."""
    fill: tuple[bool, bool] = (False, False)
    """Whether a missing partner on the left, on the right, is filled in."""


class Binary(NamedTuple):
    """Two operands and an operator."""

    span: Span
    operator: str
    left: "Expression"
    right: "Expression"
    returns_bool: bool
    matching: Matching


class Negation(NamedTuple):
    """A minus sign before an expression."""

    span: Span
    inner: "Expression"


Expression = Selector | Range | Subquery | Number | Text | FunctionCall | Aggregate | Binary | Negation

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
SETS = frozenset({"and", "or", "unless"})


def children(node: Expression) -> tuple[Expression, ...]:
    """Returns the direct children of a node, in the order in which they are written."""
    match node:
        case Range():
            return (node.selector,)
        case Subquery() | Negation():
            return (node.inner,)
        case FunctionCall():
            return node.args
        case Aggregate():
            return (node.inner,) if node.param is None else (node.param, node.inner)
        case Binary():
            return (node.left, node.right)
        case Selector() | Number() | Text():
            return ()


def every(tree: Expression) -> Iterator[Expression]:
    """Yields a node and all nodes below it."""
    yield tree
    for child in children(tree):
        yield from every(child)
