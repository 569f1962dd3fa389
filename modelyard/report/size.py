"""What resources get and why, as text and as JSON."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from modelyard import quantity
from modelyard.quantity import GI
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, hanging, safe, table, wrapped
from modelyard.stack.jobs import Job
from modelyard.stack.words import plural
from modelyard.workloads.sizing import Estimate, Sized, Term, apart
from modelyard.workloads.sizing.sources import MOST_CPU, MOST_MEMORY, SOURCES, amount, count

_ADDED = 6
"""Up to this many numbers of jobs that share pods are shown separately; of more, only their count."""
_UNITS = {"cores": "core", "pods": "pod", "GPUs": "GPU", "parts": "part", "requests": "request"}
"""The plural of each unit except bytes, and its singular."""


def size_text(stack: str, resources: Sequence[Sized], style: Style = PLAIN) -> list[str]:
    """Each resource with what it gets, and below it each job with every number of its estimate."""
    numbers = {key: index for index, key in enumerate(_cited(resources), 1)}
    jobs = sum(len(one.jobs) for one in resources)
    lines = [f"{safe(stack)}: {plural(len(resources), 'resource')}, {plural(jobs, 'job')}"]
    for one in resources:
        whose = f"  {style.dim('for one job without a resource')}" if one.own else ""
        lines += ["", f"{style.bold(safe(one.resource.name))}  {one.resource.type}{whose}"]
        lines += table(_gets(one), ("", "GETS", "FROM"), style, 2)
        for job, estimate in one.jobs:
            lines += ["", f"  {style.bold(safe(job.name))}", *_estimated(estimate, numbers, style)]
    notes = (f"[{number}] {_cited_text(key)}" for key, number in numbers.items())
    sources = [style.dim(line) for note in notes for line in hanging(note, 4, style.columns)]
    return [*lines, "", *sources] if sources else lines


def size_document(stack: str, file: str, resources: Sequence[Sized]) -> dict[str, Any]:
    """The sizes as JSON; null is unknown, never zero."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "file": file,
        "resources": [
            {
                "name": one.resource.name,
                "type": one.resource.type,
                "own": one.own,
                "card": one.gpu.id if one.gpu is not None else None,
                "slice": one.part.resource if one.part is not None else None,
                "gets": {key: _plain(Fraction(value)) for key, value in one.size._asdict().items()},
                "below": {key: _plain(value) for key, value in one.below.items()},
                "needs": record(one.need),
                "jobs": [_job(job, estimate) for job, estimate in one.jobs],
            }
            for one in resources
        ],
        "sources": {key: record(SOURCES[key]) for key in _cited(resources)},
    }


def _job(job: Job, estimate: Estimate) -> dict[str, Any]:
    return {
        "name": job.name,
        "needs": record(estimate.need),
        "terms": [
            {**record(term), "value": _plain(term.value), "sources": list(term.sources)} for term in estimate.terms
        ],
        "missing": list(estimate.missing),
        "notes": list(estimate.notes),
        "assumptions": [record(one) for one in estimate.assumptions],
    }


def _cited(resources: Iterable[Sized]) -> list[str]:
    """The sources of all terms, in the order of their first mention."""
    terms = (term for one in resources for _, estimate in one.jobs for term in estimate.terms)
    return list(dict.fromkeys(source for term in terms for source in term.sources))


def _cited_text(key: str) -> str:
    source = SOURCES[key]
    return f"{source.title}: {source.says}" + (f" {source.url}" if source.url else "")


