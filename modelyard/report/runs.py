"""Runs as a table and as JSON, why a run waits, and what was stopped."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from modelyard.report.style import PLAIN, Style, about, hanging, safe, table, wrapped
from modelyard.runs.pool import Diagnosis, Run
from modelyard.runs.pool.owners import Stake
from modelyard.runs.pool.states import RunState
from modelyard.runs.pool.words import age, moment, span
from modelyard.stack import Stack
from modelyard.stack.words import few, plural


def runs_text(runs: Sequence[Run], now: datetime, style: Style = PLAIN, *, hidden: int = 0) -> list[str]:
    """One line per run.

    Args:
        runs: the runs, newest first.
        now: the current time.
        style: the style of the text.
        hidden: the number of ended runs that are not shown.
    """
    more = [style.dim(f"{plural(hidden, 'finished run')}: --all shows {'it' if hidden == 1 else 'them'}")]
    if not runs:
        return ["no queued or running runs", *(more if hidden else [])]
    rows = [
        (run.name, run.state, run.team or "-", _gpus(run), age(run.created, now), _ran(run, now), _about(run))
        for run in runs
    ]
    paint = {"failed": style.removed, "running": style.added, "queued": style.changed, "cancelled": style.dim}
    # Queues of the home cluster have their teams' names; a remote cluster has no teams.
    queue = "QUEUE" if any(run.remote for run in runs) else "TEAM"
    head, *lines = table(rows, ("RUN", "STATE", queue, "GPUS", "AGE", "RAN", "ABOUT"), style)
    # A name may contain a state, but never after two spaces.
    lines = [
        line.replace(f"  {run.state}", f"  {paint.get(run.state, str)(run.state)}", 1)
        for run, line in zip(runs, lines, strict=True)
    ]
    return [head, *lines, *(more if hidden else [])]


def _gpus(run: Run) -> str:
    number = str(run.gpus) if run.over or run.holds in (0, run.gpus) else f"{run.holds} of {run.gpus}"
    return f"{number} {run.slice.removeprefix('nvidia.com/')}" if run.gpus and run.slice else number


def _ran(run: Run, now: datetime) -> str:
    seconds = _seconds(run, now)
    return "-" if seconds is None else span(seconds)


def _seconds(run: Run, now: datetime) -> int | None:
    start, end = moment(run.started), moment(run.ended) or now
    return None if start is None else max(0, int((end - start).total_seconds()))


def _about(run: Run) -> str:
    """The position in the queue, the cluster if it is not the home cluster, the reason of a failure, the progress."""
    trials = ""
    if len(run.parts) > 1:
        states: tuple[RunState, ...] = ("running", "starting", "queued", "held", "failed", "succeeded")
        counts = [(run.count(state), state) for state in states]
        trials = f"{plural(len(run.work), run.noun)}: " + ", ".join(
            f"{count} {state}" for count, state in counts if count
        )
    there = f"in {few(run.clusters)}" if run.clusters else ""
    place = f"position {run.position} in the queue" if run.position is not None else ""
    return "; ".join(filter(None, (place, there, run.reason, trials))) or "-"


def runs_document(stack: Stack, runs: Iterable[Run], now: datetime, unread: Iterable[str]) -> dict[str, Any]:
    """The runs as JSON."""
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "path": stack.config.notebooks.path,
        "at": now.isoformat(timespec="seconds"),
        "unread": list(unread),
        "runs": [run_record(run, now) for run in runs],
    }


def run_record(run: Run, now: datetime) -> dict[str, Any]:
    """One run as a JSON object."""
    return {
        "name": run.name,
        "job": run.job,
        "user": run.user or None,
        "namespace": run.namespace,
        "team": None if run.remote else run.team,
        "queue": run.team,
        "position": run.position,
        "clusters": list(run.clusters),
        "state": run.state,
        "reason": run.reason or None,
        "flavor": run.flavor or None,
        "gpus": run.gpus,
        "holds": run.holds,
        "created": run.created or None,
        "started": run.started or None,
        "ended": run.ended or None,
        "seconds": _seconds(run, now),
        "result": run.result or None,
        "parts": [
            {
                "kind": part.kind,
                "name": part.name,
                "stage": part.stage or None,
                "state": part.state,
                "reason": part.reason or None,
                "message": part.message or None,
                "workers": part.workers,
                "gpus": part.gpus,
            }
            for part in run.parts
        ],
    }


def why_text(diagnosis: Diagnosis, style: Style = PLAIN) -> list[str]:
    """Why a run waits or has failed, and what would help."""
    lines = [f"{style.bold(safe(diagnosis.run.name))} {diagnosis.summary}"]
    for cause in diagnosis.causes:
        lines += wrapped(cause.summary, 9, style.columns, f"  {cause.about}")
        for detail in cause.details:
            lines += map(style.dim, wrapped(detail, 11, style.columns))
    for text in diagnosis.helps:
        lines += wrapped(text, 4, style.columns, "  →")
    return lines


def why_document(diagnosis: Diagnosis, now: datetime) -> dict[str, Any]:
    """The diagnosis as JSON."""
    return {
        "formatVersion": 1,
        "stack": diagnosis.run.stack,
        "run": run_record(diagnosis.run, now),
        "summary": diagnosis.summary,
        "causes": [
            {"about": cause.about, "summary": cause.summary, "details": list(cause.details)}
            for cause in diagnosis.causes
        ],
        "help": list(diagnosis.helps),
    }


def cancelling_text(run: Run, has: Stake) -> str:
    """What stopping a run would end, as one sentence."""
    what = f"{plural(len(run.work), run.noun)} of " if len(run.parts) > 1 else ""
    amounts = (("holds", has.gpus), ("has quota of", has.quota), ("asks for", has.asked))
    words = " and ".join(f"{verb} {run.counted(gpus)}" for verb, gpus in amounts if gpus)
    none = "holds no GPU yet" if run.gpus and run.state in ("queued", "starting") else "holds no GPU"
    return f"Cancelling stops {what}{safe(run.name)}, which is {run.state} and {words or none}."


def cancelled_text(run: Run, has: Stake, style: Style = PLAIN) -> list[str]:
    """What was stopped, and what becomes free."""
    if has.gpus or has.asked:
        gpus = has.total
        had = f"its {run.counted(gpus)} {'becomes' if gpus == 1 else 'become'} free when its pods have stopped"
    elif has.quota:
        had = f"its quota of {run.counted(has.quota)} becomes free"
        had += " when its pods have stopped" if run.count("starting") else ""
    else:
        had = "it held no GPU"
    return [
        *about(run.name, f"is cancelled; {had}", style),
        *(line for one in run.parts for line in hanging(f"  {one.kind} {one.name}", 4, style.columns)),
    ]


def cancelled_document(run: Run, has: Stake | None) -> dict[str, Any]:
    """The result as JSON; ``has`` is None if the run had ended and nothing was stopped."""
    return {
        "formatVersion": 1,
        "stack": run.stack,
        "run": run.name,
        "namespace": run.namespace,
        "state": run.state if has is None else "cancelled",
        "gpus": 0 if has is None else has.total,
        "deleted": [] if has is None else [{"kind": one.kind, "name": one.name} for one in run.parts],
    }
