"""One stack at two commits: planned, judged by the project's rules, and compared."""

from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

from modelyard.findings import Finding, ordered
from modelyard.hardware.gpu_models import own_gpus
from modelyard.hardware.own import in_project, of_project
from modelyard.plan.cluster_parts import cluster_parts
from modelyard.plan.cost.prices import Prices
from modelyard.plan.cost.project import priced, prices_in, prices_of
from modelyard.plan.cost.values import StackCost
from modelyard.plan.project import Planned, library_of, load_stack, plan_after, plan_recorded, shown
from modelyard.plan.trace import place_field
from modelyard.plan.values import Plan, TargetPlan
from modelyard.policy.changes import weaker_in
from modelyard.policy.check import check_plan
from modelyard.policy.settings import can_run
from modelyard.preview.compare import StackAtCommit, changes_anything, compare, given_up, pending_of
from modelyard.preview.news import Rules
from modelyard.preview.shared import Commit, shared_findings
from modelyard.preview.submitted import Submitted, submissions, submitted
from modelyard.preview.topology import topology
from modelyard.preview.values import StackDiff, SubmissionDiff
from modelyard.stack import Stack


class StackJob(NamedTuple):
    """One stack to compare."""

    name: str
    base: Path | None
    """Its file at the base, None if there is none; the head's file if it is untouched."""
    head: Path | None
    recorded: bool = False
    """Whether its recorded platform differs."""
    untouched: bool = False
    """Whether all inputs of its plan are unchanged, so that only rules can make a difference."""
    rules: bool = False
    """Whether the project's rules differ."""
    platform: Path | None = None
    """Has its cluster as it is now; None for the recorded platform of the head."""


def compared(base: Commit, head: Commit, today: date, job: StackJob) -> StackDiff | None:
    """The difference of one stack; None if there is none."""
    with in_project(head.root):
        return _compared(base, head, today, job)


def _compared(base: Commit, head: Commit, today: date, job: StackJob) -> StackDiff | None:
    if job.untouched:
        return _judged_twice(base, head, today, job) if job.rules else None
    if same := _same_inputs(base.root, head.root, job):
        before, after = same
        if not job.rules and before.warnings == after.warnings:
            return None
        return _judged_twice(base, head, today, job, same)
    return _planned_twice(base, head, today, job)


def planned_twice(base: Commit, head: Commit, job: StackJob) -> bool:
    """Whether a stack has another plan at each commit."""
    with in_project(head.root):
        return not job.untouched and _same_inputs(base.root, head.root, job) is None


def _same_inputs(base_root: Path, head_root: Path, job: StackJob) -> "tuple[_Inputs, _Inputs] | None":
    """The inputs of a stack's plan at both commits if they give the same plan; None if they do not."""
    if job.base is None or job.head is None or job.recorded:
        return None
    before, after = _inputs(base_root, job.base), _inputs(head_root, job.head)
    return (before, after) if before is not None and after is not None and before.plan == after.plan else None


def _planned_twice(earlier: Commit, later: Commit, today: date, job: StackJob) -> StackDiff | None:
    base_root, head_root = earlier.root, later.root
    # Both plans start from the head's platform, or the one now: the commits did not cause what differs there.
    platform = job.platform or (head_root if job.head is not None else base_root)
    before = _planned(base_root, job.base, today, platform)
    after = _planned(head_root, job.head, today, platform)
    base = _at_commit(earlier, before, today) if job.base is not None else None
    head = _at_commit(later, after, today) if job.head is not None else None
    if head is not None and after.stack is not None and later.judged and later.rules is not None:
        # Findings that its waivers cover are shown as waived.
        found = weaker_in(later.policies, before.stack, after.stack)
        head = head._replace(findings=ordered((*head.findings, *found)))
    following = after.plan
    if before.plan is not None and after.plan is not None:
        following = plan_after(head_root, after, before.plan, today)
    if job.recorded and base is not None and job.base is not None and head is not None:
        # Findings about the base's own platform existed before.
        base = base._replace(findings=_findings(earlier, plan_recorded(base_root, job.base, today), today, base_root))
    root, file = (head_root, job.head) if job.head is not None else (base_root, job.base)
    rules = _rules(earlier, later, before, after=after, today=today, project_differs=job.rules)
    difference = compare(
        job.name, shown(root, file or root), base, head=head, following=following, recorded=job.recorded, rules=rules
    )
    pending = pending_of(before.plan) if job.platform is not None and before.plan is not None else None
    difference = difference._replace(submissions=_submissions(earlier, later, before, after, job), pending=pending)
    ahead = after._replace(plan=following)
    if head is None:
        cost = _running_cost(base_root, before, today)
    else:
        also = given_up(base, head, following) if following is not None else ()
        cost = _cost(head_root, _with_left(ahead, before), also, prices_in(before))
    if not changes_anything(difference) and not _other_amounts(cost):
        return None
    return difference._replace(topology=topology(before, ahead), cost=cost)


