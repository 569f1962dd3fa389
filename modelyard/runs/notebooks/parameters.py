"""Values for a notebook's cell ``parameters``, in papermill's form."""

import ast
import keyword
import re
import warnings
from collections.abc import Iterable
from typing import Final

from modelyard.runs.notebooks.place import Problem
from modelyard.runs.notebooks.reading import PARAMETERS, Notebook
from modelyard.stack.names import MANY
from modelyard.stack.words import did_you_mean, few


def parse_parameters(
    words: Iterable[str], notebook: Notebook | None, shown: str
) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Names and values of texts ``name=value``, and what is wrong with these.

    A value stays text: papermill reads numbers, true, false and none in it, as its own ``-p`` does.

    Args:
        words: the texts, as the user wrote them.
        notebook: the notebook for the parameters; None if it could not be read.
        shown: the notebook's path in messages.
    """
    found: dict[str, str] = {}
    problems = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier() or keyword.iskeyword(name):
            remedy = "write -p name=value, with the name of a variable of the notebook"
            problems.append(Problem(f"{word!r} is not a parameter", remedy))
        elif name in found:
            problems.append(Problem(f"the parameter {name} was given twice", "give it once"))
        elif any(ord(one) < 32 for one in value):
            problems.append(Problem(f"the parameter {name} has control characters", "give it plain text"))
        else:
            found[name] = value
    if notebook is not None and notebook.has_parameters:
        have = variables(notebook.defaults)
        problems += [_unknown(name, have, shown) for name in found if have is not None and name not in have]
    elif found and notebook is not None:
        words_ = f"{shown} has no cell tagged parameters, so its own values would override those of -p"
        remedy = "tag the cell with the defaults: in JupyterLab, Property Inspector, Cell Tags, parameters"
        problems.append(Problem(words_, remedy))
    return found, tuple(problems)


def _unknown(name: str, have: tuple[str, ...], shown: str) -> Problem:
    """The problem of a parameter that the cell does not set: papermill accepts it, and usually nothing reads it."""
    summary = f"{shown} has no parameter {name}: its cell tagged {PARAMETERS} sets {few(have, MANY) or 'none'}"
    return Problem(summary, did_you_mean(name, have) or f"set its default there: {name} = …")


# The variables that a notebook's cell sets, found with Python's parser: parameters can override them.
LONGEST: Final = 1_000_000
"""Characters of the longest cell that is parsed."""
_HIDDEN: Final = re.compile(
    r"^\s*%%|^[ \t]*%run\b|\bimport[ \t]+\*|\b(?:exec|eval|globals|locals|vars|get_ipython)\b", re.MULTILINE
)
"""Calls and statements that may set variables whose names do not appear in the cell."""
_LINE: Final = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
"""A line for IPython: a magic, a shell command, a request for help."""
_ANSWER: Final = re.compile(r"^([ \t]*[\w, \t]+=[ \t]*)[%!].*$", re.MULTILINE)
"""A line that stores the result of a magic or a command."""


def variables(cell: str) -> tuple[str, ...] | None:
    """The names that a cell sets, in the order of the cell; None if they cannot be determined."""
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
