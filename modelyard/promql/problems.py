"""What can be wrong with one query."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class ProblemKind(Enum):
    """The kinds of problems. ``queries`` gives each its code and severity."""

    INVALID = "invalid"
    """Prometheus would reject it."""
    UNJUDGED = "unjudged"
    """Too long to be parsed here."""
    JOINED = "joined"
    """Several queries joined with ``&``."""
    TYPE = "type"
    """The answer is a window of samples or a string, not a number."""
    MANY = "many"
    """The answer can be several series."""
    EMPTY = "empty"
    """The answer can be no series."""
    NEVER = "never"
    """A part of it can never have a series, on any server."""
    UNLIKELY = "unlikely"
    """A part of it has no series as long as scraped series have the labels ``job`` and ``instance``."""
    AMBIGUOUS = "ambiguous"
    """It fails if the server has more than one series for a side of an operator."""
    SHORT = "short"
    """A window that may hold too few samples."""
    LONG = "long"
    """A window, or an offset, that reaches too far back."""
    STEP = "step"
    """A subquery whose step is missing, finer than the data or too coarse."""
    MATCHER = "matcher"
    """A label matcher that does not select what it seems to."""
    AWAKE = "awake"
    """The answer is always above 0, or always the same."""
    FALLBACK = "fallback"
    """Without series the result is above 0."""
    COUNTS = "counts"
    """It counts series or samples, regardless of their value."""
    FLAG = "flag"
    """It needs a feature flag of the server."""


class QueryProblem(NamedTuple):
    """One thing that is wrong with a query, and its position."""

    kind: ProblemKind
    offset: int
    """0-based, in characters of the whole query, even if it is one of several joined with ``&``."""
    summary: str
    """One line without a full stop."""
    detail: str = ""
    remedy: str = ""
    excerpt: str = ""
    """The affected part of the query."""


def in_order(problems: Iterable[QueryProblem]) -> tuple[QueryProblem, ...]:
    """Returns the problems without repeats, by position in the query and then in the order of ``ProblemKind``."""
    rank = {kind: index for index, kind in enumerate(ProblemKind)}
    return tuple(sorted(set(problems), key=lambda one: (one.offset, rank[one.kind], one.summary)))
