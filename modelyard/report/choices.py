"""Shows what you can choose when you submit a notebook."""

from typing import Any

from modelyard.names import GPU_RESOURCE
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, safe, wrapped
from modelyard.runs.notebooks import Offer, Part
from modelyard.stack import Stack
from modelyard.workloads.facts.environments import image_with

_INDENT = 14
"""Columns before the description."""


def choices_text(stack: Stack, offered: Offer, style: Style = PLAIN) -> list[str]:
    """Each option of ``job submit`` with its values."""
    image, environment = _image(stack), stack.config.notebooks.environment
    runs = (
        f"{safe(image)}{f' with {environment}' if environment else ''}"
        if image
        else "notebooks.image is not set: notebooks cannot be submitted"
    )
    lines = [f"{style.bold(stack.name)}  {runs}", ""]
    gpus = [f"{name} ({count} GPU{'s' * (count > 1)})" for name, count in offered.allocations]
    named = [one for one in offered.flavors if one.name]
    parts = dict.fromkeys(one for found in offered.parts.values() for one in found)
    rows = {
        "  flavor": [safe(f"{one.name} ({one.gpu or 'no GPU named'})") for one in named],
        "  device": list(dict.fromkeys(safe(one.gpu) for one in offered.flavors if one.gpu)),
        "  allocation": [*gpus, *(["partial"] if parts else [])],
        "  partition": [safe(_part(one)) for one in parts],
        "  team": [safe(f"{one.name} ({', '.join(offered.able[one.name]) or 'no GPUs'})") for one in offered.teams],
        "  priority": [safe(name) for name in offered.priorities],
    }
    for label, values in rows.items():
        if values:
            lines.extend(wrapped(", ".join(values), _INDENT, style.columns, label))
    return lines


def choices_document(stack: Stack, offered: Offer) -> dict[str, Any]:
    """The options of ``job submit`` as JSON."""
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "image": _image(stack),
        "environment": stack.config.notebooks.environment,
        "path": stack.config.notebooks.path,
        "flavors": [
            {"name": one.name or None, "card": one.gpu, "parts": [record(part) for part in offered.parts[one.name]]}
            for one in offered.flavors
        ],
        "allocations": [{"name": name, "resource": GPU_RESOURCE, "gpus": gpus} for name, gpus in offered.allocations],
        "teams": [
            {
                "name": one.name,
                "flavors": list(offered.able[one.name]),
                "holds": list(map(record, offered.holds[one.name])),
            }
            for one in offered.teams
        ],
        "priorities": list(offered.priorities),
    }


def _part(part: Part) -> str:
    name = f"{part.partition} {part.slice}" if part.slice is not None else part.partition
    return f"{name} ({part.resource}{f', {part.memory_gb} GB' if part.memory_gb is not None else ''})"


def _image(stack: Stack) -> str | None:
    notebooks = stack.config.notebooks
    return image_with(stack.config, notebooks.environment, notebooks.image)
