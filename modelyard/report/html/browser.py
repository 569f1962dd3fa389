"""What the scripts of the page know: the document without what stands in the page already."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from modelyard.report.html.changes import patches_of
from modelyard.report.html.costs import Cost
from modelyard.report.html.findings import Part
from modelyard.report.preview.words import HAPPENS

_NO_GPUS = {"before": 0, "after": 0}
"""What stacks are sorted by where their GPUs are unknown; the page does not show it."""
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def browser_data(document: Mapping[str, Any], parts: Iterable[Part], costs: Sequence[Cost | None]) -> dict[str, Any]:
    """Stacks with numbers instead of texts: those of changes, findings, node lists and scenes told once."""
    places, scenes = _Told(), _Told()
    items = [(part, item) for part in parts for family in part.families for item in family.items]
    found: list[list[list[Any]]] = [[] for _ in document["stacks"]]
    for _, item in items:
        for place in item.places:
            if place.stack is not None:
                found[place.stack].append([item.number, place.location])
    submitted: dict[str, list[int]] = {}
    for number, one in enumerate(document.get("submissions", ())):
        for name in one["stacks"]:
            submitted.setdefault(name, []).append(number)
    return {
        "changes": [
            {
                "target": one["target"],
                "kind": one["kind"],
                "status": HAPPENS[one["status"]],
                "patches": patches_of(one),
                "fields": len(one["fields"]),
            }
            for one in document["changes"]
        ],
        "findings": [
            {"part": part.name, "severity": item.severity, "code": item.code, "target": item.target}
            for part, item in sorted(items, key=lambda pair: pair[1].number)
        ],
        "stacks": [
            _stack(stack, found[at], submitted.get(stack["stack"], []), costs[at], places, scenes)
            for at, stack in enumerate(document["stacks"])
        ],
        "places": places.values,
        "scenes": scenes.values,
    }


def script_json(data: Any) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(data, separators=(",", ":")).translate(_ESCAPES)


class _Told:
    """Values, alike ones once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._at: dict[str, int] = {}

    def place(self, value: Any) -> int | None:
        """Where the value stands; None for none."""
        if value is None:
            return None
        text = json.dumps(value, sort_keys=True)
        if text not in self._at:
            self._at[text] = len(self.values)
            self.values.append(value)
        return self._at[text]


def _stack(
    stack: Mapping[str, Any],
    found: list[list[Any]],
    submissions: list[int],
    cost: Cost | None,
    places: _Told,
    scenes: _Told,
) -> dict[str, Any]:
    picture, gpus = stack.get("topology"), stack["gpus"] or _NO_GPUS
    return {
        "name": stack["stack"],
        "file": stack["file"],
        "status": stack["status"],
        "blocked": stack["blocked"],
        "unplanned": stack["unplanned"],
        "gpus": [gpus["before"], gpus["after"]],
        "pods": stack["podsReplaced"] or 0,
        "cost": _middle(stack.get("cost")),
        "about": cost.about if cost is not None else (),
        "targets": [
            [
                target["change"],
                target["podsReplaced"],
                target["replicas"]["before"],
                target["replicas"]["after"],
                target["gpus"]["before"],
                target["gpus"]["after"],
            ]
            for target in stack["targets"]
        ],
        "submissions": submissions,
        # The stack's own file is told once.
        "findings": [[number, where.removeprefix(stack["file"]) if where else None] for number, where in found],
        "topology": picture
        and [places.place(picture["places"]), scenes.place(picture["before"]), scenes.place(picture["after"])],
    }


def _middle(cost: Mapping[str, Any] | None) -> float | None:
    """What the stack's cost changes by, to sort by."""
    usd = cost["delta"]["usd"] if cost else None
    return usd and (usd["low"] + usd["high"]) / 2
