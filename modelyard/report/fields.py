"""Changed fields in readers' words, grouped by what they belong to, and their layout: broken only between changes."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain, takewhile
from operator import eq
from typing import Any, NamedTuple

from modelyard.kube import merge
from modelyard.kube.scheduling.pods import RAY_CLUSTERS, RAY_GROUPS, RAY_HEAD
from modelyard.names import LEDGER_NOTE, STACK_NOTE
from modelyard.plan import FieldChange
from modelyard.plan.ownership import ENGINE_ANNOTATIONS, MODE_ANNOTATION, PATCHES_ANNOTATION
from modelyard.plan.values import names_its_item
from modelyard.report.style import Style, safe, shorten
from modelyard.report.values import EVERYTHING, Write, distinct, fitted, text_of, writer
from modelyard.stack.words import cut

OWN_NOTES = frozenset({PATCHES_ANNOTATION, MODE_ANNOTATION, STACK_NOTE, LEDGER_NOTE, *ENGINE_ANNOTATIONS})
"""The annotations that the plan itself writes."""

_CONTAINERS = ("spec", "template", "spec", "containers")
_RESOURCES = ("resources", "pod resources")
_OTHER = {"limits": "requests", "requests": "limits"}
_TOGETHER = ("env", *_RESOURCES, "annotations", "labels", "pod annotations", "pod labels")
"""Groups whose items keep their own name, even a single item."""


class FieldItem(NamedTuple):
    """One change in a row; for a request that equals its limit, the changes of both."""

    name: str
    """The name within the row; empty if the row's label is enough."""
    before: Any
    after: Any
    write: Write = text_of
    """Formats both values."""


class FieldRow(NamedTuple):
    """Changes that belong together: the resources of a container, its environment, the annotations of an object."""

    label: str
    items: tuple[FieldItem, ...]


class _Shown(NamedTuple):
    """A change that readers see."""

    change: FieldChange
    whole: bool
    """Whether it stands for a whole list item with only its key."""


def asked_by(change: FieldChange) -> str:
    """The patch that asks for a change, or its other cause."""
    if change.patch is not None:
        return change.patch
    if change.back is not None:
        names = sorted({owner.manager for owner in change.back})
        return f"restored to {' and '.join(names)}" if names else "restored"
    return "removed" if change.after is merge.ABSENT else "the API server"


def is_own_note(change: FieldChange) -> bool:
    """Whether the change is one of our own annotations."""
    return change.path[:2] == ("metadata", "annotations") and change.path[-1] in OWN_NOTES


def rows_of(changes: Iterable[FieldChange], *, one_container: bool = False) -> tuple[FieldRow, ...]:
    """The changes in rows, in the order of their paths.

    ``one_container`` leaves out the container's name, because the pod has only one.
    """
    return tuple(row for _, rows in rows_by(changes, lambda _: "", one_container=one_container) for row in rows)


def rows_by(
    changes: Iterable[FieldChange], asker: Callable[[FieldChange], str], *, one_container: bool = False
) -> tuple[tuple[str, tuple[FieldRow, ...]], ...]:
    """The changes in rows, grouped by what asks for them."""
    shown = _shown(changes)
    one_container = one_container and _one_container(shown)
    groups: dict[str, list[_Shown]] = {}
    for one in shown:
        groups.setdefault(asker(one.change), []).append(one)
    return tuple((name, _rows(some, one_container)) for name, some in sorted(groups.items()))


def _one_container(shown: Iterable[_Shown]) -> bool:
    """Whether the changes concern at most one container of a pod, besides its init containers."""
    paths = (one.change.path for one in shown)
    return len({path[4] for path in paths if path[:4] == _CONTAINERS and len(path) > 4}) < 2


def _shown(changes: Iterable[FieldChange]) -> tuple[_Shown, ...]:
    """The changes without list item keys that the path of another change already shows.

    For a list item with only its key, one change stands for the item, preferably one that a patch asks for.
    """
    every = tuple(changes)
    keys: dict[merge.Path, list[FieldChange]] = {}
    named: set[merge.Path] = set()
    for change in every:
        if _is_key(change):
            keys.setdefault(change.path.parent, []).append(change)
        else:
            named.update(beginnings(change.path))
    stand: dict[merge.Path, bool] = {}
    # The path of an item shows the keys of the items around it.
    for item in sorted(keys, key=len, reverse=True):
        if item in named:
            continue
        named.update(beginnings(item))
        if _is_whole(item, keys[item]):
            stand[next((one for one in keys[item] if one.patch is not None), keys[item][0]).path] = True
        else:
            stand |= {one.path: False for one in keys[item]}
    return tuple(_Shown(one, stand.get(one.path, False)) for one in every if one.path in stand or not _is_key(one))


def _is_key(change: FieldChange) -> bool:
    return names_its_item(change.path, change.before if change.after is merge.ABSENT else change.after)


