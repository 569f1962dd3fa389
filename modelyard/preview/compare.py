"""What differs between two plans of one stack, and the identical changes of many stacks, grouped."""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.scheduling.pods import gpus_of, replaced_pods, replicas_of
from modelyard.kube.state import ObjectKey
from modelyard.plan import FieldChange, Plan, TargetPlan
from modelyard.plan.cost.values import TargetCost, Total, stack_cost
from modelyard.plan.ownership import ENGINE_ANNOTATIONS
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.ledger import known_ledger
from modelyard.plan.undo.lists import by_item, list_around
from modelyard.plan.undo.request import put_back
from modelyard.plan.undo.restore import NOTES
from modelyard.preview.news import Rules, news_of
from modelyard.preview.values import (
    News,
    Pending,
    StackDiff,
    SubmissionDiff,
    TargetDiff,
    TargetStatus,
    VersionDiff,
)
from modelyard.stack.config import Waiver

_Place = tuple[str, ObjectKey]
"""The name of a remote cluster, empty for the home cluster, and an object there."""
_OWN_NOTES = (*NOTES, *ENGINE_ANNOTATIONS)


class StackAtCommit(NamedTuple):
    """A stack at one commit: its plan, or only the findings that say why there is none."""

    plan: Plan | None
    findings: tuple[Finding, ...]
    version: str
    """Version of the Kubernetes schema for its fields, such as ``1.35``; empty without a stack."""
    waivers: tuple[Waiver, ...] = ()


def compare(
    stack: str,
    file: str,
    base: StackAtCommit | None,
    *,
    head: StackAtCommit | None,
    following: Plan | None,
    recorded: bool,
    rules: Rules | None = None,
) -> StackDiff:
    """The difference of a stack between two commits.

    Args:
        stack: name of the stack.
        file: its file as users see it.
        base: planned at the base, None if the base lacks the stack.
        head: planned at the head from the same platform, None if the head no longer has the stack.
        following: the head's plan once the base's has been applied: what an apply of the head will change. For an added
            stack, its only plan; None if the head cannot be planned.
        recorded: whether the recorded platform differs between the commits.
        rules: the findings of the base's rules about the head, None if the rules do not differ.
    """
    earlier = base.plan if base is not None else None
    if head is None:
        return _left_behind(stack, file, earlier, recorded)
    before, after = _targets(earlier), _targets(following)
    targets = [_changed(target, before.get(place)) for place, target in after.items()]
    if following is not None:
        # Without a plan of the head, it is unknown which objects it no longer asks for.
        version = _version(base, head)
        targets += [_given_up(target, version) for place, target in before.items() if place not in after]
    changed = tuple(one for one in targets if one.fields or one.versions or one.status == "deleted")
    news = _news(base, head, rules)
    plan = head.plan or earlier
    clusters = following.clusters if following is not None else ()
    return StackDiff(
        stack=stack,
        file=file,
        status="added" if base is None else "changed",
        headline=plan.headline if plan is not None else "",
        targets=changed,
        new=news.new,
        fixed=news.fixed,
        still=news.still,
        unplanned=head.plan is None,
        recorded=recorded,
        patches=tuple(_versions(_patches(earlier), _patches(following))) if following is not None else (),
        others=sum(target.gpus[1] for target in targets) - sum(target.gpus[1] for target in changed),
        waived=news.waived,
        relaxed=news.relaxed,
        moved=news.moved,
        training=(earlier.training, following.training) if earlier is not None and following is not None else None,
        steps=tuple(step for one in clusters for step in one.steps),
        drains=tuple(drain for one in clusters for drain in one.drains),
    )


def _news(base: StackAtCommit | None, head: StackAtCommit, rules: Rules | None) -> News:
    old, earlier = (base.findings, base.waivers) if base is not None else ((), ())
    news = news_of(old, head.findings, head.waivers, rules, earlier)
    # If the head cannot be planned, it is unknown what it fixes.
    return news if head.plan else news._replace(fixed=(), relaxed=())


def _left_behind(stack: str, file: str, plan: Plan | None, recorded: bool) -> StackDiff:
    """The difference of a stack whose file is gone: nothing is sent, so nothing in its cluster changes."""
    finding = Finding(
        "CFG104",
        Severity.WARNING,
        f"the file of stack {stack} is deleted, but its applied changes stay in the cluster",
        stack=stack,
        detail="no later apply restores the fields that modelyard set, or frees the GPUs",
        remedy=f"run `modelyard destroy {stack}` before you delete the file: destroy needs the file",
        file=file,
    )
    return StackDiff(
        stack=stack,
        file=file,
        status="removed",
        headline=plan.headline if plan is not None else "",
        targets=(),
        new=(finding,),
        fixed=(),
        still=(),
        unplanned=False,
        recorded=recorded,
        others=sum(target.gpus[1] for target in plan.targets) if plan is not None else None,
    )


