"""A preview as JSON, which pages are also made from."""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard.explanations import Explanation
from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.plan.cost.values import cost_to_json, total_to_json
from modelyard.plan.store import finding_to_json
from modelyard.preview import (
    Group,
    News,
    Preview,
    StackDiff,
    SubmissionGroup,
    TargetDiff,
    grouped,
    grouped_submissions,
)
from modelyard.preview.topology import topology_to_json
from modelyard.preview.values import Moved, Relaxed, Waived
from modelyard.report.json import without_absent
from modelyard.report.preview.outcome import StackOutcome, outcomes, title

FORMAT_VERSION = 1


def preview_document(preview: Preview, rules: Mapping[str, Explanation] | None = None) -> dict[str, Any]:
    """The preview as plain JSON values, in the form that ``modelyard schema preview`` publishes.

    A change that happens in many stacks appears once under ``changes``; the stacks refer to it by its index. What
    differs for the next apply or submission appears once under ``submissions``, which name their stacks.

    Args:
        preview: the preview to convert.
        rules: the pages of the project's own rules by code; the document includes those that findings name.
    """
    every: tuple[News | StackDiff, ...] = (preview.project, *preview.stacks)
    codes = {finding.code for news in every for finding in _every(news)}
    groups, happens = grouped(preview.stacks), outcomes(preview)
    places = {
        (name, group.change.kind, group.change.name): at for at, group in enumerate(groups) for name in group.stacks
    }
    return {
        "formatVersion": FORMAT_VERSION,
        "base": preview.base._asdict(),
        "head": preview.head._asdict(),
        "title": title(preview, happens),
        "outcomes": [_outcome(one) for one in happens],
        "summary": _summary(preview),
        "changes": [_group(group) for group in groups],
        "submissions": [_submission(group) for group in grouped_submissions(preview.stacks)],
        "stacks": [_stack(stack, places) for stack in preview.stacks],
        "unchanged": list(preview.unchanged),
        "offline": [one._asdict() for one in preview.offline],
        "unlisted": [{**one._asdict(), "lists": list(one.lists)} for one in preview.unlisted],
        "project": {"findings": _news(preview.project)},
        "rules": {
            code: {"title": rule.title, "markdown": rule.body}
            for code, rule in sorted((rules or {}).items())
            if code in codes
        },
    }


def _outcome(outcome: StackOutcome) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in outcome._asdict().items()}


def _summary(preview: Preview) -> dict[str, Any]:
    stacks = preview.stacks
    every: tuple[News | StackDiff, ...] = (preview.project, *stacks)
    gpus = [gpus for gpus in (stack.gpus for stack in stacks) if gpus is not None]
    return {
        "added": sum(stack.status == "added" for stack in stacks),
        "removed": sum(stack.status == "removed" for stack in stacks),
        "changed": sum(stack.status == "changed" for stack in stacks),
        "unchanged": len(preview.unchanged),
        "unplanned": sum(stack.unplanned for stack in stacks),
        "podsReplaced": sum(stack.replaces_pods for stack in stacks),
        "podsStopped": sum(stack.stops_pods for stack in stacks),
        "podsStarted": sum(stack.starts_pods for stack in stacks),
        "gpusBefore": sum(before for before, _ in gpus),
        "gpusAfter": sum(after for _, after in gpus),
        "new": _tally(finding for news in every for finding in news.new),
        "fixed": _tally(finding for news in every for finding in news.fixed),
        "still": _tally(finding for news in every for finding in news.still),
        "waived": _tally(one.finding._replace(waived="") for news in every for one in news.waived),
        "relaxed": _tally(one.finding for news in every for one in news.relaxed),
        "blocked": preview.blocked,
    }


def _tally(findings: Iterable[Finding]) -> dict[str, int]:
    numbers = {severity.value: 0 for severity in Severity} | {"waived": 0}
    for finding in findings:
        numbers["waived" if finding.waived else finding.severity.value] += 1
    return numbers


