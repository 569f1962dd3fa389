"""Restores fields: first the earlier values, by an apply that still sets them, then the owners, by a separate write.

No single write does both. An apply cannot name another owner, and the API server makes the writer of a value its owner.
In between, modelyard owns the fields with their earlier values, so that no default ever takes effect and pods are
replaced once.

An apply that drops the last entry of a map or list leaves null, which a custom resource rejects. So the apply keeps the
entries of a map or list that was empty before, and the second write removes them.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

from modelyard.kube import merge
from modelyard.kube.merge import Key, Owner, Path, fieldset
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.kube.merge.managed import entries, identity, with_entries
from modelyard.kube.state import annotations_of
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE, STACK_NOTE
from modelyard.plan.ownership import MODE_ANNOTATION, PATCHES_ANNOTATION
from modelyard.plan.undo.ledger import (
    ObjectLedger,
    at,
    below,
    has,
    in_items,
    items,
    leaves,
    ours,
    replaced,
    write_ledger,
)
from modelyard.plan.undo.lists import owned_fields, present

NOTES = (PATCHES_ANNOTATION, MODE_ANNOTATION, STACK_NOTE, LEDGER_NOTE)
"""Annotations that only modelyard writes."""


def partial(values: Mapping[Path, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """The object with only some fields, and the keys of the list items around them.

    A path that ends at a list item adds the item only; its value is ignored. Items keep their order from ``live``,
    because an apply would otherwise reorder them.
    """
    out: dict[str, Any] = {}
    for path in sorted(values, key=lambda path: _place(path, live)):
        node: Any = out
        for element, following in zip(path, (*path[1:], None), strict=True):
            # A list starts where the next element leads into one.
            empty: Any = copy(values[path]) if following is None else {} if isinstance(following, str) else []
            if isinstance(element, str):
                node = node.setdefault(element, empty)
            elif isinstance(element, Key):
                item = next((one for one in node if dict(element.fields).items() <= one.items()), None)
                if item is None:
                    item = dict(element.fields)
                    node.append(item)
                node = item
            elif isinstance(element, merge.Value):
                node.append(element.value)
    return out


def _place(path: Path, live: Any) -> tuple[tuple[int, str], ...]:
    """Orders paths by their place in an object: fields by name, list items by position."""
    place = []
    for element in path:
        if isinstance(element, str):
            place.append((0, element))
            live = live.get(element) if isinstance(live, Mapping) else None
        elif isinstance(element, Key):
            there = live if isinstance(live, list) else []
            wanted = dict(element.fields).items()
            found = next((n for n, one in enumerate(there) if isinstance(one, dict) and wanted <= one.items()), None)
            place.append((len(there) if found is None else found, str(Path((element,)))))
            live = None if found is None else there[found]
        else:
            place.append((0, str(Path((element,)))))
    return tuple(place)


def restorable_fields(ledger: ObjectLedger, mine: FieldSet, theirs: FieldSet, wanted: FieldSet) -> dict[Path, Any]:
    """The fields and items of a ledger to restore: those that only modelyard owns, and that are no longer wanted.

    A field that another manager also owns is simply dropped: it keeps that manager's value.
    """
    held = {path: value for path, value in ledger.values if _due(path, mine, theirs, wanted)}
    return {**{path: {} for path in items(ledger.items) if _due(path, mine, theirs, wanted)}, **held}


def _due(path: Path, mine: FieldSet, theirs: FieldSet, wanted: FieldSet) -> bool:
    return has(mine, path) and not has(theirs, path) and not has(wanted, path)


def last_entries(ledger: ObjectLedger, mine: FieldSet, theirs: FieldSet, wanted: FieldSet) -> FieldSet:
    """The fields in maps and lists that were empty before and that are to be empty again."""
    members: list[Path] = []
    for path in fieldset.paths(ledger.empty):
        if not any(below(theirs, path)) and not any(below(wanted, path)):
            members += below(mine, path)
    return fieldset.of(*members)


def values_of(fields: FieldSet, live: Mapping[str, Any]) -> dict[Path, Any]:
    """The present values of fields, in the form that ``partial`` takes; a map that is owned in parts is its parts."""
    return {
        path: {} if isinstance(path[-1], Key) else at(live, path)
        for path in fieldset.paths(fields)
        if not any(below(fields, path))
    }


def with_earlier_owners(body: dict[str, Any], ledger: ObjectLedger) -> dict[str, Any]:
    """The object with the waiting fields owned by their earlier owners; the same object if none waits.

    Only managedFields change, and the maps and lists that are to be empty again. Fields that modelyard no longer owns
    are left alone.
    """
    back = fieldset.intersection(ledger.to_hand_over, ours(body))
    return _owned_anew(body, back, back, ledger) if back else body


def _owned_anew(body: dict[str, Any], drop: FieldSet, back: FieldSet, ledger: ObjectLedger) -> dict[str, Any]:
    """The object with ``drop`` no longer owned by modelyard, with ``back`` owned by the earlier owners, and without the
    entries in ``back`` of maps and lists that were empty.
    """
    left: list[dict[str, Any]] = []
    gets = {identity(each.entry): fieldset.intersection(each.fields, back) for each in ledger.owners}
    for entry in entries(body):
        fields = entry.get("fieldsV1") or {}
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource"):
            fields = fieldset.difference(fields, drop)
        else:
            fields = fieldset.union(fields, gets.pop(identity(entry), {}))
        if fields:
            left.append({**entry, "fieldsV1": fields})
    gone = {identity(each.entry): each.entry for each in ledger.owners}
    left += [{**gone[who], "fieldsV1": fields} for who, fields in gets.items() if fields]
    for path in fieldset.paths(ledger.empty):
        there = at(body, path)
        if any(below(back, path)) and isinstance(there, dict | list):
            body = replaced(body, path, type(there)())
    return with_entries(body, left)


class Undo(NamedTuple):
    """How to restore an object."""

    request: dict[str, Any]
    """What to apply: drops fields that did not exist before, except the last entries of maps and lists, and sets the
    earlier values of the others.
    """
    ledger: ObjectLedger
    """The ledger after the undo: every field is returning."""
    left: Mapping[Path, tuple[Owner, ...]]
    """Fields that stay as they are, because another manager owns them now."""


def undo(body: dict[str, Any], ledger: ObjectLedger) -> Undo | None:
    """How to restore an object; None if modelyard owns nothing of it.

    Needs no schema, so an undo works without the program that wrote the ledger.
    """
    if not ours(body):
        return None
    left = foreign(body, ledger)
    ledger = present(body, ledger)
    mine, theirs = owned_fields(body, ledger)
    back, last = restorable_fields(ledger, mine, theirs, {}), last_entries(ledger, mine, theirs, {})
    request = partial({**back, **values_of(last, body)}, body)
    names = ("name", "namespace", "resourceVersion")
    metadata = {name: body["metadata"][name] for name in names if name in body["metadata"]}
    more = request.pop("metadata", {})
    # Until everything is restored, the object carries the ledger of what to restore.
    notes = {**more.pop("annotations", {}), LEDGER_NOTE: write_ledger(ledger)}
    return Undo(
        {
            "apiVersion": body["apiVersion"],
            "kind": body["kind"],
            **request,
            "metadata": {**more, **metadata, "annotations": notes},
        },
        ledger._replace(to_hand_over=fieldset.union(in_items(back), last)),
        left,
    )


def finished(body: dict[str, Any], ledger: ObjectLedger) -> dict[str, Any]:
    """The object after its undo, without a trace of modelyard: with earlier owners, and without annotations."""
    mine = ours(body)
    after = _owned_anew(body, mine, fieldset.intersection(ledger.to_hand_over, mine), ledger)
    annotations = {name: text for name, text in annotations_of(after).items() if name not in NOTES}
    metadata = {name: value for name, value in after["metadata"].items() if name != "annotations"}
    return {**after, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def foreign(body: Mapping[str, Any], ledger: ObjectLedger) -> dict[Path, tuple[Owner, ...]]:
    """Fields of a ledger that another manager set after modelyard, with their current owners.

    After a scale to 0, ``spec.replicas`` has no owner, because the API server records none.
    """
    mine, _ = owned_fields(body, present(body, ledger))
    found: dict[Path, tuple[Owner, ...]] = {}
    for path, parts in ledger.lists.items():
        changed = [part.path for part in parts if at(body, part.path) not in (part.given, part.before)]
        if changed and not has(ledger.to_hand_over, path):
            found |= dict.fromkeys(changed, tuple(merge.owners(body, path)))
    for path, value in (*ledger.values, *((path, merge.ABSENT) for path in leaves(ledger.absent))):
        if not has(mine, path) and not has(ledger.to_hand_over, path):
            owners = tuple(owner for owner in merge.owners(body, path) if owner.manager != FIELD_MANAGER)
            there = at(body, path)
            as_before = there == value and {who[:3] for who in owners} <= {who[:3] for who in ledger.owners_of(path)}
            if not as_before and (owners or (value is not merge.ABSENT and there is not merge.ABSENT)):
                found[path] = owners
    return found