def given_up(base: StackAtCommit | None, head: StackAtCommit, following: Plan) -> tuple[TargetPlan, ...]:
    """The objects that no patch of the head asks for, as plans without a patch."""
    kept, version = _targets(following), _version(base, head)
    found = []
    for place, target in _targets(base.plan if base else None).items():
        if place not in kept:
            left = None if target.managed else put_back(target.after.reveal(), _schema(target, version))[0]
            found.append(
                target._replace(
                    patches=(),
                    applied=Confidential({}),
                    before=target.after,
                    after=Confidential(left or {}),
                    changes=(),
                    replicas=(target.replicas[1], replicas_of(left, target.place)),
                )
            )
    return tuple(found)


def pending_of(plan: Plan) -> Pending:
    """What an apply of the base would change in the cluster."""
    changed = [sum(_is_own(change.path) for change in target.changes) for target in _targets(plan).values()]
    return Pending(fields=sum(changed), objects=sum(map(bool, changed)))


def changes_anything(difference: StackDiff) -> bool:
    """Whether a stack has anything to show."""
    findings = difference.new or difference.fixed or difference.waived or difference.relaxed or difference.moved
    what = difference.targets or difference.submissions or findings
    return bool(difference.status != "changed" or difference.unplanned or what)


def _targets(plan: Plan | None) -> dict[_Place, TargetPlan]:
    """The targets of a plan in all of its clusters."""
    every = plan.everything if plan is not None else ()
    return {(target.cluster, target.key): target for target in every if not target.dropped}


def _changed(target: TargetPlan, before: TargetPlan | None) -> TargetDiff:
    """What an apply of the head does to an object."""
    fields = tuple(
        change._replace(owners=(), taken=False, back=_timeless(change.back))
        for change in target.changes
        if _is_own(change.path)
    )
    status: TargetStatus = "added" if before is None else "changed" if fields else "same"
    return TargetDiff(
        name=target.name,
        kind=target.key.kind,
        status=status,
        fields=fields,
        versions=tuple(_changed_versions(before.patches if before else (), target.patches)),
        replaces_pods=target.replaces_pods,
        replicas=target.replicas,
        gpus=target.gpus,
        created=target.action == "create",
    )


def _version(base: StackAtCommit | None, head: StackAtCommit) -> str:
    return next((one.version for one in (head, base) if one is not None and one.version), "")


def _schema(target: TargetPlan, version: str) -> merge.Type:
    return merge.MergeSchema.kubernetes(version).of(target.key.api_version, target.key.kind)


def _given_up(target: TargetPlan, version: str) -> TargetDiff:
    """The change of an object that no patch of the head asks for: its fields are restored, or it is deleted."""
    if target.managed:
        return TargetDiff(
            name=target.name,
            kind=target.key.kind,
            status="deleted",
            fields=(),
            versions=tuple(_changed_versions(target.patches, ())),
            replaces_pods=0,
            replicas=(target.replicas[1], None),
            gpus=(target.gpus[1], 0),
        )
    schema, body = _schema(target, version), target.after.reveal()
    left, back = put_back(body, schema)
    ledger = known_ledger(body)
    fields = tuple(
        FieldChange(
            change.path,
            *hidden_change(target.key, change.path, change.before, change.after, (body, left)),
            patch=None,
            back=_timeless(back.get(list_around(change.path, ledger) or change.path)),
        )
        for change in merge.diff(body, left, by_item(schema, ledger))
        if _is_own(change.path)
    )
    return TargetDiff(
        name=target.name,
        kind=target.key.kind,
        status="removed",
        fields=fields,
        versions=tuple(_changed_versions(target.patches, ())),
        replaces_pods=replaced_pods(body, left, (field.path for field in fields)),
        replicas=(target.replicas[1], replicas_of(left, target.place) or 0),
        gpus=(target.gpus[1], gpus_of(left)),
    )


def _timeless(owners: tuple[merge.Owner, ...] | None) -> tuple[merge.Owner, ...] | None:
    """Owners without the parts that differ between stacks."""
    return None if owners is None else tuple(owner._replace(time="") for owner in owners)


def _is_own(path: merge.Path) -> bool:
    """Whether a field is the object's own: not status, not bookkeeping, not modelyard's notes of its patches."""
    if path[:1] == ("status",) or path[:2] == ("metadata", "managedFields"):
        return False
    return not (path[:2] == ("metadata", "annotations") and path[-1] in _OWN_NOTES)


def _patches(plan: Plan | None) -> list[str]:
    return [one for target in plan.targets for one in target.patches] if plan is not None else []


def _changed_versions(before: Iterable[str], after: Iterable[str]) -> Iterable[VersionDiff]:
    """Each patch that a target takes in another version, newly, or no longer."""
    return (one for one in _versions(before, after) if one.before != one.after)


def _versions(before: Iterable[str], after: Iterable[str]) -> Iterable[VersionDiff]:
    """Each patch of two lists of ``name@version``."""
    old, new = (dict(one.split("@", 1) for one in patches) for patches in (before, after))
    return (VersionDiff(name, old.get(name), new.get(name)) for name in sorted({*old, *new}))


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


def _texts(fields: Iterable[FieldChange]) -> list[tuple[Any, ...]]:
    return [(str(field.path), _plain(field.before), _plain(field.after), field.patch) for field in fields]


def _plain(value: Any) -> Any:
    return [] if value is merge.ABSENT else [value]
