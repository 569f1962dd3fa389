"""The starting point of a plan: the part of each object that the plan reads, and how that part changes later."""

from collections.abc import Collection, Iterator
from typing import Any

from modelyard.cluster import Claim
from modelyard.findings import Finding, Severity
from modelyard.hiding import hidden
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey
from modelyard.plan.prediction import SHOWN, short_json
from modelyard.plan.secrets import hidden_change
from modelyard.plan.values import Plan, TargetPlan
from modelyard.stack.words import few

_NOTES = ("labels", "annotations")


def relevant(target: TargetPlan, body: dict[str, Any] | None) -> dict[str, Any] | None:
    """The part of a target's object, now or later, that its plan depends on; None if the object does not exist.

    A plan depends on everything except the status and the metadata; of the metadata, only the labels and annotations
    that the plan sets count. Replicas count if the plan sets them, even if only to hold them; otherwise other writers
    may change them. Secrets do not count.
    """
    kept = _read(target, body)
    return None if kept is None else dict(hidden(kept))


def _read(target: TargetPlan, body: dict[str, Any] | None) -> dict[str, Any] | None:
    """The part of a target's object that its plan depends on, including its secrets."""
    if body is None:
        return None
    asked = target.applied.reveal().get("metadata") or {}
    metadata = body.get("metadata") or {}
    kept = {name: value for name, value in body.items() if name not in ("status", "metadata")}
    for notes in _NOTES:
        names, there = asked.get(notes) or {}, metadata.get(notes) or {}
        found = {name: there[name] for name in names if name in there}
        if found:
            kept.setdefault("metadata", {})[notes] = found
    if "replicas" not in (target.applied.reveal().get("spec") or {}) and "replicas" in (kept.get("spec") or {}):
        kept["spec"] = {name: value for name, value in kept["spec"].items() if name != "replicas"}
    return kept


def moved_objects(approved: Plan, now: Plan) -> Iterator[str]:
    """The objects that have changed since a plan was approved, with the changed fields."""
    was, is_now = ({target.key: target for target in plan.targets} for plan in (approved, now))
    for key in sorted(was.keys() | is_now.keys()):
        name = "/".join(key[1:])
        if key not in was or key not in is_now:
            yield f"{name} is {'a new target' if key in is_now else 'no longer a target'}"
            continue
        before, after = (relevant(was[key], target.before.reveal()) for target in (was[key], is_now[key]))
        if words := _moved(key, before, after):
            yield f"{name} {words}"


def moved_object(target: TargetPlan, live: dict[str, Any] | None) -> Finding | None:
    """The finding if an object, right before its step, differs from the one that the plan started from.

    Secrets count here, because both states contain them.
    """
    if live is None and target.managed:
        # An engine that replaces an object has already deleted it.
        return None
    words = _moved(target.key, _read(target, target.before.reveal()), _read(target, live))
    if not words:
        return None
    return Finding(
        "OWN011",
        Severity.ERROR,
        f"{target.name} was not applied: it {words}",
        target=target.name,
        detail="a later destroy would restore the values that the plan read, so modelyard changes nothing if they "
        "have changed",
        remedy="plan again",
    )


def _moved(key: ObjectKey, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """How an object has changed, in words without secrets; empty if no relevant part has changed."""
    if before is None or after is None:
        return "" if before is after else "is new" if before is None else "is gone"
    if before == after:
        return ""
    schemas = merge.MergeSchema.kubernetes(merge.supported_versions()[-1])
    try:
        changes = merge.diff(before, after, schemas.of(key.api_version, key.kind))
    except LookupError:
        changes = ()
    values = [hidden_change(key, one.path, one.before, one.after, (before, after)) for one in changes]
    shown = [f"{one.path} {' → '.join(map(short_json, both))}" for one, both in zip(changes, values, strict=True)]
    words = few(shown, SHOWN, "; ")
    return "has changed since the plan was made" + (f" ({words})" if words else "")


def moved_order(approved: Plan, now: Plan) -> Iterator[str]:
    """The change of the plan's order, in words: other GPUs are free now. Empty if the order is the same."""
    was, is_now = ([step.target for step in plan.steps if step.phase != "drain"] for plan in (approved, now))
    if was != is_now and sorted(was) == sorted(is_now):
        yield f"the order of changes was {', '.join(was)} and is {', '.join(is_now)}: other GPUs are free"


def unapproved(target: TargetPlan, now: Collection[Claim]) -> Finding | None:
    """The finding if an apply without force now has other conflicts than the plan lists."""
    more, fewer = sorted(set(now) - set(target.conflicts)), sorted(set(target.conflicts) - set(now))
    if not more and not fewer:
        return None
    words = [f"would now take {_listed(more)}"] if more else []
    words += [f"would no longer take {_listed(fewer)}"] if fewer else []
    return Finding(
        "OWN011",
        Severity.ERROR,
        f"{target.name} was not applied: an apply {' and '.join(words)}",
        target=target.name,
        detail="force applies to the whole request, so modelyard sends nothing if the owners differ from the plan",
        remedy="plan again",
    )


def other_owners(approved: Plan, now: Plan) -> Iterator[str]:
    """Fields taken from other owners now but not approved, or approved but not taken now, in words."""
    was, is_now = ({target.key: set(target.conflicts) for target in plan.targets} for plan in (approved, now))
    for key in sorted(was.keys() & is_now.keys()):
        for words, claims in (("now", is_now[key] - was[key]), ("no longer", was[key] - is_now[key])):
            if claims:
                yield f"{key.name} {words} takes {_listed(sorted(claims))}"


def _listed(claims: Collection[Claim]) -> str:
    return ", ".join(map(str, claims))
