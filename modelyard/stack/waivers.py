"""Waivers: findings that a stack accepts, with a reason, until a day."""

from collections.abc import Iterable
from datetime import date

from modelyard.findings import Finding, Severity, ordered
from modelyard.stack import codes
from modelyard.stack.config import Path, Stack, Waiver

UNWAIVABLE = ("CFG", "PAT")
"""Families of mistakes in a stack file and in patches: there is nothing to accept, only to correct."""


def apply_waivers(findings: Iterable[Finding], stack: Stack, today: date) -> tuple[Finding, ...]:
    """The findings with the reason on those that a waiver covers, and what is wrong with the waivers themselves.

    A waiver covers findings of its code in its stack and, where it names one, of its target, up to and including the
    day it expires. An expired waiver covers nothing and is an error; one that covers nothing is advice to remove it.

    Args:
        findings: of this stack; those of other stacks pass through.
        stack: whose waivers are applied.
        today: the day it is.
    """
    used: set[int] = set()
    judged = [_judge(finding, stack, today, used) for finding in findings]
    for index, waiver in enumerate(stack.config.waivers):
        if waiver.expires < today:
            judged.append(_expired(index, waiver, stack))
        elif index not in used:
            judged.append(_unused(index, waiver, stack))
    return ordered(judged)


def _judge(finding: Finding, stack: Stack, today: date, used: set[int]) -> Finding:
    """The finding, waived by the first waiver that covers it; every waiver that covers it counts as used."""
    if finding.waived or finding.stack not in ("", stack.name) or finding.code.startswith(UNWAIVABLE):
        return finding
    covering = [index for index, waiver in enumerate(stack.config.waivers) if _covers(waiver, finding, today)]
    used.update(covering)
    return finding._replace(waived=stack.config.waivers[covering[0]].reason) if covering else finding


def _covers(waiver: Waiver, finding: Finding, today: date) -> bool:
    return waiver.code == finding.code and today <= waiver.expires and waiver.target in (None, finding.target)


def _expired(index: int, waiver: Waiver, stack: Stack) -> Finding:
    path: Path = ("waivers", index, "expires")
    finding = Finding(
        codes.WAIVER_EXPIRED,
        Severity.ERROR,
        f"the waiver of {waiver.code} expired on {waiver.expires}",
        field=f"waivers[{index}].expires",
        detail=f"It was given because: {waiver.reason}",
        remedy="correct what it covered and remove it, or decide again and set a new day",
    )
    return stack.place(finding, *path)


def _unused(index: int, waiver: Waiver, stack: Stack) -> Finding:
    of = f" for {waiver.target}" if waiver.target else ""
    finding = Finding(
        codes.WAIVER_UNUSED,
        Severity.ADVICE,
        f"the waiver of {waiver.code}{of} covers no finding",
        field=f"waivers[{index}]",
        remedy="remove it, so that it does not hide the next one",
    )
    return stack.place(finding, "waivers", index)