def _is_whole(item: merge.Path, changes: list[FieldChange]) -> bool:
    """Whether these changes of the item's key are all of it, so that the item itself is added or removed."""
    key = item[-1]
    comes = all(one.before is merge.ABSENT for one in changes)
    goes = all(one.after is merge.ABSENT for one in changes)
    return isinstance(key, merge.Key) and len(changes) == len(key.fields) and (comes or goes)


def beginnings(path: merge.Path) -> Iterable[merge.Path]:
    """The paths of what is around a field, the outermost first."""
    return (merge.Path(path[:end]) for end in range(1, len(path)))


def _orders(change: FieldChange) -> tuple[list[str], list[str]] | None:
    """The items of a list before and after, if only their order changes."""
    if not (isinstance(change.before, list) and isinstance(change.after, list)):
        return None
    before, after = ([_element(one) for one in some] for some in (change.before, change.after))
    known = None not in before and sorted(map(repr, before)) == sorted(map(repr, after))
    return ([*map(_word, before)], [*map(_word, after)]) if known and before else None


def _element(value: Any) -> merge.Key | merge.Value | None:
    """The list item that this stands for, including its form in a saved plan: ``[[["name", "worker"]]]`` or
    ``["value"]``.
    """
    match value:
        case merge.Key() | merge.Value():
            return value
        case [list() as fields] if fields and all(isinstance(one, list) and len(one) == 2 for one in fields):
            return merge.Key(tuple((name, of) for name, of in fields))
        case [str() | int() | float() as member]:
            return merge.Value(member)
        case _:
            return None


def _rows(shown: Iterable[_Shown], one_container: bool) -> tuple[FieldRow, ...]:
    found: dict[str, list[tuple[str, _Shown]]] = {}
    for one in shown:
        path = merge.Path(one.change.path[:-2]) if one.whole else one.change.path
        label, name = _place(path, one_container)
        if _orders(one.change):
            label, name = f"{label}.{name} order" if name else f"{label} order", ""
        found.setdefault(label, []).append((name, one))
    return tuple(_row(label, named) for label, named in found.items())


def field_names(paths: Iterable[merge.Path]) -> list[tuple[str, int]]:
    """Short names of fields that belong together, with their number, such as 4 and ``resources cpu, memory (limits and
    requests)``.
    """
    nothing = [FieldChange(path=path, before=None, after=None, patch=None) for path in paths]
    containers = {change.path[3:5] for change in nothing if change.path[3:4] in (("containers",), ("initContainers",))}
    groups: dict[str, list[FieldChange]] = {}
    for change in nothing:
        groups.setdefault(_place(change.path, len(containers) == 1)[0], []).append(change)
    return [
        (f"{row.label} {', '.join(item.name for item in row.items)}{_both(row, len(changes))}".strip(), len(changes))
        for changes in groups.values()
        for row in rows_of(changes, one_container=len(containers) == 1)
    ]


def _both(row: FieldRow, fields: int) -> str:
    """What to add to the names of resources if each stands for two fields."""
    two = row.label.rpartition(": ")[2] in _RESOURCES and fields == 2 * len(row.items)
    return " (limits and requests)" if two else ""


def _row(label: str, named: list[tuple[str, _Shown]]) -> FieldRow:
    group = label.rpartition(": ")[2]
    if group in _RESOURCES and any(name for name, _ in named):
        return FieldRow(label, _resources(named))
    items = tuple(_item(name, shown) for name, shown in named)
    if len(items) == 1 and items[0].name and group not in _TOGETHER:
        return FieldRow(f"{label}.{items[0].name}", (items[0]._replace(name=""),))
    return FieldRow(label, items)


def _item(name: str, shown: _Shown) -> FieldItem:
    change = shown.change
    before, after = change.before, change.after
    if shown.whole:
        before, after = (value if value is merge.ABSENT else _word(change.path[-2]) for value in (before, after))
    elif orders := _orders(change):
        before, after = orders
    return FieldItem(name, before, after, distinct(before, after, writer(change.path)))


def _resources(named: list[tuple[str, _Shown]]) -> tuple[FieldItem, ...]:
    """The items of resources: one for a limit and request with equal changes, else each with its kind."""
    values = {shown.change.path: (shown.change.before, shown.change.after) for _, shown in named}
    found: dict[Hashable, list[FieldItem]] = {}
    for name, shown in named:
        path = shown.change.path
        kind, _, resource = name.partition(".")
        if kind not in _OTHER or not resource:
            found.setdefault(path, []).append(_item(name, shown))
            continue
        other = merge.Path((*path[:-2], _OTHER[kind], path[-1]))
        alike = values.get(other) == values[path]
        if not alike or kind == "limits":
            words = resource if alike else f"{resource} {kind.removesuffix('s')}"
            found.setdefault((path[:-2], resource), []).append(_item(words, shown))
    return tuple(chain.from_iterable(found.values()))


