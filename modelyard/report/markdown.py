"""Texts as Markdown that a code host shows literally: no markup, HTML, links or mentions."""

import re
from html import escape
from urllib.parse import quote

from modelyard.report.style import safe

_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_IN_CODE = str.maketrans({character: f"&#{ord(character)};" for character in "|`*_[]#@"})
_SPAN = re.compile(r"`([^`]+)`")
_QUIET = re.compile(
    r"(?:(?<!\w)@(?=[^\W_])"  # people
    r"|#(?=\d)|\bGH-(?=\d)|(?<!\w)[!$%&~](?=\d)"  # issues and what else hosts number
    r"|:(?=//)|\bwww(?=\.))",  # addresses
    re.IGNORECASE,
)
"""Patterns that hosts turn into mentions, references and links even if escaped."""
_NOTHING = "\u200b"
"""An invisible space."""
_LINK = re.compile(r":(?=//)|\bw(?=ww\.)", re.IGNORECASE)
"""The start of an address, which becomes a link even in code."""


def text(words: str) -> str:
    """Plain words."""
    return _quiet(safe(words)).translate(_ESCAPES)


def html(words: str) -> str:
    """Plain words inside HTML, which Markdown does not process."""
    return escape(_quiet(safe(words)), quote=False)


def code(words: str) -> str:
    """Words in code style, also inside a table's cell, where a pipe would end the cell even in code.

    Hosts make no mentions in code, so that copied text contains no invisible space.
    """
    shown = escape(safe(words), quote=False).translate(_IN_CODE)
    return f"<code>{_LINK.sub(lambda found: f'&#{ord(found[0])};', shown)}</code>"


def prose(words: str) -> str:
    """Words with backquotes around commands and settings."""
    parts = _SPAN.split(words)
    return "".join(code(part) if at % 2 else text(part) for at, part in enumerate(parts))


def address(url: str) -> str:
    """An address as a link target, escaped so that it cannot end the link."""
    return quote(url, safe="/:?#@!$&'*+,;=%~-._")


def folded(title: str, body: str, *, opened: bool = False) -> str:
    """A foldable block: the title is HTML, the body Markdown."""
    return f"<details{' open' if opened else ''}>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n"


def _quiet(words: str) -> str:
    return _QUIET.sub(lambda found: found[0] + _NOTHING, words)
