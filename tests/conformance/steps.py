"""Runs a server-side case step by step without a server: applies as a plan does, other writes as the server does."""

import copy
from operator import is_
from typing import Any, NamedTuple

from modelyard.kube.merge import (
    MergeError,
    Path,
    SchemaError,
    ServerSide,
    Type,
    fieldset,
    server_side,
    stored,
    strategic,
)
from modelyard.kube.merge.apply import created_entry, new_entry
from modelyard.kube.merge.errors import depth_checked
from modelyard.kube.merge.managed import UNTRACKED, entries, identity, with_entries
from modelyard.kube.merge.metadata import DELETION, foreign, settled
from modelyard.kube.merge.typed import UnfitError, compare, same
from modelyard.kube.merge.validate import misfits, unfit
from tests.conformance.casefile import Case

KEYLESS = ("the item needs", "the list has two items", "an item must not be null")
"""How the errors begin of what an apply cannot send and another write can."""


LONG_AGO = "2020-01-01T00:00:00Z"


class Outcome(NamedTuple):
    """The result of a step."""

    object: dict[str, Any] | None
    conflicts: dict[str, list[str]]
    """Path as the server words it, to those who own it."""
    error: dict[str, str]


def play(case: Case, step: dict[str, Any], live: dict[str, Any] | None) -> Outcome:
    """Runs a step on the live object: a write of a kind below; forget, which clears the managedFields; or age, after
    which every owner wrote long ago.

    ``apply`` (with ``force``, and ``dry`` for a dry run), ``create``, ``replace``, ``merge-patch``,
    ``strategic-patch``, ``json-patch``, ``scale``.
    """
    by = step.get("by", "")
    try:
        if "apply" in step:
            answer = server_side(live, case.whole(step["apply"]), by, case.type, bool(step.get("force")))
            return Outcome(answer.object if answer.object else live, conflicts(answer), {})
        if "forget" in step:
            assert live is not None
            metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
            return Outcome({**live, "metadata": metadata}, {}, {})
        if "age" in step:
            assert live is not None
            return Outcome(with_entries(live, aged(live)), {}, {})
        if "scale" in step:
            assert live is not None
            return Outcome(scaled(case.type, live, by, step["scale"]), {}, {})
        return Outcome(update(live, written(case, step, live), by, case.type), {}, {})
    except MergeError as error:
        return Outcome(live, {}, {str(problem.path): problem.message for problem in error.errors})


