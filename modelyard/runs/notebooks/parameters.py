"""Values for a notebook's cell ``parameters``, as papermill takes them."""

import keyword
from collections.abc import Iterable

from modelyard.runs.notebooks.reading import PARAMETERS, Notebook
from modelyard.runs.notebooks.values import Problem
from modelyard.runs.notebooks.variables import variables
from modelyard.stack.names import MANY
from modelyard.stack.words import did_you_mean, few


def parse_parameters(
    words: Iterable[str], notebook: Notebook | None, shown: str
) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Names and values of ``name=value``, and what is wrong with them.

    A value stays text: papermill reads numbers, true, false and none in it, as its own ``-p`` does.

    Args:
        words: as given.
        notebook: that they are for; None where it could not be read.
        shown: its path as problems name it.
    """
    found: dict[str, str] = {}
    problems = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier() or keyword.iskeyword(name):
            remedy = "write -p name=value, with the name of a variable of the notebook"
            problems.append(Problem(f"{word!r} is no parameter", remedy))
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
        words_ = f"{shown} has no cell tagged parameters, so what -p gives would come before everything it sets"
        remedy = "tag the cell that has the defaults: in JupyterLab, Property Inspector, Cell Tags, parameters"
        problems.append(Problem(words_, remedy))
    return found, tuple(problems)


def _unknown(name: str, have: tuple[str, ...], shown: str) -> Problem:
    """What is wrong with a parameter that the cell does not set: papermill takes it, and mostly nothing reads it."""
    summary = f"{shown} has no parameter {name}: its cell tagged {PARAMETERS} sets {few(have, MANY) or 'none'}"
    return Problem(summary, did_you_mean(name, have) or f"set its default there: {name} = …")
