"""The variables that a notebook's cell sets, by Python's own parser: those that parameters can give other values."""

import ast
import re
import warnings
from typing import Final

LONGEST: Final = 1_000_000
"""Characters of a cell that is parsed."""
_HIDDEN: Final = re.compile(
    r"^\s*%%|^[ \t]*%run\b|\bimport[ \t]+\*|\b(?:exec|eval|globals|locals|vars|get_ipython)\b", re.MULTILINE
)
"""What may set variables whose names stand nowhere in the cell."""
_LINE: Final = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
"""A line of IPython's own: a magic, a command of the shell, a question for help."""
_ANSWER: Final = re.compile(r"^([ \t]*[\w, \t]+=[ \t]*)[%!].*$", re.MULTILINE)
"""A line that keeps what a magic or a command answers."""


def variables(cell: str) -> tuple[str, ...] | None:
    """The names that a cell sets, in the order in which they stand there; None where nobody can tell."""
    if len(cell) > LONGEST or _HIDDEN.search(cell):
        return None
    plain = _LINE.sub(r"\1pass", _ANSWER.sub(r"\1None", cell))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = ast.walk(ast.parse(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return tuple(dict.fromkeys(node.id for node in sorted(names, key=lambda one: (one.lineno, one.col_offset))))
