"""Words that all forms of a preview share, with what it says about live clusters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from modelyard.findings import Finding, Severity, loud
from modelyard.plan.compose import WHOLE_LIST
from modelyard.plan.cost.values import StackCost, Total, stack_cost
from modelyard.plan.cost.words import NO_CHANGE, UNKNOWN, difference, hours_words, origin
from modelyard.plan.cost.words import change as cost_change
from modelyard.preview import (
    Group,
    News,
    Preview,
    StackDiff,
    SubmissionDiff,
    SubmissionGroup,
    TargetDiff,
    grouped,
    grouped_submissions,
)
from modelyard.preview.values import Moved, Offline, Pending, Relaxed, Unlisted, Waived
from modelyard.report.fields import FieldRow, asked_by, rows_by, rows_of
from modelyard.report.finding import tally
from modelyard.report.style import shorten
from modelyard.report.values import NAMES, kind_and_name, some
from modelyard.stack.words import few, plural

_NAME = 60
"""Characters of the longest branch name that is shown in full."""
_SOURCES = 100
"""Characters of the longest note on the source of prices."""
_CODES = 6
"""Codes that a change names."""


WAIVED = "newly waived"
RELAXED = "no longer checked or less severe"
MOVED = "still there, changed"
"""What became of findings, in words."""
SUBMITTED = "for the next apply or submission"
_HAPPENS = {
    "added": "newly patched",
    "removed": "no longer patched",
    "deleted": "deleted",
    "changed": "changed",
    "same": "renders the same",
}
_BECOMES = {"added": "new", "removed": "gone", "changed": ""}


class FindingParts(NamedTuple):
    """The findings that need attention in all stacks and in the project, by what became of them.

    Findings that the change waives, relaxes or changes say so in their detail.
    """

    new: tuple[Finding, ...]
    waived: tuple[Finding, ...]
    relaxed: tuple[Finding, ...]
    moved: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    still: tuple[Finding, ...]
    """Findings with the same text as before."""


def parts_of(preview: Preview) -> FindingParts:
    """The findings of a preview, project findings first."""
    every: tuple[News | StackDiff, ...] = (preview.project, *preview.stacks)
    return FindingParts(
        new=loud(finding for one in every for finding in one.new),
        waived=loud(waived_words(waived) for one in every for waived in one.waived),
        relaxed=loud(relaxed_words(relaxed) for one in every for relaxed in one.relaxed),
        moved=loud(moved_words(moved) for one in every for moved in one.moved),
        fixed=loud(finding for one in every for finding in one.fixed),
        still=loud(finding for one in every for finding in unmoved(one)),
    )


def unmoved(news: News | StackDiff) -> tuple[Finding, ...]:
    """The findings that are still there with the same text as before."""
    moved = {one.finding for one in news.moved}
    return tuple(finding for finding in news.still if finding not in moved)


def waived_words(waived: Waived) -> Finding:
    """The finding without the waiver, with the waiver's date, author and reason as detail."""
    return waived.finding._replace(waived="", detail=waived.words, remedy="")


def relaxed_words(relaxed: Relaxed) -> Finding:
    """The finding, with what became of its rule."""
    return relaxed.finding._replace(detail=relaxed.why, remedy="")


def moved_words(moved: Moved) -> Finding:
    """The finding, with its earlier text."""
    return moved.finding._replace(detail=f"changed; before: {moved.before}")


def span(preview: Preview) -> str:
    """The compared commits."""
    head, base = preview.head, shorten(preview.base.name, _NAME)
    against = shorten(head.name, _NAME) if head.name != "working tree" else f"working tree on {head.commit[:8]}"
    return f"{against} against {base}" + (f" ({preview.base.commit[:8]})" if preview.base.commit else "")


