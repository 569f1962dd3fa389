"""The objects of a submission, in words and as JSON."""

import re
from collections.abc import Sequence
from typing import Any

from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import QUEUE, STACK
from modelyard.report.style import PLAIN, Style, about, hanging, safe
from modelyard.report.unified import yaml_text
from modelyard.runs.jobs import Submission
from modelyard.runs.pool.words import run_words


def submitted_text(
    run: str, objects: Sequence[Created], style: Style = PLAIN, *, dry_run: bool = False, remote: str = ""
) -> list[str]:
    """What was made, or would be made, and how to follow it.

    Args:
        run: the name of the run.
        objects: the objects of the run.
        style: colours and width.
        dry_run: whether nothing was made.
        remote: the resource whose remote cluster runs it; empty: the home cluster runs it.
    """
    first = objects[0]
    queue = first.labels.get(QUEUE)
    where = f"namespace {first.key.namespace}"
    stack = safe(first.labels.get(STACK, "STACK"))
    waits = f"queue {queue}" if queue else "no queue, so it starts at once"
    lines = about(run, f"{'could be' if dry_run else 'is'} submitted: {where}, {waits}", style)
    for one in objects:
        lines += hanging(f"  {one.key.kind} {one.key.name}", 4, style.columns)
    if not dry_run:
        words = run_words(stack, run, safe(remote))
        follow = f"follow it: modelyard job why {words}, modelyard job logs {words}"
        lines += map(style.dim, hanging(follow, 2, style.columns))
    return lines


def submitted_document(
    stack: str, run: str, made: Submission, objects: Sequence[Created], *, dry_run: bool
) -> dict[str, Any]:
    """The submitted run as JSON."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "run": run,
        "template": made.template,
        "dryRun": dry_run,
        "objects": [
            {
                "apiVersion": one.key.api_version,
                "kind": one.key.kind,
                "namespace": one.key.namespace,
                "name": one.key.name,
                "queue": one.labels.get(QUEUE),
            }
            for one in objects
        ],
    }


def rendered_text(made: Submission) -> list[str]:
    """The objects as YAML documents, each with its template."""
    documents = (yaml_text(body).rstrip("\n") for body in made.objects.reveal())
    return [line for document in documents for line in ("---", f"# {made.template}", document)]


def rendered_document(stack: str, run: str, made: Submission) -> dict[str, Any]:
    """The rendered objects as JSON."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "run": run,
        "template": made.template,
        "remote": made.remote or None,
        "objects": list(made.objects.reveal()),
    }


# Lines that a container wrote, made safe for a terminal.
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def log_line(text: str, style: Style, mark: str = "") -> str:
    """One line: with colours if the output has them; of an overwritten line, only the last text; with tabs kept,
    and with escapes for everything else that could control a terminal or the reader of a CI log.

    Args:
        text: as the container wrote it.
        style: of the output.
        mark: the writer of the line, if there are several.
    """
    last = text.rstrip("\r").rpartition("\r")[2]
    parts = _COLOUR.split(last)
    shown = "".join(
        (part if style.colour else "") if _COLOUR.fullmatch(part) else "\t".join(map(safe, part.split("\t")))
        for part in parts
    )
    end = "\x1b[0m" if style.colour and len(parts) > 1 else ""
    return (style.dim(f"[{mark}] ") if mark else "") + shown + end
