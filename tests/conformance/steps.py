"""Plays a server-side case step by step without a server."""

import copy
from typing import Any, NamedTuple

from modelyard.merge import MergeError, Path, SchemaError, ServerSide, server_side, strategic, update
from tests.conformance.casefile import Case


class Outcome(NamedTuple):
    """What a step led to."""

    object: dict[str, Any] | None
    conflicts: dict[str, list[str]]
    """Path as the server words it, to those who own it."""
    error: dict[str, str]


def play(case: Case, step: dict[str, Any], live: dict[str, Any] | None) -> Outcome:
    """One step over the live object: a write of the kinds below, or forget, which clears the managedFields.

    ``apply`` (with ``force``), ``create``, ``replace``, ``merge-patch``, ``strategic-patch``, ``json-patch``.
    """
    by = step.get("by", "")
    try:
        if "apply" in step:
            answer = server_side(live, case.whole(step["apply"]), by, case.type, bool(step.get("force")))
            return Outcome(answer.object if answer.object else live, conflicts(answer), {})
        if "create" in step:
            return Outcome(update(None, case.whole(step["create"]), by, case.type), {}, {})
        assert live is not None
        if "forget" in step:
            metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
            return Outcome({**live, "metadata": metadata}, {}, {})
        return Outcome(update(live, written(case, step, live), by, case.type), {}, {})
    except MergeError as error:
        return Outcome(live, {}, {str(problem.path): problem.message for problem in error.errors})


def written(case: Case, step: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """The whole object that a patch or a replacement asks for."""
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


def json_merged(value: Any, patch: Any) -> Any:
    """A value with a JSON merge patch (RFC 7386) applied, which has no directives."""
    if not isinstance(patch, dict):
        return patch
    out = dict(value) if isinstance(value, dict) else {}
    for name, inner in patch.items():
        if inner is None:
            out.pop(name, None)
        else:
            out[name] = json_merged(out.get(name), inner)
    return out


def json_patched(obj: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """An object with a JSON patch (RFC 6902) applied, as far as it adds, replaces and removes fields of maps.

    Raises:
        MergeError: a path leads nowhere.
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
            # As the API server has it, a replacement of what is not there adds it.
            node[last] = copy.deepcopy(operation.get("value"))
    return out


def conflicts(answer: ServerSide) -> dict[str, list[str]]:
    """The conflicts by path, in the server's words."""
    return {conflict.path.server_text: sorted(map(str, conflict.owners)) for conflict in answer.conflicts}
