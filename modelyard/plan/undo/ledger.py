"""The ledger of a target: the values and owners that its fields had before modelyard took them.

The ledger is on the object, as the annotation ``modelyard.dev/ledger``, so that a reader of the object sees what an
undo would restore. An undo drops a field that did not exist before, or whose earlier value is unknown.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.files import parse_json, wrong_form
from modelyard.kube.merge import ABSENT, Key, Owner, Path, fieldset
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.kube.merge.managed import entries, identity, owner_of
from modelyard.kube.state import annotations_of
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE

FORMAT_VERSION = 1


class LedgerError(Exception):
    """A ledger that cannot be read, and why."""


class EarlierManager(NamedTuple):
    """A manager that owned fields before modelyard took them."""

    entry: Mapping[str, str]
    """The owner's entry of managedFields without its fields: manager, operation, apiVersion, subresource, time."""
    fields: FieldSet
    """The fields that modelyard took from this owner, with the list items around them."""

    @property
    def owner(self) -> Owner:
        """The owner as plans show it."""
        return owner_of(self.entry)


class ListField(NamedTuple):
    """A field that a patch set inside a list which is sent as a whole."""

    path: Path
    before: Any
    """The value without the patches; ``merge.ABSENT`` if the field would not exist."""
    given: Any
    """The value that the patches gave it."""


class ObjectLedger(NamedTuple):
    """What an undo of one object needs to know."""

    values: tuple[tuple[Path, Any], ...] = ()
    """Fields that existed before, with their values; sorted by path."""
    items: FieldSet = {}  # noqa: RUF012 - sets are never changed
    """List items that existed before."""
    absent: FieldSet = {}  # noqa: RUF012
    """Fields and list items that did not exist before."""
    owners: tuple[EarlierManager, ...] = ()
    to_hand_over: FieldSet = {}  # noqa: RUF012
    """Fields that no patch asks for any more: their earlier values are restored, their earlier owners are not yet."""
    empty: FieldSet = {}  # noqa: RUF012
    """Maps and lists of a custom resource that existed before and were empty."""
    lists: Mapping[Path, tuple[ListField, ...]] = {}
    """Lists that are sent as a whole, with the fields that the patches set in them."""

    def owners_of(self, path: Path) -> tuple[Owner, ...]:
        """The earlier owners of a field."""
        wanted = fieldset.of(path)
        return tuple(sorted(each.owner for each in self.owners if fieldset.contains(each.fields, wanted)))


