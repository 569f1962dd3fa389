"""The Job of a notebook: the template that the stack takes, rendered for one submission."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from modelyard.catalog import Library
from modelyard.findings import Finding, Severity
from modelyard.hardware.rules.worker import size_findings
from modelyard.jobs import notebook_environment, submission
from modelyard.notebooks import TEMPLATE, Chosen, Place, notebook_facts
from modelyard.stack import Stack, apply_waivers


def notebook_job(
    library: Library, stack: Stack, name: str, place: Place, chosen: Chosen, parameters: Mapping[str, str], today: date
) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """The object to create, or None and the findings that say why there is none; a warning comes beside it.

    Args:
        library: the project's patches.
        stack: whose flavors, sizes and image count.
        name: of the Job.
        place: of the notebook and its result.
        chosen: nodes, GPUs and queue.
        parameters: values for the notebook's cell ``parameters``.
        today: the day on which waivers are looked at.
    """
    _, wrong = notebook_environment(stack)
    found = [*_image(stack), *wrong, *_waived(_size(stack, chosen), stack, today)]
    if any(one.blocks for one in found):
        return None, tuple(found)
    made = submission(stack, library, TEMPLATE, notebook_facts(stack, name, place, chosen, parameters))
    return (made.objects[0] if made.objects else None), (*found, *made.findings)


def _waived(findings: list[Finding], stack: Stack, today: date) -> list[Finding]:
    """What is wrong with waivers themselves a plan tells, which knows all findings."""
    codes = {one.code for one in findings}
    return [one for one in apply_waivers(findings, stack, today) if one.code in codes]


def _image(stack: Stack) -> list[Finding]:
    if stack.config.notebooks.image is not None or stack.config.notebooks.environment is not None:
        return []
    summary = "notebooks.image is not set: there is nothing to run a notebook in"
    remedy = "set it to an image with papermill and the notebooks' kernel"
    return [stack.finding("CFG009", Severity.ERROR, ("notebooks", "image"), summary, remedy)]


def _size(stack: Stack, chosen: Chosen) -> list[Finding]:
    """What a training pod needs, for the chosen card or slice."""
    config = stack.config
    gpu = config.gpu._replace(model=chosen.flavor.gpu or config.gpu.model)
    asked = stack._replace(config=config._replace(gpu=gpu))
    memory_gb = chosen.part.memory_gb if chosen.part is not None else None
    return size_findings(asked, "notebooks", config.notebooks, chosen.gpus, "", memory_gb)
