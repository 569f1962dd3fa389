"""The findings of many stacks: identical findings appear once, and those of one code together."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.explanations import Explanation, explanations
from modelyard.findings import Severity
from modelyard.report.code_host import Link, Links, no_links
from modelyard.report.preview.words import RELAXED, WAIVED

WORDS = {one.value: one.word for one in Severity}
"""Severities as texts name them, most severe first."""
SEVERITIES = tuple(WORDS)
PARTS = {"new": "new", "waived": WAIVED, "relaxed": RELAXED, "fixed": "fixed", "still": "still there"}
"""What became of findings, in words."""
OPEN = ("new", "waived", "relaxed")
"""The parts that the reader must see."""
PROJECT = "the whole project"
SHOWN = 12
"""Places of a finding in the page itself; the scripts show all."""
_PLACE = ("stack", "file", "line", "column")


class Occurrence(NamedTuple):
    """A stack with the finding, and the line that causes it; or the project, if no stack owns the finding."""

    stack: int | None
    """The stack's index in the document."""
    name: str
    location: str
    """``file:line:column`` as far as they are known."""
    short: str
    """The location without the file, if the stack's name implies it."""
    url: str
    """The location's address on the code host; empty if it has none."""


class ShownOnPage(NamedTuple):
    """One finding, with all its places."""

    number: int
    """The finding's number in the whole page."""
    severity: str
    code: str
    summary: str
    detail: str
    remedy: str
    target: str
    waived: str
    places: tuple[Occurrence, ...]


class Family(NamedTuple):
    """The findings of one code and severity."""

    code: str
    severity: str
    title: str
    items: tuple[ShownOnPage, ...]
    stacks: int
    open: bool


class OutcomeFindings(NamedTuple):
    """The findings with the same outcome."""

    name: str
    heading: str
    families: tuple[Family, ...]
    tally: Mapping[str, int]
    """Findings by severity, and waived findings; each counts in every stack that has it."""
    open: bool


def parts_of(document: Mapping[str, Any], links: Links | None = None) -> tuple[OutcomeFindings, ...]:
    """The findings by part, the most severe first within each."""
    link = no_links if links is None else links.at
    titles = {code: one.title for code, one in _known(document).items()}
    parts = []
    number = 0
    for name, words in PARTS.items():
        alike = _alike(document, name, link(name))
        families: dict[tuple[str, ...], list[ShownOnPage]] = {}
        for values, places in sorted(alike.items(), key=lambda pair: _rank(dict(pair[0]))):
            one = dict(values)
            key = (one["severity"], one["code"], "waived" if one.get("waived") else "")
            families.setdefault(key, []).append(_item(number, one, places))
            number += 1
        listed = tuple(
            Family(
                code=code,
                severity="waived" if waived else severity,
                title=titles.get(code, ""),
                items=tuple(items),
                stacks=len({place.stack for item in items for place in item.places} - {None}),
                open=name in OPEN and not waived and severity != "advice",
            )
            for (severity, code, waived), items in families.items()
        )
        parts.append(OutcomeFindings(name, words.capitalize(), listed, document["summary"].get(name, {}), name in OPEN))
    return tuple(parts)


def texts_of(document: Mapping[str, Any], parts: Iterable[OutcomeFindings]) -> tuple[Explanation, ...]:
    """The explanations of every code that occurs, by code."""
    known = _known(document)
    codes = {family.code for part in parts for family in part.families}
    return tuple(known[code] for code in sorted(codes & known.keys()))


def _known(document: Mapping[str, Any]) -> dict[str, Explanation]:
    """The page of every code, including the project's own rules."""
    rules = {code: Explanation(code, one["title"], one["markdown"]) for code, one in document.get("rules", {}).items()}
    return {**explanations(), **rules}


def _alike(document: Mapping[str, Any], part: str, link: Link) -> dict[tuple[tuple[str, Any], ...], list[Occurrence]]:
    found: dict[tuple[tuple[str, Any], ...], list[Occurrence]] = {}
    for finding in _of_part(document.get("project", {}).get("findings", {}), part):
        at = _location(finding)
        found.setdefault(_values(finding), []).append(Occurrence(None, PROJECT, at, at, link(at)))
    for index, stack in enumerate(document["stacks"]):
        for finding in _of_part(stack["findings"], part):
            found.setdefault(_values(finding), []).append(_place(index, stack, finding, link))
    return found


def _of_part(findings: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    """The findings of a part. Those that the change waives or relaxes say so; those that are still there and changed
    show their earlier text.
    """
    if part == "waived":
        for one in findings.get("waived", ()):
            words = one["words"][:1].upper() + one["words"][1:]
            yield {**one["finding"], "waived": "", "detail": words, "remedy": ""}
    elif part == "relaxed":
        for one in findings.get("relaxed", ()):
            yield {**one["finding"], "detail": one["why"], "remedy": ""}
    else:
        before = (
            {_values(one["finding"]): one["before"] for one in findings.get("moved", ())} if part == "still" else {}
        )
        for finding in findings.get(part, ()):
            earlier = before.get(_values(finding))
            yield finding if earlier is None else {**finding, "detail": f"Changed; before: {earlier}"}


def _values(finding: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in finding.items() if name not in _PLACE)


def _location(finding: Mapping[str, Any]) -> str:
    return ":".join(str(finding[part]) for part in ("file", "line", "column") if finding.get(part))


def _place(index: int, stack: Mapping[str, Any], finding: Mapping[str, Any], link: Link) -> Occurrence:
    location, line = _location(finding), finding.get("line", 0)
    own = finding.get("file", "") == stack["file"]
    short = f"line {line}" if own and line else "" if own else location
    return Occurrence(index, stack["stack"], location, short, link(location))


def _rank(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        bool(finding.get("waived")),
        SEVERITIES.index(finding["severity"]),
        finding["code"],
        finding.get("target", ""),
        finding.get("field", ""),
        finding["summary"],
    )


def _item(number: int, one: Mapping[str, Any], places: list[Occurrence]) -> ShownOnPage:
    return ShownOnPage(
        number=number,
        severity=one["severity"],
        code=one["code"],
        summary=one["summary"],
        detail=one.get("detail", ""),
        remedy=one.get("remedy", ""),
        target=one.get("target", ""),
        waived=one.get("waived", ""),
        places=tuple(places),
    )
