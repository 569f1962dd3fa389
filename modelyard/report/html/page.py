"""The page of a preview: its parts, its styles and scripts, and the policy that forbids it to load anything."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import jinja2

from modelyard.report.code_host import Links
from modelyard.report.html import bars, findings, overview
from modelyard.report.html.bars import CostTexts, cost_chart, costs_of
from modelyard.report.html.changes import SHOWN, changes_of, patches_of, submissions_of
from modelyard.report.html.text import breakable, inline, markdown, visible
from modelyard.report.preview.words import happens, live_lines_of
from modelyard.stack.words import plural

Move = Literal["same", "up", "down", "new", "gone", "none"]
MOVES: dict[Move, str] = {"up": "upgraded", "down": "downgraded", "new": "new here", "gone": "no longer used"}


class PatchCell(NamedTuple):
    """One patch in one stack."""

    move: Move
    before: str
    after: str


class StackRow(NamedTuple):
    """One stack."""

    stack: int
    """The stack's index in the document."""
    name: str
    cells: tuple[PatchCell, ...]
    """One per patch; empty if unknown."""
    why: str
    """Why the versions are unknown, empty if they are known."""


class Matrix(NamedTuple):
    """All changed stacks by all their patches."""

    patches: tuple[str, ...]
    rows: tuple[StackRow, ...]
    moved: tuple[int, ...]
    """The number of stacks in which each patch changes its version, is new or is gone."""


def matrix_of(document: Mapping[str, Any]) -> Matrix:
    """Stacks by patches; patches that change in some stack come first."""
    stacks = document["stacks"]
    moved: dict[str, int] = {}
    for stack in stacks:
        for one in stack.get("patches", ()):
            if not _why(stack):
                moved[one["name"]] = moved.get(one["name"], 0) + (one["before"] != one["after"])
    names = tuple(sorted(moved, key=lambda name: (not moved[name], name)))
    rows = tuple(StackRow(at, stack["stack"], _cells(stack, names), _why(stack)) for at, stack in enumerate(stacks))
    return Matrix(names, rows, tuple(moved[name] for name in names))


def _why(stack: Mapping[str, Any]) -> str:
    if stack["unplanned"]:
        return "cannot be planned"
    return "stack file deleted" if stack["status"] == "removed" else ""


def _cells(stack: Mapping[str, Any], names: tuple[str, ...]) -> tuple[PatchCell, ...]:
    if _why(stack):
        return ()
    known = {one["name"]: (one["before"], one["after"]) for one in stack.get("patches", ())}
    versions = (known.get(name, (None, None)) for name in names)
    return tuple(PatchCell(_move(before, after), before or "", after or "") for before, after in versions)


def _move(before: str | None, after: str | None) -> Move:
    if before == after:
        return "none" if before is None else "same"
    if before is None:
        return "new"
    if after is None:
        return "gone"
    return "up" if _order(before) < _order(after) else "down"


