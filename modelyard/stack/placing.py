"""Turns what is wrong with a YAML file into findings: stack files, price files."""

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Path
from modelyard.stack.mistakes import Mistake, name
from modelyard.stack.words import plain
from modelyard.stack.yaml.document import Document
from modelyard.stack.yaml.source import Problem

_LONGEST_NAME = 200
"""Maximum number of characters of a file name that a finding shows."""


def of_problem(problem: Problem, shown: str, stack: str = "") -> Finding:
    """Returns the finding about the text of a file."""
    return Finding(
        problem.code,
        Severity.WARNING if problem.harmless else Severity.ERROR,
        problem.message,
        stack=stack,
        detail=problem.detail,
        remedy=problem.remedy,
        file=plain(shown, _LONGEST_NAME),
        line=problem.line,
        column=problem.column,
    )


def of_mistake(
    mistake: Mistake,
    document: Document,
    shown: str,
    stack: str = "",
    *,
    top: Path = (),
    nowhere: tuple[int, int] = (0, 0),
) -> Finding:
    """Returns the finding at the key or value, or at its nearest ancestor that has a position.

    Args:
        mistake: what is wrong, and where in the checked part of the document.
        document: the file.
        shown: its path as findings name it.
        stack: the stack that the finding is about.
        top: the path of the checked part in the document.
        nowhere: line and column for a path without a position.
    """
    path: Path = (*top, *mistake.path)
    table = document.keys if mistake.at_key else document.values
    while path and path not in table:
        path = path[:-1]
    line, column = table.get(path, nowhere)
    return Finding(
        mistake.code,
        Severity.ERROR,
        mistake.summary,
        stack=stack,
        field=name(mistake.path),
        detail=mistake.detail,
        remedy=mistake.remedy,
        file=plain(shown, _LONGEST_NAME),
        line=line,
        column=column,
    )
