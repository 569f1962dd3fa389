"""A query as a tree of frozen values, each with the place where it stands.

The parser's own tree has no places, and it is the parser's: only ``parse`` knows it.
"""

from typing import Literal, NamedTuple

Span = tuple[int, int]
"""First character and the one after the last."""


class Matcher(NamedTuple):
    """``label operator "value"`` in braces; the metric's name is the label ``__name__``."""

    label: str
    operator: Literal["=", "!=", "=~", "!~"]
    value: str


class Selector(NamedTuple):
    """The newest sample of each series that all matchers fit."""

    span: Span
    matchers: tuple[Matcher, ...]
    offset: float
    """Seconds into the past; negative into the future."""
    pinned: bool
    """Whether ``@`` fixes the moment, so that the answer never changes."""
    alternatives: bool = False
    """Whether the braces hold ``or``, which other servers know and Prometheus does not."""


class Range(NamedTuple):
    """All samples of a window, by series."""

    span: Span
    selector: Selector
    window: float
    """Seconds."""


class Subquery(NamedTuple):
    """An expression evaluated at every step of a window."""

    span: Span
    inner: "Node"
    window: float
    step: float | None
    """Seconds; None where the server's default counts."""
    offset: float
    pinned: bool


class Number(NamedTuple):
    """A number."""

    span: Span
    value: float


class Text(NamedTuple):
    """A text in quotes."""

    span: Span
    value: str


class Call(NamedTuple):
    """A function with its arguments."""

    span: Span
    function: str
    args: tuple["Node", ...]
    gives: Literal["scalar", "vector", "matrix", "string"]
    """As the parser knows the function."""
    experimental: bool


class Aggregate(NamedTuple):
    """An aggregation over series."""

    span: Span
    operator: str
    inner: "Node"
    param: "Node | None"
    grouping: Literal["by", "without"] | None
    labels: tuple[str, ...]


class Matching(NamedTuple):
    """How series of two sides find each other."""

    on: bool
    """Whether ``labels`` are those that count (``on``) or those that do not (``ignoring``)."""
    labels: tuple[str, ...] = ()
    group: Literal["", "left", "right"] = ""
    """The side that may have many series for one of the other."""
    include: tuple[str, ...] = ()
    """Labels that the many side takes over from the other."""
    fill: tuple[bool, bool] = (False, False)
    """Whether a missing partner on the left, on the right, is filled in."""


class Binary(NamedTuple):
    """Two operands and an operator."""

    span: Span
    operator: str
    left: "Node"
    right: "Node"
    returns_bool: bool
    matching: Matching


class Negation(NamedTuple):
    """A minus sign before an expression."""

    span: Span
    inner: "Node"


Node = Selector | Range | Subquery | Number | Text | Call | Aggregate | Binary | Negation

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
SETS = frozenset({"and", "or", "unless"})


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below one, in the order in which they are written."""
    match node:
        case Range():
            return (node.selector,)
        case Subquery() | Negation():
            return (node.inner,)
        case Call():
            return node.args
        case Aggregate():
            return (node.inner,) if node.param is None else (node.param, node.inner)
        case Binary():
            return (node.left, node.right)
        case Selector() | Number() | Text():
            return ()
