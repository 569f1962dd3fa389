"""Values for a notebook's cell ``parameters``, as papermill takes them."""

import keyword
from collections.abc import Iterable

from modelyard.notebooks.reading import Notebook
from modelyard.notebooks.values import Problem


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
    if found and notebook is not None and not notebook.has_parameters:
        words_ = f"{shown} has no cell tagged parameters, so what -p gives would come before everything it sets"
        remedy = "tag the cell that has the defaults: in JupyterLab, Property Inspector, Cell Tags, parameters"
        problems.append(Problem(words_, remedy))
    return found, tuple(problems)