def _place(path: merge.Path, one_container: bool) -> tuple[str, str]:
    """The label of the row that a field belongs to, and the field's name in it."""
    group, path = _in_group(path)
    container = ""
    rest = path
    if path[:3] == ("spec", "template", "spec") and len(path) > 3:
        rest = merge.Path(path[3:])
        if len(rest) > 2 and rest[0] in ("containers", "initContainers") and isinstance(rest[1], merge.Key):
            container = f"{'init ' if rest[0] == 'initContainers' else ''}{_word(rest[1])}: "
            container = "" if one_container and rest[0] == "containers" else container
            rest = merge.Path(rest[2:])
        elif rest[:1] == ("resources",):
            rest = merge.Path(("pod resources", *rest[1:]))
    elif path[:3] == ("spec", "template", "metadata") and len(path) > 3:
        rest = merge.Path((f"pod {path[3]}", *path[4:]))
    elif path[:2] == ("spec", "strategy") and len(path) > 2:
        rest = merge.Path(path[2:])
    elif path[:1] in (("spec",), ("metadata",)) and len(path) > 1:
        rest = merge.Path(path[1:])
    label, name = _grouped(_names(rest))
    return group + container + label, name


def _in_group(path: merge.Path) -> tuple[str, merge.Path]:
    """The head or worker group of a Ray cluster that a field belongs to, and the field as that of a Deployment."""
    for cluster in RAY_CLUSTERS.values():
        below = path[len(cluster) :] if path[: len(cluster)] == cluster else ()
        if below[:1] == (RAY_HEAD,) and len(below) > 1:
            return "head: ", merge.Path(("spec", *below[1:]))
        if below[:1] == (RAY_GROUPS,) and len(below) > 2 and isinstance(below[1], merge.Key):
            return f"group {_word(below[1])}: ", merge.Path(("spec", *below[2:]))
    return "", path


def _grouped(names: list[str]) -> tuple[str, str]:
    head, rest = names[0], names[1:]
    if head in _RESOURCES and len(rest) == 2 and rest[0] in ("limits", "requests"):
        return head, ".".join(rest)
    if head.startswith("env "):
        return "env", ".".join([head.removeprefix("env "), *(rest if rest != ["value"] else ())])
    if head == "affinity" and len(rest) == 2:
        kind = "node affinity" if rest[0] == "nodeAffinity" else rest[0]
        return (f"{kind} preferred" if rest[1].startswith("preferred") else kind), ""
    return ".".join(names[:-1]) or head, names[-1] if rest else ""


def _names(path: merge.Path) -> list[str]:
    """A path's parts, with list items by their key only."""
    parts: list[str] = []
    for element in path:
        if isinstance(element, merge.Key) and parts:
            parts[-1] += f" {_word(element)}"
        elif isinstance(element, str):
            parts.append(element)
        else:
            parts.append(str(merge.Path((element,))))
    return parts


def _word(element: Any) -> str:
    """A list item by its key or value only."""
    if isinstance(element, merge.Key):
        return ",".join(str(value) for _, value in element.fields)
    return str(element.value if isinstance(element, merge.Value) else element)


WIDEST_LABEL = 15
"""The widest column to align labels to; the values of a longer label begin where it ends."""


class Piece(NamedTuple):
    """Text that stays on one line: plain for measuring, marked up for printing."""

    plain: str
    marked: str


def rows_text(rows: tuple[FieldRow, ...], indent: int, style: Style) -> list[str]:
    """The rows as lines, their values one below the other."""
    width = max((len(row.label) for row in rows if len(row.label) <= WIDEST_LABEL), default=0)
    return [line for row in rows for line in _row_lines(row, indent, width, style)]


def _row_lines(row: FieldRow, indent: int, width: int, style: Style) -> Iterator[str]:
    """The items that fit beside the label, and below it those that need the label's columns too."""
    label = safe(row.label)
    lead = " " * indent + f"{label:<{width}}  "
    beside: list[Piece] = []
    below: list[FieldItem] = []
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


def _long(item: FieldItem, room: int, style: Style) -> list[str]:
    """A change on one line, or its old and new values on a line each."""
    whole = _piece(item, EVERYTHING, style)
    if len(whole.plain) <= room:
        return [whole.marked]
    if item.before is merge.ABSENT or item.after is merge.ABSENT:
        return [_piece(item, room, style).marked]
    before, after = apart(item, room - 2)
    name = [shorten(item.name, room)] if item.name else []
    return [*name, style.removed(f"- {before}"), style.added(f"+ {after}")]


def _piece(item: FieldItem, room: int, style: Style) -> Piece:
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


def apart(item: FieldItem, room: int) -> tuple[str, str]:
    """Both values cut to the room; if that hides the difference, they start shortly before it."""
    before, after = (fitted(value, room, item.write) for value in (item.before, item.after))
    if before != after:
        return before, after
    old, new = (safe(item.write(value, EVERYTHING)) for value in (item.before, item.after))
    same = sum(takewhile(bool, map(eq, old, new)))
    start = max(same - room // 4, 0)
    return _window(old, start, room), _window(new, start, room)


def _window(text: str, start: int, room: int) -> str:
    return cut(("…" if start else "") + text[start:], room)