def _gets(one: Sized) -> Iterable[tuple[str, str, str]]:
    """What the resource gets of each kind, and the source of the number."""
    for key, value in one.size._asdict().items():
        requested, needed = getattr(one.resource, key), one.needed.get(key)
        estimated = _gets_text(key, _rounded(key, needed)) if needed is not None else ""
        each = f" on each of {one.among} workers" if key != "workers" and one.among > 1 else ""
        if key == "gpus" and one.among > 1 and needed and key not in one.below:
            estimated, each = _gets_text(key, _rounded(key, needed * one.among)), " in all"
        if requested is not None:
            # "No GPU estimated" does not help a user who has set a number, and another number of workers is estimated
            # for workers of another size.
            known = needed if key == "gpus" else key != "workers" or needed == value
            origin = "the stack file"
            if key in one.below:
                origin += f", below the {estimated} that its jobs need{each}"
            elif estimated and known:
                origin += f"; its jobs need {estimated}{each}"
        elif key == "gpus" and one.part is not None:
            origin = "one slice, because it sets no number"
        elif key == "gpus":
            origin = "no GPU is requested" + (f"; its jobs need {estimated}{each}" if needed else "")
        elif key in ("cpu", "memory") and one.size.gpus and one.gpu is not None and value != needed:
            origin = "its GPUs" + (f"; its jobs need {estimated}{each}" if estimated else "")
        else:
            origin = _of_jobs(one, key) if estimated else "a default, because the need of its jobs is unknown"
        if key == "gpus" and one.part is not None:
            origin += f"; {one.part.resource} of partition {one.part.partition.name}"
        yield key, _gets_text(key, Fraction(value)), origin


def _of_jobs(one: Sized, key: str) -> str:
    """How a number comes from its jobs: those that share pods add up, and of the others the largest counts."""
    alone, shared = (
        [Fraction(value) for need in needs if (value := getattr(need, key)) is not None]
        for needs in apart(one.resource, one.jobs)
    )
    if len(alone) + len(shared) < 2:
        return "its jobs"
    fewest = max((found.need.workers or 0 for _, found in one.jobs), default=0)
    grown = one.need.workers is not None and one.need.workers > fewest
    if grown and key == "workers":
        most = f"{MOST_CPU} cores and {memory_text(Fraction(MOST_MEMORY))}"
        return f"its jobs, spread so that a worker has at most {most}"
    if grown and max(alone, default=0) < getattr(one.need, key) < sum(shared):
        return f"its jobs, spread over {one.need.workers} workers"
    if key == "workers" or len(shared) < 2 or sum(shared) < max(alone, default=0):
        return "the largest of its jobs"
    if len(shared) > _ADDED:
        return f"the sum of its {len(shared)} jobs"
    return f"its jobs: {' + '.join(_gets_text(key, value) for value in shared)}"


def memory_text(value: Fraction) -> str:
    """Bytes in the stack file's form; an estimate that is no whole number is rounded up to Gi."""
    return quantity.memory(value) if value.denominator == 1 else f"{math.ceil(value / GI)}Gi"


def _rounded(key: str, value: Fraction) -> Fraction:
    """The value in a resource's form: whole Gi, whole numbers."""
    return Fraction(math.ceil(value / GI) * GI if key == "memory" else math.ceil(value))


def _gets_text(key: str, value: Fraction) -> str:
    return memory_text(value) if key == "memory" else count(value)


def _estimated(estimate: Estimate, numbers: dict[str, int], style: Style) -> list[str]:
    rows = (
        (term.name, _value(term), f"{term.formula} {''.join(f'[{numbers[key]}]' for key in term.sources)}".strip())
        for term in estimate.terms
    )
    lines = table(rows, ("TERM", "VALUE", "FROM"), style, 4) if estimate.terms else []
    for one in estimate.assumptions:
        lines += wrapped(f"{one.key}: {safe(one.value)}, {one.says}", 13, style.columns, "    assumed")
    assumed = {one.key for one in estimate.assumptions}
    if unknown := [key for key in estimate.missing if key not in assumed]:
        lines += wrapped(f"{', '.join(unknown)}, which would improve the estimate", 13, style.columns, "    not set")
    for note in estimate.notes:
        lines += wrapped(note, 13, style.columns, "    note")
    return lines


def _value(term: Term) -> str:
    if term.unit == "bytes":
        return amount(term.value)
    return f"{count(term.value)} {term.unit if term.value != 1 else _UNITS[term.unit]}"


def _plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
