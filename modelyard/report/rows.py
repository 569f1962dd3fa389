"""Lays out rows of changes: on one line if it fits, else broken between the changes, never inside a name."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from modelyard.kube import merge
from modelyard.report.fields import Item, Row
from modelyard.report.style import Style, safe, shorten
from modelyard.report.values import EVERYTHING, fitted
from modelyard.stack.words import cut

WIDEST_LABEL = 15
"""The widest column to align labels to; the values of a longer label begin where it ends."""


class Piece(NamedTuple):
    """Text that stays on one line: plain for measuring, marked up for printing."""

    plain: str
    marked: str


def rows_text(rows: tuple[Row, ...], indent: int, style: Style) -> list[str]:
    """The rows as lines, their values one below the other."""
    width = max((len(row.label) for row in rows if len(row.label) <= WIDEST_LABEL), default=0)
    return [line for row in rows for line in _row(row, indent, width, style)]


def _row(row: Row, indent: int, width: int, style: Style) -> Iterator[str]:
    """The items that fit beside the label, and below it those that need the label's columns too."""
    label = safe(row.label)
    lead = " " * indent + f"{label:<{width}}  "
    beside: list[Piece] = []
    below: list[Item] = []
    for item in row.items:
        whole = _piece(item, EVERYTHING, style)
        if len(whole.plain) < style.columns - len(lead):
            beside.append(whole)
        else:
            below.append(item)
    lines = list(_packed(beside, lead, style)) or [" " * indent + shorten(label, style.columns - indent)]
    for item in below:
        if beside:
            lines[-1] += ","
        lines.extend(" " * (indent + 2) + marked for marked in _long(item, style.columns - indent - 3, style))
    yield from lines


def _packed(pieces: Iterable[Piece], lead: str, style: Style) -> Iterator[str]:
    """As many pieces on a line as fit, with commas between them."""
    line: list[Piece] = []
    for piece in pieces:
        used = len(lead) + sum(len(one.plain) + 2 for one in line)
        if line and used + len(piece.plain) >= style.columns:
            yield lead + ", ".join(one.marked for one in line) + ","
            lead, line = " " * len(lead), []
        line.append(piece)
    if line:
        yield lead + ", ".join(one.marked for one in line)


def _long(item: Item, room: int, style: Style) -> list[str]:
    """A change on one line, or its old and new values on a line each."""
    whole = _piece(item, EVERYTHING, style)
    if len(whole.plain) <= room:
        return [whole.marked]
    if item.before is merge.ABSENT or item.after is merge.ABSENT:
        return [_piece(item, room, style).marked]
    before, after = apart(item, room - 2)
    name = [shorten(item.name, room)] if item.name else []
    return [*name, style.removed(f"- {before}"), style.added(f"+ {after}")]


def _piece(item: Item, room: int, style: Style) -> Piece:
    name = shorten(item.name, max(room // 2, 1))
    name += " " if name else ""
    if item.before is merge.ABSENT:
        text = "+ " + fitted(item.after, room - len(name) - 2, item.write)
        return Piece(name + text, name + style.added(text))
    if item.after is merge.ABSENT:
        text = "- " + fitted(item.before, room - len(name) - 2, item.write)
        return Piece(name + text, name + style.removed(text))
    before, after = (fitted(value, room, item.write) for value in (item.before, item.after))
    return Piece(f"{name}{before} → {after}", f"{name}{style.removed(before)} → {style.added(after)}")


def apart(item: Item, room: int) -> tuple[str, str]:
    """Both values cut to the room; if that hides the difference, they start shortly before it."""
    before, after = (fitted(value, room, item.write) for value in (item.before, item.after))
    if before != after:
        return before, after
    old, new = (safe(item.write(value, EVERYTHING)) for value in (item.before, item.after))
    same = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    start = max(same - room // 4, 0)
    return _window(old, start, room), _window(new, start, room)


def _window(text: str, start: int, room: int) -> str:
    return cut(("…" if start else "") + text[start:], room)
