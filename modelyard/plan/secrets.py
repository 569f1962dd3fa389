"""Objects' fields without secrets, as plans show and save them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from modelyard.findings import Finding
from modelyard.hiding import hidden_below, hidden_pair, marked, words_without
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey, essence
from modelyard.plan.undo.ledger import at, without_ledger
from modelyard.plan.values import TargetPlan

_REMEMBERED: Final = frozenset({str, int, float, bool, type(None)})
"""Types of values that are remembered with what is shown of them."""
_LONGEST: Final = 1024
"""Length of the longest such text."""


def hidden_field(key: ObjectKey | None, path: merge.Path, value: Any, body: Any) -> Any:
    """The value of one field of an object, hidden if it is a secret.

    ``key`` is None for what is no object yet. The command in ``body``, the object, decides which arguments are secrets.
    """
    if value is merge.ABSENT:
        return value
    kind = key.kind if key is not None else ""
    if type(value) in _REMEMBERED and (type(value) is not str or len(value) <= _LONGEST):
        shown = _hidden_scalar(kind, path, value)
        return value if shown == value else shown
    command = _command(body, path) if path and path[-1] == "args" else None
    return hidden_below(_steps(path), value, kind, {} if command is None else {"command": command})


@lru_cache(maxsize=4096, typed=True)
def _hidden_scalar(kind: str, path: merge.Path, value: Any) -> Any:
    """A field's text or number without secrets: stacks have many fields in common."""
    return hidden_below(_steps(path), value, kind)


def _steps(path: merge.Path) -> list[str | Mapping[str, Any]]:
    return [one if isinstance(one, str) else dict(one.fields) if isinstance(one, merge.Key) else {} for one in path]


def _command(body: Any, path: merge.Path) -> Any:
    """The command next to a container's arguments; None if there is none."""
    container = at(body, merge.Path(path[:-1]))
    return container.get("command") if isinstance(container, dict) else None


def hidden_change(
    key: ObjectKey | None, path: merge.Path, before: Any, after: Any, bodies: tuple[Any, Any] = (None, None)
) -> tuple[Any, Any]:
    """Both values of a field, hidden; the later one shows whether it differs from the earlier one.

    ``bodies`` are the earlier and the later object; for the other arguments, see :func:`hidden_field`.
    """
    was = hidden_field(key, path, before, bodies[0])
    now = hidden_field(key, path, after, bodies[1])
    return was, marked(before, after, was, now)


def hidden_objects(target: TargetPlan) -> tuple[Any, Any]:
    """A target's object before and after, with secrets hidden; empty if there is no object.

    Leaves out what changes by itself (status, versions, times), and the ledger, which has its own command.
    """
    bodies = target.before.reveal(), target.after.reveal()
    before, after = (without_ledger(essence(body)) if body else {} for body in bodies)
    return hidden_pair(before, after)


def findings_without(findings: Iterable[Finding], objects: Iterable[Any]) -> list[Finding]:
    """The findings, without the secrets of the objects that they quote."""
    found = list(findings)
    without = words_without(objects) if found else str
    return [
        one._replace(summary=without(one.summary), detail=without(one.detail), remedy=without(one.remedy))
        for one in found
    ]
