"""Plays a server-side case step by step without a server."""

from typing import Any, NamedTuple

from modelyard.merge import MergeError, ServerSide, server_side, strategic, update
from modelyard.merge.types import DEDUCED
from tests.conformance.casefile import Case


class Outcome(NamedTuple):
    """What a step led to."""

    object: dict[str, Any] | None
    conflicts: dict[str, list[str]]
    """Path as the server words it, to those who own it."""
    error: dict[str, str]


def play(case: Case, step: dict[str, Any], live: dict[str, Any] | None) -> Outcome:
    """One step over the live object: create, merge-patch, apply, or forget, which clears the managedFields."""
    by = step.get("by", "")
    if "create" in step:
        return Outcome(update(None, case.whole(step["create"]), by, case.type), {}, {})
    if "merge-patch" in step:
        assert live is not None
        return Outcome(update(live, strategic(live, step["merge-patch"], DEDUCED), by, case.type), {}, {})
    if "forget" in step:
        assert live is not None
        metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
        return Outcome({**live, "metadata": metadata}, {}, {})
    try:
        answer = server_side(live, case.whole(step["apply"]), by, case.type, bool(step.get("force")))
    except MergeError as error:
        return Outcome(live, {}, {str(problem.path): problem.message for problem in error.errors})
    return Outcome(answer.object if answer.object else live, conflicts(answer), {})


def conflicts(answer: ServerSide) -> dict[str, list[str]]:
    """The conflicts by path, in the server's words."""
    return {conflict.path.server_text: sorted(map(str, conflict.owners)) for conflict in answer.conflicts}
