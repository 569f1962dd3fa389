"""Colour and layout of terminal text.

A plan must be on the screen before a colour library would be imported, so the dozen codes that are needed stand here.
"""

import re
import textwrap
from collections.abc import Iterable
from typing import NamedTuple

WIDTH = 100
"""Columns that every text output fits in."""

WIDEST_CELL = 48
"""Columns of the widest cell of a table that is not its last."""

INVISIBLE = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
"""Beyond ASCII's own: C1 controls, line and paragraph separators, marks of writing direction, the byte-order mark."""
LOG_COMMAND = r"#(?=#[a-z]*\[)"
"""What CI systems obey anywhere in a log: ``##[group]``, ``##vso[…]``, ``##teamcity[…]``."""
# Others obey `::set-env …`, but only at the start of a line.
_UNSAFE = re.compile(rf"[\x00-\x1f{INVISIBLE}\ud800-\udfff]|(?<!\S):(?=:[A-Za-z])|{LOG_COMMAND}")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


class Style(NamedTuple):
    """How to mark text up: with terminal colours, or not at all."""

    colour: bool

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Headings and names."""
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        """What most readers skip."""
        return self._wrap("2", text)

    def added(self, text: str) -> str:
        """New values."""
        return self._wrap("32", text)

    def removed(self, text: str) -> str:
        """Old values."""
        return self._wrap("31", text)

    def changed(self, text: str) -> str:
        """The mark of a change, and warnings."""
        return self._wrap("33", text)

    def error(self, text: str) -> str:
        """Errors."""
        return self._wrap("1;31", text)

    def link(self, text: str) -> str:
        """Files, lines, and commands to run."""
        return self._wrap("36", text)


PLAIN = Style(colour=False)


def safe(text: str) -> str:
    """Text from outside on one line, with escapes for what could steer a terminal or the reader of a CI log."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


def shorten(text: str, width: int) -> str:
    """Text on one line of at most ``width`` columns, cut in the middle with an ellipsis."""
    text = safe(text)
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def wrapped(text: str, indent: int, width: int = WIDTH, first: str = "") -> list[str]:
    """A paragraph broken at words, every line indented; ``first`` stands in the indent of the first line."""
    lead = f"{first:<{indent}}" if first else " " * indent
    return textwrap.wrap(
        safe(" ".join(text.splitlines())),
        width,
        initial_indent=lead,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    ) or [lead.rstrip()]


def table(rows: Iterable[Iterable[str]], head: Iterable[str], style: Style, indent: int = 0) -> list[str]:
    """Rows in aligned columns under a bold head, one text a row; a long last cell goes on in further lines of it."""
    body = [[*(shorten(cell, WIDEST_CELL) for cell in row[:-1]), safe(row[-1])] for row in map(list, rows)]
    titles = list(head)
    widths = [max(len(row[column]) for row in [titles, *body]) for column in range(len(titles))]

    def line(cells: list[str]) -> str:
        padded = [f"{cell:<{width}}  " for cell, width in zip(cells[:-1], widths[:-1], strict=True)]
        lead = " " * indent + "".join(padded)
        if len(lead) + len(cells[-1]) <= WIDTH:
            return (lead + cells[-1]).rstrip()
        if len(lead) > WIDTH - 20:
            return lead + shorten(cells[-1], 20)
        return "\n".join(wrapped(cells[-1], len(lead), first=lead))

    return [style.bold(line(titles)), *(line(row) for row in body)]
