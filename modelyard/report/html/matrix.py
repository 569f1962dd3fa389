"""The version of each patch before and after, for every changed stack."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Move = Literal["same", "up", "down", "new", "gone", "none"]
WORDS: dict[Move, str] = {
    "same": "",
    "up": "upgraded",
    "down": "downgraded",
    "new": "new here",
    "gone": "no longer used",
    "none": "not used",
}


class Cell(NamedTuple):
    """One patch in one stack."""

    move: Move
    before: str
    after: str


class Row(NamedTuple):
    """One stack."""

    stack: int
    """The stack's index in the document."""
    name: str
    cells: tuple[Cell, ...]
    """One per patch; empty if unknown."""
    why: str
    """Why the versions are unknown, empty if they are known."""


class Matrix(NamedTuple):
    """All changed stacks by all their patches."""

    patches: tuple[str, ...]
    rows: tuple[Row, ...]
    moved: tuple[int, ...]
    """The number of stacks in which each patch changes its version, is new or is gone."""


def matrix_of(document: Mapping[str, Any]) -> Matrix:
    """Stacks by patches; patches that change in some stack come first."""
    stacks = document["stacks"]
    moved: dict[str, int] = {}
    for stack in stacks:
        for one in stack.get("patches", ()):
            if not _why(stack):
                moved[one["name"]] = moved.get(one["name"], 0) + (one["before"] != one["after"])
    names = tuple(sorted(moved, key=lambda name: (not moved[name], name)))
    rows = tuple(Row(at, stack["stack"], _cells(stack, names), _why(stack)) for at, stack in enumerate(stacks))
    return Matrix(names, rows, tuple(moved[name] for name in names))


def _why(stack: Mapping[str, Any]) -> str:
    if stack["unplanned"]:
        return "cannot be planned"
    return "stack file deleted" if stack["status"] == "removed" else ""


def _cells(stack: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Cell, ...]:
    if _why(stack):
        return ()
    known = {one["name"]: (one["before"], one["after"]) for one in stack.get("patches", ())}
    cells = []
    for name in names:
        before, after = known.get(name, (None, None))
        cells.append(Cell(_move(before, after), before or "", after or ""))
    return tuple(cells)


def _move(before: str | None, after: str | None) -> Move:
    if before == after:
        return "none" if before is None else "same"
    if before is None:
        return "new"
    if after is None:
        return "gone"
    return "up" if _order(before) < _order(after) else "down"


def _order(version: str) -> list[tuple[int, str]]:
    """The sort key of a version, by its numbers: ``v10`` comes after ``v9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", version) if part]
