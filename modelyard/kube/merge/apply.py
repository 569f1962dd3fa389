"""Server-side apply: what the API server makes of an apply request, ownership and conflicts included.

The algorithm is that of structured-merge-diff's ``merge.Updater`` and of apimachinery's ``managedfields``: lay the
applied fields over the live object, drop what this manager applied before and nobody owns now, and see which fields of
other managers that changes.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from modelyard.kube.merge import fieldset
from modelyard.kube.merge.errors import MergeError, SchemaError, depth_checked
from modelyard.kube.merge.fieldset import SELF, FieldSet
from modelyard.kube.merge.managed import (
    UNTRACKED,
    Identity,
    Managed,
    Owner,
    entries,
    identity,
    in_order,
    owner_of,
    ownership,
    same_but_times,
    with_entries,
)
from modelyard.kube.merge.metadata import foreign, refused, settled, with_link
from modelyard.kube.merge.path import ROOT, Path, from_wire
from modelyard.kube.merge.prune import pruned
from modelyard.kube.merge.stored import refused_nulls, stored
from modelyard.kube.merge.typed import UnfitError, compare, field_set, merge, whole_set
from modelyard.kube.merge.types import DEDUCED, Type
from modelyard.kube.merge.validate import unfit
from modelyard.kube.merge.values import child_at

_NULL = "null is not a value of this field; a list or map without its last entry is null too: drop the field itself"

BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager to which the API server gives all fields of an object without managedFields."""


class Conflict(NamedTuple):
    """A field that others own and that would get another value."""

    path: Path
    owners: tuple[Owner, ...]
    live: Any
    """The value now; ``ABSENT`` when the field is owned but not there."""
    applied: Any

    def __str__(self) -> str:
        """As the API server words it, one owner a clause."""
        return "; ".join(f"conflict with {owner}: {self.path.server_text}" for owner in self.owners)


class ServerSide(NamedTuple):
    """The answer to an apply request."""

    object: dict[str, Any]
    """The object after it, with its managedFields; the live object when there are conflicts."""
    ownership: tuple[Managed, ...]
    """Who owns what in ``object``."""
    conflicts: tuple[Conflict, ...]
    """Why the API server refuses; empty with ``force``."""
    taken: tuple[Conflict, ...] = ()
    """With ``force``: the fields taken from others."""


@depth_checked
def server_side(
    live: dict[str, Any] | None, applied: dict[str, Any], manager: str, schema: Type, force: bool = False
) -> ServerSide:
    """What the API server answers when ``manager`` applies ``applied`` to ``live`` (None: nothing is there yet).

    Not done: what the server does only for the manager named ``kubectl`` (it reads the annotation that a client-side
    apply leaves), and conversion of entries recorded under another API version.

    The result shares with ``live`` and ``applied`` whatever did not change; none of the three may be changed later.
    Its managedFields are the server's but for the time of ``manager``'s entry, which is missing when it is new. Where
    the server stores nothing new, the object is ``live`` itself.
    Defaults that only the server's code knows are not filled in; those that the schema declares are.

    Raises:
        MergeError: ``applied`` is not of the schema's type, or not a thing one can apply, or names another object than
            ``live`` or another version of it, or it leaves a null that a custom resource refuses; every reason at once.
    """
    config = _request(live, applied, schema)
    mine = (manager, "Apply", "", "")
    before: dict[str, Any] = {} if live is None else live
    known = {identity(entry): entry for entry in entries(before)}
    sets = {who: _reconciled(schema, entry.get("fieldsV1") or {}) for who, entry in known.items()}
    try:
        applied_set = field_set(schema, applied)
        if config is not applied:
            applied_set = field_set(schema, config)
        if before and not known:
            untracked = created_entry(before, BEFORE_FIRST_APPLY, applied["apiVersion"], schema)
            known = {identity(untracked): untracked}
            sets = {identity(untracked): untracked["fieldsV1"]}
        merged = merge(schema, before, config)
        last = sets.get(mine)
        sets[mine] = applied_set
        if last and not fieldset.contains(applied_set, last):
            merged = pruned(schema, merged, last, list(sets.values()))
        change = compare(schema, before, merged)
    except UnfitError:
        raise unfit(applied, schema) from None

    touched = fieldset.union(change.modified, change.added)
    contested: dict[Identity, FieldSet] = {}
    if touched:
        for who, fields in sets.items():
            if who != mine:
                common = fieldset.intersection(fields, touched)
                if common:
                    contested[who] = common
    conflicts = _conflicts(contested, known, before, config, schema)
    if conflicts and not force:
        return ServerSide(before, ownership(before), conflicts)

    for who in sets:
        if who != mine:
            fields = fieldset.difference(sets[who], contested.get(who, {}))
            sets[who] = fieldset.difference(fields, change.removed)
    sets[mine] = fieldset.difference(applied_set, UNTRACKED)
    keeps_time = merged is before
    merged = stored(schema, settled(merged, live, by_apply=True), before)
    if not schema.native and (nulls := [*refused_nulls(schema, merged, before)]):
        raise MergeError(SchemaError(path, _NULL) for path in nulls)
    result = []
    latest = None
    for who, fields in sets.items():
        if not fields:
            continue
        entry: dict[str, Any] | None = known.get(who)
        if who == mine:
            entry = _own_entry(entry, manager, applied["apiVersion"], fields, keeps_time)
            latest = None if keeps_time else entry
        elif entry is None or entry.get("fieldsV1") != fields:
            entry = {**(entry or {}), "fieldsV1": fields}
        result.append(entry)
    # The server compares before it drops what it does not store.
    if (
        merged is not before
        or with_link(config, schema)
        or not same_but_times(in_order(result, latest), entries(before))
    ):
        merged = with_entries(merged, result, latest)
    return ServerSide(merged, ownership(merged), (), conflicts)