def _order(version: str) -> list[tuple[int, str]]:
    """The sort key of a version, by its numbers: ``v10`` comes after ``v9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", version) if part]


DIFF_VERSION = "9.0.0"
"""Version of the library in ``vendor/diff``."""
_STYLES = ("base.css", "overview.css", "sections.css", "topology.css", "print.css")
_SCRIPTS = (
    "dom.js",
    "state.js",
    "filters.js",
    "stacks.js",
    "words.js",
    "scene.js",
    "topology.js",
    "keyboard.js",
    "main.js",
)


def html_page(document: Mapping[str, Any], *, title: str, links: Links | None = None) -> str:
    """The page of a preview, the same bytes for the same document.

    Args:
        document: the result of ``modelyard.report.preview.json.preview_document``.
        title: the title of the page, plain text.
        links: where places lead to.
    """
    document = visible(document)
    parts, costs = findings.parts_of(document, links), costs_of(document)
    styles, early, library, scripts = _assets()
    tone, words = overview.verdict(document)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=visible(title),
            policy=_policy([styles], [early, library, scripts]),
            styles=styles,
            early=early,
            library=library,
            scripts=scripts,
            data=script_json(browser_data(document, parts, costs)),
            named=all(document[commit]["name"] in title for commit in ("base", "head")),
            diff_version=DIFF_VERSION,
            base=document["base"],
            head=document["head"],
            tone=tone,
            verdict=words,
            headline=document["title"],
            outcomes=document["outcomes"],
            stats=overview.stats(document),
            clusters=tuple(live_lines_of(document)),
            rows=overview.rows_of(document, costs),
            has_cost=any(costs),
            parts=parts,
            texts=findings.texts_of(document, parts),
            changes=changes_of(document),
            submissions=submissions_of(document),
            matrix=matrix_of(document),
            moves=MOVES,
            gpus=bars.gpus_of(document),
            costs=cost_chart(document),
            pictured=[stack["stack"] for stack in document["stacks"] if stack.get("topology")],
            unchanged=document["unchanged"],
            choices=_choices(document, parts),
            bar_width=bars.WIDTH,
            bar_cap=bars.CAP,
            row_cap=overview.CAP,
            shown_places=findings.SHOWN,
            shown_stacks=SHOWN,
        )
        + "\n"
    )


def _choices(
    document: Mapping[str, Any], parts: tuple[findings.OutcomeFindings, ...]
) -> dict[str, list[tuple[str, str]]]:
    """The choices of each filter: value and words."""
    stacks = document["stacks"]
    states = {stack["status"] for stack in stacks}
    states |= {name for name in ("blocked", "unplanned") if any(stack[name] for stack in stacks)}
    words = {
        "added": "Added",
        "removed": "File deleted",
        "changed": "Changed",
        "blocked": "Cannot be applied",
        "unplanned": "Cannot be planned",
    }
    families = [family for part in parts for family in part.families]
    severities = {item.severity for family in families for item in family.items}
    names = {
        "patch": {name for change in document["changes"] for name in patches_of(change)},
        "target": {change["target"] for change in document["changes"]},
        "code": {family.code for family in families},
    }
    return {
        "status": [(name, text) for name, text in words.items() if name in states],
        "severity": [(name, word.title()) for name, word in findings.WORDS.items() if name in severities],
        **{filter_: [(name, name) for name in sorted(values)] for filter_, values in names.items()},
    }


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _read("templates", name)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(markdown=markdown, plural=plural, broken=breakable, inline=inline)
    return environment


@lru_cache(maxsize=1)
def _assets() -> tuple[str, str, str, str]:
    """Styles, the script that runs before anything is shown, the library with its licence, the scripts."""
    licence = _read("vendor", "diff", "LICENSE").strip()
    library = f"/*! diff {DIFF_VERSION}\n\n{licence}\n*/\n{_read('vendor', 'diff', 'diff.min.js')}"
    scripts = "\n".join(_read("assets", name) for name in _SCRIPTS)
    return (
        "\n".join(_read("assets", name) for name in _STYLES),
        _read("assets", "early.js"),
        library,
        f'(() => {{\n"use strict";\n{scripts}}})();\n',
    )


def _read(*path: str) -> str:
    return files(__package__).joinpath(*path).read_text(encoding="utf-8")


def _policy(styles: list[str], scripts: list[str]) -> str:
    """The policy: only the page's own styles and scripts apply; nothing may be loaded or sent."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {' '.join(map(_digest, styles))}",
            f"script-src {' '.join(map(_digest, scripts))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The data for the page's scripts: the document without what the page already contains.
_NO_GPUS = {"before": 0, "after": 0}
"""The sort value of stacks whose GPUs are unknown; the page does not show it."""
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def browser_data(
    document: Mapping[str, Any], parts: Iterable[findings.OutcomeFindings], costs: Sequence[CostTexts | None]
) -> dict[str, Any]:
    """Stacks with numbers instead of texts: texts of changes, findings, node lists and scenes are stored once."""
    places, scenes = _Once(), _Once()
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
                "status": happens(one["status"], created=one["created"]),
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
            _stack(stack, found[at], submitted.get(stack["stack"], []), cost=costs[at], places=places, scenes=scenes)
            for at, stack in enumerate(document["stacks"])
        ],
        "places": places.values,
        "scenes": scenes.values,
        "steps": {name: one["steps"] for one in document["outcomes"] if one["steps"] for name in one["stacks"]},
    }


def script_json(data: Any) -> str:
    """JSON that cannot end its surrounding script."""
    return json.dumps(data, separators=(",", ":")).translate(_ESCAPES)


class _Once:
    """Values, each stored once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._at: dict[str, int] = {}

    def place(self, value: Any) -> int | None:
        """The index of the value; None for None."""
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
    *,
    cost: CostTexts | None,
    places: _Once,
    scenes: _Once,
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
        # The stack's own file is stored once.
        "findings": [[number, where.removeprefix(stack["file"]) if where else None] for number, where in found],
        "topology": picture
        and [places.place(picture["places"]), scenes.place(picture["before"]), scenes.place(picture["after"])],
    }


def _middle(cost: Mapping[str, Any] | None) -> float | None:
    """The change of the stack's cost, as a sort value."""
    usd = cost["delta"]["usd"] if cost else None
    return usd and (usd["low"] + usd["high"]) / 2