def aged(obj: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the entries of an object's managedFields with a time long ago."""
    return [{**entry, "time": LONG_AGO} if "time" in entry else entry for entry in entries(obj)]


def scaled(kind: Type, live: dict[str, Any], manager: str, replicas: int) -> dict[str, Any]:
    """Returns a live object after a write to its ``scale``."""
    new = update(live, {**live, "spec": {**live["spec"], "replicas": replicas}}, manager, kind, "scale")
    if any("f:replicas" in entry["fieldsV1"].get("f:spec", {}) for entry in entries(live)):
        return new
    # A number of replicas without an owner is not tracked.
    mine = (manager, "Update", new["apiVersion"], "scale")
    return with_entries(new, [entry for entry in entries(new) if identity(entry) != mine])


def written(case: Case, step: dict[str, Any], live: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the whole object that a creation, a patch or a replacement requests."""
    if "create" in step:
        return case.whole(step["create"])
    assert live is not None
    if "merge-patch" in step:
        merged: dict[str, Any] = json_merged(live, step["merge-patch"])
        return merged
    if "strategic-patch" in step:
        return strategic(live, step["strategic-patch"], case.type)
    if "json-patch" in step:
        return json_patched(live, step["json-patch"])
    asked = case.whole(step["replace"])
    names = {name: value for name, value in live["metadata"].items() if name in ("name", "namespace")}
    return {**asked, "metadata": {**asked["metadata"], **names}}


@depth_checked
def update(
    live: dict[str, Any] | None, new: dict[str, Any], manager: str, schema: Type, subresource: str = ""
) -> dict[str, Any]:
    """Returns ``new`` as the API server stores it after ``manager`` has written it over ``live`` (None: created it).

    ``new`` is a whole object, such as ``live`` with a merge patch laid over it. Its managedFields are set but for the
    time of ``manager``'s entry. An object that is not tracked (it has no managedFields) stays so, and one whose
    managedFields ``new`` empties is no longer tracked. Not done: the server keeps at most ten updaters and merges the
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
    # Untyped objects in Go do not distinguish an empty list from none.
    forgets = metadata.get("managedFields") in (([], [{}]) if schema.native else ([{}],))
    new = settled(_with_owners_once(new), live)
    misplaced = False
    if schema.status_subresource:
        misplaced = any(
            error.message.startswith("expected") for error in misfits({"status": new.get("status")}, schema)
        )
        new = {name: value for name, value in new.items() if name != "status"}
        new |= {"status": live["status"]} if live and "status" in live else {}
    new = stored(schema, _without_refused_nulls(schema, new, live), live)
    if misplaced:
        # Ignored, but the server cannot determine the owners in such an object.
        return with_entries(new, [])
    version = str(new.get("apiVersion", ""))
    try:
        if live is None:
            entry = created_entry(new, manager, version, schema)
            return with_entries(new, [entry] if entry["fieldsV1"] else [], entry)
        if forgets or not entries(live):
            return with_entries(new, [])
        change = compare(schema, live, new)
    except UnfitError:
        wrong = [error for error in misfits(new, schema) if not error.message.startswith(KEYLESS)]
        if wrong:
            raise MergeError(wrong) from None
        # The server accepts items without their key, and then cannot determine the owners.
        return with_entries(new, [])
    touched = fieldset.union(change.modified, change.added)
    # The server restores the fields of a deletion in the object, and still removes them from their owner.
    left_out = {f"f:{name}": {} for name in DELETION if name in (known or {}) and metadata.get(name) is None}
    removed = fieldset.union(change.removed, {"f:metadata": left_out} if left_out else {})
    mine = (manager, "Update", version, subresource)
    sets = {identity(entry): (entry, entry.get("fieldsV1") or {}) for entry in entries(live)}
    result = []
    for who, (entry, fields) in sets.items():
        left = fieldset.difference(fieldset.difference(fields, removed), {} if who == mine else touched)
        if who != mine and left:
            result.append(entry if left == fields else {**entry, "fieldsV1": left})
    own_entry, own = sets.get(mine, ({}, {}))
    taken = fieldset.difference(touched, UNTRACKED)
    left = fieldset.union(fieldset.difference(own, removed), taken)
    latest = new_entry(manager, "Update", version, left)
    if own_entry and not taken:
        # A manager that only drops fields has written nothing.
        latest = own_entry if left == own else {**own_entry, "fieldsV1": left}
    if subresource:
        # A write to scale leaves an entry without a time.
        latest = {**latest, "subresource": subresource}
    return with_entries(new, [*result, latest] if left else result, None if subresource else latest)


def _with_owners_once(new: dict[str, Any]) -> dict[str, Any]:
    """Returns the object without repeated owner references. The server drops them with a warning."""
    metadata = new.get("metadata")
    found = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if not isinstance(found, list):
        return new
    once = [reference for at, reference in enumerate(found) if not any(same(reference, one) for one in found[:at])]
    return new if len(once) == len(found) else {**new, "metadata": {**new["metadata"], "ownerReferences": once}}


def _without_refused_nulls(kind: Type, value: Any, before: Any = None) -> Any:
    """Returns the value without nulls that the schema of a custom resource does not allow, except for items of lists.

    Writes other than an apply drop them before validation.
    """
    if value is before or kind.native:
        return value
    if type(value) is dict:
        known = before if type(before) is dict else {}
        out = {
            name: _without_refused_nulls(kind.child[name] or kind, inner, known.get(name))
            for name, inner in value.items()
            if not (inner is None and (type_ := kind.child[name]) and not (type_.nullable or type_.native))
        }
        return value if len(out) == len(value) and all(out[name] is value[name] for name in out) else out
    if type(value) is list and kind.is_list:
        items = [_without_refused_nulls(kind.item, item) for item in value]
        return value if all(map(is_, items, value)) else items
    return value


def json_merged(value: Any, patch: Any) -> Any:
    """Returns a value with a JSON merge patch (RFC 7386) applied, which has no directives.

    Nulls inside a list stay only where the list replaces a map: elsewhere the library of the API server drops
    them, which the RFC does not require.
    """
    if not isinstance(value, dict):
        return _pruned(patch)
    if not isinstance(patch, dict):
        return patch
    out = dict(value)
    for name, inner in patch.items():
        if inner is None:
            out.pop(name, None)
        else:
            out[name] = json_merged(out.get(name), inner)
    return out


def _pruned(value: Any) -> Any:
    """Returns the value without keys that are null; items of lists stay."""
    if isinstance(value, dict):
        return {name: _pruned(inner) for name, inner in value.items() if inner is not None}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def json_patched(obj: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns an object with a JSON patch (RFC 6902) applied: adding, replacing and removing fields of maps.

    Raises:
        MergeError: a path does not exist.
    """
    out: dict[str, Any] = copy.deepcopy(obj)
    for operation in operations:
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
        node: Any = out
        for name in way:
            node = node.get(name) if isinstance(node, dict) else None
        if not isinstance(node, dict) or (operation["op"] == "remove" and last not in node):
            raise MergeError([SchemaError(Path(tuple(way)), "the patch leads nowhere")])
        if operation["op"] == "remove":
            del node[last]
        else:
            # The API server adds a missing field that is replaced.
            node[last] = copy.deepcopy(operation.get("value"))
    return out


def conflicts(answer: ServerSide) -> dict[str, list[str]]:
    """Returns the conflicts by path, with the messages of the server."""
    return {conflict.path.server_text: sorted(map(str, conflict.owners)) for conflict in answer.conflicts}
