"""Lists that the API server takes only as a whole: which fields of their items the patches set.

The API server has one owner for such a list, so its ownership does not show who set a field of an item. The ledger has
these fields one by one. A field that still has the value that a patch gave it is modelyard's, also in a list that
another manager owns; any other field is not, and follows its own manager.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard.kube import merge
from modelyard.kube.merge import Key, Path, fieldset
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.plan.undo.ledger import ListField, ObjectLedger, at, has, in_items, others, ours, with_owners


def parts_of(path: Path, before: Any, after: Any, schema: merge.Type) -> tuple[ListField, ...]:
    """The fields that the second of two values of a list has otherwise than the first.

    Args:
        path: the place of the list.
        before: the earlier list.
        after: the list with the patches.
        schema: the type of the object, in which this list merges by item.
    """
    changes = merge.diff(_alone(path, before), _alone(path, after), schema)
    return tuple(
        ListField(change.path, change.before, change.after)
        for change in changes
        if not change.reordered and change.after is not merge.ABSENT and _leads(change.path)
    )


def asked_parts(
    path: Path, asked: Mapping[str, Any], sent: Any, before: Any, schema: merge.Type
) -> tuple[ListField, ...]:
    """The fields of a list that patches ask for, also those that have the value already.

    Args:
        path: the place of the list.
        asked: the partial object of the patches, with only the items and fields that they set.
        sent: the list in the request.
        before: the list without the patches.
        schema: the type of the object, in which this list merges by item.
    """
    found = []
    lists = _alone(path, before), _alone(path, sent)
    for change in merge.diff(None, _alone(path, at(asked, path)), schema):
        was, given = (merge.value_at(schema, one, change.path) for one in lists)
        last, key = change.path[-1], change.path[-2]
        identifies = isinstance(key, Key) and last in dict(key.fields) and was is not merge.ABSENT
        if not identifies and _leads(change.path):
            found.append(ListField(change.path, was, given))
    return tuple(found)


def _leads(path: Path) -> bool:
    """Whether a path can be followed without a schema."""
    return all(isinstance(element, str | Key) for element in path)


def _alone(path: Path, value: Any) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def earlier_ledger(
    live: Mapping[str, Any], ledger: ObjectLedger, items: Iterable[Path], schema: merge.Type
) -> ObjectLedger:
    """The ledger of an object, brought up to date by :func:`present`.

    A ledger of an earlier version has no fields of lists. While modelyard alone owns a list, they are what differs from
    the list in the ledger.

    Args:
        live: the object.
        ledger: the ledger that is noted for it.
        items: the lists that the patches change by item.
        schema: the type of the object, in which these lists merge by item.
    """
    mine, theirs, held = ours(live), others(live), dict(ledger.values)
    lists = {
        path: parts_of(path, held[path], at(live, path), schema)
        for path in items
        if path in held and path not in ledger.lists and has(mine, path) and not has(theirs, path)
    }
    return present(live, ledger._replace(lists={**ledger.lists, **lists}))


def present(live: Mapping[str, Any], ledger: ObjectLedger) -> ObjectLedger:
    """The ledger with what other managers have since changed in its lists.

    The earlier value of a list becomes the list as it is, with the earlier values of the fields that a patch set and
    that nobody has set since. Its owners become those who own it now, if anyone but modelyard does.
    """
    if not ledger.lists:
        return ledger
    mine, held, lists, owners = ours(live), dict(ledger.values), {}, ledger.owners
    for path, parts in ledger.lists.items():
        now = at(live, path)
        if not isinstance(now, list) or path not in held or (has(ledger.to_hand_over, path) and not has(mine, path)):
            continue
        lists[path] = tuple(part for part in parts if at(live, part.path) == part.given)
        was = held[path]
        for part in lists[path]:
            now = _with(now, Path(part.path[len(path) :]), part.before, was)
        held[path] = now
        field = in_items([path])
        if has(others(live), path):
            rest = (one._replace(fields=fieldset.difference(one.fields, field)) for one in owners)
            owners = with_owners([one for one in rest if one.fields], live, field)
    return ledger._replace(
        values=tuple(sorted(held.items(), key=lambda pair: pair[0].sort_key)), lists=lists, owners=owners
    )


def _with(value: Any, path: Path, new: Any, was: Any) -> Any:
    """The value with another one at a path; ``merge.ABSENT`` removes it, and what it leaves empty and ``was`` has not.

    An item goes with the field that identifies it, whatever defaults and other managers have added to it.
    """
    if not path or value is merge.ABSENT:
        return new
    element, rest = path[0], Path(path[1:])
    before, there = (at(one, Path((element,))) for one in (was, value))
    if isinstance(element, Key):
        wanted = dict(element.fields)
        inner = merge.ABSENT if new is merge.ABSENT and rest[0] in wanted else _with(there, rest, new, before)
        return [one if one is not there else inner for one in value if one is not there or inner is not merge.ABSENT]
    inner = _with(there, rest, new, before)
    gone = inner is merge.ABSENT or (inner in ({}, []) and before not in ({}, []))
    return {name: one for name, one in value.items() if name != element} if gone else {**value, element: inner}


def unpatched(live: dict[str, Any], ledger: ObjectLedger) -> dict[str, Any]:
    """The object with its lists as they would be without the patches; the ledger comes from :func:`present`."""
    held = dict(ledger.values)
    for path in ledger.lists:
        live = _with(live, path, held[path], live)
    return live


def owned_fields(live: Mapping[str, Any], ledger: ObjectLedger) -> tuple[FieldSet, FieldSet]:
    """The fields that modelyard owns, and those that others own.

    A list of another owner counts as modelyard's while a field has the value that a patch gave it: another manager who
    changes one field of a list becomes the owner of all of it. The ledger comes from :func:`present`.
    """
    mine, theirs = ours(live), others(live)
    still = fieldset.of(*(path for path, parts in ledger.lists.items() if parts))
    if not still:
        return mine, theirs
    return fieldset.union(mine, still), fieldset.difference(theirs, still)


def by_item(schema: merge.Type, ledger: ObjectLedger) -> merge.Type:
    """The type in which the lists of a ledger merge by item, so that their fields differ one by one."""
    for path, parts in ledger.lists.items():
        keys = [step for part in parts for step in part.path[len(path) :][:1] if isinstance(step, Key)]
        try:
            schema = merge.keyed(schema, path, keys[0].fields[0][0]) if keys else schema
        except LookupError:
            continue  # It merges by item already.
    return schema


def list_around(path: Path, ledger: ObjectLedger) -> Path | None:
    """The list of a ledger that contains a field."""
    return next((one for one in ledger.lists if path[: len(one)] == one), None)
