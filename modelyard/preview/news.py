"""Which findings are new, fixed, waived, no longer checked, or still there."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from modelyard.findings import Finding, Severity, about
from modelyard.preview.values import Moved, News, Relaxed, Waived
from modelyard.stack.config import Waiver

_RANK = tuple(Severity)
_POLICY = ("POL1", "POL9")
"""Prefixes of the codes of rules, as opposed to findings about the policies' own files."""
_NUMBER = re.compile(r"(?<![\w@/.:-])[-+]?\d[\w.,:%]*")
"""A number with its unit that stands alone: not the one in a name such as ``ray-worker@v1``."""


class Rules(NamedTuple):
    """The base's rules, applied to the head."""

    findings: tuple[Finding, ...]
    """Findings about the head's plan, under the base's rules."""
    fate: Callable[[str], str]
    """What became at the head of the rule with a code."""


def news_of(
    base: Sequence[Finding],
    head: Sequence[Finding],
    waivers: Sequence[Waiver] = (),
    rules: Rules | None = None,
    earlier_waivers: Sequence[Waiver] = (),
) -> News:
    """What became of the findings.

    Args:
        base: the findings before.
        head: the findings after.
        waivers: waivers of the head's stack.
        rules: given if they differ between the commits; a finding that is gone only with its rule is not fixed.
        earlier_waivers: waivers of the base's stack.
    """
    earlier, gone = paired(base, head)
    new, still, waived, relaxed, moved = [], [], [], [], []
    strict, lost = paired(rules.findings, head) if rules is not None else ([None] * len(head), ())
    for finding, before, ruled in zip(head, earlier, strict, strict=True):
        now = _waived(finding, waivers) if finding.waived else None
        was = _waived(before, earlier_waivers) if before is not None and before.waived else None
        if now is not None and (was is None or _terms(now) != _terms(was)):
            waived.append(now._replace(was=was.until if was is not None else ""))
        elif before is None or (before.waived and not finding.waived) or _rank(finding) < _rank(before):
            new.append(finding)
        elif ruled is not None and not finding.waived and _rank(finding) > _rank(ruled):
            why = f"less severe: {before.severity.value} before, {finding.severity.value} by the rule's level now"
            relaxed.append(Relaxed(finding, why))
        else:
            still.append(finding)
            if (finding.summary, finding.severity) != (before.summary, before.severity):
                moved.append(Moved(finding, _text_before(finding, before)))
    # What the base's rules still find in the head is not fixed.
    unmended = _partners(gone, lost)
    fixed = [finding for at, finding in enumerate(gone) if at not in unmended]
    if rules is not None:
        relaxed += [Relaxed(finding, rules.fate(finding.code)) for at, finding in enumerate(gone) if at in unmended]
        # Nor is it hidden if the change adds it together with what disables its rule.
        paired_up = set(unmended.values())
        others = (one for at, one in enumerate(lost) if at not in paired_up)
        hidden = (one for one in others if one.code.startswith(_POLICY) and not one.waived)
        relaxed += [Relaxed(finding, rules.fate(finding.code)) for finding in hidden]
    return News(
        new=tuple(new),
        fixed=tuple(fixed),
        still=tuple(still),
        waived=tuple(waived),
        relaxed=tuple(relaxed),
        moved=tuple(moved),
    )


def paired(base: Sequence[Finding], head: Sequence[Finding]) -> tuple[list[Finding | None], tuple[Finding, ...]]:
    """For each finding of the head the matching one of the base, None if it is new; and those that only the base has.

    Two findings match if they are about the same thing in the same words, except for numbers. With different words they
    match if the base and the head each have only one finding about that thing.
    """
    partners = _partners(base, head)
    found: list[Finding | None] = [None] * len(head)
    for old, new in partners.items():
        found[new] = base[old]
    return found, tuple(finding for at, finding in enumerate(base) if at not in partners)


def _partners(base: Sequence[Finding], head: Sequence[Finding]) -> dict[int, int]:
    """Positions in the base, each with the position of the matching finding in the head."""
    partners: dict[int, int] = {}
    taken: set[int] = set()
    for key in (_exactly, _anywhere, _without_numbers):
        waiting = _places(base, key, partners)
        for at, finding in enumerate(head):
            if at not in taken and waiting.get(key(finding)):
                partners[waiting[key(finding)].pop(0)] = at
                taken.add(at)
    old, new = _places(base, about, partners), _places(head, about, taken)
    for thing, places in old.items():
        one = base[places[0]]
        if len(places) == len(new.get(thing, ())) == 1 and (one.target or one.field):
            partners[places[0]] = new[thing][0]
    return partners


def _places(
    findings: Iterable[Finding], key: Callable[[Finding], Hashable], without: Iterable[int]
) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    left_out = set(without)
    for at, finding in enumerate(findings):
        if at not in left_out:
            found[key(finding)].append(at)
    return found


def _exactly(finding: Finding) -> Hashable:
    return *about(finding), finding.summary


def _anywhere(finding: Finding) -> Hashable:
    """A key without the file: the cause of a finding may move into another file."""
    return finding.code, finding.stack, finding.target, finding.field, finding.summary


def _without_numbers(finding: Finding) -> Hashable:
    return *about(finding), _NUMBER.sub("0", finding.summary)


def _rank(finding: Finding) -> int:
    return _RANK.index(finding.severity)


def _text_before(finding: Finding, before: Finding) -> str:
    return before.summary if finding.severity is before.severity else f"{before.severity.value}: {before.summary}"


def _terms(waived: Waived) -> tuple[str, ...]:
    return waived.reason, waived.by, waived.until


def _waived(finding: Finding, waivers: Iterable[Waiver]) -> Waived:
    """The finding with the waiver that gave it its reason."""
    own = [one for one in waivers if one.code == finding.code and one.target in (None, finding.target)]
    matching = [one for one in own if one.reason in finding.waived and (one.by or "") in finding.waived]
    if not matching:
        return Waived(finding, finding.waived, "", "")
    waiver = max(matching, key=lambda one: one.expires)
    return Waived(finding, waiver.reason, waiver.by or "", waiver.expires.isoformat())
