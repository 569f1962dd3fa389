"""A preview as a comment under a pull request: the summary always fits, details folded, not longer than hosts allow."""

from collections.abc import Iterable, Iterator
from html import escape

from modelyard import merge
from modelyard.cost.words import UNKNOWN, difference
from modelyard.findings import Finding, loud
from modelyard.preview import Group, Preview, StackDiff, grouped
from modelyard.report.preview_words import (
    change_words,
    effects,
    headline,
    rows_by_patch,
    span,
    version_words,
)
from modelyard.report.style import safe
from modelyard.report.takeovers import Told, gathered
from modelyard.report.values import count, fitted, named

MARK = "<!-- modelyard preview -->"
"""First line of every comment, by which a workflow finds the one to replace."""
LIMIT = 65_000
"""Characters of the longest comment: GitHub takes 65,536, other hosts more."""
_ROWS = 40
"""Stacks in the table of the summary."""
_VALUE = 160
"""Characters of the longest value."""


def preview_markdown(preview: Preview, *, limit: int = LIMIT, report: str = "") -> str:
    """The comment.

    Args:
        preview: what to tell.
        limit: most characters of it.
        report: address of the full report, empty where there is none.
    """
    top = "\n".join(_top(preview, report))
    blocks = list(_blocks(preview))
    tail = _tail(preview)
    room = limit - len(top) - len(tail) - 200
    kept: list[str] = []
    for number, block in enumerate(blocks):
        if len(block) + 1 > room:
            left = count(len(blocks) - number, "section")
            where = f"the [full report]({report}) has them" if report else "`modelyard preview` shows them"
            kept.append(f"_{left} more would be too long for this comment; {where}._\n")
            break
        room -= len(block) + 1
        kept.append(block)
    return "\n".join([top, *kept, tail]).rstrip("\n") + "\n"


def _top(preview: Preview, report: str) -> Iterator[str]:
    yield MARK
    yield f"## modelyard: {headline(preview)}"
    yield ""
    link = f" · [full report]({report})" if report else ""
    yield f"{_text(span(preview))}{link}"
    yield ""
    if not preview.stacks:
        return
    yield f"**{_text(', '.join(effects(preview)))}**"
    yield ""
    yield "| Stack | What | Pods replaced | GPUs | Cost | Findings |"
    yield "|---|---|--:|--:|---|---|"
    for stack in preview.stacks[:_ROWS]:
        cells = (
            _text(stack.stack),
            _what(stack),
            UNKNOWN if stack.unplanned else str(stack.replaces_pods),
            _gpus(stack),
            _cost(stack),
            _verdict(stack),
        )
        yield f"| {' | '.join(cells)} |"
    if len(preview.stacks) > _ROWS:
        yield f"| and {len(preview.stacks) - _ROWS} more | | | | | |"
    yield ""


def _what(stack: StackDiff) -> str:
    words = count(len(stack.targets), "target")
    if stack.unplanned:
        words = "cannot be planned"
    elif stack.status != "changed":
        words = f"{stack.status}, {words}"
    elif not stack.targets:
        words = "findings only"
    return words + (", another recorded platform" if stack.recorded else "")


def _gpus(stack: StackDiff) -> str:
    if stack.unplanned:
        return UNKNOWN
    before, after = stack.gpus
    return f"{before} → {after}" if before != after else str(after)


def _cost(stack: StackDiff) -> str:
    return UNKNOWN if stack.cost is None else difference(stack.cost.delta.usd)


def _verdict(stack: StackDiff) -> str:
    errors = sum(finding.blocks for finding in stack.new)
    words = []
    if errors:
        words.append(f"**{count(errors, 'new error')}**")
    other = len(loud(stack.new)) - errors
    if other:
        words.append(count(other, "new warning"))
    for name, findings in (("fixed", stack.fixed), ("still there", stack.still)):
        number = len(loud(findings))
        if number:
            words.append(f"{number} {name}")
    return ", ".join(words) or "none"


def _blocks(preview: Preview) -> Iterator[str]:
    """The parts that may be left out, the gravest first."""
    new = [finding for stack in preview.stacks for finding in loud(stack.new)]
    if new:
        yield "### New findings\n\n" + _findings(new) + "\n"
    groups = grouped(preview.stacks)
    for number, group in enumerate(groups):
        yield ("### Changes\n\n" if not number else "") + _group(group, opened=len(groups) <= 3)
    for title, findings in (
        ("Fixed", [finding for stack in preview.stacks for finding in loud(stack.fixed)]),
        ("Still there", [finding for stack in preview.stacks for finding in loud(stack.still)]),
    ):
        if findings:
            yield _folded(f"{title}: {count(len(findings), 'finding')}", _findings(findings))


def _group(group: Group, *, opened: bool) -> str:
    change = group.change
    kind = "" if change.kind == "Deployment" else f"{change.kind} "
    versions, words = version_words(change), change_words(group)
    title = f"<code>{_html(kind + change.name)}</code> in {_html(named(group.stacks))}"
    title += "".join(f" · {_html(part)}" for part in (versions, words) if part)
    body = []
    if len(group.stacks) > 6:
        body += [f"In all of: {_text(', '.join(group.stacks))}", ""]
    body += list(_fields(group)) or ["No field differs."]
    return _folded(title, "\n".join(body).rstrip("\n"), opened=opened)


def _fields(group: Group) -> Iterator[str]:
    for patch, rows in rows_by_patch(group.change):
        yield f"**{_text(patch)}**"
        yield ""
        yield "| Field | Before | After |"
        yield "|---|---|---|"
        for row in rows:
            for item in row.items:
                name = " ".join(filter(None, (row.label, item.name)))
                before, after = (
                    "" if value is merge.ABSENT else _code(fitted(value, _VALUE, item.write))
                    for value in (item.before, item.after)
                )
                yield f"| {_text(name)} | {before} | {after} |"
        yield ""


def _findings(findings: Iterable[Finding]) -> str:
    return "\n".join(map(_finding, gathered(findings)))


def _finding(told: Told) -> str:
    finding = told.finding
    stacks = named(told.stacks) if told.stacks else finding.stack
    summary = ": ".join(filter(None, (finding.summary, "; ".join(name for name, _ in told.fields))))
    parts = [
        f"- **{finding.severity.value} {finding.code}** {_text(stacks)}: {_text(summary)}",
        _code(finding.location) if finding.location else "",
        _text(finding.target),
    ]
    return " · ".join(filter(None, parts)) + (f"<br>{_text(finding.remedy)}" if finding.remedy else "")


def _tail(preview: Preview) -> str:
    if not preview.stacks or not preview.unchanged:
        return ""
    return f"Not affected: {_text(named(preview.unchanged, 12))}."


def _folded(title: str, body: str, *, opened: bool = False) -> str:
    return f"<details{' open' if opened else ''}>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n"


_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


_QUIET = str.maketrans({"@": "@\u200b", "#": "#\u200b"})
"""Hosts make mentions and references of these even where they are escaped; an invisible space prevents it."""


def _text(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no mentions of people or issues."""
    return safe(text).translate(_ESCAPES).translate(_QUIET)


def _html(text: str) -> str:
    return escape(safe(text), quote=False).translate(_QUIET)


_IN_CODE = str.maketrans({character: f"&#{ord(character)};" for character in "|`*_[]#"})


def _code(text: str) -> str:
    """Text in code style inside a table's cell, where a pipe would end the cell whatever stands around it."""
    return f"<code>{_html(text).translate(_IN_CODE)}</code>"
