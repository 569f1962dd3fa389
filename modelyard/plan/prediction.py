"""Predicts one object: from the API server's answer if it was asked, else from the rules known offline."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from modelyard.cluster import Answer, Claim, Refusal
from modelyard.findings import Finding, Severity
from modelyard.hiding import hidden, hidden_words
from modelyard.kube import merge
from modelyard.kube.merge.managed import entries, identity
from modelyard.stack.words import cut, few, plural

SHOWN = 4
"""The number of fields that a finding names; it counts the rest."""
_WIDE = 60
"""The most characters of a value that a finding shows."""


class Prediction(NamedTuple):
    """The object after its request, and what the request takes from others."""

    after: dict[str, Any]
    claims: tuple[Claim, ...]


def predict(
    name: str,
    schema: merge.Type,
    live: dict[str, Any] | None,
    *,
    applied: dict[str, Any],
    offline: merge.ServerSide,
    answer: Answer | None,
) -> tuple[Prediction, tuple[Finding, ...]]:
    """The object after the request ``applied``, and findings if the API server differs from the offline prediction."""
    predicted = Prediction(offline.object, _claims(offline))
    if answer is None:
        return predicted, ()
    answered = answer.object.reveal()
    if answered is None:
        if answer.refusal is None:
            return predicted, ()
        message = hidden_words(answer.refusal.message, applied)
        return predicted, (refused(name, answer.refusal._replace(message=message), new=live is None),)
    after = settled(answered, live)
    if not differences(offline.object, after, schema):
        return Prediction(after, answer.claims), ()
    # Findings end up in files and comments, so they must contain no secrets.
    asked, different = hidden(applied), differences(hidden(offline.object), hidden(after), schema)
    return Prediction(after, answer.claims), tuple(_unforeseen(name, schema, live is None, asked, different))


def settled(answered: dict[str, Any], live: dict[str, Any] | None) -> dict[str, Any]:
    """The answer to a dry run without the parts that differ on every request.

    Versions, the status and identity stay as they are in ``live`` (None for a new object), an entry of managedFields
    that this request would rewrite has no time, and a new Service has no address.
    """
    old = {} if live is None else live.get("metadata") or {}
    metadata = dict(answered.get("metadata") or {})
    for field in ("uid", "creationTimestamp", "resourceVersion", "generation", "selfLink"):
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    known = {identity(entry): entry.get("time") for entry in entries(live or {})}
    fields = [
        entry
        if known.get(identity(entry)) == entry.get("time")
        else {name: value for name, value in entry.items() if name != "time"}
        for entry in entries(answered)
    ]
    if fields:
        metadata["managedFields"] = fields
    # A new object has no history.
    status = {} if live is None else live.get("status", {})
    after = {**answered, "metadata": metadata, **({"status": status} if "status" in answered else {})}
    return after if live is not None else _unassigned(after)


def _unassigned(new: dict[str, Any]) -> dict[str, Any]:
    """A new object without the addresses and ports that the API server assigns, which differ on every request."""
    drawn = _DRAWN.get((str(new.get("apiVersion")), str(new.get("kind"))))
    spec = new.get("spec")
    if not drawn or not isinstance(spec, dict) or spec.get("clusterIP") == "None":
        return new
    kept = {name: value for name, value in spec.items() if name not in drawn}
    ports = [{name: value for name, value in port.items() if name != "nodePort"} for port in spec.get("ports") or ()]
    return {**new, "spec": {**kept, **({"ports": ports} if ports else {})}}


_DRAWN = {("v1", "Service"): frozenset({"clusterIP", "clusterIPs", "healthCheckNodePort"})}


def refused(name: str, refusal: Refusal, *, new: bool = False) -> Finding:
    """The finding that the API server would reject an apply, which creates the object if it is new."""
    return _refused(name, refusal, *(_UNCREATABLE if new and refusal.why == "rights" else _REFUSED[refusal.why]))


def undeletable(name: str, refusal: Refusal) -> Finding:
    """The finding that the API server would reject a delete."""
    return _refused(name, refusal, *_UNDELETABLE.get(refusal.why, _UNDELETABLE["invalid"]))


def _refused(name: str, refusal: Refusal, summary: str, remedy: str) -> Finding:
    return Finding(
        "OWN009",
        Severity.ERROR,
        summary.format(name=name),
        target=name,
        detail=refusal.message,
        remedy=remedy,
    )


_UNDELETABLE = {
    "rights": (
        "these credentials may not delete {name}",
        "ask for the right to delete it; the dry run of a delete needs that right too",
    ),
    "admission": (
        "an admission policy or webhook denies the deletion of {name}",
        "keep it, or ask the owner of the policy or webhook that objects",
    ),
    "invalid": ("the API server rejects the deletion of {name}", "correct what its message says, and plan again"),
}

_UNCREATABLE = (
    "these credentials may not create {name}",
    "ask for the rights to create and patch it; the dry run of an apply needs both too",
)

_REFUSED = {
    "rights": (
        "these credentials may not change {name}",
        "ask for the right to patch it; the dry run of an apply needs that right too",
    ),
    "admission": (
        "an admission policy or webhook denies the change of {name}",
        "change what the policy or webhook objects to, or ask its owner",
    ),
    "quota": ("the change of {name} exceeds a quota", "request less, or ask for a larger quota"),
    "invalid": (
        "the API server rejects the change of {name} as invalid",
        "correct the patch, or the parameter that fills the field",
    ),
    "missing": ("the cluster lacks what {name} needs", "install it first"),
}


def _claims(offline: merge.ServerSide) -> tuple[Claim, ...]:
    return tuple(
        sorted(
            Claim(conflict.path.server_text, owner.manager, owner.operation, owner.subresource)
            for conflict in offline.taken
            for owner in conflict.owners
        )
    )


def differences(before: dict[str, Any] | None, after: dict[str, Any] | None, schema: merge.Type) -> list[merge.Change]:
    """The changes from one object to another, without the status and the owners of fields."""
    return [
        change
        for change in merge.diff(before, after, schema)
        if change.path[:1] != ("status",) and change.path[:2] != ("metadata", "managedFields")
    ]


def _unforeseen(
    name: str, schema: merge.Type, new: bool, applied: dict[str, Any], different: Iterable[merge.Change]
) -> Iterator[Finding]:
    """The findings about changes by admission, webhooks or defaults that the offline rules do not predict."""
    others = []
    for change in different:
        asked = merge.value_at(schema, applied, change.path)
        if asked is not merge.ABSENT and asked not in ({}, []):
            yield Finding(
                "OWN008",
                Severity.WARNING,
                f"the API server sets {change.path} to {short_json(change.after)}, "
                f"but the patches ask for {short_json(asked)}",
                target=name,
                field=str(change.path),
                detail="an admission policy or webhook changes the request",
                remedy="use that value in the patch, or ask the owner of the policy or webhook",
            )
        elif not (new and change.before is merge.ABSENT):
            # A new object gets every default; that is expected.
            others.append(change)
    if others:
        differences = [f"{change.path}: {short_json(change.before)} → {short_json(change.after)}" for change in others]
        yield Finding(
            "OWN008",
            Severity.ADVICE,
            f"the API server changes {plural(len(others), 'field')} of {name} that no patch sets",
            target=name,
            detail=few(differences, SHOWN, "; "),
            remedy="no action needed; such changes come from defaults, admission policies and webhooks",
        )


def short_json(value: Any) -> str:
    """A value as short JSON; a text has no quotes."""
    if value is merge.ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return cut(text, _WIDE)
