"""Reversible requests: each notes the fields that it takes, and restores those that the stack no longer asks for."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path, fieldset
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.kube.merge.managed import UNTRACKED
from modelyard.kube.merge.typed import UnfitError, by_element, field_set
from modelyard.kube.merge.typed import merge as laid_over
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE
from modelyard.plan.ownership import ENGINE_ANNOTATIONS
from modelyard.plan.undo.ledger import (
    ListField,
    ObjectLedger,
    around,
    at,
    covered,
    has,
    in_items,
    is_item,
    items,
    known_ledger,
    leaves,
    ledger_text,
    others,
    ours,
    read_or_none,
    with_owners,
    write_ledger,
)
from modelyard.plan.undo.lists import asked_parts, earlier_ledger, owned_fields
from modelyard.plan.undo.restore import (
    NOTES,
    finished,
    last_entries,
    partial,
    restorable_fields,
    undo,
    values_of,
    with_earlier_owners,
)

_NOTE_FIELDS = fieldset.of(*(Path(("metadata", "annotations", name)) for name in (*NOTES, *ENGINE_ANNOTATIONS)))


class ListItems(NamedTuple):
    """What patches ask for in lists that are sent as a whole."""

    lists: Collection[Path]
    schema: merge.Type
    """The object's type in which these lists merge by item."""
    asked: Mapping[str, Any]
    """The partial object of the patches, with only the items and fields that they set."""


class ReversibleRequest(NamedTuple):
    """What to send instead of a request, so that everything it takes can be restored."""

    request: dict[str, Any]
    """The request with its ledger, and with the earlier values of the restored fields."""
    ledger: ObjectLedger
    """The ledger in the request."""
    given_back: Mapping[Path, tuple[Owner, ...]]
    """The restored fields with their earlier owners; empty for a field that had no owner."""
    forgotten: bool
    """Whether modelyard owns fields whose earlier values are lost."""
    hands_over: bool
    """Whether fields have their earlier values and still wait for their earlier owners."""


def reversible_request(
    live: dict[str, Any],
    asked: dict[str, Any],
    schema: merge.Type,
    copy: str = "",
    *,
    items: ListItems | None = None,
) -> ReversibleRequest:
    """The request and the ledger of an object.

    Args:
        live: the object now.
        asked: what the patches ask for, in the form that the API server stores.
        schema: the object's type.
        copy: the ledger in the engine's state, for fields without a readable ledger entry on the object.
        items: the lists that are sent as a whole, although the patches change only some of their items.
    """
    noted, items = ledger_text(live), items or ListItems((), schema, {})
    waiting = with_earlier_owners(live, known_ledger(live)) is not live
    # A copied object, or one that was restored by other means, may still carry a ledger; it is not valid.
    carried = read_or_none(noted) if ours(live) else None
    known = known_ledger(live, copy) if ours(live) else ObjectLedger()
    before = earlier_ledger(live, known, items.lists, items.schema)
    mine, theirs = owned_fields(live, before)
    try:
        wanted = fieldset.difference(fieldset.difference(field_set(schema, asked), UNTRACKED), _NOTE_FIELDS)
    except UnfitError:
        # The apply itself reports the error.
        return ReversibleRequest(request=asked, ledger=before, given_back={}, forgotten=False, hands_over=waiting)
    back = restorable_fields(before, mine, theirs, wanted)
    last = last_entries(before, mine, theirs, wanted)
    ledger = _taken(_continued(before, mine, wanted, back, last), live, mine, wanted, schema)
    ledger = ledger._replace(lists=_lists(known, before, ledger, asked, items))
    request = _asking(asked, {**back, **values_of(last, live)}, live, schema)
    text = write_ledger(ledger)
    if carried is not None and text != noted and not last and _settled(live, with_note(request, noted), schema):
        # Restored fields stay in the ledger until something else changes, so that an apply without changes sends
        # nothing.
        ledger, text = before, noted
    return ReversibleRequest(
        request=with_note(request, text),
        ledger=ledger,
        given_back={path: ledger.owners_of(path) for path in back if not is_item(path)},
        forgotten=carried is None and bool(_unknown(live, before)),
        hands_over=waiting,
    )


def _lists(
    known: ObjectLedger, before: ObjectLedger, ledger: ObjectLedger, asked: dict[str, Any], items: ListItems
) -> dict[Path, tuple[ListField, ...]]:
    """The fields that the patches set in lists: those of this request, and those of lists that it restores.

    A field that another manager has set since keeps its earliest value, as outside of lists.
    """
    held = dict(ledger.values)
    first = {
        part.path: part.before
        for path, parts in known.lists.items()
        if not has(known.to_hand_over, path)
        for part in parts
    }
    returning = {path: parts for path, parts in before.lists.items() if has(ledger.to_hand_over, path)}
    given = {
        path: asked_parts(path, items.asked, at(asked, path), held[path], items.schema)
        for path in items.lists
        if path in held
    }
    kept = {
        path: tuple(part._replace(before=first.get(part.path, part.before)) for part in parts)
        for path, parts in given.items()
        if parts
    }
    return {**returning, **kept}


def _unknown(live: dict[str, Any], ledger: ObjectLedger) -> FieldSet:
    """The fields that only modelyard owns and whose earlier values are not in the ledger."""
    alone = fieldset.difference(fieldset.difference(ours(live), others(live)), _NOTE_FIELDS)
    return fieldset.difference(alone, covered(ledger))


