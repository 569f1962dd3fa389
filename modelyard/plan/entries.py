"""The ledger of an object as its readers see it: field by field, with what has become of each."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from modelyard import merge
from modelyard.cluster import ObjectKey
from modelyard.cluster.state import annotations_of
from modelyard.merge import Owner, Path
from modelyard.plan.ledger import Ledger, LedgerError, has, leaves, ledger_of, ledger_text, ours
from modelyard.plan.ownership import PATCHES_ANNOTATION
from modelyard.plan.returning import at, foreign

State = Literal["held", "returning", "returned", "changed"]
"""``held``: ours. ``returning``: its earlier value is back, its owner is still to come. ``returned``: both are back.
``changed``: somebody else has set it or taken it away since, and an undo leaves it alone.
"""


class Entry(NamedTuple):
    """One field of a ledger."""

    path: Path
    before: Any
    """What it held before we took it; ``merge.ABSENT`` where it was not there."""
    owners: tuple[Owner, ...]
    """Who held it before; nobody held a default."""
    now: Any
    state: State
    holders: tuple[Owner, ...] = ()
    """Who holds it now, where it has changed."""


class Noted(NamedTuple):
    """One object with a ledger."""

    key: ObjectKey
    patches: str
    """The patches that it holds, ``name@version`` with commas."""
    entries: tuple[Entry, ...]
    """Sorted by path."""
    problem: str = ""
    """Why its ledger cannot be read."""


def entries_of(body: dict[str, Any], ledger: Ledger) -> tuple[Entry, ...]:
    """Every field of an object's ledger."""
    mine, strange = ours(body), foreign(body, ledger)
    fields = [*ledger.held, *((path, merge.ABSENT) for path in leaves(ledger.absent))]
    found = []
    for path, before in fields:
        state: State = "returned"
        if has(mine, path):
            state = "returning" if has(ledger.returning, path) else "held"
        elif path in strange or (before is merge.ABSENT) != (at(body, path) is merge.ABSENT):
            state = "changed"
        found.append(Entry(path, before, ledger.owners_of(path), at(body, path), state, strange.get(path, ())))
    return tuple(sorted(found, key=lambda entry: entry.path.sort_key))


def noted_in(objects: Mapping[ObjectKey, dict[str, Any]]) -> tuple[Noted, ...]:
    """The objects that carry a ledger, in the order of their keys."""
    return tuple(_noted(key, objects[key]) for key in sorted(objects) if ledger_text(objects[key]))


def _noted(key: ObjectKey, body: dict[str, Any]) -> Noted:
    patches = str(annotations_of(body).get(PATCHES_ANNOTATION) or "")
    try:
        return Noted(key, patches, entries_of(body, ledger_of(body)))
    except LedgerError as error:
        return Noted(key, patches, (), str(error))
