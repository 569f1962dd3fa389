"""What a plan says about going back: objects that are let go, and ledgers that are not what they should be."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from modelyard.cluster.state import annotations_of
from modelyard.findings import Finding, Severity
from modelyard.plan.keeping import Kept
from modelyard.plan.ledger import Ledger, LedgerError, is_item, ledger_of, others, ours
from modelyard.plan.ownership import PATCHES_ANNOTATION
from modelyard.plan.returning import due, handed_over


def abandoned(name: str, body: dict[str, Any]) -> Finding:
    """The finding where an object still has our patches and no patch of the stack asks for it any more."""
    try:
        back = _back_words(body, ledger_of(body))
    except LedgerError as error:
        back = f"what its fields held before is not known: {error}"
    return Finding(
        "OWN006",
        Severity.WARNING,
        f"{name} is no longer patched; an apply puts it back",
        target=name,
        detail=f"it holds {annotations_of(body)[PATCHES_ANNOTATION]}; {back}",
        remedy="to keep the fields, keep a patch; modelyard ledger shows what each goes back to",
    )


def _back_words(body: dict[str, Any], ledger: Ledger) -> str:
    """Who gets how many fields back, and what becomes of the others."""
    back = [path for path in due(ledger, ours(body), others(body), {}) if not is_item(path)]
    owners = Counter(" and ".join(owner.manager for owner in ledger.owners_of(path)) for path in back)
    told = [
        f"{_count(number)} back to {owner}" if owner else f"{_count(number)} back to what nobody set"
        for owner, number in sorted(owners.items())
    ]
    return ", ".join(told) or "what others hold as well stays, the rest goes away"


def doubts(name: str, live: dict[str, Any], kept: Kept) -> Iterator[Finding]:
    """What is to be said of an object's ledger as it is now."""
    if kept.forgotten:
        yield Finding(
            "OWN012",
            Severity.WARNING,
            f"what the fields that modelyard holds of {name} were before is not known",
            target=name,
            detail="its ledger is missing or cannot be read, and the engine's state does not know either; an undo "
            "drops them, and each takes its default",
            remedy="nothing to do where that is right; else destroy, and apply the installer's own values afterwards",
        )
    elif handed_over(live, ledger_of(live)) is not live:
        yield Finding(
            "OWN013",
            Severity.ADVICE,
            f"fields of {name} have their earlier values and still wait for their earlier owners",
            target=name,
            detail="an apply was interrupted between the two",
            remedy="apply again: it hands them over",
        )


def _count(number: int) -> str:
    return f"{number} field{'s' if number != 1 else ''}"
