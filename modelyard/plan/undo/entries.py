"""The ledger of an object as its readers see it: field by field, each with its current state."""

from typing import Any, Literal, NamedTuple

from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path
from modelyard.kube.state import ClusterState, ObjectKey, annotations_of
from modelyard.plan.ownership import PATCHES_ANNOTATION
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.ledger import (
    LedgerError,
    ListField,
    ObjectLedger,
    at,
    has,
    known_ledger,
    leaves,
    ledger_of,
    ledger_text,
    ours,
    read_or_none,
)
from modelyard.plan.undo.restore import foreign

EntryState = Literal["held", "returning", "returned", "changed"]
"""``held``: modelyard owns the field. ``returning``: the earlier value is restored, the earlier owner is not yet.
``returned``: both are restored. ``changed``: another manager has since set or removed the field, and an undo leaves it
alone."""


class Entry(NamedTuple):
    """One field of a ledger."""

    path: Path
    before: Any
    """The value before modelyard took the field; ``merge.ABSENT`` if the field did not exist. Hidden if it is a secret,
    like ``now``."""
    owners: tuple[Owner, ...]
    """The earlier owners; a default had none."""
    now: Any
    state: EntryState
    holders: tuple[Owner, ...] = ()
    """The current owners, if the field is ``changed``."""


class Noted(NamedTuple):
    """One object with a ledger."""

    key: ObjectKey
    patches: str
    """The patches on the object, ``name@version`` with commas."""
    entries: tuple[Entry, ...]
    """The ledger's fields, sorted by path."""
    problem: str = ""
    """Why the object's ledger cannot be read; empty if it can."""


def entries_of(body: dict[str, Any], ledger: ObjectLedger) -> tuple[Entry, ...]:
    """Every field of an object's ledger."""
    mine, strange = ours(body), foreign(body, ledger)
    fields = [*ledger.values, *((path, merge.ABSENT) for path in leaves(ledger.absent))]
    key = ObjectKey(str(body.get("apiVersion", "")), str(body.get("kind", "")), "", "")
    found = [_in_list(key, body, part, path, ledger) for path, parts in ledger.lists.items() for part in parts]
    for path, before in fields:
        if path in ledger.lists:
            continue
        state: EntryState = "returned"
        if has(mine, path):
            state = "returning" if has(ledger.to_hand_over, path) else "held"
        elif path in strange or (before is merge.ABSENT) != (at(body, path) is merge.ABSENT):
            state = "changed"
        was, now = hidden_change(key, path, before, at(body, path), (body, body))
        found.append(
            Entry(
                path=path,
                before=was,
                owners=ledger.owners_of(path),
                now=now,
                state=state,
                holders=strange.get(path, ()),
            )
        )
    return tuple(sorted(found, key=lambda entry: entry.path.sort_key))


def _in_list(key: ObjectKey, body: dict[str, Any], part: ListField, path: Path, ledger: ObjectLedger) -> Entry:
    """A field of a list that is sent as a whole: its value shows its state, because the list has one owner."""
    now, returns = at(body, part.path), has(ledger.to_hand_over, path)
    state: EntryState = "changed"
    if now == part.given and not returns:
        state = "held"
    elif now == part.before:
        state = "returning" if returns and has(ours(body), path) else "returned"
    before, shown = hidden_change(key, part.path, part.before, now, (body, body))
    return Entry(
        path=part.path,
        before=before,
        owners=ledger.owners_of(path),
        now=shown,
        state=state,
        holders=merge.owners(body, path) if state == "changed" else (),
    )


def noted_in(state: ClusterState) -> tuple[Noted, ...]:
    """The objects that carry a ledger, or whose ledger the engine's state has a copy of, in the order of their keys.

    A destroy uses the copy for fields that modelyard owns and the object's own ledger lacks.
    """
    found = []
    for key, body in sorted(state.objects.reveal().items(), key=lambda pair: pair[0]):
        copy = state.copy_of(key).reveal()
        if ledger_text(body) or (copy and ours(body)):
            found.append(_noted(key, body, copy))
        elif copy and state.source == "recorded":
            found.append(
                Noted(key, "", (), "the recorded platform is older than the last apply; use --live, or record again")
            )
    return tuple(found)


def _noted(key: ObjectKey, body: dict[str, Any], copy: str) -> Noted:
    patches = str(annotations_of(body).get(PATCHES_ANNOTATION) or "")
    try:
        ledger_of(body)
    except LedgerError as error:
        if read_or_none(copy) is None:
            return Noted(key, patches, (), str(error))
    return Noted(key, patches, entries_of(body, known_ledger(body, copy)))
