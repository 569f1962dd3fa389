"""Findings about undo: objects that the stack no longer asks for, and ledgers with errors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from modelyard.findings import Finding, Severity
from modelyard.kube.state import annotations_of
from modelyard.plan.ownership import PATCHES_ANNOTATION
from modelyard.plan.undo.ledger import ObjectLedger, is_item
from modelyard.plan.undo.lists import owned_fields
from modelyard.plan.undo.request import ReversibleRequest
from modelyard.plan.undo.restore import Undo, restorable_fields
from modelyard.stack.config import Stack
from modelyard.stack.words import few, plural

OTHER_STATE = "OWN016"
"""Code of the finding about objects that this stack applied and its state does not have."""


def dropped_object(name: str, body: dict[str, Any], back: Undo | None) -> Finding:
    """The finding that no patch of the stack asks for an object; ``back`` is its undo, None for a delete."""
    held = annotations_of(body).get(PATCHES_ANNOTATION)
    holds = f"it has {held}" if held else "it has fields that modelyard set"
    if back is None:
        return Finding(
            "OWN006",
            Severity.ADVICE,
            f"the stack no longer defines {name}; an apply deletes it",
            target=name,
            detail=f"{holds}; the stack created it",
            remedy="to keep it, keep its patch",
        )
    return Finding(
        "OWN006",
        Severity.ADVICE,
        f"{name} is no longer patched; an apply restores it",
        target=name,
        detail=f"{holds}; {_back_words(body, back.ledger)}",
        remedy="to keep the fields, keep a patch; modelyard ledger shows the value that each is restored to",
    )


def stranger(name: str, body: dict[str, Any]) -> Finding:
    """The finding about an object with modelyard's patches that neither the stack nor Pulumi's state has."""
    return Finding(
        "OWN006",
        Severity.WARNING,
        f"{name} has patches that this stack never applied; an apply does not change it",
        target=name,
        detail=f"it has {annotations_of(body)[PATCHES_ANNOTATION]}, which Pulumi's state does not contain",
        remedy="undo them with the stack and the state that applied them (PULUMI_BACKEND_URL)",
    )


def two_states(stack: Stack, names: Sequence[str]) -> Finding:
    """The finding that this stack applied objects from another state than the one that was read."""
    return Finding(
        OTHER_STATE,
        Severity.WARNING,
        f"Pulumi's state does not contain what {stack.name} has applied to {few(names)}",
        stack=stack.name,
        file=stack.file,
        detail="it is in another state of the same stack, or this state was lost; an apply continues from the objects' "
        "annotations, and a destroy with either state then restores everything",
        remedy="use one state for everyone who applies: check PULUMI_BACKEND_URL and the backend of Pulumi.yaml",
    )


def unread(stack: Stack, why: str) -> Finding:
    """The finding that a live plan cannot read what earlier applies left in Pulumi's state."""
    return Finding(
        "OWN006",
        Severity.ADVICE,
        f"objects that {stack.name} no longer defines are known only by their annotations",
        stack=stack.name,
        file=stack.file,
        detail=f"Pulumi's state, which has the full list, cannot be read: {why}",
        remedy="plan on a machine that can run pulumi and read its state (PULUMI_BACKEND_URL)",
    )


def unlisted(stack: Stack, lists: Sequence[str], cluster: str = "") -> Iterator[Finding]:
    """The finding that a live plan lacks quotas or autoscalers, because the credentials may not list them.

    ``lists`` are such as ``resourcequotas of ml-platform``, in the remote cluster ``cluster`` if it is not empty.
    """
    if lists:
        where = f" in remote cluster {cluster}" if cluster else ""
        yield Finding(
            "OWN017",
            Severity.WARNING,
            f"these credentials may not list {' or '.join(lists)}{where}, so the plan leaves them out",
            stack=stack.name,
            file=stack.file,
            detail="with them, a plan compares new pods with quotas, and does not set replicas that an autoscaler sets",
            remedy="ask for the right to list them: modelyard's guide on rights has the roles",
        )


def _back_words(body: dict[str, Any], ledger: ObjectLedger) -> str:
    """How many fields are restored to which owners, and what happens to the other fields."""
    back = [path for path in restorable_fields(ledger, *owned_fields(body, ledger), {}) if not is_item(path)]
    owners = Counter(" and ".join(owner.manager for owner in ledger.owners_of(path)) for path in back)
    parts = [
        f"{plural(number, 'field')} back to {owner}" if owner else f"{plural(number, 'field')} back to unset"
        for owner, number in sorted(owners.items())
    ]
    return ", ".join(parts) or "fields that others own too stay, the rest is removed"


def doubts(name: str, kept: ReversibleRequest) -> Iterator[Finding]:
    """The findings about an object's current ledger."""
    if kept.forgotten:
        yield Finding(
            "OWN012",
            Severity.WARNING,
            f"the earlier values of the fields that modelyard owns on {name} are unknown",
            target=name,
            detail="the ledger is missing or unreadable, and Pulumi's state does not have them; a restore "
            "removes the fields, and each takes its default",
            remedy="if the defaults are right, do nothing; otherwise destroy, then apply the installer's values",
        )
    elif kept.hands_over:
        yield Finding(
            "OWN013",
            Severity.WARNING,
            f"fields of {name} have their earlier values back, but not yet their earlier owners",
            target=name,
            detail="an apply was interrupted between these two steps",
            remedy="apply again",
        )
