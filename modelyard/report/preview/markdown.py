"""A preview as a comment under a pull request: the summary always fits, details are folded, hosts' limits are kept."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from modelyard.findings import Finding, Severity, loud
from modelyard.kube import merge
from modelyard.plan.cost.words import UNKNOWN, hours_words
from modelyard.preview import Group, Preview, StackDiff, SubmissionGroup, grouped_submissions
from modelyard.report import markdown
from modelyard.report.code_host import Link, Links, no_links
from modelyard.report.fields import FieldItem, FieldRow, apart
from modelyard.report.finding import ShownFinding, alike, tally
from modelyard.report.markdown import Item, Section, chosen, code, complete, filled, folded, html, linked, prose, text
from modelyard.report.preview.outcome import StackOutcome, next_command, outcomes, title, unaffected
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
    most_serious_first,
    moved,
    object_name,
    parts_of,
    pods_words,
    relaxed_words,
    rows_by_patch,
    same_words,
    sources,
    span,
    submission_name,
    submission_rows,
    submission_words,
    waived_words,
)
from modelyard.report.style import shorten
from modelyard.report.values import NAMES, fitted
from modelyard.stack.words import few, plural

MARK = "<!-- modelyard preview -->"
"""First line of every comment; a workflow finds the comment to replace by it."""
LIMIT = 65_000
"""Characters of the longest comment: GitHub takes 65,536, other hosts more."""
LEAST = 4_000
"""Every comment may have this many characters, in addition to the address of the full report."""
_ROWS = 40
"""Stacks in the table of the summary."""
_CODES = 20
"""Codes of new errors that are listed with their stacks."""
_TITLE = 300
"""Characters of the longest title, with its escapes."""
_COMMAND = 100
"""Characters of the longest command that is suggested."""
_OUTCOMES = 8
"""Outcomes that the summary lists."""
_PROJECT = "the project"
"""The place of findings that belong to no stack."""


def least(report: str = "") -> int:
    """The smallest limit that every comment can keep."""
    return LEAST + len(markdown.address(report))


def preview_markdown(preview: Preview, *, limit: int = LIMIT, report: str = "", links: Links | None = None) -> str:
    """The preview as a comment.

    Args:
        preview: the preview to show.
        limit: the most characters of the comment.
        report: address of the full report, empty if there is none.
        links: where places lead to; left out if they take the room of something else.

    Raises:
        ValueError: the limit is less than ``least(report)``.
    """
    if limit < least(report):
        raise ValueError(f"a comment may need {least(report)} characters, but the limit is {limit}")
    happens = outcomes(preview)
    top, tail = "\n".join(_top(preview, happens, report, limit)), _tail(preview, limit)
    room = limit - len(top) - len(tail) - 11  # line breaks between the parts
    table = _table(preview, room // 2)
    room -= len(table)
    made = sections(preview, happens, room, linked=bool(report), links=links)
    if links is not None and not complete(made, room):
        made = sections(preview, happens, room, linked=bool(report))
    parts = filled(made, room)
    return "\n".join([top, *filter(None, (table, *parts, tail))]).rstrip("\n") + "\n"


def _top(preview: Preview, happens: Sequence[StackOutcome], report: str, limit: int) -> Iterator[str]:
    """What will happen, in words, then the compared commits and the numbers."""
    yield MARK
    yield f"## modelyard: {_fitted(title(preview, happens), _TITLE)}"
    yield ""
    yield from _happens(preview, happens, limit // 3)
    if preview.changes:
        yield text(" · ".join(effects(preview)))
        yield ""
    link = f" · [full report]({markdown.address(report)})" if report else ""
    step = next_command(preview)
    words = f" · {step.when}: {code(step.command)}{text(step.which)}"
    yield f"{text(span(preview))}{link}" + (words if 0 < len(step.command + step.stacks) <= _COMMAND else "")
    yield ""
    yield from _about_clusters(preview, limit // 8)
    if preview.changes:
        parts = parts_of(preview)
        yield from _codes("New errors", (finding for finding in parts.new if finding.blocks), limit // 8)
        yield from _codes(WAIVED.capitalize(), parts.waived, limit // 16)
        yield from _codes(RELAXED.capitalize(), parts.relaxed, limit // 16)


def _happens(preview: Preview, found: Sequence[StackOutcome], room: int) -> Iterator[str]:
    """The sentences of every outcome, the most serious first, as far as there is room."""
    rest = unaffected(preview)
    if len(found) == 1:
        words = " ".join(filter(None, (*found[0].sentences, rest)))
        yield from ([_fitted(words, room), ""] if words else [])
        return
    lines = (f"- **{text(one.subject)}** {text(' '.join((f'{one.headline}.', *one.sentences)))}" for one in found)
    items = [Item((line,)) for line in lines]
    kept = chosen(items[:_OUTCOMES], room)
    left = sum(len(one.stacks) for at, one in enumerate(found) if at not in kept)
    yield from kept.values()
    if left:
        yield f"- {plural(left, 'more stack')}: see the table"
    if rest:
        yield f"- {text(rest)}"
    if kept or left or rest:
        yield ""


def _fitted(words: str, room: int) -> str:
    """Plain words, shortened so that they have at most ``room`` characters with their escapes."""
    length = room
    while len(shown := text(shorten(words, length))) > room:
        length = length * room // len(shown)
    return shown


def _about_clusters(preview: Preview, room: int) -> Iterator[str]:
    """What a preview of live clusters says about them, as far as there is room."""
    left = 0
    for line in map(markdown.text, live_lines(preview)):
        if len(line) < room:
            yield line
            yield ""
            room -= len(line) + 2
        else:
            left += 1
    if left:
        yield f"_{plural(left, 'more note')} about clusters: `modelyard preview --live` shows them._"
        yield ""


def _codes(title: str, findings: Iterable[Finding], room: int) -> Iterator[str]:
    """Every code of some findings with its stacks, as far as there is room."""
    stacks: dict[str, dict[str, None]] = {}
    for finding in findings:
        stacks.setdefault(finding.code, {})[finding.stack or _PROJECT] = None
    if not stacks:
        return
    found = sorted(stacks.items())
    each = [f"{markdown.text(code)} in {markdown.text(few(names, 3))}" for code, names in found]
    bare = [markdown.text(code) for code, _ in found]
    words = "; ".join(each if len(each) <= _CODES else bare)
    if len(words) > room:
        kept = chosen([Item((code,)) for code in bare], room)
        left = len(bare) - len(kept)
        words = "; ".join(kept.values()) + (f" and {left} more" if left else "")
    yield f"**{title}:** {words}"
    yield ""


def _table(preview: Preview, room: int) -> str:
    """A row for each stack, most serious first, as far as there is room; none if the line of effects says it all."""
    if not preview.stacks or _only_effects(preview):
        return ""
    head = "| Stack | What | Pods | GPUs | GPU-hours a day | Cost | Findings |\n|---|---|---|--:|--:|---|---|\n"
    rows = [Item((_row(stack),)) for stack in most_serious_first(preview.stacks)[:_ROWS]]
    kept = list(chosen(rows, room - len(head) - 60).values())
    left = len(preview.stacks) - len(kept)
    return head + "".join(f"{row}\n" for row in (*kept, *([f"| and {left} more | | | | | | |"] if left else [])))


def _only_effects(preview: Preview) -> bool:
    """Whether the project has one stack, and its row would repeat the effects."""
    first = preview.stacks[0]
    alone = len(preview.stacks) + len(preview.unchanged) == 1
    return alone and first.status == "changed" and not (first.unplanned or first.recorded)


def _row(stack: StackDiff) -> str:
    cells = (
        markdown.text(stack.stack),
        _what(stack),
        UNKNOWN if stack.unplanned else pods_words(stack) or "none",
        UNKNOWN if stack.gpus is None else moved(*stack.gpus),
        UNKNOWN if stack.cost is None else hours_words(stack.cost.gpus).replace(" GPU-hours a day", ""),
        _cost(stack),
        _verdict(stack),
    )
    return f"| {' | '.join(cells)} |"


def _what(stack: StackDiff) -> str:
    words = plural(len(stack.targets), "target")
    if stack.unplanned:
        words = "cannot be planned"
    elif stack.status == "removed":
        words = "stack file deleted"
    elif stack.status == "added":
        words = f"added, {words}"
    elif not stack.targets:
        words = "no object" if stack.submissions else "findings only"
    if stack.submissions:
        words += f", {plural(len(stack.submissions), 'change')} {SUBMITTED}"
    return words + (", recorded platform changed" if stack.recorded else "")


def _cost(stack: StackDiff) -> str:
    """The cost difference, with the source of the prices if there is one."""
    if stack.cost is None:
        return UNKNOWN
    return cost_words(stack.cost.delta) + markdown.text(sources(stack.cost))


def _verdict(stack: StackDiff) -> str:
    errors = sum(finding.blocks for finding in stack.new)
    others = len(loud(stack.new)) - errors
    words = [f"**{plural(errors, 'new error')}**"] if errors else []
    words += [plural(others, "new warning")] if others else []
    parts = {
        WAIVED: map(waived_words, stack.waived),
        RELAXED: map(relaxed_words, stack.relaxed),
        "fixed": stack.fixed,
        "still there": stack.still,
    }
    numbers = {name: len(loud(findings)) for name, findings in parts.items()}
    return ", ".join((*words, *(f"{number} {name}" for name, number in numbers.items() if number))) or "none"


def _tail(preview: Preview, limit: int) -> str:
    """The stacks without changes, by name as far as there is room."""
    if not preview.stacks or not preview.unchanged:
        return ""
    for most in (12, 6, 3):
        words = markdown.text(few(preview.unchanged, most))
        if len(words) < limit // 8:
            return f"Not affected: {words}."
    return f"Not affected: {plural(len(preview.unchanged), 'stack')}."


# The findings and changes of a preview as separate Markdown items, so that a comment includes as many as fit.
_OPEN = 3
"""Up to this many changes are open; of more, none is."""
_FIELDS = 60
"""Fields shown of one change."""
_VALUE = 160
"""Characters of the longest value."""
_SHORTEST = 60
"""Approximate length of the shortest finding or change; items beyond the room are not made."""
_STACKS = 100
"""Stacks that one change names."""

Whole = Callable[[list[str], int], str]


def sections(
    preview: Preview, happens: Sequence[StackOutcome], room: int, *, linked: bool, links: Links | None = None
) -> list[Section]:
    """New findings, those that the change waives or no longer checks, changes, what differs for the next apply or
    submission, then findings that are fixed or still there; empty sections are left out.

    Args:
        preview: the preview to show.
        happens: its outcomes.
        room: characters for all sections together.
        linked: whether the comment links a full report.
        links: where places lead to.
    """
    link = no_links if links is None else links.at
    parts = parts_of(preview)
    shown = "the full report has them" if linked else "`modelyard preview` shows them"
    check = "the full report has them" if linked else "`modelyard check` shows them"
    most = max(room // _SHORTEST, 1)
    objects = changes_of(preview)
    changes = [_change(group, opened=len(objects.changed) <= _OPEN) for group in objects.changed[:most]]
    ordered = [one for one in happens if one.steps]
    submitted = grouped_submissions(preview.stacks)
    next_ones = [_submission(group, opened=len(submitted) <= _OPEN) for group in submitted[:most]]
    found = (
        Section([_order(one, opened=len(ordered) <= _OPEN) for one in ordered], _headed("Steps", "stack", shown), 0.15),
        _findings(parts.new, most, 0.4, _headed("New findings", "finding", shown), link("new")),
        _findings(parts.waived, most, 0.1, _headed(WAIVED.capitalize(), "finding", shown), link("waived"), noted=True),
        _findings(
            parts.relaxed, most, 0.05, _headed(RELAXED.capitalize(), "finding", shown), link("relaxed"), noted=True
        ),
        Section(changes, _headed("Changes", "change", shown), 0.2, len(objects.changed) - len(changes)),
        Section([*_new_stacks(objects)], _headed("New stacks", "stack", shown), 0.05),
        Section(_versions_only(objects), lambda kept, _left: "\n".join(kept), 0.02),
        Section(next_ones, _headed(SUBMITTED.capitalize(), "change", shown), 0.1, len(submitted) - len(next_ones)),
        _findings(parts.fixed, most, 0.05, _unfolding(f"Fixed: {tally(parts.fixed)}", shown), link("fixed")),
        _findings(
            parts.moved,
            most,
            0.05,
            _unfolding(f"{MOVED.capitalize()}: {tally(parts.moved)}", shown),
            link("moved"),
            noted=True,
        ),
        _findings(parts.still, most, 0.05, _unfolding(f"Still there: {tally(parts.still)}", check), link("still")),
    )
    return [section for section in found if section.items]


def _headed(title: str, one: str, where: str) -> Whole:
    def whole(kept: list[str], left: int) -> str:
        return "\n".join([f"### {title}\n", *kept, *_more(left, one, where)]).rstrip("\n") + "\n"

    return whole


def _unfolding(title: str, where: str) -> Whole:
    return lambda kept, left: folded(html(title), "\n".join([*kept, *_more(left, "finding", where)]))


def _more(left: int, one: str, where: str) -> list[str]:
    return [f"\n_{plural(left, f'more {one}')}: {where}._"] if left else []


def _change(group: Group, *, opened: bool) -> Item:
    change = group.change
    title = f"<code>{html(object_name(change))}</code> in {html(few(group.stacks, NAMES))}"
    if words := group_words(group):
        title += f" · {html(words)}"
    fields = "\n".join(_tables(rows_by_patch(change))).rstrip("\n")
    if not fields:
        fields = "The whole object is deleted." if change.status == "deleted" else "No value changes."
    forms = [folded(title, fields, opened=opened), folded(title, "_Its fields are too long for this comment._")]
    if len(group.stacks) > NAMES:
        every = f"In all of: {text(few(group.stacks, _STACKS))}\n\n{fields}"
        forms.insert(0, folded(title, every, opened=opened))
    return Item(tuple(forms))


def _order(one: StackOutcome, *, opened: bool) -> Item:
    """The steps of an apply in order."""
    steps = "\n".join(f"{number}. {prose(step)}" for number, step in enumerate(one.steps, 1))
    summary = f"The apply of {html(few(one.stacks, NAMES))}, in order"
    return Item((folded(summary, steps, opened=opened), folded(summary, f"_{plural(len(one.steps), 'step')}._")))


def _new_stacks(objects: Changes) -> Iterator[Item]:
    """One item for each new stack, or for the new stacks that are identical: its objects, a line each."""
    for stacks, groups in objects.new.items():
        title = f"{few(stacks, NAMES)}: {plural(len(groups), 'object')}"
        lines = (f"- {code(object_name(group.change))} {text(group_words(group))}" for group in groups)
        yield Item((folded(html(title), "\n".join(lines)), f"- {text(title)}"))


def _versions_only(objects: Changes) -> list[Item]:
    """The objects that stay the same under other patch versions, in one line."""
    words = same_words(objects.same)
    return [Item((f"{text(words)}\n",))] if words else []


def _submission(group: SubmissionGroup, *, opened: bool) -> Item:
    title = f"<code>{html(submission_name(group.change))}</code> {html(submission_words(group))}"
    fields = "\n".join(_tables((("", submission_rows(group.change)),))).rstrip("\n")
    return Item((folded(title, fields, opened=opened), folded(title, "_Its fields are too long for this comment._")))


def _tables(parts: Iterable[tuple[str, tuple[FieldRow, ...]]]) -> Iterator[str]:
    """Rows in tables, each below the patch or other cause that asks for them."""
    left = _FIELDS
    for patch, rows in parts:
        items = [(" ".join(filter(None, (row.label, item.name))), item) for row in rows for item in row.items]
        if left > 0:
            if patch:
                yield f"**{text(patch)}**"
                yield ""
            yield "| Field | Before | After |"
            yield "|---|---|---|"
            for name, item in items[:left]:
                before, after = _values(item)
                yield f"| {text(name)} | {before} | {after} |"
            yield ""
        left -= len(items)
    if left < 0:
        yield f"_{plural(-left, 'more field')}._"


def _values(item: FieldItem) -> tuple[str, str]:
    """Both values, only the differing part of long values; empty for a missing value."""
    if item.before is merge.ABSENT or item.after is merge.ABSENT:
        sides = (item.before, item.after)
        before, after = ("" if value is merge.ABSENT else fitted(value, _VALUE, item.write) for value in sides)
    else:
        before, after = apart(item, _VALUE)
    return code(before) if before else "", code(after) if after else ""


def _findings(
    findings: Iterable[Finding], most: int, share: float, whole: Whole, link: Link, *, noted: bool = False
) -> Section:
    """The findings, most serious first. Each code gets one finding before any code gets its next."""
    every = alike(findings)
    turns: list[tuple[int, int]] = []
    seen: dict[tuple[Severity, str], int] = {}
    for shown in every:
        kind = shown.finding.severity, shown.finding.code
        turns.append((0 if shown.finding.blocks else 1, seen.get(kind, 0)))
        seen[kind] = turns[-1][1] + 1
    first = sorted(sorted(range(len(every)), key=turns.__getitem__)[:most])
    forms = _noted if noted else _forms
    items = [Item(forms(every[at], link), turns[at]) for at in first]
    return Section(items, whole, share, len(every) - len(items))


def _forms(shown: ShownFinding, link: Link) -> tuple[str, ...]:
    line, remedy = _finding(shown, link), prose(shown.finding.remedy)
    return (f"{line}<br>{remedy}", line) if remedy else (line,)


def _noted(shown: ShownFinding, link: Link) -> tuple[str, ...]:
    """The finding with what became of it, which is the reason why it is shown."""
    return (f"{_finding(shown, link)}<br>{prose(shown.finding.detail)}",)


def _finding(shown: ShownFinding, link: Link) -> str:
    finding = shown.finding
    stacks = few(shown.stacks, NAMES) if shown.stacks else finding.stack
    places = shown.places or (finding.location,)
    more = f" and {len(places) - NAMES} more" if len(places) > NAMES else ""
    summary = ": ".join(filter(None, (finding.summary, "; ".join(name for name, _ in shown.fields))))
    head = " ".join(filter(None, (f"- **{finding.severity.word} {text(finding.code)}**", text(stacks))))
    parts = [
        f"{head}: {prose(summary)}",
        text(finding.target),
        ", ".join(linked(code(place), link(place)) for place in places[:NAMES] if place) + more,
    ]
    return " · ".join(filter(None, parts))
