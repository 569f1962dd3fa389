"""Groups identical changes of many stacks."""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from modelyard.findings import Finding
from modelyard.kube import merge
from modelyard.plan.cost.values import TargetCost, Total, stack_cost
from modelyard.preview.values import FieldDiff, StackDiff, SubmissionDiff, TargetDiff


class Occurrences(NamedTuple):
    """Findings about one target by what became of them, as in ``values.News``."""

    new: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    still: tuple[Finding, ...] = ()
    waived: tuple[Finding, ...] = ()
    relaxed: tuple[Finding, ...] = ()


class Group(NamedTuple):
    """One change of one target, and every stack that it happens in."""

    change: TargetDiff
    """The first stack's change, with that stack's numbers of pods and GPUs."""
    stacks: tuple[str, ...]
    replaces_pods: int
    """The sum over all these stacks."""
    gpus: tuple[int, int]
    """The sum over all these stacks."""
    cost: Total | None
    """What it adds or saves an hour in all stacks; None for an object without pods."""
    findings: Occurrences
    """Findings about this target, in all stacks."""


class SubmissionGroup(NamedTuple):
    """One change for the next apply or submission, and every stack that it happens in."""

    change: SubmissionDiff
    stacks: tuple[str, ...]


class _Member(NamedTuple):
    """The change in one stack."""

    stack: str
    target: TargetDiff
    priced: bool
    """Whether the stack's cost is known."""
    cost: TargetCost | None
    findings: Occurrences


def grouped(stacks: Iterable[StackDiff]) -> tuple[Group, ...]:
    """The targets' changes, identical ones grouped: in the order of the first stack that has them."""
    found: dict[str, list[_Member]] = {}
    for stack in stacks:
        costs = {(one.kind, one.name): one for one in (stack.cost.targets if stack.cost else ())}
        waived, relaxed = (tuple(one.finding for one in those) for those in (stack.waived, stack.relaxed))
        every = tuple(map(_by_target, (stack.new, stack.fixed, stack.still, waived, relaxed)))
        for target in stack.targets:
            name = target.name
            own = Occurrences(*(part.get(name, ()) for part in every))
            member = _Member(stack.stack, target, stack.cost is not None, costs.get((target.kind, name)), own)
            found.setdefault(_likeness(target), []).append(member)
    return tuple(map(_group, found.values()))


def grouped_submissions(stacks: Iterable[StackDiff]) -> tuple[SubmissionGroup, ...]:
    """The changes for the next apply or submission, identical ones grouped: in the order of the first stack."""
    found: dict[str, tuple[SubmissionDiff, list[str]]] = {}
    for stack in stacks:
        for change in stack.submissions:
            alike = json.dumps([change.kind, change.name, change.status, _texts(change.fields)], sort_keys=True)
            found.setdefault(alike, (change, []))[1].append(stack.stack)
    return tuple(SubmissionGroup(change, tuple(names)) for change, names in found.values())


def _group(members: list[_Member]) -> Group:
    return Group(
        change=members[0].target,
        stacks=tuple(one.stack for one in members),
        replaces_pods=sum(one.target.replaces_pods for one in members),
        gpus=(sum(one.target.gpus[0] for one in members), sum(one.target.gpus[1] for one in members)),
        cost=_cost(members),
        findings=Occurrences(
            *(tuple(chain.from_iterable(parts)) for parts in zip(*(one.findings for one in members), strict=True))
        ),
    )


def _cost(members: list[_Member]) -> Total | None:
    known = [one.cost for one in members if one.cost is not None]
    total = stack_cost(known).delta
    if all(one.priced for one in members):
        return total if known else None
    return Total(total.usd if known else None, None)


def _by_target(findings: Iterable[Finding]) -> Mapping[str, tuple[Finding, ...]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.target, []).append(finding)
    return {target: tuple(own) for target, own in found.items()}


def _likeness(target: TargetDiff) -> str:
    """A text that is equal for changes that read the same, however many pods they concern."""
    return json.dumps([target.kind, target.name, target.status, _texts(target.fields), target.versions], sort_keys=True)


def _texts(fields: Iterable[FieldDiff]) -> list[tuple[Any, ...]]:
    return [(str(field.path), _plain(field.before), _plain(field.after), field.patch) for field in fields]


def _plain(value: Any) -> Any:
    return [] if value is merge.ABSENT else [value]
