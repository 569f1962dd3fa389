"""Who owns which field: ``metadata.managedFields``, read and written."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.kube.merge import fieldset
from modelyard.kube.merge.fieldset import SELF, FieldSet
from modelyard.kube.merge.path import Path, to_wire
from modelyard.kube.merge.types import Type


class Owner(NamedTuple):
    """A field manager, as far as the API server tells it apart from others."""

    manager: str
    operation: str
    """``Apply`` or ``Update``: one name doing both is two owners."""
    subresource: str = ""
    time: str = ""
    """Of its latest change, RFC 3339; empty where none is recorded."""
    api_version: str = ""

    def __str__(self) -> str:
        """As the API server words it in a conflict."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            text += f" using {self.api_version}"
        return text


class Managed(NamedTuple):
    """One entry of managedFields: an owner and the fields it owns."""

    owner: Owner
    fields: FieldSet

    def paths(self) -> Iterator[Path]:
        """The paths it owns."""
        return fieldset.paths(self.fields)


UNTRACKED = fieldset.of(
    Path(("apiVersion",)),
    Path(("kind",)),
    Path(("metadata",)),
    *(
        Path(("metadata", name))
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""Fields that no manager owns, because they are immutable."""
Identity = tuple[str, str, str, str]
"""Manager, operation, API version (of updates only) and subresource: one entry of an object has one identity."""


def identity(entry: Mapping[str, Any]) -> Identity:
    """What tells an entry apart from the object's others."""
    operation = entry.get("operation", "")
    version = "" if operation == "Apply" else entry.get("apiVersion", "")
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def owner_of(entry: Mapping[str, Any]) -> Owner:
    """The owner that an entry of managedFields names."""
    get = entry.get
    return Owner(
        get("manager", ""), get("operation", ""), get("subresource", ""), str(get("time") or ""), get("apiVersion", "")
    )


def entries(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An object's managedFields, the empty list where it has none."""
    metadata = obj.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, list) else []


def in_order(managed: list[dict[str, Any]], latest: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Entries in the order the API server keeps: by operation, time and name.

    One without a time (a write to ``scale`` leaves such) is the earliest, but for ``latest``, which is being written.
    """
    return sorted(
        managed,
        key=lambda e: (
            e.get("operation", ""),
            not e.get("time") and e is latest,
            str(e.get("time") or ""),
            e.get("manager", ""),
            e.get("apiVersion", ""),
            e.get("subresource", ""),
        ),
    )


def same_but_times(managed: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whether entries are the same in the same order, whenever they were written."""
    return len(managed) == len(others) and all(
        one is other or {**one, "time": None} == {**other, "time": None}
        for one, other in zip(managed, others, strict=True)
    )


def with_entries(
    obj: dict[str, Any], managed: list[dict[str, Any]], latest: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The object with these entries, the same object when it has them already."""
    managed = in_order(managed, latest)
    if managed == entries(obj):
        return obj
    metadata = {**(obj.get("metadata") or {}), "managedFields": managed}
    if not managed:
        del metadata["managedFields"]
    return {**obj, "metadata": metadata}


def ownership(obj: Mapping[str, Any]) -> tuple[Managed, ...]:
    """Every owner of an object with its fields, in the object's order."""
    return tuple(Managed(owner_of(entry), entry.get("fieldsV1") or {}) for entry in entries(obj))


def owners(obj: Mapping[str, Any], path: Path, schema: Type | None = None) -> tuple[Owner, ...]:
    """Who owns the field at ``path``, sorted.

    That is everyone who lists the field itself, who owns an atomic map or list around it, or, where the path leads to
    a map or list that is owned piece by piece, anyone who owns something in it. Without a ``schema`` an ancestor counts
    as atomic when no entry owns anything below it.
    """
    wire = [to_wire(element) for element in path]
    found = entries(obj)
    atomic = (
        _guessed_depth([entry.get("fieldsV1") or {} for entry in found], wire)
        if schema is None
        else _atomic_depth(path, schema)
    )
    return tuple(sorted(owner_of(entry) for entry in found if _owns(entry.get("fieldsV1") or {}, wire, atomic)))


def _owns(fields: FieldSet, wire: list[str], atomic: int) -> bool:
    node = fields
    for depth, element in enumerate(wire, 1):
        if element not in node:
            return False
        node = node[element]
        if depth >= atomic and (not node or SELF in node):
            return True
        if not node:
            return depth == len(wire)
    return True


def _atomic_depth(path: Path, schema: Type) -> int:
    """How many elements of the path lead to the value that is owned as a whole; past the path's end when none is."""
    kind: Type | None = schema
    for depth, element in enumerate(path):
        if kind is None:
            break
        if isinstance(element, str):
            if not kind.separable:
                return depth
            kind = kind.child[element]
        else:
            if kind.list_kind == "atomic":
                return depth
            kind = kind.item
    return len(path)


def _guessed_depth(sets: list[FieldSet], wire: list[str]) -> int:
    depth = 0
    while depth < len(wire):
        sets = [node[wire[depth]] for node in sets if wire[depth] in node]
        depth += 1
        if sets and not any(element != SELF for node in sets for element in node):
            return depth
        if not sets:
            break
    return len(wire)