def write_ledger(ledger: ObjectLedger) -> str:
    """The ledger as one line of JSON: the same ledger always gives the same text."""
    return json.dumps(
        {
            "formatVersion": FORMAT_VERSION,
            "held": [[str(path), value] for path, value in ledger.values],
            "items": ledger.items,
            "absent": ledger.absent,
            "owners": [[dict(each.entry), each.fields] for each in ledger.owners],
            "returning": ledger.to_hand_over,
            **({"empty": ledger.empty} if ledger.empty else {}),
            **({"lists": _listed(ledger.lists)} if ledger.lists else {}),
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def read_ledger(text: str) -> ObjectLedger:
    """The ledger from a text.

    Raises:
        LedgerError: the text is no ledger, or is from a newer modelyard.
    """
    try:
        document = parse_json(text)
        if document["formatVersion"] != FORMAT_VERSION:
            raise LedgerError(
                f"it has formatVersion {document['formatVersion']}; this modelyard reads {FORMAT_VERSION}"
            )
        return ObjectLedger(
            values=tuple((Path.parse(path), value) for path, value in document["held"]),
            items=_set(document["items"]),
            absent=_set(document["absent"]),
            owners=tuple(EarlierManager(_entry(entry), _set(fields)) for entry, fields in document["owners"]),
            to_hand_over=_set(document["returning"]),
            empty=_set(document.get("empty", {})),
            lists={Path.parse(path): tuple(map(_part, parts)) for path, parts in document.get("lists", ())},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerError(f"modelyard did not write it: {wrong_form(error)}") from error


def _listed(lists: Mapping[Path, tuple[ListField, ...]]) -> list[Any]:
    """The lists as JSON; a field that would not exist has no earlier value."""
    return [
        [str(path), [[str(one.path), one.given, *([] if one.before is ABSENT else [one.before])] for one in parts]]
        for path, parts in sorted(lists.items(), key=lambda pair: pair[0].sort_key)
    ]


def _part(value: Any) -> ListField:
    path, given, *before = value
    return ListField(Path.parse(path), before[0] if before else ABSENT, given)


def _set(value: Any) -> FieldSet:
    tuple(fieldset.paths(value))  # fails if the value is no set
    return dict(value)


def _entry(value: Mapping[str, Any]) -> Mapping[str, str]:
    if not (isinstance(value["manager"], str) and isinstance(value["operation"], str)):
        raise TypeError("an owner without a name")
    return {name: str(text) for name, text in value.items()}


def read_or_none(text: str) -> ObjectLedger | None:
    """The ledger from a text; None if the text is no ledger."""
    try:
        return read_ledger(text) if text else None
    except LedgerError:
        return None


def known_ledger(body: Mapping[str, Any], noted: str = "") -> ObjectLedger:
    """An object's ledger, with entries of ``noted`` for fields that modelyard owns; an unreadable ledger counts as
    empty.
    """
    carried, copy = read_or_none(ledger_text(body)), read_or_none(noted)
    if carried is None or copy is None:
        return carried or copy or ObjectLedger()
    return filled(carried, copy, ours(body))


def ledger_text(body: Mapping[str, Any]) -> str:
    """The ledger that an object carries, as text; empty if it carries none."""
    return str(annotations_of(body).get(LEDGER_NOTE) or "")


def without_ledger(body: dict[str, Any]) -> dict[str, Any]:
    """The object without its ledger, for reports and exports of the object itself."""
    if not ledger_text(body):
        return body
    annotations = {name: text for name, text in annotations_of(body).items() if name != LEDGER_NOTE}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def ledger_of(body: Mapping[str, Any]) -> ObjectLedger:
    """The ledger that an object carries; an empty one if it carries none.

    Raises:
        LedgerError: the annotation is no ledger.
    """
    text = ledger_text(body)
    return read_ledger(text) if text else ObjectLedger()


def ours(body: Mapping[str, Any]) -> FieldSet:
    """The fields of an object that modelyard owns."""
    found: FieldSet = {}
    for entry in entries(body):
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource"):
            found = fieldset.union(found, entry.get("fieldsV1") or {})
    return found


def others(body: Mapping[str, Any]) -> FieldSet:
    """The fields of an object that other managers own."""
    found: FieldSet = {}
    for entry in entries(body):
        if entry.get("manager") != FIELD_MANAGER:
            found = fieldset.union(found, entry.get("fieldsV1") or {})
    return found


def has(fields: FieldSet, path: Path) -> bool:
    """Whether a path is in a set."""
    return fieldset.contains(fields, fieldset.of(path))


def in_items(paths: Iterable[Path]) -> FieldSet:
    """The set of these paths and of the list items around them, with the fields that identify those items.

    A manager that applies only these fields owns this set.
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
    """Whether a path leads to a list item, which is owned separately from its fields."""
    return isinstance(path[-1], Key)


def leaves(fields: FieldSet) -> Iterator[Path]:
    """The members with their own value: no list items, and no fields that identify those."""
    for path in fieldset.paths(fields):
        before = path[-2] if len(path) > 1 else None
        if not is_item(path) and not (isinstance(before, Key) and path[-1] in dict(before.fields)):
            yield path


def items(fields: FieldSet) -> Iterator[Path]:
    """The members that are list items."""
    return filter(is_item, fieldset.paths(fields))


def below(fields: FieldSet, path: Path) -> Iterator[Path]:
    """The members of a set that are inside a map or list."""
    return (member for member in fieldset.paths(fields) if len(member) > len(path) and member[: len(path)] == path)


def covered(ledger: ObjectLedger) -> FieldSet:
    """The fields and list items whose earlier values a ledger has."""
    return fieldset.union(in_items([*(path for path, _ in ledger.values), *items(ledger.items)]), ledger.absent)


def filled(ledger: ObjectLedger, older: ObjectLedger, among: FieldSet | None = None) -> ObjectLedger:
    """The ledger with entries that only an older ledger of the object has, for example because the newer one was lost.

    Fields that the older ledger lists as returning do not count. ``among`` are the fields to fill; None for all.
    """
    held = dict(ledger.values)

    def counts(path: Path) -> bool:
        known = path in held or has(ledger.items, path) or has(ledger.absent, path) or has(older.to_hand_over, path)
        return not known and (among is None or has(among, path))

    more = [(path, value) for path, value in older.values if counts(path)]
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
        values=tuple(sorted((*ledger.values, *more), key=lambda pair: pair[0].sort_key)),
        items=fieldset.union(ledger.items, fieldset.of(*there)),
        absent=fieldset.union(ledger.absent, fieldset.of(*missing)),
        owners=tuple(each for _, each in sorted(owners.items())),
        empty=fieldset.union(ledger.empty, around(older.empty, missing)),
        lists={**{path: older.lists[path] for path, _ in more if path in older.lists}, **ledger.lists},
    )


def around(empty: FieldSet, members: Iterable[Path]) -> FieldSet:
    """The maps and lists that contain any of the members."""
    inside = fieldset.of(*members)
    return fieldset.of(*(path for path in fieldset.paths(empty) if any(below(inside, path))))


def with_owners(owners: Iterable[EarlierManager], body: Mapping[str, Any], new: FieldSet) -> tuple[EarlierManager, ...]:
    """The owners, plus those that an object's managedFields name for the fields of ``new``."""
    found = {identity(each.entry): each for each in owners}
    for entry in entries(body):
        fields = fieldset.intersection(entry.get("fieldsV1") or {}, new)
        if fields and entry.get("manager") != FIELD_MANAGER:
            known = found.get(identity(entry))
            kept = {name: str(value) for name, value in entry.items() if name != "fieldsV1"}
            found[identity(entry)] = EarlierManager(kept, fieldset.union(known.fields, fields) if known else fields)
    return tuple(each for _, each in sorted(found.items()))


def at(value: Any, path: Path) -> Any:
    """The value at a path, found without a schema; ``ABSENT`` if there is none."""
    for element in path:
        if isinstance(element, str) and isinstance(value, dict):
            value = value.get(element, ABSENT)
        elif isinstance(element, Key) and isinstance(value, list):
            wanted = dict(element.fields).items()
            value = next((one for one in value if isinstance(one, dict) and wanted <= one.items()), ABSENT)
        else:
            return ABSENT
    return value


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a path, of which at most the last field is missing."""
    if not path:
        return new
    element, rest = path[0], Path(path[1:])
    if isinstance(element, Key):
        wanted = dict(element.fields).items()
        return [replaced(one, rest, new) if wanted <= one.items() else one for one in value]
    return {**value, element: replaced(value.get(element), rest, new)}
