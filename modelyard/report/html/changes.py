"""The changes of a preview, side by side."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.plan.cost.values import total_from_json
from modelyard.plan.cost.words import difference
from modelyard.report.html.findings import PARTS
from modelyard.report.html.text import value_text
from modelyard.report.preview.words import happens
from modelyard.report.values import exactly

MANY = 8
"""Up to this many changes are all open at first; of more, only the first few are."""
FEW = 3
SHOWN = 12
"""Stacks that a change names before the others are folded."""
_PLAIN = ("spec.template.spec.", "spec.template.metadata.", "spec.template.", "metadata.", "spec.")
"""Prefixes that most fields' paths share."""
_PART = re.compile(r"(?:[^.\[]|\[[^\]]*\])+")
"""A part of a path with its keys."""
_GIST = 32
"""Characters of a value in a gist."""
NOBODY = "no owner any more"
DEFAULT = "the API server’s default"
"""What sets a field that no patch asks for."""
MARKS = {"added": "+", "removed": "−", "deleted": "−", "changed": "±", "same": "="}


class ChangedField(NamedTuple):
    """One row of a diff. None stands for a missing field."""

    lead: str
    """The part of the path that adds no information."""
    name: str
    before: str | None
    after: str | None
    patch: str
    """What sets it: a patch, or a description of the source if no patch asks for it."""


class TargetChange(NamedTuple):
    """One change of one target, and the stacks with that change."""

    number: int
    target: str
    kind: str
    status: str
    words: str
    """The status for readers."""
    mark: str
    stacks: tuple[tuple[int, str], ...]
    """Each stack's index in the document, and its name."""
    pods: int
    gpus: tuple[int, int]
    cost: str
    """What it adds or saves an hour, empty if nothing."""
    findings: tuple[tuple[str, tuple[str, ...]], ...]
    """The codes of findings that need attention, the most serious first, by what became of them."""
    versions: tuple[tuple[str, str], ...]
    """The patches that the target uses in another version: the name, and how the version changes."""
    fields: tuple[ChangedField, ...]
    gist: str
    """The first field in a few words, to distinguish folded changes of one target."""
    open: bool


class SubmissionChange(NamedTuple):
    """What differs for the next apply or submission, and the stacks with that difference."""

    title: str
    words: str
    mark: str
    status: str
    stacks: tuple[str, ...]
    fields: tuple[ChangedField, ...]
    open: bool


def submissions_of(document: Mapping[str, Any]) -> tuple[SubmissionChange, ...]:
    """What differs for the next apply or submission, in the document's order."""
    submissions = document.get("submissions", ())
    return tuple(
        SubmissionChange(
            title=f"{one['kind']} {one['name']}".rstrip(),
            words={"added": "new", "removed": "gone", "changed": "changed"}[one["status"]],
            mark=MARKS[one["status"]],
            status=one["status"],
            stacks=tuple(one["stacks"]),
            fields=tuple(_field({**field, "patch": None}) for field in one["fields"]),
            open=number < FEW or len(submissions) <= MANY,
        )
        for number, one in enumerate(submissions)
    )


def changes_of(document: Mapping[str, Any]) -> tuple[TargetChange, ...]:
    """The changes in the document's order; the stacks refer to them by number."""
    changes = document["changes"]
    members: list[list[tuple[int, str]]] = [[] for _ in changes]
    for number, stack in enumerate(document["stacks"]):
        for target in stack["targets"]:
            members[target["change"]].append((number, stack["stack"]))
    return tuple(
        _change(number, one, members[number], number < FEW or len(changes) <= MANY)
        for number, one in enumerate(changes)
    )


def patches_of(change: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the patches behind a change."""
    names = {version["name"] for version in change["versions"]}
    return tuple(sorted(names | {field["patch"].split("@")[0] for field in change["fields"] if field["patch"]}))


def _version_words(before: str | None, after: str | None) -> str:
    if before is None:
        return f"{after}, new here"
    if after is None:
        return f"{before}, no longer used"
    return f"{before} → {after}"


def _change(number: int, one: Mapping[str, Any], members: list[tuple[int, str]], is_open: bool) -> TargetChange:
    fields = tuple(map(_field, one["fields"]))
    return TargetChange(
        number=number,
        target=one["target"],
        kind=one["kind"],
        status=one["status"],
        words=happens(one["status"], created=one["created"]),
        mark=MARKS["changed" if one["status"] == "added" and not one["created"] else one["status"]],
        stacks=tuple(members),
        pods=one["podsReplaced"],
        gpus=(one["gpus"]["before"], one["gpus"]["after"]),
        cost=_cost(one.get("cost")),
        findings=tuple(_codes(one.get("findings", {}))),
        versions=tuple((each["name"], _version_words(each["before"], each["after"])) for each in one["versions"]),
        fields=fields,
        gist=_gist(fields),
        open=is_open,
    )


def _cost(cost: Mapping[str, Any] | None) -> str:
    if cost is None:
        return ""
    total = total_from_json(cost)
    lacks = total.unknown is None or total.unknown.high > 0
    if total.usd is None or any(total.usd):
        return f"cost {difference(total.usd)}" + (", leaving out pods of unknown price" if lacks and total.usd else "")
    return "cost unknown in part" if lacks else ""


def _codes(findings: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for part, words in PARTS.items():
        loud = (one for one in findings.get(part, ()) if one["severity"] != "advice")
        codes = tuple(dict.fromkeys(one["code"] for one in loud if part == "waived" or not one["waived"]))
        if codes:
            yield words, codes


def _gist(fields: tuple[ChangedField, ...]) -> str:
    if not fields:
        return ""
    first = fields[0]
    name = ".".join(_PART.findall(first.name)[-2:])
    values = [_short(value) for value in (first.before, first.after)]
    rest = f" and {len(fields) - 1} more" if len(fields) > 1 else ""
    return f"{name} {' → '.join(values)}{rest}"


def _short(value: str | None) -> str:
    if value is None:
        return "not set"
    return value if len(value) <= _GIST and "\n" not in value else "…"


def _field(field: Mapping[str, Any]) -> ChangedField:
    path = field["field"]
    both = [value_text(field[side]) for side in ("before", "after") if side in field]
    say = exactly if len(both) == 2 and both[0] == both[1] else value_text
    lead = next((each for each in _PLAIN if path.startswith(each)), "")
    return ChangedField(
        lead,
        path.removeprefix(lead),
        say(field["before"]) if "before" in field else None,
        say(field["after"]) if "after" in field else None,
        field["patch"] or (DEFAULT if "after" in field else NOBODY),
    )