def effects(preview: Preview) -> list[str]:
    """The effects in numbers: stacks, pods, GPUs, cost, GPU-hours, submissions, findings."""
    stacks = preview.stacks
    known = [stack for stack in stacks if not stack.unplanned]
    submitted = len(grouped_submissions(stacks))
    parts = parts_of(preview)
    counted = (("new", parts.new), (WAIVED, parts.waived), (RELAXED, parts.relaxed), ("fixed", parts.fixed))
    total = len(stacks) + len(preview.unchanged)
    return [
        f"{len(known)} of {plural(total, 'stack')} change{'s' if 1 in (len(known), total) else ''}",
        *_statuses(stacks),
        *([f"pods: {pods_words(preview) or 'no change'}"] if known else []),
        *_gpus(stacks),
        *_cost(stacks),
        *([f"{plural(submitted, 'change')} {SUBMITTED}"] if submitted else []),
        *(f"{words}: {tally(findings)}" for words, findings in counted if findings),
    ]


def pods_words(diff: StackDiff | Preview) -> str:
    """``3 pods replaced, 3 stopped, 3 started``; empty if no pod is."""
    stacks = [stack for stack in diff.stacks if not stack.unplanned] if isinstance(diff, Preview) else [diff]
    numbers = (
        (sum(stack.replaces_pods for stack in stacks), "replaced"),
        (sum(stack.stops_pods for stack in stacks), "stopped"),
        (sum(stack.starts_pods for stack in stacks), "started"),
    )
    words = [f"{number} {what}" for number, what in numbers if number]
    return ", ".join(words)


def _gpus(stacks: Iterable[StackDiff]) -> list[str]:
    """The GPUs of the stacks whose GPUs are known; none without a target that has any."""
    found = [gpus for gpus in (stack.gpus for stack in stacks) if gpus is not None and any(gpus)]
    return [f"GPUs {moved(sum(one[0] for one in found), sum(one[1] for one in found), 'stay at ')}"] if found else []


def moved(before: int, after: int, same: str = "") -> str:
    """``3 → 4``, or the number if it stays the same."""
    return f"{before} → {after}" if before != after else f"{same}{after}"


def _cost(stacks: Iterable[StackDiff]) -> list[str]:
    """What the changes cost an hour, from which prices, and GPU-hours; empty if no stack has targets."""
    known = [stack.cost for stack in stacks if stack.cost is not None and stack.cost.targets]
    if not known:
        return []
    total = stack_cost(target for cost in known for target in cost.targets)
    short = cost_words(total.delta)
    words = (
        "no change in cost" if short == NO_CHANGE else f"cost {short if short == UNKNOWN else cost_change(total.delta)}"
    )
    return [*filter(None, (f"{words}{sources(total)}", hours_words(total.gpus)))]


def cost_words(delta: Total) -> str:
    """The difference of a cost; never ``no change`` while a part of it is unknown."""
    if delta.usd is None or (not any(delta.usd) and not _complete(delta)):
        return UNKNOWN
    return difference(delta.usd) + ("" if _complete(delta) else ", leaving out pods of unknown price")


def sources(cost: StackCost) -> str:
    """`` (list price 2026-07-20)``, empty if the difference is unknown or zero."""
    found = origin(cost.prices) if cost.delta.usd and any(cost.delta.usd) else ""
    return f" ({shorten(found, _SOURCES)})" if found else ""


def _statuses(stacks: Sequence[StackDiff]) -> Iterator[str]:
    if added := sum(stack.status == "added" for stack in stacks):
        yield f"{added} added"
    if removed := sum(stack.status == "removed" for stack in stacks):
        yield f"{plural(removed, 'stack file')} deleted"
    if unplanned := sum(stack.unplanned for stack in stacks):
        yield f"{unplanned} could not be planned"


def version_words(change: TargetDiff) -> str:
    """``model-service v1 → v2, ray-worker v1 dropped``."""
    words = []
    for one in change.versions:
        if one.before is None:
            words.append(f"{one.name} {one.after} added")
        elif one.after is None:
            words.append(f"{one.name} {one.before} dropped")
        else:
            words.append(f"{one.name} {one.before} → {one.after}")
    return ", ".join(words)


