"""Lines of a YAML text that is laid out anew."""

from collections.abc import Sequence
from typing import NamedTuple

GAP = 2
"""Least spaces before a comment that stands behind something; more stay, so that comments may be aligned."""


class Line(NamedTuple):
    """A line of the result. A raw one is part of a value, and blank lines in it count."""

    text: str
    raw: bool = False


def note(rest: str) -> str:
    """What stands behind a key whose value is below: an anchor, a comment, or nothing."""
    text = rest.strip()
    if not text:
        return ""
    return " " * (max(GAP, len(rest) - len(rest.lstrip())) if text.startswith("#") else 1) + text


def shifted(line: str, by: int) -> str:
    """A further line of a value, indented with its key."""
    if by >= 0:
        return " " * by + line if line else line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def joined(lines: Sequence[Line]) -> str:
    """The lines as a text: no blank line at either end, never two in a row, none at the top of a block."""
    kept: list[Line] = []
    for line in lines:
        if not line.raw and not line.text and (not kept or (not kept[-1].text and not kept[-1].raw)):
            continue
        kept.append(line)
    while kept and not kept[-1].text and not kept[-1].raw:
        kept.pop()
    return "".join(f"{line.text}\n" for line in kept)
