"""Markdown that GitHub and the site render alike."""

import json
import re
from collections.abc import Iterable

NOTE = "<!-- Made by docs/generate.py; change what it reads instead. -->\n"


def page(title: str, *parts: Iterable[str] | str) -> str:
    """A page: its heading, then the parts, separated by empty lines."""
    lines = [f"# {title}", ""]
    for part in parts:
        lines += [part] if isinstance(part, str) else part
        lines.append("")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return f"{NOTE}{text}\n"


def heading(text: str) -> str:
    """The first heading of a page."""
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table of Markdown cells. Line ends become spaces; columns that are empty in every row are left out."""
    names, cells = list(header), [list(row) for row in rows]
    kept = [index for index in range(len(names)) if not cells or any(row[index] for row in cells)]
    lines = [[line[index] for index in kept] for line in (names, *cells)]
    lines.insert(1, ["---"] * len(kept))
    shown = ([prose(cell).replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return [f"| {' | '.join(line)} |" for line in shown]


def code(value: object) -> str:
    """A value as code; empty for an empty text."""
    if isinstance(value, str):
        return f"`{value}`" if value else ""
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def listed(values: Iterable[object]) -> str:
    """Values as code, separated by commas."""
    return ", ".join(map(code, values))


def prose(text: str) -> str:
    """Text in which ``<`` outside code starts no HTML."""
    pieces = text.split("`")
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)


def anchor(text: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = "".join(letter for letter in text.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")
