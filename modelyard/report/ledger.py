"""Ledgers as text and as JSON: what each field held before, and its current state."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from modelyard.hiding import CHANGED
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.plan.undo.entries import Entry, Noted
from modelyard.report.fields import field_names, rows_of, rows_text
from modelyard.report.json import record, without_absent
from modelyard.report.style import PLAIN, Style, hanging, shorten, wrapped
from modelyard.report.values import kind_and_name, owner_words
from modelyard.stack.words import plural

FORMAT_VERSION = 1
_ORDER = ("held", "returning", "changed", "returned")


def ledger_text(stack: str, source: str, targets: Sequence[Noted], style: Style = PLAIN) -> list[str]:
    """Every object with a ledger, its fields grouped by their state, with what a destroy changes."""
    where = "in the cluster" if source == "live" else "on the recorded platform"
    fields, objects = sum(len(target.entries) for target in targets), plural(len(targets), "object")
    head = (
        f"{stack}: {plural(fields, 'field')} of {objects} {where}, with the value now and after a destroy"
        if targets
        else f"{stack}: no fields are patched {where}"
    )
    return [*hanging(head, 2, style.columns), *(line for target in targets for line in _target(target, style))]


def _target(target: Noted, style: Style) -> Iterator[str]:
    name = shorten(kind_and_name(target.key.kind, target.key.name), style.columns - 2)
    yield f"{style.changed('~')} {style.bold(name)}"
    if target.problem:
        yield from wrapped(f"its ledger cannot be read: {target.problem}", 2, style.columns)
    groups: dict[tuple[int, str], list[Entry]] = {}
    for entry in target.entries:
        groups.setdefault((_ORDER.index(entry.state), _heading(entry)), []).append(entry)
    for (_, heading), entries in sorted(groups.items()):
        stays = entries[0].state == "changed"
        changes = [
            FieldChange(path=one.path, before=first, after=second, patch=None)
            for one in entries
            for first, second in [(one.before, one.now) if stays or one.now == CHANGED else (one.now, one.before)]
            if first != second
        ]
        if changes:
            yield from wrapped(f"{heading}:", 2, style.columns)
            yield from rows_text(rows_of(changes), 4, style)
        if same := [one.path for one in entries if one.before == one.now]:
            names = "; ".join(name for name, _ in field_names(same))
            end = ", value unchanged" if entries[0].state == "held" else ""
            yield from wrapped(f"{heading}{end}: {names}", 2, style.columns)


def _heading(entry: Entry) -> str:
    earlier = " and ".join(map(owner_words, entry.owners))
    if entry.state == "held":
        if entry.before is merge.ABSENT:
            return "did not exist; is removed"
        return f"is restored to {earlier}" if earlier else "is restored; it had no owner"
    if entry.state == "changed":
        now = " and ".join(owner_words(owner, timed=True) for owner in entry.holders) or "an unknown owner"
        return f"changed since by {now}; stays (earlier value → now)"
    if entry.state == "returning":
        again = f"makes {earlier} its owner again" if earlier else "leaves it without an owner, as before"
        return f"has its earlier value; the next apply {again}"
    if entry.before is merge.ABSENT:
        return "no longer exists, as before the patch"
    return f"belongs to {earlier} again" if earlier else "has its earlier value again"


def ledger_document(stacks: Iterable[tuple[str, str, Iterable[Noted]]]) -> dict[str, Any]:
    """Ledgers as JSON; a missing key is a missing field."""
    return {
        "formatVersion": FORMAT_VERSION,
        "stacks": [
            {"stack": stack, "source": source, "targets": [_target_document(target) for target in targets]}
            for stack, source, targets in stacks
        ],
    }


def _target_document(target: Noted) -> dict[str, Any]:
    document = {
        **record(target.key),
        "patches": [patch for patch in target.patches.split(",") if patch],
        "fields": [_field_document(entry) for entry in target.entries],
    }
    return {**document, "problem": target.problem} if target.problem else document


def _field_document(entry: Entry) -> dict[str, Any]:
    return {
        "field": str(entry.path),
        "state": entry.state,
        **without_absent(before=entry.before, now=entry.now),
        "owners": [record(owner) for owner in entry.owners],
        "holders": [record(owner) for owner in entry.holders],
    }
