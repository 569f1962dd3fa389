"""Findings as text. Those of one owner, of one cause, or of a file that several stacks share are shown once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.kube.merge import Path
from modelyard.plan.ownership import CONTESTED, SYNCED, TAKEN, taken_from
from modelyard.report.fields import field_names
from modelyard.report.style import PLAIN, Style, hanging, safe, wrapped
from modelyard.report.values import NAMES
from modelyard.stack.words import few, plural

_FIELD = "{field}"


class ShownFinding(NamedTuple):
    """A finding as readers see it: a single finding, or one that stands for several."""

    finding: Finding
    fields: tuple[tuple[str, int], ...] = ()
    """Short names of its fields, some combined, each with a number; empty for a single finding."""
    stacks: tuple[str, ...] = ()
    """The stacks that have it, if there are several."""
    places: tuple[str, ...] = ()
    """The place in each of these stacks, if they differ."""


def gathered(findings: Iterable[Finding]) -> list[ShownFinding]:
    """The findings in their order; a combined finding takes the place of its first."""
    return [_shown(found) for found in together(findings)]


def alike(findings: Iterable[Finding]) -> list[ShownFinding]:
    """The findings, most serious first; one of several stacks appears once, even if each has it in its own file."""
    found = sorted(gathered(findings), key=lambda shown: _gravity(shown.finding))
    places: dict[object, list[ShownFinding]] = {}
    for shown in found:
        like = shown.finding._replace(stack="", file="", line=0, column=0), shown.fields
        places.setdefault(like if not shown.stacks else shown, []).append(shown)
    return [_of_several(those) if len(those) > 1 else those[0] for those in places.values()]


def together(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings that are shown as one: of one target and owner, of one cause, or equal ones of several stacks at
    one place.
    """
    places: dict[object, list[Finding]] = {}
    for finding in findings:
        like: object = len(places)
        if sentence := _of_any_field(finding):
            like = finding._replace(summary=sentence, field="", line=0, column=0)
        elif _is_cause(finding):
            like = finding._replace(summary=finding.summary.replace(finding.target, ""), target="")
        elif finding.file:
            # A stack's own file has no findings of other stacks, so this is a patch or the lock of all patches.
            like = finding._replace(stack="")
        places.setdefault(like, []).append(finding)
    return list(places.values())


def taken_over(findings: Iterable[Finding]) -> Mapping[str, int]:
    """How many fields a plan takes over routinely, by owner."""
    notes = (one for one in findings if one.severity is Severity.ADVICE and not one.waived)
    return Counter(sorted(taken_from(one) for one in notes if one.code == TAKEN))


def _of_several(found: list[ShownFinding]) -> ShownFinding:
    first = found[0].finding
    stacks = tuple(one.finding.stack for one in found)
    return ShownFinding(first, found[0].fields, stacks, tuple(one.finding.location for one in found))


def _gravity(finding: Finding) -> tuple[object, ...]:
    rank = tuple(Severity).index(finding.severity)
    return bool(finding.waived), rank, finding.code, finding.target, finding.field, finding.summary


def _shown(found: list[Finding]) -> ShownFinding:
    first = found[0]
    if len(found) > 1 and _is_cause(first):
        names = few(sorted(one.target for one in found), NAMES)
        return ShownFinding(first._replace(summary=first.summary.replace(first.target, names), target=""))
    sentence = _of_any_field(first)
    if not sentence or (len(found) == 1 and first.severity is not Severity.ADVICE):
        stacks = tuple(dict.fromkeys(one.stack for one in found))
        return ShownFinding(first, (), stacks if len(stacks) > 1 else ())
    summary = sentence.replace(_FIELD, plural(len(found), "field")).replace("write it again", "write them again")
    return ShownFinding(first._replace(summary=summary), tuple(field_names(Path.parse(one.field) for one in found)))


def _is_cause(finding: Finding) -> bool:
    """Whether it is about a target, but its cause is a setting that all targets share."""
    return bool(finding.target) and finding.field.startswith("platform.")


def _of_any_field(finding: Finding) -> str:
    """The summary with ``_FIELD`` for its field; empty if it does not concern one field and its owner."""
    if finding.code not in (TAKEN, CONTESTED, SYNCED) or not finding.field or finding.field not in finding.summary:
        return ""
    return finding.summary.replace(finding.field, _FIELD, 1)


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
    return {Severity.ERROR: style.error, Severity.WARNING: style.changed, Severity.ADVICE: style.dim}[severity]


def tally(findings: Iterable[Finding]) -> str:
    """``1 error, 2 warnings``, without zero counts; empty if there are no findings."""
    found = [alike[0] for alike in together(findings)]
    counts = Counter(finding.severity for finding in found if not finding.waived)
    words = [plural(counts[severity], severity.word) for severity in Severity if counts[severity]]
    waived = sum(bool(finding.waived) for finding in found)
    return ", ".join([*words, *([f"{waived} waived"] if waived else [])])