def _request(live: dict[str, Any] | None, applied: dict[str, Any], schema: Type) -> dict[str, Any]:
    """The applied fields that count, once it is certain that this is a thing one can apply to that object."""
    errors = []
    for name in ("apiVersion", "kind"):
        if not isinstance(applied.get(name), str):
            errors.append(SchemaError(Path((name,)), f"{name} is missing, and an apply must name it"))
        elif live is not None and live.get(name, applied[name]) != applied[name]:
            errors.append(SchemaError(Path((name,)), f"{applied[name]} is applied to an object of {live[name]}"))
    metadata = applied.get("metadata")
    if isinstance(metadata, dict):
        if metadata.get("managedFields") is not None:
            errors.append(SchemaError(Path(("metadata", "managedFields")), "managedFields must not be applied"))
        known = None if live is None else live.get("metadata") or {}
        errors += [*foreign(metadata, known), *refused(metadata, known, schema)]
    if errors:
        raise MergeError(errors)
    if schema.status_subresource and "status" in applied:
        return {name: value for name, value in applied.items() if name != "status"}
    return applied


def _own_entry(
    entry: dict[str, Any] | None, manager: str, version: str, fields: FieldSet, keeps_time: bool
) -> dict[str, Any]:
    if entry is not None and keeps_time:
        if entry.get("fieldsV1") == fields and entry.get("apiVersion") == version:
            return entry
        return {**entry, "apiVersion": version, "fieldsV1": fields}
    return new_entry(manager, "Apply", version, fields)


def created_entry(obj: dict[str, Any], manager: str, version: str, schema: Type) -> dict[str, Any]:
    """The entry of the manager that made the whole object."""
    counted = {name: value for name, value in obj.items() if name != "status" or not schema.status_subresource}
    fields = _over_zero(schema, counted)
    return new_entry(manager, "Update", version, fieldset.difference(fields, UNTRACKED))


def new_entry(manager: str, operation: str, version: str, fields: FieldSet) -> dict[str, Any]:
    """An entry of managedFields as it is before it has a time."""
    return {
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": operation,
    }


def _over_zero(kind: Type, value: Any) -> FieldSet:
    """What is new in a Go struct that is never absent: its fields, not the struct itself."""
    if type(value) is not dict or not value or not kind.separable:
        return whole_set(kind, value)
    out: FieldSet = {}
    for name, inner in value.items():
        type_ = kind.child[name] or DEDUCED
        if name in kind.zeros:
            subset = _over_zero(type_, inner)
            if subset or (inner and not type_.separable):
                out["f:" + name] = subset
            continue
        must = kind.native and name in kind.written
        if kind.native and (inner is None or (must and inner in ("", 0, False))):
            continue
        subset = whole_set(type_, inner)
        if must and len(subset) > 1:
            # What must be there is there as null in the empty struct.
            subset = {element: part for element, part in subset.items() if element != SELF}
        out["f:" + name] = subset
    return out


def _reconciled(kind: Type, fields: FieldSet) -> FieldSet:
    """Fields recorded under an older schema: what is atomic by now is owned as a whole."""
    out = None
    for element, subset in fields.items():
        if not subset or element == SELF:
            continue
        inner = kind.child[element[2:]] if element[0] == "f" else kind.item if kind.is_list else None
        if inner is None:
            continue
        if inner.is_map:
            atomic = not inner.separable and (inner.scalar != "any" or bool(inner.child.properties))
        else:
            atomic = inner.list_kind == "atomic"
        after = {} if atomic else _reconciled(inner, subset)
        if after is not subset:
            out = dict(fields) if out is None else out
            out[element] = after
    return fields if out is None else out


def _conflicts(
    contested: dict[Identity, FieldSet],
    known: dict[Identity, dict[str, Any]],
    live: dict[str, Any],
    config: dict[str, Any],
    schema: Type,
) -> tuple[Conflict, ...]:
    if not contested:
        return ()
    values: dict[Path, tuple[Any, Any]] = {}
    holders: dict[Path, list[Owner]] = {}
    for who, fields in contested.items():
        owner = owner_of(known[who])
        for path, before, after in _values_of(schema, fields, live, config, ROOT):
            values[path] = before, after
            holders.setdefault(path, []).append(owner)
    return tuple(
        Conflict(path, tuple(sorted(holders[path])), *values[path])
        for path in sorted(holders, key=lambda path: path.sort_key)
    )


def _values_of(kind: Type, fields: FieldSet, live: Any, applied: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Every path of a set, with the values that stand there on both sides."""
    for element, subset in fields.items():
        if element == SELF:
            continue
        step = from_wire(element)
        here = path / step
        inner = (kind.child[step] or DEDUCED) if isinstance(step, str) else kind.item if kind.is_list else DEDUCED
        sides = child_at(kind, live, step), child_at(kind, applied, step)
        if not subset or SELF in subset:
            yield here, *sides
        if subset:
            yield from _values_of(inner, subset, *sides, here)
