"""Chooses the parts of a text that fit into the length that hosts allow."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

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
