"""Texts as Markdown that a code host shows literally: no markup, HTML, links or mentions.

``filled`` chooses the parts that fit into the length that hosts allow.
"""

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from modelyard.report.style import safe

_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_IN_CODE = str.maketrans({character: f"&#{ord(character)};" for character in "|`*_[]#@"})
_SPAN = re.compile(r"`([^`]+)`")
_QUIET = re.compile(
    r"(?:(?<!\w)@(?=[^\W_])"  # people
    r"|#(?=\d)|\bGH-(?=\d)|(?<!\w)[!$%&~](?=\d))",  # issues and what else hosts number
    re.IGNORECASE,
)
"""Patterns that hosts turn into mentions and references even if escaped."""
_NOTHING = "\u200b"
"""An invisible space."""
_LINK = re.compile(r":(?=//)|\bw(?=ww\.)", re.IGNORECASE)
"""The start of an address, which becomes a link even in code. An entity prevents it, and can be copied."""


def text(words: str) -> str:
    """Plain words."""
    return _unlinked(_quiet(safe(words)).translate(_ESCAPES))


def html(words: str) -> str:
    """Plain words inside HTML, which Markdown does not process."""
    return _unlinked(escape(_quiet(safe(words)), quote=False))


def code(words: str) -> str:
    """Words in code style, also inside a table's cell, where a pipe would end the cell even in code.

    Hosts make no mentions in code, so that copied text contains no invisible space.
    """
    shown = escape(safe(words), quote=False).translate(_IN_CODE)
    return f"<code>{_unlinked(shown)}</code>"


def prose(words: str) -> str:
    """Words with backquotes around commands and settings."""
    parts = _SPAN.split(words)
    return "".join(code(part) if at % 2 else text(part) for at, part in enumerate(parts))


def address(url: str) -> str:
    """An address as a link target, escaped so that it cannot end the link."""
    return quote(url, safe="/:?#@!$&'*+,;=%~-._")


def linked(words: str, url: str) -> str:
    """Markdown as a link; as it is without an address."""
    return f"[{words}]({address(url)})" if url else words


def folded(title: str, body: str, *, opened: bool = False) -> str:
    """A foldable block: the title is HTML, the body Markdown."""
    return f"<details{' open' if opened else ''}>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n"


def _unlinked(words: str) -> str:
    return _LINK.sub(lambda found: f"&#{ord(found[0])};", words)


def _quiet(words: str) -> str:
    return _QUIET.sub(lambda found: found[0] + _NOTHING, words)


NOTE = 80
"""Characters reserved for the line that says how many more there are."""


class Item(NamedTuple):
    """One part of a text."""

    forms: tuple[str, ...]
    """The full text, then shorter versions if there are any."""
    turn: tuple[int, ...] = ()
    """Items with a lower turn are chosen first; within a turn, earlier items."""


class Section(NamedTuple):
    """Items of one kind, in the order in which they are shown."""

    items: Sequence[Item]
    whole: Callable[[list[str], int], str]
    """Makes the section from the chosen texts and the number of items left out."""
    share: float
    """Share of the room, if it is too small for every section."""
    left: int = 0
    """Items that were never made, because there was no room for them."""


def complete(sections: Sequence[Section], room: int) -> bool:
    """Whether every item of the sections fits in full."""
    needs = sum(len(item.forms[0]) + 1 for section in sections for item in section.items)
    return not any(section.left for section in sections) and needs <= room - sum(map(_frame, sections))


def filled(sections: Sequence[Section], room: int) -> list[str]:
    """The sections, together at most ``room`` characters if their frames alone are shorter.

    Room that one section does not need goes to the others, first sections first.
    """
    room -= sum(_frame(section) for section in sections)
    needs = [sum(len(item.forms[0]) + 1 for item in section.items) for section in sections]
    rooms = [min(need, int(room * section.share)) for need, section in zip(needs, sections, strict=True)]
    for at, need in enumerate(needs):
        rooms[at] += max(min(need - rooms[at], room - sum(rooms)), 0)
    return [_whole(section, own) for section, own in zip(sections, rooms, strict=True)]


def _frame(section: Section) -> int:
    return len(section.whole([], 0)) + NOTE


def _whole(section: Section, room: int) -> str:
    kept = chosen(section.items, room)
    return section.whole([kept[at] for at in sorted(kept)], section.left + len(section.items) - len(kept))


def chosen(items: Sequence[Item], room: int) -> dict[int, str]:
    """The texts that fit, each with a line break: by position, in the longest form that fits."""
    kept: dict[int, str] = {}
    for at in sorted(range(len(items)), key=lambda at: (items[at].turn, at)):
        form = next((form for form in items[at].forms if len(form) < room), None)
        if form is not None:
            kept[at] = form
            room -= len(form) + 1
    return kept
