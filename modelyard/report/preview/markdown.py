"""A preview as a comment under a pull request: the summary always fits, details folded, not longer than hosts allow."""

from collections.abc import Iterable, Iterator

from modelyard.findings import Finding, loud
from modelyard.plan.cost.words import UNKNOWN, difference
from modelyard.preview import Preview, StackDiff
from modelyard.report import markdown
from modelyard.report.fill import Item, chosen, filled
from modelyard.report.preview.sections import sections
from modelyard.report.preview.words import (
    RELAXED,
    SUBMITTED,
    WAIVED,
    effects,
    gravest_first,
    headline,
    hours,
    moved,
    parts_of,
    sources,
    span,
    told_relaxed,
    told_waived,
)
from modelyard.report.values import count, named

MARK = "<!-- modelyard preview -->"
"""First line of every comment, by which a workflow finds the one to replace."""
LIMIT = 65_000
"""Characters of the longest comment: GitHub takes 65,536, other hosts more."""
LEAST = 4_000
"""Characters that every comment may have, besides the address of the full report."""
_ROWS = 40
"""Stacks in the table of the summary."""
_CODES = 20
"""Codes of new errors that are listed with their stacks."""
_PROJECT = "the project"
"""Where findings are that are no stack's own."""


def least(report: str = "") -> int:
    """The smallest limit that every comment keeps."""
    return LEAST + len(markdown.address(report))


def preview_markdown(preview: Preview, *, limit: int = LIMIT, report: str = "") -> str:
    """The comment.

    Args:
        preview: what to tell.
        limit: most characters of it.
        report: address of the full report, empty where there is none.

    Raises:
        ValueError: the limit is less than ``least(report)``.
    """
    if limit < least(report):
        raise ValueError(f"a comment may need {least(report)} characters, and only {limit} are allowed")
    top, tail = "\n".join(_top(preview, report, limit)), _tail(preview, limit)
    room = limit - len(top) - len(tail) - 11  # line breaks between the parts
    table = _table(preview, room // 2)
    room -= len(table)
    parts = filled(sections(preview, room, linked=bool(report)), room)
    return "\n".join([top, *filter(None, (table, *parts, tail))]).rstrip("\n") + "\n"


def _top(preview: Preview, report: str, limit: int) -> Iterator[str]:
    yield MARK
    yield f"## modelyard: {headline(preview)}"
    yield ""
    link = f" · [full report]({markdown.address(report)})" if report else ""
    yield f"{markdown.text(span(preview))}{link}"
    yield ""
    if preview.changes:
        yield f"**{markdown.text(', '.join(effects(preview)))}**"
        yield ""
        parts = parts_of(preview)
        yield from _codes("New errors", (finding for finding in parts.new if finding.blocks), limit // 8)
        yield from _codes(WAIVED.capitalize(), parts.waived, limit // 16)
        yield from _codes(RELAXED.capitalize(), parts.relaxed, limit // 16)


def _codes(title: str, findings: Iterable[Finding], room: int) -> Iterator[str]:
    """Every code of some findings with its stacks, as far as there is room."""
    stacks: dict[str, dict[str, None]] = {}
    for finding in findings:
        stacks.setdefault(finding.code, {})[finding.stack or _PROJECT] = None
    if not stacks:
        return
    found = sorted(stacks.items())
    each = [f"{markdown.text(code)} in {markdown.text(named(tuple(names), 3))}" for code, names in found]
    bare = [markdown.text(code) for code, _ in found]
    words = "; ".join(each if len(each) <= _CODES else bare)
    if len(words) > room:
        kept = chosen([Item((code,)) for code in bare], room)
        left = len(bare) - len(kept)
        words = "; ".join(kept.values()) + (f" and {left} more" if left else "")
    yield f"**{title}:** {words}"
    yield ""


def _table(preview: Preview, room: int) -> str:
    """A row for each stack, the gravest first, as far as there is room."""
    if not preview.stacks:
        return ""
    head = (
        "| Stack | What | Pods replaced | GPUs | GPU-hours a day | Cost | Findings |\n|---|---|--:|--:|--:|---|---|\n"
    )
    rows = [Item((_row(stack),)) for stack in gravest_first(preview.stacks)[:_ROWS]]
    kept = list(chosen(rows, room - len(head) - 60).values())
    left = len(preview.stacks) - len(kept)
    return head + "".join(f"{row}\n" for row in (*kept, *([f"| and {left} more | | | | | | |"] if left else [])))


def _row(stack: StackDiff) -> str:
    cells = (
        markdown.text(stack.stack),
        _what(stack),
        UNKNOWN if stack.unplanned else str(stack.replaces_pods),
        UNKNOWN if stack.gpus is None else moved(*stack.gpus),
        UNKNOWN if stack.cost is None else hours(stack.cost).replace(" GPU-hours a day", ""),
        _cost(stack),
        _verdict(stack),
    )
    return f"| {' | '.join(cells)} |"


def _what(stack: StackDiff) -> str:
    words = count(len(stack.targets), "target")
    if stack.unplanned:
        words = "cannot be planned"
    elif stack.status == "removed":
        words = "its file is gone"
    elif stack.status == "added":
        words = f"added, {words}"
    elif not stack.targets:
        words = "no object" if stack.submissions else "findings only"
    if stack.submissions:
        words += f", {len(stack.submissions)} {SUBMITTED}"
    return words + (", another recorded platform" if stack.recorded else "")


def _cost(stack: StackDiff) -> str:
    """The difference, and from which prices it is where there is one."""
    if stack.cost is None:
        return UNKNOWN
    return difference(stack.cost.delta.usd) + markdown.text(sources(stack.cost))


def _verdict(stack: StackDiff) -> str:
    errors = sum(finding.blocks for finding in stack.new)
    words = []
    if errors:
        words.append(f"**{count(errors, 'new error')}**")
    other = len(loud(stack.new)) - errors
    if other:
        words.append(count(other, "new warning"))
    waived, relaxed = map(told_waived, stack.waived), map(told_relaxed, stack.relaxed)
    for name, findings in (
        (WAIVED, waived),
        (RELAXED, relaxed),
        ("fixed", stack.fixed),
        ("still there", stack.still),
    ):
        number = len(loud(findings))
        if number:
            words.append(f"{number} {name}")
    return ", ".join(words) or "none"


def _tail(preview: Preview, limit: int) -> str:
    """What is not affected: by name, as far as there is room."""
    if not preview.stacks or not preview.unchanged:
        return ""
    for most in (12, 6, 3):
        words = markdown.text(named(preview.unchanged, most))
        if len(words) < limit // 8:
            return f"Not affected: {words}."
    return f"Not affected: {count(len(preview.unchanged), 'stack')}."
