"""Changed fields in the words of a reader: grouped by what they belong to, without what repeats."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.report.pods import writer
from modelyard.report.values import Write, text_of

OWN_NOTES = ("modelyard.dev/", "pulumi.com/")
"""Beginnings of the annotations that a plan itself writes."""

_TOGETHER = ("env", "resources", "annotations", "labels", "pod annotations", "pod labels")
"""Groups whose items are named apart from the group even where there is only one."""


class Item(NamedTuple):
    """One change of a row; of a request that equals its limit, both."""

    name: str
    """Within the row; empty where the row's label says it all."""
    before: Any
    after: Any
    write: Write = text_of
    """Says both values."""


class Row(NamedTuple):
    """Changes that belong together: the resources of a container, its environment, the annotations of an object."""

    label: str
    items: tuple[Item, ...]


def asked_by(change: FieldChange) -> str:
    """The patch that asks for a change, or what else makes it."""
    if change.patch is not None:
        return change.patch
    if change.back is not None:
        names = sorted({owner.manager for owner in change.back})
        return f"given back to {' and '.join(names)}" if names else "given back"
    return "given up" if change.after is merge.ABSENT else "the API server"


def is_own_note(change: FieldChange) -> bool:
    """Whether the change is one of our own annotations."""
    last = change.path[-1] if change.path else ""
    return isinstance(last, str) and last.startswith(OWN_NOTES)


def rows_of(changes: Iterable[FieldChange], *, one_container: bool = False) -> tuple[Row, ...]:
    """The changes in rows, in the order of their paths.

    With ``one_container`` the name of the pod's container is left out: there is no other that could be meant.
    """
    found: dict[str, list[tuple[str, FieldChange]]] = {}
    for change in changes:
        if not names_its_item(change.path, change.before if change.after is merge.ABSENT else change.after):
            label, name = _place(change.path, one_container)
            found.setdefault(label, []).append((name, change))
    return tuple(_row(label, named) for label, named in found.items())


def field_names(paths: Iterable[merge.Path]) -> list[tuple[str, int]]:
    """Short names of fields that belong together, and how many they are: ``resources cpu, memory`` and 4."""
    nothing = [FieldChange(path, None, None, None, (), False) for path in paths]
    containers = {change.path[3:5] for change in nothing if change.path[3:4] in (("containers",), ("initContainers",))}
    groups: dict[str, list[FieldChange]] = {}
    for change in nothing:
        groups.setdefault(_place(change.path, len(containers) == 1)[0], []).append(change)
    return [
        (f"{row.label} {', '.join(item.name for item in row.items)}".strip(), len(changes))
        for changes in groups.values()
        for row in rows_of(changes, one_container=len(containers) == 1)
    ]


def names_its_item(path: merge.Path, value: Any) -> bool:
    """Whether this is the field that identifies a list item, which its path already says."""
    if len(path) < 2:
        return False
    item, field = path[-2:]
    return isinstance(item, merge.Key) and (field, value) in item.fields


def _row(label: str, named: list[tuple[str, FieldChange]]) -> Row:
    group = label.rpartition(": ")[2]
    if group == "resources" and any(name for name, _ in named):
        return Row(label, _resources(named))
    items = tuple(Item(name, change.before, change.after, writer(change.path)) for name, change in named)
    if len(items) == 1 and items[0].name and group not in _TOGETHER:
        return Row(f"{label}.{items[0].name}", (items[0]._replace(name=""),))
    return Row(label, items)


def _resources(named: list[tuple[str, FieldChange]]) -> tuple[Item, ...]:
    """A limit and a request that change alike are one item, and any other says which of both it is."""
    found: dict[str, dict[str, FieldChange]] = {}
    for name, change in named:
        kind, _, resource = name.partition(".")
        found.setdefault(resource, {})[kind] = change
    items = []
    for resource, kinds in found.items():
        values = {kind: (change.before, change.after) for kind, change in kinds.items()}
        if "limits" in values and values["limits"] == values.get("requests"):
            items.append(Item(resource, *values["limits"]))
        else:
            words = {"limits": f"{resource} limit", "requests": f"{resource} request"}
            items.extend(Item(words.get(kind, kind), *pair) for kind, pair in values.items())
    return tuple(items)


def _place(path: merge.Path, one_container: bool) -> tuple[str, str]:
    """The label of the row that a field belongs to, and the field's name in it."""
    container = ""
    rest = path
    if path[:3] == ("spec", "template", "spec"):
        rest = merge.Path(path[3:])
        if len(rest) > 2 and rest[0] in ("containers", "initContainers") and isinstance(rest[1], merge.Key):
            container = f"{'init ' if rest[0] == 'initContainers' else ''}{_key(rest[1])}: "
            container = "" if one_container and rest[0] == "containers" else container
            rest = merge.Path(rest[2:])
    elif path[:3] == ("spec", "template", "metadata") and len(path) > 3:
        rest = merge.Path((f"pod {path[3]}", *path[4:]))
    elif path[:2] == ("spec", "strategy") and len(path) > 2:
        rest = merge.Path(path[2:])
    elif path[:1] in (("spec",), ("metadata",)) and len(path) > 1:
        rest = merge.Path(path[1:])
    label, name = _grouped(_names(rest))
    return container + label, name


def _grouped(names: list[str]) -> tuple[str, str]:
    head, rest = names[0], names[1:]
    if head == "resources" and len(rest) == 2 and rest[0] in ("limits", "requests"):
        return head, ".".join(rest)
    if head.startswith("env "):
        return "env", ".".join([head.removeprefix("env "), *(rest if rest != ["value"] else ())])
    if head == "affinity" and len(rest) == 2:
        kind = "nodes" if rest[0] == "nodeAffinity" else rest[0]
        return (f"{kind} preferred" if rest[1].startswith("preferred") else kind), ""
    return ".".join(names[:-1]) or head, names[-1] if rest else ""


def _names(path: merge.Path) -> list[str]:
    """A path's parts, list items by their key alone."""
    parts: list[str] = []
    for element in path:
        if isinstance(element, merge.Key) and parts:
            parts[-1] += f" {_key(element)}"
        elif isinstance(element, str):
            parts.append(element)
        else:
            parts.append(str(merge.Path((element,))))
    return parts


def _key(key: merge.Key) -> str:
    return ",".join(str(value) for _, value in key.fields)