def _submissions(
    base: Commit, head: Commit, before: Planned, after: Planned, job: StackJob
) -> tuple[SubmissionDiff, ...]:
    """What differs for the next apply or submission; nothing if one of the files is gone or cannot be read."""
    if after.stack is None or (job.base is not None and before.stack is None):
        return ()
    new = _submitted(head.root, after.stack)
    if before.stack is None:
        # That a new stack has apply settings is no news.
        return submissions({}, {key: values for key, values in new.items() if key[0] != "apply"})
    return submissions(_submitted(base.root, before.stack), new)


@of_project
def _submitted(root: Path, stack: Stack) -> Submitted:
    """What a stack can submit with the patches and GPUs of its project."""
    return submitted(stack, library_of(root))


def _cost(
    root: Path, planned: Planned, also: tuple[TargetPlan, ...] = (), earlier: Prices | None = None
) -> StackCost | None:
    """The cost of a plan with some more targets; None if it has none.

    Args:
        root: the project whose prices count.
        planned: the plan.
        also: more targets.
        earlier: the prices of what runs before it, if they differ.
    """
    if planned.plan is None:
        return None

    def whole(part: Plan) -> Plan:
        return part._replace(targets=(*part.asked, *(one for one in also if one.cluster == part.remote)))

    plan = whole(planned.plan._replace(remotes=tuple(map(whole, planned.plan.remotes))))
    found = priced(root, planned._replace(plan=plan), earlier)
    return found.plan.cost if found.plan is not None else None


def _with_left(ahead: Planned, before: Planned) -> Planned:
    """The head's plan, with the remote clusters that only the base has: it asks for nothing there."""
    if ahead.plan is None or before.plan is None:
        return ahead
    left = tuple(one._replace(targets=()) for one in before.plan.remotes if one.remote not in ahead.remotes)
    plan = ahead.plan._replace(remotes=(*ahead.plan.remotes, *left))
    return ahead._replace(plan=plan, remotes={**before.remotes, **ahead.remotes})


def _running_cost(root: Path, planned: Planned, today: date) -> StackCost | None:
    """The cost of a stack that was applied and does not change."""
    if planned.plan is None:
        return None
    return _cost(root, planned._replace(plan=plan_after(root, planned, planned.plan, today)))


def _other_amounts(cost: StackCost | None) -> bool:
    """Whether an amount changes."""
    return cost is not None and any(one.usd[0] != one.usd[1] for one in cost.targets)


def _planned(root: Path, file: Path | None, today: date, platform: Path) -> Planned:
    """The stack's plan at one commit; empty, without findings, if the commit does not have its file."""
    return Planned(None, None, ()) if file is None else plan_recorded(root, file, today, platform)


def _judged_twice(
    at_base: Commit, at_head: Commit, today: date, job: StackJob, inputs: "tuple[_Inputs, _Inputs] | None" = None
) -> StackDiff | None:
    """The difference of a stack whose plan is the same at both commits: planned once, judged by the rules of each.

    Args:
        at_base: the project at the base.
        at_head: the project at the head.
        today: the date for waivers.
        job: the stack, with a file at both commits.
        inputs: the inputs of its plan at the base and at the head; None if nothing differs in them.
    """
    assert job.head is not None
    head_root = at_head.root
    planned = plan_recorded(head_root, job.head, today, job.platform)
    if planned.plan is None or planned.stack is None:
        return None
    earlier = planned
    if inputs is not None:
        before, after = inputs
        found = {*planned.plan.findings} - after.warnings | before.warnings
        earlier = planned._replace(plan=planned.plan._replace(findings=ordered(found)))
    base, head = _at_commit(at_base, earlier, today, head_root), _at_commit(at_head, planned, today)
    applied = _applied(planned.plan)
    rules = Rules(base.findings, partial(_fate, at_head, planned.stack)) if job.rules else None
    difference = compare(
        job.name, shown(head_root, job.head), base, head=head, following=applied, recorded=False, rules=rules
    )
    if not changes_anything(difference):
        return None
    ahead = planned._replace(plan=applied)
    return difference._replace(topology=topology(planned, ahead), cost=_cost(head_root, ahead))