def _group(group: Group) -> dict[str, Any]:
    change = group.change
    return {
        "target": change.name,
        "kind": change.kind,
        "status": change.status,
        "created": change.created,
        "stacks": list(group.stacks),
        "podsReplaced": group.replaces_pods,
        "gpus": _pair(group.gpus),
        "cost": None if group.cost is None else total_to_json(group.cost),
        "findings": {name: _codes(findings) for name, findings in group.findings._asdict().items()},
        "versions": [version._asdict() for version in change.versions],
        "fields": [_field(field) for field in change.fields],
    }


def _submission(group: SubmissionGroup) -> dict[str, Any]:
    change = group.change
    fields = [{key: one for key, one in _field(field).items() if key != "patch"} for field in change.fields]
    return {**change._asdict(), "stacks": list(group.stacks), "fields": fields}


def _pair(numbers: tuple[int | None, int | None]) -> dict[str, int | None]:
    return {"before": numbers[0], "after": numbers[1]}


def _codes(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings of a change, by code, the most serious first; the stacks' own lists have the details."""
    stacks: dict[tuple[bool, Severity, str], set[str]] = {}
    for finding in findings:
        stacks.setdefault((bool(finding.waived), finding.severity, finding.code), set()).add(finding.stack)
    order = list(Severity)
    found = sorted(stacks.items(), key=lambda pair: (pair[0][0], order.index(pair[0][1]), pair[0][2]))
    return [
        {"code": code, "severity": severity.value, "waived": waived, "stacks": len(names)}
        for (waived, severity, code), names in found
    ]


def _field(field: FieldChange) -> dict[str, Any]:
    values = without_absent(before=_plain(field.before), after=_plain(field.after))
    return {"field": str(field.path), **values, "patch": field.patch}


def _plain(value: Any) -> Any:
    """A value; in a list whose order changes, items appear as in paths: ``[name=worker]``."""
    if isinstance(value, list) and any(isinstance(one, merge.Key | merge.Value) for one in value):
        return [str(merge.Path((one,))) for one in value]
    return value


def _stack(stack: StackDiff, places: dict[tuple[str, str, str], int]) -> dict[str, Any]:
    return {
        "stack": stack.stack,
        "file": stack.file,
        "status": stack.status,
        "headline": stack.headline,
        "unplanned": stack.unplanned,
        "recordedChanged": stack.recorded,
        "blocked": stack.blocked,
        "pending": None if stack.pending is None else stack.pending._asdict(),
        "podsReplaced": None if stack.unplanned else stack.replaces_pods,
        "podsStopped": None if stack.unplanned else stack.stops_pods,
        "podsStarted": None if stack.unplanned else stack.starts_pods,
        "gpus": None if stack.gpus is None else _pair(stack.gpus),
        "targets": [_target(target, places[stack.stack, target.kind, target.name]) for target in stack.targets],
        "patches": [version._asdict() for version in stack.patches],
        "topology": topology_to_json(stack.topology),
        "cost": None if stack.cost is None else cost_to_json(stack.cost),
        "findings": _news(stack),
    }


def _every(news: News | StackDiff) -> Iterable[Finding]:
    excused = (*(one.finding for one in news.waived), *(one.finding for one in news.relaxed))
    return (*news.new, *news.fixed, *news.still, *excused)


def _news(news: News | StackDiff) -> dict[str, Any]:
    return {
        "new": [finding_to_json(finding) for finding in news.new],
        "waived": [{**_became(one), "words": one.words} for one in news.waived],
        "relaxed": [*map(_became, news.relaxed)],
        "fixed": [finding_to_json(finding) for finding in news.fixed],
        "still": [finding_to_json(finding) for finding in news.still],
        "moved": [*map(_became, news.moved)],
    }


def _became(one: Waived | Relaxed | Moved) -> dict[str, Any]:
    return {**one._asdict(), "finding": finding_to_json(one.finding)}


def _target(target: TargetDiff, place: int) -> dict[str, Any]:
    return {
        "target": target.name,
        "kind": target.kind,
        "change": place,
        "podsReplaced": target.replaces_pods,
        "replicas": _pair(target.replicas),
        "gpus": _pair(target.gpus),
    }