def _continued(
    before: ObjectLedger, mine: FieldSet, wanted: FieldSet, back: Mapping[Path, Any], last: FieldSet
) -> ObjectLedger:
    """The entries of a ledger that still count: fields that are asked for again, and fields that are restored now.

    A field that was restored and is asked for again counts as never taken.
    """

    def counts(path: Path) -> bool:
        return path in back or (has(wanted, path) and (has(mine, path) or not has(before.to_hand_over, path)))

    held = tuple((path, value) for path, value in before.values if counts(path))
    there = [path for path in items(before.items) if counts(path)]
    members = in_items([*(path for path, _ in held), *there])
    owners = [each._replace(fields=fieldset.intersection(each.fields, members)) for each in before.owners]
    removed = fieldset.difference(before.to_hand_over, mine)
    absent = fieldset.union(fieldset.intersection(fieldset.difference(before.absent, removed), wanted), last)
    return ObjectLedger(
        values=held,
        items=fieldset.of(*there),
        absent=absent,
        owners=tuple(each for each in owners if each.fields),
        to_hand_over=fieldset.union(fieldset.difference(in_items(back), wanted), last),
        empty=around(before.empty, fieldset.paths(absent)),
    )


def _taken(
    ledger: ObjectLedger, live: dict[str, Any], mine: FieldSet, wanted: FieldSet, schema: merge.Type
) -> ObjectLedger:
    """The ledger, with the fields that a request takes and that the ledger lacks."""
    noted = [*(path for path, _ in ledger.values), *items(ledger.items)]
    new = fieldset.difference(fieldset.difference(wanted, mine), fieldset.union(in_items(noted), ledger.absent))
    values = {path: _value(schema, live, path) for path in leaves(new)}
    there = {path: merge.value_at(schema, live, path) for path in items(new)}
    missing = [path for path, value in (*values.items(), *there.items()) if value is merge.ABSENT]
    held = (*ledger.values, *((path, value) for path, value in values.items() if value is not merge.ABSENT))
    return ledger._replace(
        values=tuple(sorted(held, key=lambda pair: pair[0].sort_key)),
        items=fieldset.union(
            ledger.items, fieldset.of(*(path for path, value in there.items() if value is not merge.ABSENT))
        ),
        absent=fieldset.union(ledger.absent, fieldset.of(*missing)),
        owners=with_owners(ledger.owners, live, new),
        empty=fieldset.union(ledger.empty, fieldset.of(*_empty(schema, live, missing))),
    )


def _empty(schema: merge.Type, live: dict[str, Any], missing: Iterable[Path]) -> Iterator[Path]:
    """The empty maps and lists of a custom resource in which missing fields would be the first entries."""
    for path in missing:
        around_it = (Path(path[:depth]) for depth in range(len(path) - 1, 0, -1))
        place = next((one for one in around_it if merge.value_at(schema, live, one) is not merge.ABSENT), None)
        if place is not None and merge.value_at(schema, live, place) in ({}, []) and not _type_at(schema, place).native:
            yield place


def _value(schema: merge.Type, live: dict[str, Any], path: Path) -> Any:
    """The value of a field as it is owned; of a map or list that is owned in parts, only the fact that it exists."""
    value = merge.value_at(schema, live, path)
    if not isinstance(value, dict | list):
        return value
    kind = _type_at(schema, path)
    whole = not kind.separable if isinstance(value, dict) else kind.list_kind == "atomic"
    return value if whole else type(value)()


def _type_at(schema: merge.Type, path: Path) -> merge.Type:
    kind: Any = schema
    for element in path:
        kind = kind.child[element] if isinstance(element, str) else kind.item
    return cast("merge.Type", kind)


def _settled(live: dict[str, Any], request: dict[str, Any], schema: merge.Type) -> bool:
    """Whether a request changes at most the owners of fields."""
    after = merge.server_side(live, request, FIELD_MANAGER, schema, force=True).object
    return all(change.path[:2] == ("metadata", "managedFields") for change in merge.diff(live, after, schema))


def with_note(request: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A request that carries a ledger."""
    metadata = request["metadata"]
    annotations = {**(metadata.get("annotations") or {}), LEDGER_NOTE: text}
    return {**request, "metadata": {**metadata, "annotations": annotations}}


def _asking(
    asked: dict[str, Any], values: Mapping[Path, Any], live: dict[str, Any], schema: merge.Type
) -> dict[str, Any]:
    """The request with more values; list items keep their current order."""
    if not values:
        return asked
    found: dict[str, Any] = _as_listed(live, laid_over(schema, asked, partial(values, live)), schema)
    return found


def _as_listed(live: Any, value: Any, kind: merge.Type) -> Any:
    """``value`` with the items of its lists in the order of those of ``live``; new items keep their place."""
    if isinstance(value, dict) and isinstance(live, dict) and kind.separable:
        return {name: _as_listed(live.get(name), inner, kind.child[name] or kind) for name, inner in value.items()}
    if isinstance(value, list) and isinstance(live, list) and kind.list_kind == "map":
        there, here = by_element(kind, live), by_element(kind, value)
        known = iter([element for element in there if element in here])
        turns = [next(known) if element in there else element for element in here]
        return [_as_listed(there.get(element), here[element], kind.item) for element in turns]
    return value


def put_back(body: dict[str, Any], schema: merge.Type) -> tuple[dict[str, Any], Mapping[Path, tuple[Owner, ...]]]:
    """An object after its undo, and the restored fields with their owners; the object itself if the API server would
    reject the undo.
    """
    plan = undo(body, known_ledger(body))
    if plan is None:
        return body, {}
    try:
        released = merge.server_side(body, plan.request, FIELD_MANAGER, schema, force=True).object
    except merge.MergeError:
        return body, {}
    return finished(released, plan.ledger), gets_back(plan.ledger)


def gets_back(ledger: ObjectLedger) -> dict[Path, tuple[Owner, ...]]:
    """The fields that an undo restores, with their owners."""
    return {path: ledger.owners_of(path) for path, _ in ledger.values if has(ledger.to_hand_over, path)}
