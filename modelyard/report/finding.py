"""Findings as text."""

from collections.abc import Callable, Iterable

from modelyard.findings import Finding, Severity
from modelyard.report.style import PLAIN, WIDTH, Style, safe, wrapped
from modelyard.report.values import count


def findings_text(findings: Iterable[Finding], style: Style = PLAIN) -> list[str]:
    """Each finding in a few lines: severity, code, what, where, why, what to do."""
    lines: list[str] = []
    for finding in findings:
        lines.extend(_one(finding, style))
    return lines


def _one(finding: Finding, style: Style) -> list[str]:
    word = "waived" if finding.waived else finding.severity.value
    head = f"{word:<8}{safe(finding.code):<8}"
    first, *rest = wrapped(finding.summary, 18, WIDTH, "  " + head)
    paint = style.dim if finding.waived else _paint(finding.severity, style)
    lines = [first.replace(head, paint(head), 1), *rest]
    where = "  ".join(part for part in (finding.location, finding.target) if part)
    if where:
        lines.extend(" " * 18 + style.link(line.strip()) for line in wrapped(where, 18))
    if finding.waived:
        lines.extend(wrapped(f"waived: {finding.waived}", 18))
        return lines
    if finding.detail:
        lines.extend(style.dim(line) for line in wrapped(finding.detail, 18))
    if finding.remedy:
        lines.extend(wrapped(f"→ {finding.remedy}", 18))
    return lines


def _paint(severity: Severity, style: Style) -> Callable[[str], str]:
    match severity:
        case Severity.ERROR:
            return style.error
        case Severity.WARNING:
            return style.changed
        case Severity.ADVICE:
            return style.dim


def tally(findings: Iterable[Finding]) -> str:
    """``1 error, 2 warnings`` without what is zero; empty where there is nothing."""
    found = list(findings)
    words = []
    for severity, one in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.ADVICE, "note")):
        number = sum(finding.severity is severity and not finding.waived for finding in found)
        if number:
            words.append(count(number, one))
    waived = sum(bool(finding.waived) for finding in found)
    return ", ".join([*words, *([f"{waived} waived"] if waived else [])])
