"""The ledger of a target: what its fields held before we took them, and who held them.

It travels with the object, as the annotation ``modelyard.dev/ledger``, so that a reader of the object sees what
an undo would put back. A field that was not there before, or of which nothing is known, is one that an undo drops.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.files import parse_json
from modelyard.kube.merge import Key, Owner, Path, fieldset
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.kube.merge.managed import entries, identity, owner_of
from modelyard.kube.state import annotations_of
from modelyard.names import LEDGER_NOTE
from modelyard.plan.ownership import FIELD_MANAGER

FORMAT_VERSION = 1


class LedgerError(Exception):
    """A ledger that cannot be read: why."""


class Earlier(NamedTuple):
    """Somebody who held fields before us."""

    entry: Mapping[str, str]
    """His entry of managedFields, but for its fields: manager, operation, apiVersion, subresource, time."""
    fields: FieldSet
    """Of the fields that we took, those that he held, with the list items that they stand in."""

    @property
    def owner(self) -> Owner:
        """The same as plans tell him."""
        return owner_of(self.entry)


class Ledger(NamedTuple):
    """What an undo of one object needs to know."""

    held: tuple[tuple[Path, Any], ...] = ()
    """Fields that were there before, with the value that they had; sorted by path."""
    items: FieldSet = {}  # noqa: RUF012 - sets are never changed
    """List items that were there before."""
    absent: FieldSet = {}  # noqa: RUF012
    """Fields and list items that were not there."""
    owners: tuple[Earlier, ...] = ()
    returning: FieldSet = {}  # noqa: RUF012
    """What nobody asks for any more: set back already, and waiting to be handed to its earlier owners."""

    def owners_of(self, path: Path) -> tuple[Owner, ...]:
        """Who held a field before."""
        wanted = fieldset.of(path)
        return tuple(sorted(each.owner for each in self.owners if fieldset.contains(each.fields, wanted)))


def write_ledger(ledger: Ledger) -> str:
    """The ledger as one line of JSON: the same ledger always gives the same text."""
    return json.dumps(
        {
            "formatVersion": FORMAT_VERSION,
            "held": [[str(path), value] for path, value in ledger.held],
            "items": ledger.items,
            "absent": ledger.absent,
            "owners": [[dict(each.entry), each.fields] for each in ledger.owners],
            "returning": ledger.returning,
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def read_ledger(text: str) -> Ledger:
    """The ledger that a text holds.

    Raises:
        LedgerError: the text is no ledger, or one of a newer modelyard.
    """
    try:
        document = parse_json(text)
        if document["formatVersion"] != FORMAT_VERSION:
            raise LedgerError(
                f"it has formatVersion {document['formatVersion']}, this modelyard reads {FORMAT_VERSION}"
            )
        return Ledger(
            tuple((Path.parse(path), value) for path, value in document["held"]),
            _set(document["items"]),
            _set(document["absent"]),
            tuple(Earlier(_entry(entry), _set(fields)) for entry, fields in document["owners"]),
            _set(document["returning"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerError(f"it is not what modelyard writes: {error}") from error


def _set(value: Any) -> FieldSet:
    tuple(fieldset.paths(value))  # fails on what is no set
    return dict(value)


def _entry(value: Mapping[str, Any]) -> Mapping[str, str]:
    if not (isinstance(value["manager"], str) and isinstance(value["operation"], str)):
        raise TypeError("an owner without a name")
    return {name: str(text) for name, text in value.items()}


def read_or_none(text: str) -> Ledger | None:
    """The ledger that a text holds, None where it holds none that can be read."""
    try:
        return read_ledger(text) if text else None
    except LedgerError:
        return None


def known_ledger(body: Mapping[str, Any], noted: str = "") -> Ledger:
    """The ledger that an object carries, and of fields of ours that it does not know, the one that was ``noted``
    elsewhere. One that cannot be read is none.
    """
    carried, copy = read_or_none(ledger_text(body)), read_or_none(noted)
    if carried is None or copy is None:
        return carried or copy or Ledger()
    return filled(carried, copy, ours(body))


def ledger_text(body: Mapping[str, Any]) -> str:
    """The ledger that an object carries, as text; empty where it carries none."""
    return str(annotations_of(body).get(LEDGER_NOTE) or "")


def without_ledger(body: dict[str, Any]) -> dict[str, Any]:
    """The object without its ledger, for who shows or hands out the object itself."""
    if not ledger_text(body):
        return body
    annotations = {name: text for name, text in annotations_of(body).items() if name != LEDGER_NOTE}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def ledger_of(body: Mapping[str, Any]) -> Ledger:
    """The ledger that an object carries, an empty one where it carries none.

    Raises:
        LedgerError: it carries something else.
    """
    text = ledger_text(body)
    return read_ledger(text) if text else Ledger()


def ours(body: Mapping[str, Any]) -> FieldSet:
    """The fields that we hold of an object."""
    found: FieldSet = {}
    for entry in entries(body):
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource"):
            found = fieldset.union(found, entry.get("fieldsV1") or {})
    return found


def others(body: Mapping[str, Any]) -> FieldSet:
    """The fields that anybody else holds."""
    found: FieldSet = {}
    for entry in entries(body):
        if entry.get("manager") != FIELD_MANAGER:
            found = fieldset.union(found, entry.get("fieldsV1") or {})
    return found


def has(fields: FieldSet, path: Path) -> bool:
    """Whether a path is in a set."""
    return fieldset.contains(fields, fieldset.of(path))


def in_items(paths: Iterable[Path]) -> FieldSet:
    """The set of these paths, and of the list items that they stand in, with the fields that identify those.

    It is what somebody owns who applies just these fields.
    """
    members: dict[Path, None] = {}
    for path in paths:
        members[path] = None
        for depth, element in enumerate(path, 1):
            if isinstance(element, Key):
                item = Path(path[:depth])
                members |= dict.fromkeys((item, *(item / name for name, _ in element.fields)))
    return fieldset.of(*members)


def is_item(path: Path) -> bool:
    """Whether a path leads to an item of a list, which is owned apart from its fields."""
    return isinstance(path[-1], Key)


def leaves(fields: FieldSet) -> Iterator[Path]:
    """The members that hold a value of their own: no list items, nor the fields that identify those."""
    for path in fieldset.paths(fields):
        before = path[-2] if len(path) > 1 else None
        if not is_item(path) and not (isinstance(before, Key) and path[-1] in dict(before.fields)):
            yield path


def items(fields: FieldSet) -> Iterator[Path]:
    """The members that are list items."""
    return filter(is_item, fieldset.paths(fields))


def covered(ledger: Ledger) -> FieldSet:
    """The fields and list items of which a ledger says what they were."""
    return fieldset.union(in_items([*(path for path, _ in ledger.held), *items(ledger.items)]), ledger.absent)


def filled(ledger: Ledger, older: Ledger, among: FieldSet | None = None) -> Ledger:
    """The ledger with what an older one of the object knows and it does not, as after it was lost in between.

    What has gone back by the older one does not count any more. ``among`` are the fields that are asked about; None for
    all.
    """
    held = dict(ledger.held)

    def counts(path: Path) -> bool:
        known = path in held or has(ledger.items, path) or has(ledger.absent, path) or has(older.returning, path)
        return not known and (among is None or has(among, path))

    more = [(path, value) for path, value in older.held if counts(path)]
    there = [path for path in items(older.items) if counts(path)]
    missing = [path for path in fieldset.paths(older.absent) if counts(path)]
    members = in_items([*(path for path, _ in more), *there])
    owners = {identity(each.entry): each for each in ledger.owners}
    for each in older.owners:
        fields = fieldset.intersection(each.fields, members)
        known = owners.get(identity(each.entry))
        if fields:
            owners[identity(each.entry)] = (
                each._replace(fields=fields)
                if known is None
                else known._replace(fields=fieldset.union(known.fields, fields))
            )
    return ledger._replace(
        held=tuple(sorted((*ledger.held, *more), key=lambda pair: pair[0].sort_key)),
        items=fieldset.union(ledger.items, fieldset.of(*there)),
        absent=fieldset.union(ledger.absent, fieldset.of(*missing)),
        owners=tuple(each for _, each in sorted(owners.items())),
    )


def with_owners(owners: Iterable[Earlier], body: Mapping[str, Any], new: FieldSet) -> tuple[Earlier, ...]:
    """The owners, and those whom an object's managedFields name for the fields of ``new``."""
    found = {identity(each.entry): each for each in owners}
    for entry in entries(body):
        fields = fieldset.intersection(entry.get("fieldsV1") or {}, new)
        if fields and entry.get("manager") != FIELD_MANAGER:
            known = found.get(identity(entry))
            kept = {name: str(value) for name, value in entry.items() if name != "fieldsV1"}
            found[identity(entry)] = Earlier(kept, fieldset.union(known.fields, fields) if known else fields)
    return tuple(each for _, each in sorted(found.items()))
