"""Drift as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from modelyard.kube import merge
from modelyard.kube.merge import Owner
from modelyard.plan import FieldChange
from modelyard.plan.drift import FORMAT_VERSION, FieldDrift, StackDrift, TargetDrift
from modelyard.report.fields import rows_of, rows_text
from modelyard.report.json import record, without_absent
from modelyard.report.style import PLAIN, Style, hanging, shorten, wrapped
from modelyard.report.values import kind_and_name, owner_words
from modelyard.stack.words import plural


def drift_text(drifts: Iterable[StackDrift], style: Style = PLAIN) -> list[str]:
    """One line per stack, and below it the objects that differ from what was applied."""
    return [line for drift in drifts for line in _stack(drift, style)]


def _stack(drift: StackDrift, style: Style) -> Iterator[str]:
    objects, drifted = plural(len(drift.targets), "object"), len(drift.drifted)
    words = {
        "same": f"no drift ({objects})",
        "drifted": drift.reason or f"{drifted} of {objects} {'has' if drifted == 1 else 'have'} drifted",
        "nothing": drift.reason,
        "unknown": f"cannot be compared: {drift.reason}",
    }[drift.state]
    yield from hanging(f"{drift.stack}{f' on {drift.remote}' if drift.remote else ''}: {words}", 2, style.columns)
    for target in drift.drifted:
        yield from _target(target, style)
    for remedy in _remedies(drift):
        yield from wrapped(remedy, 2, style.columns, "→")


def _remedies(drift: StackDrift) -> Iterator[str]:
    if drift.remedy:
        yield drift.remedy
    lost = [target.key.name for target in drift.drifted if target.state == "gone" and not target.managed]
    if lost:
        yield f"install {', '.join(lost)} again first: the stack only patches {'it' if len(lost) == 1 else 'them'}"
    states = {target.state for target in drift.drifted}
    if states == {"unfinished"}:
        yield f"modelyard apply {drift.stack} finishes it, even if no value is left to change"
    elif states:
        yield f"modelyard apply {drift.stack} restores it; modelyard plan {drift.stack} --live shows what that changes"


def _target(target: TargetDrift, style: Style) -> Iterator[str]:
    name = style.bold(shorten(kind_and_name(target.key.kind, target.key.name), style.columns - 2))
    if target.state == "gone":
        yield f"{style.removed('-')} {name}"
        yield "  the whole object is deleted"
        return
    yield f"{style.changed('~')} {name}"
    if target.state == "unfinished":
        yield from wrapped("its last apply has not finished", 2, style.columns)
    for owners, fields in _by_owner(target.fields):
        yield from wrapped(_whose(owners, fields), 2, style.columns)
        changes = [
            FieldChange(path=one.path, before=one.applied, after=one.live, patch=None, owners=one.owners)
            for one in fields
        ]
        yield from rows_text(rows_of(changes), 4, style)


def _by_owner(fields: Iterable[FieldDrift]) -> list[tuple[tuple[Owner, ...], list[FieldDrift]]]:
    """The fields by their current owners, missing fields last."""
    found: dict[tuple[bool, tuple[Owner, ...]], list[FieldDrift]] = {}
    for field in fields:
        found.setdefault((field.live is merge.ABSENT, field.owners), []).append(field)
    return [(owners, some) for (_, owners), some in sorted(found.items(), key=lambda pair: pair[0])]


def _whose(owners: Iterable[Owner], fields: Sequence[FieldDrift]) -> str:
    named = " and ".join(owner_words(owner, timed=True) for owner in owners)
    if fields[0].live is merge.ABSENT:
        return f"{named or 'removed; the API server does not record by whom'}:"
    return f"{named or 'set by an unknown owner'}:"


def drift_document(drifts: Sequence[StackDrift]) -> dict[str, Any]:
    """Drift as JSON, as ``modelyard schema drift`` publishes it; a missing key is a missing field."""
    return {
        "formatVersion": FORMAT_VERSION,
        "drifted": any(drift.state == "drifted" for drift in drifts),
        "stacks": [_stack_document(drift) for drift in drifts],
    }


def _stack_document(drift: StackDrift) -> dict[str, Any]:
    document: dict[str, Any] = {
        "stack": drift.stack,
        "state": drift.state,
        "context": drift.context,
        "cluster": drift.cluster,
        "targets": [
            {
                **record(target.key),
                "state": target.state,
                "managed": target.managed,
                "fields": [_field_document(field) for field in target.fields],
            }
            for target in drift.targets
        ],
    }
    if drift.remote:
        document["remote"] = drift.remote
    if drift.reason:
        document |= {"reason": drift.reason, "remedy": drift.remedy}
    return document


def _field_document(field: FieldDrift) -> dict[str, Any]:
    return {
        "field": str(field.path),
        "applied": field.applied,
        **without_absent(live=field.live),
        "owners": [record(owner) for owner in field.owners],
    }
