"""Sends a step of a case to the API server and compares its answer with the offline result."""

import json
from typing import Any

from modelyard.kube.merge import Type, fieldset
from modelyard.kube.merge.apply import new_entry
from modelyard.kube.merge.managed import entries, identity, in_order
from modelyard.kube.merge.typed import same
from modelyard.kube.merge.validate import misfits
from tests.conformance.casefile import Case, comparable, named_in, without_nulls
from tests.conformance.server import APPLY, JSON_PATCH, MERGE, STRATEGIC, Server
from tests.conformance.steps import LONG_AGO, Outcome, aged, written

Object = dict[str, Any]
_HOW = (("force", "force", "true"), ("dryRun", "dry", "All"))
_COUNT = "deprecated.daemonset.template.generation"
_COUNTED: Object = {"f:metadata": {"f:annotations": {f"f:{_COUNT}": {}}}}
_NOWHERE: Object = {"f:metadata": {"f:annotations": {"f:passing": {}}}}
_WORDS_OF_A_MERGE = ("typed patch object", "typed live object", "managedFields must")
_WORDS_OF_AN_APPLY = ("metadata.deletion", "metadata.resourceVersion", "strconv.ParseUint")
_NO_TIME = "parsing time"


def send(server: Server, path: str, case: Case, step: Object) -> tuple[int, Object]:
    """Returns the status and the answer of the server to a step."""
    by = {"fieldManager": step.get("by", "")}
    if "forget" in step:
        return server.request("PATCH", path, {"metadata": {"managedFields": [{}]}}, content_type=MERGE)
    if "age" in step:
        return _age(server, path)
    if "create" in step:
        return server.request("POST", path.rpartition("/")[0], _named(case.whole(step["create"]), path), **by)
    if "replace" in step:
        return server.request("PUT", path, _named(case.whole(step["replace"]), path), **by)
    if "scale" in step:
        status, answer = server.request(
            "PATCH", f"{path}/scale", {"spec": {"replicas": step["scale"]}}, content_type=MERGE, **by
        )
        return server.request("GET", path) if status == 200 else (status, answer)
    for word, media in (("merge-patch", MERGE), ("strategic-patch", STRATEGIC), ("json-patch", JSON_PATCH)):
        if word in step:
            return server.request("PATCH", path, step[word], content_type=media, **by)
    how = {name: value for name, asked, value in _HOW if step.get(asked)}
    return server.request("PATCH", path, _named(case.whole(step["apply"]), path), content_type=APPLY, **by, **how)


def _age(server: Server, path: str) -> tuple[int, Object]:
    """Sets the time of each owner. The server drops a write that only changes times: an entry is added and removed."""
    _, live = server.request("GET", path)
    found = aged(live)
    if not found:
        return 200, live
    passing = {**new_entry("passing", "Update", live["apiVersion"], _NOWHERE), "time": LONG_AGO}
    server.request("PATCH", path, {"metadata": {"managedFields": [*found, passing]}}, content_type=MERGE)
    return server.request("PATCH", path, {"metadata": {"managedFields": found}}, content_type=MERGE)


def _named(obj: Object, path: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "name": path.rpartition("/")[2]}}


def difference(case: Case, step: Object, live: Object | None, ours: Outcome, status: int, theirs: Object) -> str:
    """Describes how the server's answer to a step on ``live`` differs from the offline result; empty if it does not.

    The server also decodes, converts and validates a request. A rejection for such a reason is not a result of the
    merge, and counts as agreement.
    """
    if status >= 300:
        if status == 409 and "causes" in theirs.get("details", {}):
            found: dict[str, list[str]] = {}
            for cause in theirs["details"]["causes"]:
                found.setdefault(cause["field"], []).append(cause["message"].removeprefix("conflict with "))
            found = {field: sorted(owners) for field, owners in found.items()}
            # The server checks conflicts first; the reason of a rejection is not compared.
            return "" if ours.error or found == ours.conflicts else _both("conflicts", ours.conflicts, found)
        if ours.error or not (status == 409 or _foreseeable(case, step, theirs["message"])):
            return ""
        return _both("refused by the server", ours.conflicts or "accepted", f"{status} {theirs['message']}")
    if ours.error or ours.conflicts:
        return _both("refused offline", ours.error or ours.conflicts, status)
    assert ours.object is not None
    if case.kind == "DaemonSet":
        ours, theirs = ours._replace(object=_uncounted(ours.object)), _uncounted(theirs)
    expected, got = comparable(ours.object), comparable(theirs)
    if step.get("dry"):
        # Storing the object drops these fields.
        got["metadata"].pop("selfLink", None)
    for name in ("uid", "creationTimestamp", "namespace"):
        if name not in expected["metadata"]:
            got["metadata"].pop(name, None)
    if case.type.native:
        expected, got = without_nulls(expected), without_nulls(got)
    if case.spec.get("server adds"):
        full = got
        got = named_in(got, expected)
        if "apply" not in step and _without_owners(full) != _without_owners(expected):
            # A default belongs to the manager that added its parent, which a merge cannot predict.
            expected["metadata"]["managedFields"] = got["metadata"]["managedFields"] = []
    if not step.keys() & {"apply", "scale", "forget", "age"} and _spelled_anew(
        case.type, written(case, step, live), ours.object, live
    ):
        expected["metadata"]["managedFields"] = got["metadata"]["managedFields"] = []
    if got == expected:
        return "" if not expected["metadata"].get("managedFields") else _order(ours.object, theirs)
    part = "owners" if _without_owners(got) == _without_owners(expected) else "object"
    return _both(part, *_parts(expected, got))