def submission_name(change: SubmissionDiff) -> str:
    """``job train``; the kind only, if a stack has a single one of that kind."""
    return f"{change.kind} {change.name}".rstrip()


def submission_words(group: SubmissionGroup) -> str:
    """Where it changes, and whether it is new or gone."""
    return " · ".join(filter(None, (f"in {few(group.stacks, NAMES)}", _BECOMES[group.change.status])))


def submission_rows(change: SubmissionDiff) -> tuple[FieldRow, ...]:
    """The fields of a submission in rows; for a new or deleted one, a single row."""
    rows = rows_of(change.fields)
    if change.status == "changed":
        return rows
    items = (item._replace(name=" ".join(filter(None, (row.label, item.name)))) for row in rows for item in row.items)
    return (FieldRow("", tuple(items)),)


def happens(status: str, *, created: bool) -> str:
    """What happens to an object, in words."""
    return "new" if created else _HAPPENS[status]


def change_words(group: Group) -> str:
    """The effect of a change: pods, GPUs and cost in all its stacks, and the findings about its target there."""
    change = group.change
    words = [happens(change.status, created=change.created)] if change.status != "changed" else []
    if change.status == "deleted" and change.kind == "Namespace":
        words[0] += " with everything in it"
    if group.replaces_pods:
        words.append(f"replaces {plural(group.replaces_pods, 'pod')}")
    if group.gpus[0] != group.gpus[1]:
        words.append(f"GPUs {group.gpus[0]} → {group.gpus[1]}")
    before, after = change.replicas
    if len(group.stacks) == 1 and change.status == "changed" and before != after and None not in (before, after):
        words.append(f"pods {before} → {after}")
    whole = [f"sends the whole list {one.field}" for one in group.findings.new if one.code == WHOLE_LIST]
    return " · ".join([*words, *whole, *_worth(group.cost), *_news(group)])


def _worth(cost: Total | None) -> list[str]:
    """What a change costs; empty if it costs nothing."""
    if cost is None or (cost.usd is not None and not any(cost.usd) and _complete(cost)):
        return []
    return [f"cost {cost_words(cost)}"]


def _complete(cost: Total) -> bool:
    return cost.unknown is not None and not cost.unknown.high


def _news(group: Group) -> list[str]:
    found = group.findings
    waived = tuple(finding._replace(waived="") for finding in found.waived)
    parts = (
        ("new", found.new),
        (WAIVED, waived),
        (RELAXED, found.relaxed),
        ("fixed", found.fixed),
        ("still there", found.still),
    )
    return [f"{name}: {codes}" for name, codes in ((name, codes_of(those)) for name, those in parts) if codes]


def codes_of(findings: Iterable[Finding]) -> str:
    """``GPU001, RES101``: the codes of findings that need attention, the most serious first."""
    found = sorted({(tuple(Severity).index(one.severity), one.code) for one in loud(findings)})
    return some(dict.fromkeys(code for _, code in found), _CODES)


def most_serious_first(stacks: Iterable[StackDiff]) -> list[StackDiff]:
    """Stacks that cannot be planned, then those that cannot be applied, then by new findings, then in their order."""
    return sorted(stacks, key=_gravity)


def _gravity(stack: StackDiff) -> tuple[int, ...]:
    errors = sum(finding.blocks for finding in stack.new)
    return not stack.unplanned, not stack.blocked, -errors, errors - len(loud(stack.new))


class Changes(NamedTuple):
    """The changes of objects, identical ones grouped, by how they are shown."""

    changed: tuple[Group, ...]
    """New errors first, then new warnings, then replaced pods and GPUs that move."""
    new: Mapping[tuple[str, ...], tuple[Group, ...]]
    """The objects of new stacks, by the stacks that have them; together they are one section."""
    same: tuple[Group, ...]
    """Objects that stay the same under other patch versions."""


