"""Choosing what has room: parts of a text that may be as long as hosts allow."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

NOTE = 80
"""Characters that the line may have which says how much more there is."""


class Item(NamedTuple):
    """One thing to tell."""

    forms: tuple[str, ...]
    """In full, and shorter where that is possible."""
    turn: tuple[int, ...] = ()
    """Those of an earlier turn come first; of one turn, those that stand first."""


class Section(NamedTuple):
    """Things of one kind, in the order in which they are shown."""

    items: Sequence[Item]
    whole: Callable[[list[str], int], str]
    """The section, made of what has room and the number of things that have none."""
    share: float
    """Share of the room, where it is too small for every section."""
    left: int = 0
    """Things for which there was no room from the beginning, and that were not made."""


def filled(sections: Sequence[Section], room: int) -> list[str]:
    """The sections, together at most so many characters, as long as the frame of each alone is less.

    What one section does not need is the others', the first ones first.
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
    """What has room, each with a line break: by its place, in the longest form that fits."""
    kept: dict[int, str] = {}
    for at in sorted(range(len(items)), key=lambda at: (items[at].turn, at)):
        form = next((form for form in items[at].forms if len(form) < room), None)
        if form is not None:
            kept[at] = form
            room -= len(form) + 1
    return kept