def _foreseeable(case: Case, step: Object, message: str) -> bool:
    """Returns whether the server rejects the step for a reason that is known offline, before or after a merge."""
    if any(word in message for word in _WORDS_OF_A_MERGE):
        return True
    if "apply" not in step:
        return False
    return any(word in message for word in _WORDS_OF_AN_APPLY) or (
        _NO_TIME in message and not misfits(case.whole(step["apply"]), case.type)
    )


def _uncounted(obj: Object) -> Object:
    """Returns a DaemonSet without the annotation that counts changes of its pods, and without its owners."""
    metadata = dict(obj["metadata"])
    if metadata.get("annotations"):
        metadata["annotations"] = {key: text for key, text in metadata["annotations"].items() if key != _COUNT}
    if metadata.get("managedFields"):
        left = [(entry, fieldset.difference(entry["fieldsV1"], _COUNTED)) for entry in entries(obj)]
        metadata["managedFields"] = [{**entry, "fieldsV1": fields} for entry, fields in left if fields]
    return {**obj, "metadata": metadata}


def _order(ours: Object, theirs: Object) -> str:
    """Describes how the entries of managedFields differ in order or time; empty if they do not.

    An entry that is written now has no time offline and gets the time of the server, unless that is long ago.
    """
    times = {identity(entry): entry.get("time") for entry in entries(theirs) if entry.get("time") != LONG_AGO}
    timed = [{**entry, "time": entry.get("time") or times.get(identity(entry))} for entry in entries(ours)]
    if len({(entry.get("operation"), entry.get("time")) for entry in timed}) < len(timed):
        # Entries that are written within one second are sorted by name.
        timed = in_order(timed)
    sides = [[(*identity(e), e.get("time")) for e in found] for found in (timed, entries(theirs))]
    return "" if sides[0] == sides[1] else _both("order of owners", *sides)


def _spelled_anew(kind: Type, sent: Any, kept: Any, live: Any) -> bool:
    """Returns whether an unchanged atomic list of a Go type was sent in another form: 2000m for 2, or empty for none.

    A write other than an apply becomes the owner of some such lists: Go compares them as they are in memory.
    """
    if type(kept) is dict and kind.is_map:
        names = kept.keys() | (sent.keys() if type(sent) is dict else ())
        return any(
            _spelled_anew(inner, *(side.get(name) if type(side) is dict else None for side in (sent, kept, live)))
            for name in names
            if (inner := kind.child[name]) is not None
        )
    if not kind.native or kind.list_kind != "atomic":
        return False
    return not same(sent, kept) and same(kept or None, live or None)


def _without_owners(obj: Object) -> Object:
    return {**obj, "metadata": {name: inner for name, inner in obj["metadata"].items() if name != "managedFields"}}


def _parts(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Returns the smallest maps that contain the whole difference."""
    while isinstance(ours, dict) and isinstance(theirs, dict):
        names = [name for name in {**ours, **theirs} if ours.get(name, ours) != theirs.get(name, theirs)]
        if len(names) != 1 or names[0] not in ours or names[0] not in theirs:
            break
        ours, theirs = ours[names[0]], theirs[names[0]]
    return ours, theirs


def _both(what: str, ours: Any, theirs: Any) -> str:
    return f"{what}\n  offline: {json.dumps(ours, sort_keys=True)}\n  server:  {json.dumps(theirs, sort_keys=True)}"
