"""A preview as text."""

from collections.abc import Iterator, Sequence

from modelyard.plan.cost.words import NO_CHANGE, UNKNOWN, short_cost
from modelyard.preview import Group, Preview, SubmissionGroup, grouped_submissions
from modelyard.report.fields import rows_text
from modelyard.report.finding import alike, shown_text, tally
from modelyard.report.preview.outcome import StackOutcome, next_command, outcomes, title
from modelyard.report.preview.words import (
    MOVED,
    RELAXED,
    SUBMITTED,
    WAIVED,
    Changes,
    changes_of,
    cost_words,
    effects,
    group_words,
    live_lines,
    object_name,
    parts_of,
    rows_by_patch,
    same_words,
    span,
    submission_name,
    submission_rows,
    submission_words,
)
from modelyard.report.style import PLAIN, Style, hanging, safe, shorten, wrapped
from modelyard.report.values import NAMES
from modelyard.stack.words import few, plural


def preview_text(preview: Preview, style: Style = PLAIN) -> list[str]:
    """The preview as lines: what changes and where, identical changes once, then new and fixed findings."""
    happens = outcomes(preview)
    lines = [style.bold(line) for line in hanging(title(preview, happens), 2, style.columns)]
    lines += _happens(happens, style)
    lines += map(style.dim, hanging(span(preview), 2, style.columns))
    lines += (line for words in live_lines(preview) for line in hanging(safe(words), 2, style.columns))
    if not preview.changes:
        return lines
    lines += ["", *_objects(changes_of(preview), style)]
    if submitted := grouped_submissions(preview.stacks):
        lines.append(style.bold(SUBMITTED.capitalize()))
        lines += [*(line for group in submitted for line in _submission(group, style)), ""]
    lines += [*_findings(preview, style), *_costs(preview, style)]
    if preview.unchanged:
        lines += map(style.dim, hanging(f"not affected: {few(preview.unchanged, NAMES)}", 2, style.columns))
    lines += [style.bold(line) for line in hanging(" · ".join(effects(preview)), 2, style.columns)]
    step = next_command(preview)
    words = f"{step.when.capitalize()}: {step.command}{step.which}"
    return [*lines, *(hanging(words, 2, style.columns) if step.command else [])]


def _happens(found: Sequence[StackOutcome], style: Style) -> Iterator[str]:
    """The sentences of every outcome, the most serious first, and the steps of those whose order matters."""
    for one in found:
        words = one.sentences if len(found) == 1 else (f"{one.title}.", *one.sentences)
        yield from wrapped(" ".join(words), 2, style.columns) if words else ()
        for number, step in enumerate(one.steps, 1):
            yield from hanging(f"    {number}. {safe(step)}", 7, style.columns)


def _mark(status: str, style: Style, *, created: bool = True) -> str:
    if status == "added" and created:
        return style.added("+")
    return style.removed("-") if status in ("removed", "deleted") else style.changed("~")


def _submission(group: SubmissionGroup, style: Style) -> list[str]:
    name = shorten(submission_name(group.change), style.columns - 2)
    head = f"{_mark(group.change.status, style)} {style.bold(name)}"
    words = wrapped(submission_words(group), 4, style.columns)
    return [head, *words, *rows_text(submission_rows(group.change), 6, style)]


def _objects(changes: Changes, style: Style) -> Iterator[str]:
    """Every change of an object, then a section for each new stack, with a line for each object."""
    for group in changes.changed:
        yield from (*_group(group, style), "")
    for stacks, groups in changes.new.items():
        title = f"new stack{'s' if len(stacks) > 1 else ''} {few(stacks, NAMES)}: {plural(len(groups), 'object')}"
        yield f"{style.added('+')} {style.bold(shorten(title, style.columns - 2))}"
        for group in groups:
            yield from hanging(f"    {safe(object_name(group.change))}  {group_words(group)}", 6, style.columns)
        yield ""
    if words := same_words(changes.same):
        yield from (*map(style.dim, hanging(words, 2, style.columns)), "")


def _group(group: Group, style: Style) -> list[str]:
    change = group.change
    name = style.bold(shorten(object_name(change), style.columns - 2))
    lines = [f"{_mark(change.status, style, created=change.created)} {name}"]
    words = group_words(group)
    lines += wrapped(f"in {few(group.stacks, NAMES)}" + (f" · {words}" if words else ""), 4, style.columns)
    for patch, rows in rows_by_patch(change):
        lines.append(f"    {style.link(safe(patch))}")
        lines += rows_text(rows, 6, style)
    return lines


def _findings(preview: Preview, style: Style) -> list[str]:
    lines: list[str] = []
    parts = parts_of(preview)
    for heading, findings in (
        ("New findings", parts.new),
        (WAIVED.capitalize(), parts.waived),
        (RELAXED.capitalize(), parts.relaxed),
        (MOVED.capitalize(), parts.moved),
        ("Fixed", parts.fixed),
    ):
        if findings:
            lines += [style.bold(heading), *shown_text(alike(findings), style), ""]
    if parts.still:
        words = f"still there: {tally(parts.still)} (modelyard check lists all)"
        lines += [*map(style.dim, hanging(words, 2, style.columns)), ""]
    return lines


def _costs(preview: Preview, style: Style) -> list[str]:
    """What each stack costs; those that cost the same are shown together."""
    stacks: dict[str, list[str]] = {}
    for stack in preview.stacks:
        if stack.cost is not None and (not stack.cost.targets or cost_words(stack.cost.delta) == NO_CHANGE):
            continue
        unknown = f"cost {UNKNOWN}{': it cannot be planned' if stack.unplanned else ''}"
        words = short_cost(stack.cost) if stack.cost is not None else unknown
        stacks.setdefault(words, []).append(stack.stack)
    lines = [style.bold("Cost")] if stacks else []
    for words, names in stacks.items():
        lines += hanging(f"  {few(names, NAMES)}: {words}", 4, style.columns)
    return [*lines, ""] if lines else []
