"""Shows what you can choose when you submit a notebook."""

from typing import Any

from modelyard.names import GPU_RESOURCE
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, about, facts_text, safe
from modelyard.runs.notebooks import Free, GpuSlice, NotebookOffer
from modelyard.stack import Stack
from modelyard.workloads.facts.environments import environment_named, image_with


def choices_text(stack: Stack, offered: NotebookOffer, free: Free | None = None, style: Style = PLAIN) -> list[str]:
    """Each option of ``job submit`` with its values.

    Args:
        stack: the stack.
        offered: the choices.
        free: what is free now; None: not requested.
        style: the style of the text.
    """
    known = free if free is not None and not free.unknown else None
    left = free.left if free is not None else {}
    image, environment = _image(stack), stack.config.notebooks.environment
    if not _has_environment(stack):
        runs = f"notebooks cannot be submitted: Python environment {environment} is not defined"
    elif image:
        runs = f"{safe(image)}{f' with {environment}' if environment else ''}"
    else:
        runs = "notebooks cannot be submitted: set notebooks.image or notebooks.environment"
    lines = [*about(stack.name, f" {runs}", style), ""]
    gpus = [f"{name} ({count} GPU{'s' * (count > 1)})" for name, count in offered.allocations]
    named = [one for one in offered.flavors if one.name]
    parts = dict.fromkeys(one for found in offered.parts.values() for one in found)
    devices: dict[str, int] = {}
    for one in offered.flavors:
        if one.gpu:
            devices[one.gpu] = devices.get(one.gpu, 0) + (known.whole[one.name] if known is not None else 0)

    def part(one: GpuSlice) -> str:
        if known is None:
            return _part(one)
        return _part(one, sum(number for key, number in known.parts.items() if key[1:] == (one.partition, one.slice)))

    def holds(team: str) -> str:
        names = dict.fromkeys(offered.able[team], "")
        for held in offered.holds[team]:
            if (number := left.get((team, held.flavor, held.resource))) is not None:
                kind = "" if held.resource == GPU_RESOURCE else f" {held.resource.removeprefix('nvidia.com/')}"
                before = names.get(held.flavor, "")
                names[held.flavor] = f"{before} + {number}{kind}" if before else f": {number}{kind}"
        return ", ".join(f"{name}{f'{words} left' if words else ''}" for name, words in names.items()) or "no GPUs"

    rows = {
        "flavor": [
            safe(f"{one.name} ({one.gpu or 'no GPU named'}{f', {known.whole[one.name]} free' if known else ''})")
            for one in named
        ],
        "device": [safe(f"{gpu} ({count} free)" if known else gpu) for gpu, count in devices.items()],
        "allocation": [*gpus, *(["partial"] if parts else [])],
        "partition": [safe(part(one)) for one in parts],
        "team": [safe(f"{one.name} ({holds(one.name)})") for one in offered.teams],
        "priority": [safe(name) for name in offered.priorities],
        "free now": [f"unknown: {safe(free.unknown)}"] if free is not None and free.unknown else [],
    }
    return [*lines, *facts_text(((name, ", ".join(values)) for name, values in rows.items()), 14, style)]


def choices_document(stack: Stack, offered: NotebookOffer, free: Free | None = None) -> dict[str, Any]:
    """The options of ``job submit`` as JSON."""
    live = free if free is not None else Free()
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "image": _image(stack),
        "environment": stack.config.notebooks.environment,
        "path": stack.config.notebooks.path,
        "flavors": [
            {
                "name": one.name or None,
                "card": one.gpu,
                "free": live.whole.get(one.name),
                "parts": [
                    {**record(part), "free": live.parts.get((one.name, part.partition, part.slice))}
                    for part in offered.parts[one.name]
                ],
            }
            for one in offered.flavors
        ],
        "allocations": [{"name": name, "resource": GPU_RESOURCE, "gpus": gpus} for name, gpus in offered.allocations],
        "teams": [
            {
                "name": one.name,
                "flavors": list(offered.able[one.name]),
                "holds": [
                    {**record(held), "left": live.left.get((one.name, held.flavor, held.resource))}
                    for held in offered.holds[one.name]
                ],
            }
            for one in offered.teams
        ],
        "priorities": list(offered.priorities),
        "unknownFree": live.unknown or None,
    }


def _part(part: GpuSlice, free: int | None = None) -> str:
    name = f"{part.partition} {part.slice}" if part.slice is not None else part.partition
    memory = f"{part.memory_gb} GB" if part.memory_gb is not None else ""
    return f"{name} ({', '.join(filter(None, (part.resource, memory, f'{free} free' if free is not None else '')))})"


def _has_environment(stack: Stack) -> bool:
    """Whether the Python environment of notebooks is defined, if they have one."""
    name = stack.config.notebooks.environment
    return name is None or environment_named(stack.config, name) is not None


def _image(stack: Stack) -> str | None:
    """The image that runs notebooks; None if none can be submitted."""
    notebooks = stack.config.notebooks
    return image_with(stack.config, notebooks.environment, notebooks.image) if _has_environment(stack) else None
