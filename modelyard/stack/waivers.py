"""Waivers: findings that a stack accepts, with a reason, until a date."""

from collections.abc import Collection, Iterable
from datetime import date

from modelyard.findings import Finding, Severity, ordered
from modelyard.stack import codes
from modelyard.stack.config import Stack, Waiver
from modelyard.stack.words import did_you_mean

UNWAIVABLE = ("CFG", "PAT", "POL0", "OWN005", "REM013")
"""Prefixes of the codes that you can only correct: errors in files and around rules, and a wrong cluster."""
POLICY = "POL"
"""The family that a plan does not find: ``modelyard.policy`` applies its waivers."""


def apply_waivers(findings: Iterable[Finding], stack: Stack, today: date) -> tuple[Finding, ...]:
    """Returns the findings, with a waiver's reason where one applies, and what is wrong with the waivers themselves.

    A waiver covers findings of its code in its stack and, if it names a target, of that target, up to and including its
    expiry date. A waiver that is expired, or whose code is unknown or cannot be waived, covers nothing and is an error;
    another waiver that covers nothing is advice to remove it. A waiver that does not say who decided is a warning.
    Waivers for policy codes are not judged here; ``apply_policy_waivers`` does that.

    Args:
        findings: of this stack; those of other stacks pass through.
        stack: the stack with the waivers.
        today: the current date.
    """
    judged, used = waive(findings, stack, today)
    for index, waiver in enumerate(stack.config.waivers):
        if not (waiver.by or "").strip():
            judged.append(_nobody(index, waiver, stack))
        if waiver.expires < today:
            judged.append(_expired(index, waiver, stack))
        elif index not in used and not waiver.code.startswith(POLICY):
            judged.append(_unused(index, waiver, stack))
    return ordered(judged)


def apply_policy_waivers(
    findings: Iterable[Finding], stack: Stack, today: date, rules: Collection[str]
) -> tuple[Finding, ...]:
    """Applies the policies' waivers to the policies' findings, which a plan does not have, and judges only those.

    ``rules`` are the codes of the project's rules.
    """
    judged, used = waive(findings, stack, today)
    for index, waiver in enumerate(stack.config.waivers):
        if not waiver.code.startswith(POLICY):
            continue
        if waiver.expires < today:
            judged.append(_expired(index, waiver, stack))
        elif index not in used:
            judged.append(_unused(index, waiver, stack, rules))
    return ordered(judged)


def waive(findings: Iterable[Finding], stack: Stack, today: date) -> tuple[list[Finding], set[int]]:
    """Returns the findings, with a waiver's reason where one applies, and the indexes of the waivers in use."""
    used: set[int] = set()
    return [_judge(finding, stack, today, used) for finding in findings], used


def _judge(finding: Finding, stack: Stack, today: date, used: set[int]) -> Finding:
    """Returns the finding, waived by the first waiver that covers it; every waiver that covers it counts as used."""
    if finding.waived or finding.stack not in ("", stack.name) or finding.code.startswith(UNWAIVABLE):
        return finding
    covering = [index for index, waiver in enumerate(stack.config.waivers) if _covers(waiver, finding, today)]
    used.update(covering)
    return finding._replace(waived=_words(stack.config.waivers[covering[0]])) if covering else finding


def _words(waiver: Waiver) -> str:
    """Returns the reason and, if known, who decided."""
    return f"{waiver.reason} ({waiver.by})" if waiver.by else waiver.reason


def _covers(waiver: Waiver, finding: Finding, today: date) -> bool:
    return waiver.code == finding.code and today <= waiver.expires and waiver.target in (None, finding.target)


def _expired(index: int, waiver: Waiver, stack: Stack) -> Finding:
    return stack.finding(
        codes.WAIVER_EXPIRED,
        Severity.ERROR,
        ("waivers", index, "expires"),
        f"the waiver of {waiver.code} expired on {waiver.expires}",
        _remedy(waiver, "correct the finding and remove the waiver, or decide again and set a new date"),
        detail=f"Its reason: {waiver.reason}",
    )


def _nobody(index: int, waiver: Waiver, stack: Stack) -> Finding:
    finding = Finding(
        codes.WAIVER_BY,
        Severity.WARNING,
        f"the waiver of {waiver.code} does not name who decided",
        field=f"waivers[{index}].by",
        remedy=_remedy(waiver, "add `by:` with the person or team to ask when it expires"),
    )
    return stack.place(finding, "waivers", index)


def _unused(index: int, waiver: Waiver, stack: Stack, rules: Collection[str] = ()) -> Finding:
    from modelyard.explanations import explanations

    if waiver.code.startswith(UNWAIVABLE):
        return stack.finding(
            codes.WAIVER_CODE,
            Severity.ERROR,
            ("waivers", index, "code"),
            f"{waiver.code} cannot be waived",
            "correct what the finding names, and remove the waiver",
        )
    known = explanations()
    if waiver.code not in known and waiver.code not in rules:
        return stack.finding(
            codes.WAIVER_CODE,
            Severity.ERROR,
            ("waivers", index, "code"),
            f"unknown code {waiver.code!r}",
            did_you_mean(waiver.code, [*known, *rules]) or "modelyard explain lists all codes",
        )
    of = f" for {waiver.target}" if waiver.target else ""
    return stack.finding(
        codes.WAIVER_UNUSED,
        Severity.ADVICE,
        ("waivers", index),
        f"the waiver of {waiver.code}{of} covers no finding",
        "remove it, unless it is for a finding of a live plan or of check --prometheus",
    )


def _remedy(waiver: Waiver, remedy: str) -> str:
    """The remedy of a finding about a waiver; no correction helps a waiver of a code that cannot be waived."""
    return f"remove it: {waiver.code} cannot be waived" if waiver.code.startswith(UNWAIVABLE) else remedy
