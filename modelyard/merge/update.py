"""Ownership after ordinary writes: creates, updates and patches that are not applies.

Whoever changes a field this way owns it from then on, and everyone else loses it.
"""

from typing import Any

from modelyard.merge import fieldset
from modelyard.merge.errors import MergeError, depth_checked
from modelyard.merge.fieldset import SELF, FieldSet
from modelyard.merge.managed import UNTRACKED, entries, identity, with_entries
from modelyard.merge.metadata import foreign, settled
from modelyard.merge.stored import stored, without_refused_nulls
from modelyard.merge.typed import UnfitError, compare, whole_set
from modelyard.merge.types import DEDUCED, Type
from modelyard.merge.validate import unfit

BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager to which the API server gives all fields of an object whose ownership nobody tracked."""


@depth_checked
def update(live: dict[str, Any] | None, new: dict[str, Any], manager: str, schema: Type) -> dict[str, Any]:
    """``new`` as the API server holds it after ``manager`` wrote it over ``live`` (None: created it).

    ``new`` is a whole object, such as ``live`` with a merge patch laid over it. Its managedFields are set but for the
    time of ``manager``'s entry. An object that is not tracked (it has no managedFields) stays so, and one whose
    managedFields ``new`` empties is tracked no more. Not done: the server keeps at most ten updaters and folds the
    oldest into one.

    Raises:
        MergeError: ``new`` is not of the schema's type, or names another object than ``live`` or another version of it.
    """
    metadata, known = new.get("metadata"), (live or {}).get("metadata")
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict):
        raise unfit(new, schema)
    if known and (errors := foreign(metadata, known)):
        raise MergeError(errors)
    forgets = metadata.get("managedFields") in ([], [{}])
    new = settled(new, live)
    if schema.status_subresource:
        new = {name: value for name, value in new.items() if name != "status"}
        new |= {"status": live["status"]} if live and "status" in live else {}
    new = stored(schema, without_refused_nulls(schema, new, live), live)
    version = str(new.get("apiVersion", ""))
    try:
        if live is None:
            entry = created_entry(new, manager, version, schema)
            return with_entries(new, [entry] if entry["fieldsV1"] else [], entry)
        if forgets or not entries(live):
            return with_entries(new, [])
        change = compare(schema, live, new)
    except UnfitError:
        raise unfit(new, schema) from None
    touched = fieldset.union(change.modified, change.added)
    removed = change.removed
    mine = (manager, "Update", version, "")
    sets = {identity(entry): (entry, entry.get("fieldsV1") or {}) for entry in entries(live)}
    result = []
    for who, (entry, fields) in sets.items():
        left = fieldset.difference(fieldset.difference(fields, removed), {} if who == mine else touched)
        if who != mine and left:
            result.append(entry if left == fields else {**entry, "fieldsV1": left})
    own_entry, own = sets.get(mine, ({}, {}))
    taken = fieldset.difference(touched, UNTRACKED)
    left = fieldset.union(fieldset.difference(own, removed), taken)
    latest = own_entry if own_entry and not taken and left == own else _entry(manager, version, left)
    return with_entries(new, [*result, latest] if left else result, latest)


def created_entry(obj: dict[str, Any], manager: str, version: str, schema: Type) -> dict[str, Any]:
    """The entry of whoever made the whole object."""
    fields: FieldSet = {}
    for name, value in obj.items():
        if (name != "status" or not schema.status_subresource) and not (name in schema.zeros and value == {}):
            kind = schema.child[name] or DEDUCED
            fields["f:" + name] = _over_zero(kind, value) if name in schema.zeros else whole_set(kind, value)
    return _entry(manager, version, fieldset.difference(fields, UNTRACKED))


def _entry(manager: str, version: str, fields: FieldSet) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
    }


def _over_zero(kind: Type, value: Any) -> FieldSet:
    """What is new in a Go struct that is never absent: its fields, not the struct itself."""
    if type(value) is not dict or not value or not kind.separable:
        return whole_set(kind, value)
    out: FieldSet = {}
    for name, inner in value.items():
        type_ = kind.child[name] or DEDUCED
        if name in kind.zeros:
            if inner != {}:
                out["f:" + name] = _over_zero(type_, inner)
            continue
        if name in kind.required and inner is None:
            continue
        subset = whole_set(type_, inner)
        if name in kind.required and len(subset) > 1:
            # What must be there is there as null in the empty struct.
            subset = {element: part for element, part in subset.items() if element != SELF}
        out["f:" + name] = subset
    return out
