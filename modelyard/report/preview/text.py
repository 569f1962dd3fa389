"""A preview as text."""

from modelyard.plan.cost.words import UNKNOWN, short_cost
from modelyard.preview import Group, Preview, SubmissionGroup, grouped, grouped_submissions
from modelyard.report.finding import shown_text, tally
from modelyard.report.preview.words import (
    MOVED,
    RELAXED,
    SUBMITTED,
    WAIVED,
    change_words,
    effects,
    headline,
    parts_of,
    rows_by_patch,
    span,
    submission_name,
    submission_rows,
    submission_words,
    version_words,
)
from modelyard.report.rows import rows_text
from modelyard.report.style import PLAIN, Style, hanging, safe, shorten, wrapped
from modelyard.report.takeovers import alike
from modelyard.report.values import NAMES
from modelyard.stack.words import few


def preview_text(preview: Preview, style: Style = PLAIN) -> list[str]:
    """The preview as lines: what changes and where, identical changes once, then new and fixed findings."""
    lines = [style.bold(line) for line in hanging(headline(preview), 2, style.columns)]
    lines += map(style.dim, hanging(span(preview), 2, style.columns))
    if not preview.changes:
        return lines
    lines += ["", *(line for group in grouped(preview.stacks) for line in (*_group(group, style), ""))]
    if submitted := grouped_submissions(preview.stacks):
        lines.append(style.bold(SUBMITTED.capitalize()))
        lines += [*(line for group in submitted for line in _submission(group, style)), ""]
    lines += [*_findings(preview, style), *_costs(preview, style)]
    if preview.unchanged:
        lines += map(style.dim, hanging(f"not affected: {few(preview.unchanged, NAMES)}", 2, style.columns))
    words = ": ".join(filter(None, (headline(preview), ", ".join(effects(preview)))))
    return [*lines, *(style.bold(line) for line in hanging(words, 2, style.columns))]


def _mark(status: str, style: Style) -> str:
    gone = style.removed("-")
    return {"added": style.added("+"), "removed": gone, "deleted": gone}.get(status, style.changed("~"))


def _submission(group: SubmissionGroup, style: Style) -> list[str]:
    name = shorten(submission_name(group.change), style.columns - 2)
    head = f"{_mark(group.change.status, style)} {style.bold(name)}"
    words = wrapped(submission_words(group), 4, style.columns)
    return [head, *words, *rows_text(submission_rows(group.change), 6, style)]


def _group(group: Group, style: Style) -> list[str]:
    change = group.change
    mark = _mark(change.status, style)
    kind = "" if change.kind == "Deployment" else f"{change.kind} "
    lines = [f"{mark} {style.bold(shorten(kind + change.name, style.columns - 2))}"]
    words = " · ".join(filter(None, (version_words(change), change_words(group))))
    lines += wrapped(f"in {few(group.stacks, NAMES)}" + (f" · {words}" if words else ""), 4, style.columns)
    for patch, rows in rows_by_patch(change):
        lines.append(f"    {style.link(safe(patch))}")
        lines += rows_text(rows, 6, style)
    return lines


def _findings(preview: Preview, style: Style) -> list[str]:
    lines: list[str] = []
    parts = parts_of(preview)
    for title, findings in (
        ("New findings", parts.new),
        (WAIVED.capitalize(), parts.waived),
        (RELAXED.capitalize(), parts.relaxed),
        (MOVED.capitalize(), parts.moved),
        ("Fixed", parts.fixed),
    ):
        if findings:
            lines += [style.bold(title), *shown_text(alike(findings), style), ""]
    if parts.still:
        words = f"still there: {tally(parts.still)} (modelyard check shows them)"
        lines += [*map(style.dim, hanging(words, 2, style.columns)), ""]
    return lines


def _costs(preview: Preview, style: Style) -> list[str]:
    """What each stack costs; those that cost the same are shown together."""
    stacks: dict[str, list[str]] = {}
    for stack in preview.stacks:
        words = short_cost(stack.cost) if stack.cost is not None else f"cost {UNKNOWN}"
        stacks.setdefault(words, []).append(stack.stack)
    lines = [style.bold("Cost")] if stacks else []
    for words, names in stacks.items():
        lines += hanging(f"  {few(names, NAMES)}: {words}", 4, style.columns)
    return [*lines, ""] if lines else []
