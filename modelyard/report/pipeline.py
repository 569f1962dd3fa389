"""A pipeline and its runs, as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from modelyard import quantity
from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import STAGE
from modelyard.report.job import submitted_document
from modelyard.report.size import memory_text
from modelyard.report.style import PLAIN, Style, about, hanging, safe, table, wrapped
from modelyard.runs.jobs import Submission
from modelyard.runs.pipelines import StageSize, Summary
from modelyard.stack import durations
from modelyard.stack.words import plural
from modelyard.workloads.facts.jobs import HeadSize


def pipeline_text(stack: str, shown: Summary, style: Style = PLAIN) -> list[str]:
    """The stages in order, and below them the most that a run holds."""
    lines = [f"{style.bold(safe(shown.name))} of {safe(stack)}: {plural(len(shown.stages), 'stage')}", ""]
    rows = [row for one in shown.stages for row in _rows(one)]
    lines += table(rows, ("STAGE", "RUNS", "PODS", "CPU/POD", "MEMORY/POD", "GPUS/POD", "LIMIT", "AFTER"), style)
    if shown.most_gpus:
        by = " beside ".join(shown.most_by)
        hours = f"{shown.gpu_seconds / 3600:.1f}".removesuffix(".0")
        holds = f"{plural(shown.most_gpus, 'GPU')} at a time ({by}), {hours} GPU-hours at the time limits"
    else:
        holds = "no whole GPU" if any(one.slices for one in shown.stages) else "no GPU"
    lines += ["", *wrapped(holds, 10, style.columns, "at most")]
    lines += wrapped(
        f"{durations.text(shown.longest)} at the time limits, not counting time in queues", 10, style.columns, "longest"
    )
    return lines


def pipeline_document(stack: str, file: str, shown: Summary) -> dict[str, Any]:
    """The pipeline as JSON."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "file": file,
        "pipeline": shown.name,
        "mostGpus": shown.most_gpus,
        "mostBy": list(shown.most_by),
        "gpuSeconds": shown.gpu_seconds,
        "longest": shown.longest,
        "stages": [
            {
                "name": one.stage.name,
                "job": one.stage.job,
                "rollout": one.stage.rollout,
                "needs": list(one.stage.needs),
                "reads": list(one.stage.reads),
                "writes": list(one.stage.writes),
                "team": one.team,
                "workers": one.workers,
                "cpu": float(one.cpu),
                "memory": int(one.memory),
                "gpus": one.gpus,
                "slices": one.slices,
                "slice": one.slice,
                "head": _head(one.head),
                "timeLimit": one.time_limit,
            }
            for one in shown.stages
        ],
    }


def pipeline_mermaid(shown: Summary) -> list[str]:
    """A flowchart in Mermaid's language: stages with their GPUs, and on each arrow the data that it passes on."""
    numbers = {one.stage.name: f"s{index}" for index, one in enumerate(shown.stages)}
    writers = {name: one.stage.name for one in shown.stages for name in one.stage.writes}
    lines = ["flowchart LR"]
    for one in shown.stages:
        held = _gpus(one) if one.slices else plural(one.gpus, "GPU") if one.gpus else "no GPU"
        what = "rollout" if one.stage.rollout else held
        lines.append(f'    {numbers[one.stage.name]}["{one.stage.name}<br/>{what}"]')
    for one in shown.stages:
        for needed in one.stage.needs:
            passed = ", ".join(name for name in one.stage.reads if writers.get(name) == needed)
            arrow = f"-- {passed} -->" if passed else "-->"
            lines.append(f"    {numbers[needed]} {arrow} {numbers[one.stage.name]}")
    return lines


def run_text(
    stack: str, run: str, objects: Sequence[Created], style: Style = PLAIN, *, dry_run: bool = False
) -> list[str]:
    """What was made, or would be made, and how to follow and end it."""
    namespace = objects[0].key.namespace
    state = "could be" if dry_run else "is"
    lines = about(run, f"{state} submitted: namespace {namespace}; its stages wait for each other", style)
    stages = (one for one in objects if one.labels.get(STAGE) is not None and one.suspended)
    lines += [part for one in stages for part in hanging(f"  {one.key.kind} {one.key.name}", 4, style.columns)]
    if not dry_run:
        follow = f"follow it: modelyard job list {stack}, modelyard job logs {stack} {run} --follow"
        for words in (follow, f"end it: modelyard job cancel {stack} {run}"):
            lines += map(style.dim, hanging(words, 2, style.columns))
    return lines


def run_document(
    stack: str, pipeline: str, run: str, made: Submission, objects: Sequence[Created], *, dry_run: bool
) -> dict[str, Any]:
    """The submitted pipeline run as JSON."""
    document = submitted_document(stack, run, made, objects, dry_run=dry_run)
    stages = [one.labels.get(STAGE) for one in objects]
    described = [{**one, "stage": stage} for one, stage in zip(document["objects"], stages, strict=True)]
    return {**document, "pipeline": pipeline, "objects": described}


def _gpus(one: StageSize, pods: int = 1) -> str:
    """The GPUs or slices of a stage, or of each of its pods."""
    return f"{one.slices // pods} × {one.slice}" if one.slices else str(one.gpus // pods)


def _head(head: HeadSize | None) -> dict[str, Any] | None:
    if head is None:
        return None
    asked = dict(head.requests)
    return {"what": head.what, "cpu": float(asked["cpu"]), "memory": int(asked["memory"])}


def _rows(one: StageSize) -> Iterator[tuple[str, ...]]:
    """The line of a stage, and below it the line of the pod beside its workers."""
    after = ", ".join(one.stage.needs)
    if one.stage.rollout is not None:
        yield one.stage.name, f"rollout to {one.stage.rollout}", "", "", "", "", "", after
        return
    yield (
        one.stage.name,
        one.stage.job or "",
        str(one.workers),
        quantity.cpu(one.cpu),
        memory_text(one.memory),
        _gpus(one, one.workers),
        durations.text(one.time_limit or 0),
        after,
    )
    if one.head is not None:
        asked = dict(one.head.requests)
        yield "", f"+ {one.head.what}", "1", quantity.cpu(asked["cpu"]), memory_text(asked["memory"]), "0", "", ""
