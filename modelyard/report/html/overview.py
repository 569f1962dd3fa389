"""The top of the page: the verdict, the numbers, and a row for every changed stack."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from modelyard.plan.cost.words import UNKNOWN
from modelyard.report.html.bars import CostTexts, difference, total_cost
from modelyard.report.html.findings import PARTS, SEVERITIES, WORDS
from modelyard.stack.words import plural

STATUSES = {"added": "added", "removed": "with a deleted file"}
_QUIETED = {part: PARTS[part] for part in ("waived", "relaxed")}
_GRAVE = ("training", "loss")
CAP = 100
"""Rows shown before the reader asks for more."""


class Stat(NamedTuple):
    """One number of the summary."""

    label: str
    value: str
    note: str
    tone: str = ""
    """``bad`` if the number needs attention."""


class Tally(NamedTuple):
    """Findings of one severity."""

    severity: str
    word: str
    number: int


class ChangedStack(NamedTuple):
    """One changed stack."""

    stack: int
    """The stack's index in the document."""
    name: str
    file: str
    headline: str
    status: str
    unplanned: bool
    blocked: bool
    recorded: bool
    targets: int
    fields: int
    submissions: int
    """Changes for the next apply or submission."""
    pods: int
    gpus: tuple[int, int] | None
    """GPUs of all its targets before and after; None if unknown."""
    gpu_delta: str
    cost: CostTexts | None
    new: tuple[Tally, ...]
    """Severities with a new finding."""
    quieted: tuple[str, ...]
    """How many findings are newly waived, no longer checked, or less severe, in words."""
    fixed: int
    still: int


def verdict(document: Mapping[str, Any]) -> tuple[str, str]:
    """The severity of the preview (``error``, ``warning`` or ``fixed``), and whether an apply is blocked, in words.

    A change that stops training, or loses data or GPUs, is a warning even if nothing is wrong with it.
    """
    stacks = [stack for stack in document["stacks"] if stack["blocked"]]
    project = document.get("project", {}).get("findings", {})
    if not stacks and any(finding["severity"] == "error" for finding in project.get("new", ())):
        return "error", "A new error of the project blocks every stack"
    if not document["stacks"]:
        moves = any(project.get(part) for part in ("new", "fixed", "moved"))
        return "fixed", "Only findings of the project change" if moves else "Nothing changes"
    gone = sum(stack["status"] == "removed" for stack in document["stacks"])
    if not stacks:
        notes = [f"; {plural(gone, 'stack file')} deleted"] if gone else []
        errors = {words: document["summary"].get(part, {}).get("error", 0) for part, words in _QUIETED.items()}
        notes += [f"; {plural(number, 'error')} {words}" for words, number in errors.items() if number]
        grave = any(one["risk"] in _GRAVE for one in document["outcomes"])
        return ("warning" if notes or grave else "fixed"), f"Every stack can be applied{''.join(notes)}"
    unplanned = sum(stack["unplanned"] for stack in stacks)
    words = f"{plural(len(stacks), 'stack')} cannot be applied"
    return "error", f"{words}; {unplanned} of them cannot even be planned" if unplanned else words


def stats(document: Mapping[str, Any]) -> tuple[Stat, ...]:
    """The numbers of the summary."""
    summary = document["summary"]
    others = [f"{summary[name]:,} {words}" for name, words in STATUSES.items() if summary[name]]
    before, after = summary["gpusBefore"], summary["gpusAfter"]
    cost = total_cost(document)
    new = summary["new"]
    return (
        Stat(
            "Stacks that change",
            f"{len(document['stacks']):,}",
            ", ".join([*others, f"{summary['unchanged']:,} unchanged"]),
        ),
        _known(
            document,
            "podsReplaced",
            Stat(
                "Pods replaced",
                f"{summary['podsReplaced']:,}",
                f"{summary['podsStopped']:,} stopped, {summary['podsStarted']:,} started",
            ),
        ),
        _known(document, "gpus", Stat("GPUs", _arrow(f"{before:,}", f"{after:,}"), difference(after - before))),
        Stat(
            "Cost in USD an hour",
            _arrow(cost.before, cost.after),
            ", ".join((*([cost.delta] if cost.delta != cost.after else []), *cost.about)),
        ),
        Stat("New errors", f"{new['error']:,}", _others(summary, "error"), "bad" if new["error"] else ""),
        Stat("New warnings", f"{new['warning']:,}", _others(summary, "warning")),
    )


def _others(summary: Mapping[str, Any], severity: str) -> str:
    """How many other findings of a severity changed, and how."""
    numbers = {part: summary.get(part, {}).get(severity, 0) for part in PARTS if part != "new"}
    return ", ".join(
        f"{number:,} {PARTS[part]}" for part, number in numbers.items() if number or part in ("fixed", "still")
    )


def _known(document: Mapping[str, Any], name: str, stat: Stat) -> Stat:
    """The number with the count of stacks that it leaves out because they are unknown."""
    unknown = sum(stack[name] is None for stack in document["stacks"])
    if not unknown:
        return stat
    if unknown == len(document["stacks"]):
        return stat._replace(value=UNKNOWN, note=f"unknown for {plural(unknown, 'stack')}")
    return stat._replace(note=f"{stat.note}; unknown for {plural(unknown, 'stack')}")


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def rows_of(document: Mapping[str, Any], costs: Sequence[CostTexts | None]) -> tuple[ChangedStack, ...]:
    """The changed stacks: blocked stacks first, then by their new findings, then by name."""
    rows = [_row(at, stack, document, costs[at]) for at, stack in enumerate(document["stacks"])]
    return tuple(sorted(rows, key=_gravity))


def _gravity(row: ChangedStack) -> tuple[Any, ...]:
    new = {tally.severity: tally.number for tally in row.new}
    return not row.unplanned, not row.blocked, *(-new.get(name, 0) for name in SEVERITIES[:2]), row.name


def _row(at: int, stack: Mapping[str, Any], document: Mapping[str, Any], cost: CostTexts | None) -> ChangedStack:
    changes, submissions = document["changes"], document.get("submissions", ())
    gpus = (stack["gpus"]["before"], stack["gpus"]["after"]) if stack["gpus"] is not None else None
    findings = stack["findings"]
    new = [finding["severity"] for finding in findings["new"] if not finding.get("waived")]
    return ChangedStack(
        stack=at,
        name=stack["stack"],
        file=stack["file"],
        headline=stack["headline"],
        status=stack["status"],
        unplanned=stack["unplanned"],
        blocked=stack["blocked"],
        recorded=stack["recordedChanged"],
        targets=len(stack["targets"]),
        fields=sum(len(changes[target["change"]]["fields"]) for target in stack["targets"]),
        submissions=sum(stack["stack"] in one["stacks"] for one in submissions),
        pods=stack["podsReplaced"] or 0,
        gpus=gpus,
        gpu_delta=difference(gpus[1] - gpus[0]) if gpus else "",
        cost=cost,
        new=tuple(Tally(name, WORDS[name], new.count(name)) for name in SEVERITIES if name in new),
        quieted=tuple(f"{len(findings[part])} {words}" for part, words in _QUIETED.items() if findings.get(part)),
        fixed=len(findings["fixed"]),
        still=len(findings["still"]),
    )