def changes_of(preview: Preview) -> Changes:
    """The changes of a preview, the most serious first."""
    added = {stack.stack for stack in preview.stacks if stack.status == "added"}
    changed: list[Group] = []
    same: list[Group] = []
    new: dict[tuple[str, ...], list[Group]] = {}
    for group in sorted(grouped(preview.stacks), key=_group_gravity):
        if added.issuperset(group.stacks):
            new.setdefault(group.stacks, []).append(group)
        else:
            (same if group.change.status == "same" else changed).append(group)
    return Changes(tuple(changed), {stacks: tuple(groups) for stacks, groups in new.items()}, tuple(same))


def _group_gravity(group: Group) -> tuple[int, ...]:
    errors = sum(finding.blocks for finding in group.findings.new)
    return -errors, -len(loud(group.findings.new)), -group.replaces_pods, -abs(group.gpus[1] - group.gpus[0])


def object_name(change: TargetDiff) -> str:
    """Its name, with its kind if it is no Deployment."""
    return kind_and_name(change.kind, change.name)


def group_words(group: Group) -> str:
    """The patch versions that change, and the effect."""
    return " · ".join(filter(None, (version_words(group.change), change_words(group))))


def same_words(groups: Iterable[Group]) -> str:
    """The objects that stay the same under other patch versions, in one sentence; empty if there are none."""
    words = [f"{group.change.name} ({version_words(group.change)}) in {few(group.stacks, NAMES)}" for group in groups]
    return f"Other patch versions, same object: {few(words, NAMES, '; ')}." if words else ""


_NAMES_OBJECT = (("kind",), ("metadata", "name"))


def rows_by_patch(change: TargetDiff) -> tuple[tuple[str, tuple[FieldRow, ...]], ...]:
    """The changed fields in rows, by the patch at the head that asks for them, without those that name the object."""
    fields = (one for one in change.fields if tuple(one.path) not in _NAMES_OBJECT)
    return rows_by(fields, asked_by, one_container=True)


def live_lines(preview: Preview) -> Iterator[str]:
    """What already differs from the clusters before the change, and which clusters or lists were not read, and why."""
    pending = {one.stack: one.pending for one in preview.stacks if one.pending is not None}
    return _lines(preview.base.name, pending, preview.offline, preview.unlisted)


def live_lines_of(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a preview in its JSON form."""
    pending = {one["stack"]: Pending(**one["pending"]) for one in document["stacks"] if one.get("pending") is not None}
    offline = (Offline(**one) for one in document.get("offline", ()))
    unlisted = (Unlisted(**{**one, "lists": tuple(one["lists"])}) for one in document.get("unlisted", ()))
    return _lines(document["base"]["name"], pending, offline, unlisted)


def _lines(
    base: str, pending: Mapping[str, Pending], offline: Iterable[Offline], unlisted: Iterable[Unlisted]
) -> Iterator[str]:
    differing = {stack: one for stack, one in pending.items() if one.objects}
    if differing:
        fields = plural(sum(one.fields for one in differing.values()), "field")
        objects = plural(sum(one.objects for one in differing.values()), "object")
        yield (
            f"already different from the cluster before this branch: {fields} in {objects} of {few(differing, NAMES)} "
            f"(see modelyard plan {next(iter(differing))} --live at {base})"
        )
    stacks: dict[str, list[str]] = {}
    for one in offline:
        stacks.setdefault(one.why, []).append(one.stack)
    for why, names in stacks.items():
        yield f"compared with the recorded platform, not with the cluster: {few(names, NAMES)} ({why})"
    lacking: dict[str, list[str]] = {}
    for lists in unlisted:
        where = f" in remote cluster {lists.cluster}" if lists.cluster else ""
        lacking.setdefault(f"{' or '.join(lists.lists)}{where}", []).append(lists.stack)
    for what, names in lacking.items():
        yield (
            f"these credentials may not list {what}, so the preview of {few(names, NAMES)} leaves them out "
            "(modelyard explain OWN017)"
        )
