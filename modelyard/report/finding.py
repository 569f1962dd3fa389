"""Findings as text."""

from collections.abc import Callable, Iterable, Sequence

from modelyard.findings import Finding, Severity
from modelyard.report.style import PLAIN, Style, hanging, safe, wrapped
from modelyard.report.takeovers import ShownFinding, gathered, together
from modelyard.report.values import NAMES
from modelyard.stack.words import few, plural

_INDENT = 18
"""Columns before the text of a finding, for its severity and code."""
_NARROW = 80
"""Below this many columns, only the first line of a finding has that indent."""
_FIELD_LINES = 2
"""The most lines for the fields of an error or warning that stands for several."""


def findings_text(findings: Iterable[Finding], style: Style = PLAIN) -> list[str]:
    """Each finding in a few lines: severity, code, what, where, why, what to do.

    Findings about the owners of fields are combined per target and owner; the remedy appears below the last of several
    with the same remedy.
    """
    return shown_text(gathered(findings), style)


def shown_text(shown: Sequence[ShownFinding], style: Style = PLAIN) -> list[str]:
    """Findings that are already gathered, in a few lines each."""
    lines: list[str] = []
    for at, one in enumerate(shown):
        again = one.fields and any(after.fields and _advice(after) == _advice(one) for after in shown[at + 1 : at + 2])
        lines.extend(_one(one, style, advise=not again))
    return lines


def _advice(shown: ShownFinding) -> tuple[object, ...]:
    return shown.finding.code, shown.finding.severity, shown.finding.waived, shown.finding.detail, shown.finding.remedy


def _one(shown: ShownFinding, style: Style, *, advise: bool) -> list[str]:
    finding, columns = shown.finding, style.columns
    indent = _INDENT if columns >= _NARROW else 4
    word = "waived" if finding.waived else finding.severity.word
    head = f"{word:<8}{safe(finding.code):<8}"
    first, *rest = _statement(shown, head, indent, columns)
    paint = style.dim if finding.waived else _paint(finding.severity, style)
    lines = [first.replace(head, paint(head), 1), *rest]
    where = "  ".join(part for part in _where(shown) if part)
    if where:
        lines.extend(" " * indent + style.link(line.strip()) for line in wrapped(where, indent, columns))
    if finding.waived:
        lines.extend(wrapped(f"waived: {finding.waived}", indent, columns))
    elif advise:
        lines.extend(style.dim(line) for line in _filled(finding.detail, indent, columns))
        lines.extend(_filled(f"→ {finding.remedy}" if finding.remedy else "", indent, columns))
    return lines


def _where(shown: ShownFinding) -> tuple[str, ...]:
    """Place, target, and the stacks if there are several, each with its own place if these differ."""
    finding = shown.finding
    if not shown.places:
        return finding.location, finding.target, f"in {few(shown.stacks, NAMES)}" if shown.stacks else ""
    each = tuple(f"{name} ({at})" if at else name for name, at in zip(shown.stacks, shown.places, strict=True))
    return finding.target, f"in {few(each, NAMES)}"


def _filled(text: str, indent: int, columns: int) -> list[str]:
    return wrapped(text, indent, columns) if text else []


def _statement(shown: ShownFinding, head: str, indent: int, columns: int) -> list[str]:
    """What is wrong, with as many of its fields as fit, and how many more there are; a note has all of its fields."""
    summary = f"  {head}" + " ".join(shown.finding.summary.splitlines())
    lines = hanging(summary, indent, columns)
    for most in range(len(shown.fields), 0, -1):
        rest = sum(number for _, number in shown.fields[most:])
        names = [name for name, _ in shown.fields[:most]]
        lines = hanging(f"{summary}: {'; '.join([*names, *([f'… {rest} more'] if rest else [])])}", indent, columns)
        if len(lines) <= _FIELD_LINES or shown.finding.severity is Severity.ADVICE:
            break
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
    """``1 error, 2 warnings``, without zero counts; empty if there are no findings."""
    found = [alike[0] for alike in together(findings)]
    words = []
    for severity in Severity:
        number = sum(finding.severity is severity and not finding.waived for finding in found)
        if number:
            words.append(plural(number, severity.word))
    waived = sum(bool(finding.waived) for finding in found)
    return ", ".join([*words, *([f"{waived} waived"] if waived else [])])
