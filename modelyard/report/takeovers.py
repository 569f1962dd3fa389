"""Findings that are shown once: those of one target and owner, those of several targets with one cause in the stack
file's section ``platform``, and those of a file that several stacks share.
"""

from collections.abc import Iterable
from typing import NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.kube.merge import Path
from modelyard.report.fields import field_names
from modelyard.report.values import NAMES
from modelyard.stack.words import few

_ONE = {
    "OWN001": "takes ownership of {field} from {owner}",
    "OWN002": "{owner} keeps writing {field}",
    "OWN003": "{owner} holds {field} and will write it again at its next sync",
}
"""The plan's wording for each."""
_MANY = {
    "OWN001": "takes ownership of {number} fields from {owner}",
    "OWN002": "{owner} keeps writing {number} fields",
    "OWN003": "{owner} holds {number} fields and will write them again at its next sync",
}


class ShownFinding(NamedTuple):
    """A finding as readers see it: a single finding, or one that stands for several."""

    finding: Finding
    fields: tuple[tuple[str, int], ...] = ()
    """Short names of its fields, some combined, each with a number; empty for a single finding."""
    stacks: tuple[str, ...] = ()
    """The stacks that have it, if there are several."""
    places: tuple[str, ...] = ()
    """The place in each of these stacks, if they differ."""


def gathered(findings: Iterable[Finding]) -> list[ShownFinding]:
    """The findings in their order; a combined finding takes the place of its first."""
    return [_shown(found) for found in together(findings)]


def alike(findings: Iterable[Finding]) -> list[ShownFinding]:
    """The findings, gravest first; a finding of several stacks appears once, even if each has it in its own file."""
    found = sorted(gathered(findings), key=lambda shown: _gravity(shown.finding))
    places: dict[object, list[ShownFinding]] = {}
    for shown in found:
        like = shown.finding._replace(stack="", file="", line=0, column=0), shown.fields
        places.setdefault(like if not shown.stacks else shown, []).append(shown)
    return [_of_several(those) if len(those) > 1 else those[0] for those in places.values()]


def together(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings that are shown as one: of one target and owner, of one cause, or equal ones of several stacks at
    one place.
    """
    places: dict[object, list[Finding]] = {}
    for finding in findings:
        owner = _owner(finding)
        like: object = len(places)
        if owner:
            # Everything except the field, its line and its wording.
            like = finding._replace(summary="", field="", line=0, column=0), owner
        elif _is_cause(finding):
            like = finding._replace(summary=finding.summary.replace(finding.target, ""), target="")
        elif finding.file:
            # A stack's own file has no findings of other stacks, so this is a patch or the lock of all patches.
            like = finding._replace(stack="")
        places.setdefault(like, []).append(finding)
    return list(places.values())


def taken_over(findings: Iterable[Finding]) -> dict[str, int]:
    """How many fields a plan takes over routinely, by owner."""
    owners = sorted(_owner(one) for one in findings if one.severity is Severity.ADVICE and not one.waived)
    return {owner: owners.count(owner) for owner in owners if owner}


def _of_several(found: list[ShownFinding]) -> ShownFinding:
    first = found[0].finding
    stacks = tuple(one.finding.stack for one in found)
    return ShownFinding(first, found[0].fields, stacks, tuple(one.finding.location for one in found))


def _gravity(finding: Finding) -> tuple[object, ...]:
    rank = tuple(Severity).index(finding.severity)
    return bool(finding.waived), rank, finding.code, finding.target, finding.field, finding.summary


def _shown(found: list[Finding]) -> ShownFinding:
    first = found[0]
    if len(found) > 1 and _is_cause(first):
        names = few(sorted(one.target for one in found), NAMES)
        return ShownFinding(first._replace(summary=first.summary.replace(first.target, names), target=""))
    if not _owner(first) or (len(found) == 1 and first.severity is not Severity.ADVICE):
        stacks = tuple(dict.fromkeys(one.stack for one in found))
        return ShownFinding(first, (), stacks if len(stacks) > 1 else ())
    summary = _MANY[first.code].format(number=len(found), owner=_owner(first))
    summary = summary.replace("1 fields", "1 field", 1) if len(found) == 1 else summary
    return ShownFinding(first._replace(summary=summary), tuple(field_names(Path.parse(one.field) for one in found)))


def _is_cause(finding: Finding) -> bool:
    """Whether it is about a target, but its cause is a setting that all targets share."""
    return bool(finding.target) and finding.field.startswith("platform.")


def _owner(finding: Finding) -> str:
    """The owner in the finding, empty if it does not concern one field and its owner."""
    if finding.code not in _ONE or not finding.field:
        return ""
    before, _, after = _ONE[finding.code].replace("{field}", finding.field).partition("{owner}")
    if not (finding.summary.startswith(before) and finding.summary.endswith(after)):
        return ""
    return finding.summary[len(before) : len(finding.summary) - len(after)]
