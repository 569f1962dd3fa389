"""The training backend that is switched off: it has no pods, but flipping the stack flag would start them."""

from collections.abc import Iterable

from modelyard.findings import Finding, Severity


def idle(findings: Iterable[Finding], side: str) -> list[Finding]:
    """The errors of the idle side as advice that says when they will count; all else is left out."""
    return [
        finding._replace(
            severity=Severity.ADVICE, summary=f"{finding.summary} (idle now, an error once training is {side})"
        )
        for finding in findings
        if finding.severity is Severity.ERROR
    ]
