"""What the submission of a notebook can choose."""

from typing import Any

from modelyard.notebooks import Offer
from modelyard.report.style import PLAIN, Style, safe, wrapped
from modelyard.stack import Stack

_INDENT = 14
"""Columns before the words."""


def choices_text(stack: Stack, offered: Offer, style: Style = PLAIN) -> list[str]:
    """Each option of ``job submit`` with its values."""
    image = stack.config.notebooks.image
    lines = [
        f"{style.bold(stack.name)}  {safe(image) if image else 'no notebooks.image: nothing can be submitted'}",
        "",
    ]
    gpus = [f"{name} ({count} GPU{'s' * (count > 1)})" for name, count in offered.allocations]
    named = [one for one in offered.flavors if one.name]
    rows = {
        "  flavor": [safe(f"{one.name} ({one.gpu or 'no card named'})") for one in named],
        "  device": list(dict.fromkeys(safe(one.gpu) for one in offered.flavors if one.gpu)),
        "  allocation": gpus,
        "  team": [safe(f"{name} ({', '.join(flavors) or 'no GPUs'})") for name, flavors in offered.teams],
        "  priority": [safe(name) for name in offered.priorities],
    }
    for label, values in rows.items():
        if values:
            lines.extend(wrapped(", ".join(values), _INDENT, style.columns, label))
    return lines


def choices_document(stack: Stack, offered: Offer) -> dict[str, Any]:
    """The same for machines."""
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "image": stack.config.notebooks.image,
        "path": stack.config.notebooks.path,
        "flavors": [{"name": one.name or None, "card": one.gpu} for one in offered.flavors],
        "allocations": [{"name": name, "gpus": gpus} for name, gpus in offered.allocations],
        "teams": [{"name": name, "flavors": list(flavors)} for name, flavors in offered.teams],
        "priorities": list(offered.priorities),
    }