def _applied(plan: Plan) -> Plan:
    """The plan of a stack once it has been applied: it has no changes."""
    return plan._replace(
        targets=tuple(
            target._replace(
                action="none",
                before=target.after,
                changes=(),
                replaces_pods=0,
                replicas=(target.replicas[1], target.replicas[1]),
                gpus=(target.gpus[1], target.gpus[1]),
            )
            for target in plan.asked
        ),
        steps=(),
        drains=(),
        remotes=tuple(map(_applied, plan.remotes)),
    )


def _rules(
    base: Commit, head: Commit, before: Planned, *, after: Planned, today: date, project_differs: bool
) -> Rules | None:
    """The findings of the base's rules about the head's plan; None without that plan, or with equal rules."""
    if before.stack is None or after.stack is None or after.plan is None:
        return None
    own = before.stack.config.policy
    if not project_differs and (not head.judged or own == after.stack.config.policy):
        return None
    config = after.stack.config._replace(policy=own)
    judged = after._replace(stack=after.stack._replace(config=config))
    return Rules(_findings(base, judged, today, head.root), partial(_fate, head, after.stack))


def _fate(commit: Commit, stack: Stack, code: str) -> str:
    """What became of a rule at the head."""
    settings, _ = commit.policies.of_stack(stack)
    setting = settings.by_code.get(code)
    if setting is None:
        return "no longer checked: rule removed by this change"
    if setting.level == "disabled":
        return "no longer checked: rule disabled by this change"
    if not can_run(setting):
        return "no longer checked: this change removes the settings that the rule needs"
    return "no longer found: rule or its parameters changed by this change"


class _Inputs(NamedTuple):
    """The inputs of a stack's plan."""

    plan: object
    """Equal if the plan is the same."""
    warnings: frozenset[Finding]
    """Warnings about its patches, such as drafts, which change no object."""


@of_project
def _inputs(root: Path, file: Path) -> _Inputs | None:
    stack, _ = load_stack(root, file)
    if stack is None:
        return None
    parts = [part.chosen(library_of(root)) for part in cluster_parts(stack)]
    problems = [finding for _, found in parts for finding in found]
    errors = [(finding.code, finding.summary) for finding in problems if finding.blocks]
    warnings = frozenset(place_field(finding, stack) for finding in problems if not finding.blocks)
    patches = [(one.patch.id, one.patch.sha256) for chosen, _ in parts for one in chosen]
    own = (stack.file, stack.sha256, stack.config.environments, submitted(stack, library_of(root)), own_gpus())
    return _Inputs((*own, patches, errors, prices_of(root, stack)), warnings)


def _at_commit(commit: Commit, planned: Planned, today: date, project: Path | None = None) -> StackAtCommit:
    config = planned.stack.config if planned.stack is not None else None
    findings = _findings(commit, planned, today, project or commit.root)
    return StackAtCommit(
        planned.plan, findings, config.kubernetes_version if config else "", config.waivers if config else ()
    )


def _findings(commit: Commit, planned: Planned, today: date, project: Path) -> tuple[Finding, ...]:
    """The findings as in ``modelyard check``, policies included, without those of the project as a whole.

    Args:
        commit: the commit whose policies judge.
        planned: the plan.
        today: the date for waivers.
        project: the project whose patches, GPUs and prices the plan uses.
    """
    plan = planned.plan or planned.partial
    if plan is None or planned.stack is None:
        return planned.findings
    stack, found = planned.stack, plan.findings
    if commit.judged:
        with in_project(project):
            found = check_plan(commit.root, stack, plan, today, commit.rules)
        if planned.plan is None:
            found = planned._replace(partial=plan._replace(findings=found)).findings
    shared = (*shared_findings(commit), *library_of(project).findings)
    if shared:
        whole = {(finding.code, finding.file, finding.summary) for finding in shared}
        found = tuple(one for one in found if (one.code, one.file, one.summary) not in whole)
    return found
