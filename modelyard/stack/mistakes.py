"""A mistake in a stack file or another YAML file, first without its file and line, then as a finding with both."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hiding import HIDDEN, hidden_at
from modelyard.stack import codes
from modelyard.stack.config import StackPath, dotted, nearest_place
from modelyard.stack.schema import PREFIX
from modelyard.stack.words import listed, plain, quoted
from modelyard.stack.yaml.document import Document
from modelyard.stack.yaml.source import TextProblem

_LONGEST_NAME = 200
"""Maximum number of characters of a file name that a finding shows."""


_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


class Mistake(NamedTuple):
    """What is wrong with one key or value."""

    path: StackPath
    """Below ``config``, first part with its prefix: ``("modelyard:gpu", "model")``; of a missing key, its parent's."""
    code: str
    summary: str
    remedy: str = ""
    detail: str = ""
    at_key: bool = False
    """Whether the key is wrong, not its value."""
    meant: StackPath = ()
    """The key that is missing, or that an unknown one was probably meant to be; empty if neither."""
    harmless: bool = False
    """Whether the value can be used anyway."""


def name(path: StackPath) -> str:
    """Returns the path as people write it, without the prefix of its section."""
    return plain(dotted((str(path[0]).removeprefix(PREFIX), *path[1:])), 120) if path else "config"


def kinds_of(types: str | list[str]) -> str:
    """Describes what a value must be, by the names that JSON Schema has for types."""
    return listed([_KINDS.get(one, str(one)) for one in ([types] if isinstance(types, str) else types)])


def given(value: Any, path: StackPath, texts: Mapping[StackPath, str]) -> str:
    """Describes a wrong value. Containers and values under a secret's name are not printed.

    Args:
        value: the value.
        path: its path.
        texts: source text of numbers, and ``HIDDEN`` for further secrets, by path.
    """
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = value if isinstance(value, str) else texts.get(path, str(value))
    if HIDDEN in (texts.get(path), hidden_at(str(path[-1]), text) if path else text):
        return HIDDEN
    return quoted(text) if isinstance(value, str) else plain(text)


def without_renamed(mistakes: list[Mistake]) -> list[Mistake]:
    """Returns the mistakes without the missing keys that an unknown key there was meant to be."""
    meant = {one.meant for one in mistakes if one.code == codes.UNKNOWN_KEY and one.meant}
    return [one for one in mistakes if one.code != codes.MISSING_KEY or one.meant not in meant]


def of_problem(problem: TextProblem, shown: str, stack: str = "") -> Finding:
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
    top: StackPath = (),
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
    table = document.keys if mistake.at_key else document.values
    line, column = nearest_place(table, (*top, *mistake.path), nowhere)
    return Finding(
        mistake.code,
        Severity.WARNING if mistake.harmless else Severity.ERROR,
        mistake.summary,
        stack=stack,
        field=name(mistake.path),
        detail=mistake.detail,
        remedy=mistake.remedy,
        file=plain(shown, _LONGEST_NAME),
        line=line,
        column=column,
    )
