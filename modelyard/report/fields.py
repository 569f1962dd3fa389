"""Changed fields in the words of a reader: grouped, without what repeats."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from modelyard import merge
from modelyard.plan import FieldChange

OWN_NOTES = ("modelyard.dev/", "pulumi.com/")
"""Beginnings of the annotations that a plan itself writes."""


class Line(NamedTuple):
    """One change as a reader sees it; it may stand for several fields."""

    name: str
    before: Any
    after: Any
    taken_from: tuple[str, ...]


def is_own_note(change: FieldChange) -> bool:
    """Whether the change is one of our own annotations."""
    last = change.path[-1] if change.path else ""
    return isinstance(last, str) and last.startswith(OWN_NOTES)


def lines_of(changes: Iterable[FieldChange]) -> list[Line]:
    """The changes by name; a request that equals its limit is one line, and an item's key is not told twice."""
    found: dict[str, Line] = {}
    for change in changes:
        if _names_its_item(change):
            continue
        taken = tuple(dict.fromkeys(owner.manager for owner in change.owners)) if change.taken else ()
        line = Line(_name(change.path), change.before, change.after, taken)
        found[line.name] = line
    return [_joined(line, found) for name, line in found.items() if not _repeats_its_limit(name, found)]


def _names_its_item(change: FieldChange) -> bool:
    """Whether this is the field that identifies a list item, which its path already says."""
    if len(change.path) < 2:
        return False
    item, field = change.path[-2:]
    return isinstance(item, merge.Key) and (field, change.after) in item.fields


def _name(path: merge.Path) -> str:
    """A path without the parts that every Deployment shares, and list items by their key alone."""
    parts: list[str] = []
    for element in path:
        if isinstance(element, merge.Key):
            parts[-1] += " " + ",".join(str(value) for _, value in element.fields)
        elif isinstance(element, str):
            parts.append(element)
        else:
            parts.append(str(merge.Path((element,))))
    if parts[:3] == ["spec", "template", "spec"]:
        parts = parts[3:]
        if parts and parts[0].startswith("containers "):
            parts[0] = parts[0].removeprefix("containers ") + ":"
    elif parts[:3] == ["spec", "template", "metadata"]:
        parts = ["pod " + parts[3], *parts[4:]]
    if parts[-1:] == ["value"] and len(parts) > 1 and parts[-2].startswith("env "):
        parts.pop()
    return ".".join(parts).replace(":.", ": ")


def _twin(name: str) -> str:
    return name.replace("resources.requests.", "resources.limits.")


def _repeats_its_limit(name: str, found: dict[str, Line]) -> bool:
    twin = found.get(_twin(name)) if "resources.requests." in name else None
    return twin is not None and twin[1:] == found[name][1:]


def _joined(line: Line, found: dict[str, Line]) -> Line:
    request = line.name.replace("resources.limits.", "resources.requests.")
    if request != line.name and request in found and _repeats_its_limit(request, found):
        return line._replace(name=line.name.replace("resources.limits.", "limits and requests "))
    return line
