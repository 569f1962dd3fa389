"""A notebook that is submitted as a job, as text and as JSON."""

from typing import Any

from modelyard.kube.state import ObjectKey
from modelyard.runs.notebooks import Chosen, NotebookPaths


def chosen_words(chosen: Chosen) -> str:
    """What a submission gets, such as ``1 GPU of flavor a10, queued for team vision``."""
    gpus, part = chosen.gpus, chosen.part
    what = f"{gpus} GPU{'s' * (gpus > 1)}" if part is None else f"{gpus} × {part.resource}"
    flavor = f" of flavor {chosen.flavor.name}" if chosen.flavor.name else ""
    queue = f", queued for team {chosen.team.name}" if chosen.team is not None else ""
    return f"{what}{flavor}{queue}"


def notebook_text(job: ObjectKey, place: NotebookPaths, chosen: Chosen, state: str) -> list[str]:
    """The Job of a submission, what it gets, and where its result will be."""
    verb = "is submitted" if state == "submitted" else "would be submitted"
    return [f"job {job.name} {verb} in namespace {job.namespace}: {chosen_words(chosen)}", f"result: {place.seen}"]


def notebook_document(stack: str, job: ObjectKey, place: NotebookPaths, chosen: Chosen, state: str) -> dict[str, Any]:
    """``job submit NOTEBOOK --json``."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "job": job.name,
        "namespace": job.namespace,
        "team": chosen.team.name if chosen.team is not None else None,
        "flavor": chosen.flavor.name or None,
        "card": chosen.flavor.gpu,
        "allocation": chosen.allocation,
        "gpus": chosen.gpus,
        "notebook": place.notebook,
        "result": str(place.seen),
        "state": state,
    }
