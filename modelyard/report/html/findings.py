"""The findings of many stacks, alike ones told once and those of one code together."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from modelyard.explanations import Explanation, explanations

SEVERITIES = ("error", "warning", "advice")
WORDS = {"error": "error", "warning": "warning", "advice": "note"}
PARTS = {"new": "New", "fixed": "Fixed", "still": "Still there"}
SHOWN = 12
"""Places of a finding that stand in the page itself; the scripts tell all."""
_PLACE = ("stack", "file", "line", "column")


class Place(NamedTuple):
    """A stack that has the finding, and the line that causes it."""

    stack: int
    """Its index in the document."""
    name: str
    location: str
    """``file:line:column`` as far as they are known."""
    short: str
    """The same where the stack's name has told the file."""


class Item(NamedTuple):
    """One finding, wherever it occurs."""

    number: int
    """Of the finding in the whole page."""
    severity: str
    code: str
    summary: str
    detail: str
    remedy: str
    target: str
    waived: str
    places: tuple[Place, ...]


class Family(NamedTuple):
    """The findings of one code and severity."""

    code: str
    severity: str
    title: str
    items: tuple[Item, ...]
    stacks: int
    open: bool


class Part(NamedTuple):
    """The findings that are new, fixed, or still there."""

    name: str
    heading: str
    families: tuple[Family, ...]
    tally: Mapping[str, int]
    """Findings by severity, and those that are waived; each counts in every stack that has it."""
    open: bool


class Text(NamedTuple):
    """Why a code exists and what to do."""

    code: str
    title: str
    body: str
    """Markdown."""


def parts_of(document: Mapping[str, Any]) -> tuple[Part, ...]:
    """The findings by part, the gravest first."""
    titles = {code: one.title for code, one in _known(document).items()}
    parts = []
    number = 0
    for name, heading in PARTS.items():
        alike = _alike(document["stacks"], name)
        families: dict[tuple[str, ...], list[Item]] = {}
        for values, places in sorted(alike.items(), key=lambda pair: _rank(dict(pair[0]))):
            one = dict(values)
            key = (one["severity"], one["code"], "waived" if one.get("waived") else "")
            families.setdefault(key, []).append(_item(number, one, places))
            number += 1
        told = tuple(
            Family(
                code,
                "waived" if waived else severity,
                titles.get(code, ""),
                tuple(items),
                len({place.stack for item in items for place in item.places}),
                name == "new" and not waived and severity != "advice",
            )
            for (severity, code, waived), items in families.items()
        )
        parts.append(Part(name, heading, told, document["summary"][name], name == "new"))
    return tuple(parts)


def texts_of(document: Mapping[str, Any], parts: Iterable[Part]) -> tuple[Text, ...]:
    """The explanations of every code that occurs, by code."""
    known = _known(document)
    codes = sorted({family.code for part in parts for family in part.families} & known.keys())
    return tuple(Text(code, known[code].title, known[code].body) for code in codes)


def _known(document: Mapping[str, Any]) -> dict[str, Explanation]:
    """The page of every code, those of the project's own rules included."""
    rules = {code: Explanation(code, one["title"], one["markdown"]) for code, one in document.get("rules", {}).items()}
    return {**explanations(), **rules}


def _alike(stacks: Iterable[Mapping[str, Any]], part: str) -> dict[tuple[tuple[str, Any], ...], list[Place]]:
    found: dict[tuple[tuple[str, Any], ...], list[Place]] = {}
    for index, stack in enumerate(stacks):
        for finding in stack["findings"][part]:
            values = tuple((name, value) for name, value in finding.items() if name not in _PLACE)
            found.setdefault(values, []).append(_place(index, stack, finding))
    return found


def _place(index: int, stack: Mapping[str, Any], finding: Mapping[str, Any]) -> Place:
    file, line, column = finding.get("file", ""), finding.get("line", 0), finding.get("column", 0)
    location = ":".join(str(part) for part in (file, line, column) if part)
    own = file == stack["file"]
    return Place(index, stack["stack"], location, f"line {line}" if own and line else "" if own else location)


def _rank(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        bool(finding.get("waived")),
        SEVERITIES.index(finding["severity"]),
        finding["code"],
        finding.get("target", ""),
        finding.get("field", ""),
        finding["summary"],
    )


def _item(number: int, one: Mapping[str, Any], places: list[Place]) -> Item:
    return Item(
        number,
        one["severity"],
        one["code"],
        one["summary"],
        one.get("detail", ""),
        one.get("remedy", ""),
        one.get("target", ""),
        one.get("waived", ""),
        tuple(places),
    )
