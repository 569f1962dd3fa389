"""Finds positions in a patch's files by their text: a template is not YAML before it is rendered."""

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from modelyard.patterns import regex

_TARGET = regex(r"#\s*target:")
_KEY = regex(
    r"(?P<lead>\s*+(?:-\s++)*+)(?P<quote>[\"']?)(?P<key>[^\s\"'#{}\[\],:][^\"'{}\[\],]{0,500}?)(?P=quote)\s*+:(?:\s|$)"
)


def line_of(text: str, path: Iterable[Any]) -> int:
    """Returns the 1-based line of a field, or of its nearest ancestor in the text; 0 if there is none.

    Args:
        text: YAML in block style, or a template of it, of one or more documents.
        path: names of fields from the top. An element that is not a name is an item of a list: an item with ``fields``
            (names and values that identify it) is searched, and if the text does not contain it, any item matches.
    """
    wanted = tuple(path)
    lines = text.split("\n")
    marks = [-1, *(number for number, line in enumerate(lines) if line.rstrip() == "---"), len(lines)]
    found = [_deepest(lines, wanted, begin + 1, end) for begin, end in pairwise(marks)]
    depth, line = max(found, key=lambda one: one[0])
    return line if depth else 0


def target_line(text: str, name: str) -> int:
    """Returns the line of ``# target:`` with this name, else the first one of the template; 0 if there is none."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if _TARGET.match(line)]
    named = [number for number, line in lines if line.partition(":")[2].strip() == name]
    return named[0] if named else lines[0][0] if lines else 0


class Origins:
    """Maps each line of a template's output to its line in the template."""

    def __init__(self, template: str, rendered: str) -> None:
        self._lines: dict[str, list[int]] = {}
        source = [text.strip() for text in template.split("\n")]
        output = [text.strip() for text in rendered.split("\n")]
        for number, text in enumerate(source, 1):
            self._lines.setdefault(text, []).append(number)
        self._same = next(
            (at for at, (one, other) in enumerate(zip(source, output, strict=False)) if one != other),
            min(len(source), len(output)),
        )
        known = ""
        self._known = [known := text if text and text in self._lines else known for text in output]

    def line(self, line: int) -> int:
        """Returns the template line of an output line: the nearest line above that is equal in both.

        0 if there is none: everything above came from expressions.
        """
        if line <= self._same:
            return line
        text = self._known[min(line, len(self._known)) - 1]
        same = self._lines[text] if text else [0]
        at = bisect(same, line)
        return min(same[max(at - 1, 0) : at + 1], key=lambda number: abs(number - line))


class _Found(NamedTuple):
    """A key, or an item of a list."""

    line: int
    """0-based."""
    column: int
    """Column of the key, or of the item's dash: its content is further right."""


def _deepest(lines: Sequence[str], path: tuple[Any, ...], begin: int, end: int) -> tuple[int, int]:
    """Returns how many elements of a path are in a range of lines, and the line of the last of them."""
    at = _Found(begin - 1, -1)
    depth, line, inside = 0, 0, False
    for element in path:
        if isinstance(element, str):
            found = _key(lines, element, at, end, inside=inside)
            if found is None:
                break
            at, inside = found, False
        else:
            item = _item(lines, dict(getattr(element, "fields", ())), at, end)
            if item is None:
                continue
            at, inside = item, True
        depth, line = depth + 1, at.line + 1
    return depth, line


def _block(lines: Sequence[str], at: _Found, end: int, *, inside: bool) -> list[tuple[int, re.Match[str]]]:
    """Returns the keys below a place, with their lines. ``inside``: the place is an item, and its own line counts."""
    keys = []
    for number in range(at.line if inside else at.line + 1, end):
        text = lines[number]
        stripped = text.lstrip()
        if not stripped or stripped.startswith(("#", "{%", "{#")):
            continue
        indent = len(text) - len(stripped)
        # The dashes of a list may be right below the list's key, without indentation.
        beside = indent == at.column and stripped.startswith("-") and not inside
        if number != at.line and indent <= at.column and not beside:
            break
        found = _KEY.match(text)
        if found is not None:
            keys.append((number, found))
    return keys


def _key(lines: Sequence[str], name: str, at: _Found, end: int, *, inside: bool) -> _Found | None:
    keys = _block(lines, at, end, inside=inside)
    column = len(keys[0][1]["lead"]) if keys else 0
    for number, found in keys:
        if found["key"] == name and len(found["lead"]) == column:
            return _Found(number, column)
    return None


def _item(lines: Sequence[str], fields: dict[str, Any], at: _Found, end: int) -> _Found | None:
    """Returns the item whose fields have these values, as far as the text contains them."""
    begin: _Found | None = None
    for number, found in _block(lines, at, end, inside=False):
        lead = found["lead"]
        if "-" in lead:
            begin = _Found(number, lead.index("-"))
        value = lines[number][found.end() :].split(" #")[0].strip().strip("\"'")
        if begin is not None and fields.get(found["key"]) == value:
            return begin
    return None
