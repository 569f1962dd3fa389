"""Colour and layout of terminal text.

A plan must appear before a colour library could be imported, so this module has the dozen codes that it needs.
"""

import re
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from modelyard.patterns import regex

MOST_COLUMNS = 100
"""The default number of columns, and the most on a wide screen: longer lines are hard to read."""
LEAST_COLUMNS = 60
"""Below this many columns a plan would be mostly line breaks; a narrower terminal breaks the lines itself."""

WIDEST_CELL = 48
"""Columns of the widest cell of a table, except its last."""
NARROWEST_CELL = 6
LAST_CELL = 24
"""The fewest columns of a table's last cell."""

INVISIBLE = (
    r"\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
"""Beyond ASCII's own: C1 controls, separators of lines and paragraphs, marks of direction, characters without width or
ink, and special spaces."""
LOG_COMMAND = r"#(?=#[a-z]*\[)"
"""Commands that CI systems obey anywhere in a log: ``##[group]``, ``##vso[…]``, ``##teamcity[…]``."""
# Other CI systems obey `::set-env …`, but only at the start of a line.
_UNSAFE = regex(rf"[\x00-\x1f{INVISIBLE}\ud800-\udfff]|(?<!\S):(?=:[A-Za-z])|{LOG_COMMAND}")
_SHORT_TEXT = 1000
"""Length of the longest text that is made safe once for all stacks: they share most of their words."""
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


class Style(NamedTuple):
    """How to lay out text: with or without terminal colours, and how wide."""

    colour: bool
    columns: int = MOST_COLUMNS
    """The maximum width of a line."""

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Headings and names."""
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        """Text that most readers skip."""
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
    """Text from outside on one line, with escapes for what could control a terminal or the reader of a CI log.

    Anything that looks like a credential, such as a password in an address, is hidden.
    """
    return _remembered(text) if len(text) <= _SHORT_TEXT else _made_safe(text)


def _made_safe(text: str) -> str:
    from modelyard.hiding import hidden_text  # results of earlier runs are safe already

    return _UNSAFE.sub(escape, hidden_text(text))


_remembered = lru_cache(maxsize=4096)(_made_safe)


def escape(match: re.Match[str]) -> str:
    """The escape for an invisible character."""
    character = match.group()
    number = ord(character)
    wide = f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 256 else wide)


def shorten(text: str, width: int) -> str:
    """Text on one line of at most ``width`` columns, cut in the middle with an ellipsis."""
    text = safe(text)
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


class _Wrapper(textwrap.TextWrapper):
    """Breaks a word that is longer than a line, such as a path, before a dot or a bracket."""

    def _handle_long_word(self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int) -> None:
        word = reversed_chunks[-1]
        end = max(word.rfind(mark, 1, width - cur_len + 1) for mark in ".[")
        if end > 0:
            cur_line.append(word[:end])
            reversed_chunks[-1] = word[end:]
        elif not cur_line or max(word.rfind(mark, 1, width + 1) for mark in ".[") < 0:
            super()._handle_long_word(reversed_chunks, cur_line, cur_len, width)


def wrapped(text: str, indent: int, width: int, first: str = "") -> list[str]:
    """A paragraph broken at words, every line indented; ``first`` is in the indent of the first line."""
    lead = f"{first:<{indent}}" if first else " " * indent
    wrapper = _Wrapper(width, initial_indent=lead, subsequent_indent=" " * indent, break_on_hyphens=False)
    return wrapper.wrap(safe(" ".join(text.splitlines()))) or [lead.rstrip()]


def hanging(text: str, indent: int, width: int) -> list[str]:
    """A paragraph broken at words, every line but the first one indented."""
    return _Wrapper(width, subsequent_indent=" " * indent, break_on_hyphens=False).wrap(safe(text)) or [""]


def about(name: str, words: str, style: Style) -> list[str]:
    """A sentence that begins with a name, in bold; every line but the first one is indented."""
    first, *rest = hanging(f"{name} {words}", 2, style.columns)
    return [first.replace(safe(name), style.bold(safe(name)), 1), *rest]


def facts_text(facts: Iterable[tuple[str, str]], indent: int, style: Style) -> list[str]:
    """Each fact that is not empty, beside its name, with its further lines below it."""
    return [line for name, fact in facts if fact for line in wrapped(fact, indent, style.columns, f"  {name}")]


def table(rows: Iterable[Iterable[str]], head: Iterable[str], style: Style, indent: int = 0) -> list[str]:
    """Rows in aligned columns under a bold head, one text per row; a long last cell continues on more lines."""
    body = [[*(shorten(cell, WIDEST_CELL) for cell in row[:-1]), safe(row[-1])] for row in map(list, rows)]
    titles = list(head)
    longest = [max(len(row[column]) for row in [titles, *body]) for column in range(len(titles))]
    widths = _narrowed(longest[:-1], style.columns - indent - 2 * (len(titles) - 1) - min(longest[-1], LAST_CELL))

    def line(cells: list[str]) -> str:
        padded = [f"{shorten(cell, width):<{width}}  " for cell, width in zip(cells[:-1], widths, strict=True)]
        lead = " " * indent + "".join(padded)
        if len(lead) + len(cells[-1]) <= style.columns:
            return (lead + cells[-1]).rstrip()
        return "\n".join(wrapped(cells[-1], len(lead), style.columns, lead))

    return [style.bold(line(titles)), *(line(row) for row in body)]


def _narrowed(widths: list[int], room: int) -> list[int]:
    """The widths, with the widest reduced until all fit the room together."""
    narrow = list(widths)
    while sum(narrow) > room and max(narrow) > NARROWEST_CELL:
        narrow[narrow.index(max(narrow))] -= 1
    return narrow
