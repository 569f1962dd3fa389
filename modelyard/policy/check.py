"""The policies over a plan: what ``check``, ``plan``, ``preview`` and ``apply`` add to the plan's own findings."""

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from modelyard import merge
from modelyard.catalog import Selected
from modelyard.findings import Finding, ordered
from modelyard.plan.project import chosen_patches, library_of
from modelyard.plan.trace import Trace, trace, written_at
from modelyard.plan.unsettled import Unsettled, unsettled
from modelyard.plan.values import Plan, TargetPlan
from modelyard.policy.judging import judge
from modelyard.policy.loading import policies_of
from modelyard.policy.settings import settings_of, stack_layer
from modelyard.policy.subject import Subject, subject_of
from modelyard.stack import Stack, apply_policy_waivers
from modelyard.workloads import Facts, stack_facts, workloads

_NAMESPACE = "metadata.namespace"


def check_plan(root: Path, stack: Stack, plan: Plan, today: date) -> tuple[Finding, ...]:
    """The findings of a plan and those of the project's policies about it, waivers applied.

    Args:
        root: the project.
        stack: what the plan is of.
        plan: the plan, with its own findings.
        today: the day it is, for waivers.
    """
    policies = policies_of(root)
    settings = policies.settings
    wrong: tuple[Finding, ...] = ()
    if stack.config.policy.rules:
        settings, wrong = settings_of(policies.rules, (policies.choices, policies.place), stack_layer(stack))
        # What is wrong with the project's own file is in its findings already.
        wrong = tuple(finding for finding in wrong if finding.file == stack.file)
    known = stack_facts(stack, workloads(stack.config))
    found = judge(settings, subjects_of(plan, known))
    doubtful = _unsettled(root, stack, plan, known)
    placed = tuple(_placed(doubtful.without(found), root, stack, plan)) if found else ()
    own = apply_policy_waivers((*wrong, *placed), stack, today)
    if doubtful:
        own = tuple(doubtful.without(own))
    if not own and not policies.findings and not settings.raised:
        return plan.findings  # they are in order already
    return ordered((*settings.weighed(plan.findings), *policies.findings, *own))


def _unsettled(root: Path, stack: Stack, plan: Plan, known: Facts) -> Unsettled:
    """The objects whose patches could not be used."""
    if not any(finding.code.startswith("PAT") for finding in plan.findings):
        return Unsettled()
    return unsettled(library_of(root), stack, known, chosen_patches(root, stack), plan.findings)


def subjects_of(plan: Plan, known: Facts) -> tuple[Subject, ...]:
    """The objects of a plan as rules see them."""
    return tuple(
        subject_of(target.after, role=target.role, facts=known, sent=_sent(target), namespace=target.key.namespace)
        for target in plan.asked
    )


def _sent(target: TargetPlan) -> dict[str, object]:
    """What the stack asks of an object; replicas that it only holds for an autoscaler are not its own."""
    sent = target.applied
    if target.replicas[1] is not None or "replicas" not in (sent.get("spec") or {}):
        return sent
    return {**sent, "spec": {name: value for name, value in sent["spec"].items() if name != "replicas"}}


def _placed(findings: Iterable[Finding], root: Path, stack: Stack, plan: Plan) -> Iterator[Finding]:
    """The findings with their stack, and the file and line of what gives their field its value."""
    targets = {target.name: target for target in plan.everything}
    chosen: tuple[Selected, ...] | None = None
    for finding in findings:
        if finding.file:
            yield finding._replace(stack=stack.name)
            continue
        if finding.field == _NAMESPACE:
            # No patch sets it: the plan takes it from the stack file.
            yield stack.place(finding, "platform", "namespace")
            continue
        traced = None
        if finding.target in targets and finding.field:
            chosen = chosen_patches(root, stack) if chosen is None else chosen
            traced = _traced(finding.field, targets[finding.target], stack, chosen)
        yield _at(finding, stack, traced, chosen or ())


def _traced(field: str, target: TargetPlan, stack: Stack, chosen: tuple[Selected, ...]) -> Trace | None:
    try:
        path = merge.Path.parse(field)
        schema = merge.MergeSchema.kubernetes(stack.config.kubernetes_version)
        return trace(target, path, schema.of(target.key.api_version, target.key.kind), stack, chosen, bases=True)
    except (ValueError, KeyError):
        # No path of this kind, or a kind whose schema is not shipped: then only the stack is known.
        return None


def _at(finding: Finding, stack: Stack, traced: Trace | None, chosen: Iterable[Selected]) -> Finding:
    if traced is None:
        return finding._replace(stack=stack.name, file=stack.file)
    if not traced.settings:
        own = "" if traced.after is merge.ABSENT else f": {traced.target.name} has it of its own"
        whose = f"no patch sets it{own}"
        detail = f"{finding.detail}; {whose}" if finding.detail else whose
        return finding._replace(stack=stack.name, file=stack.file, detail=detail)
    setting = traced.settings[-1]
    source = next((one for one in setting.sources if one.line), None)
    if source is None:
        line = written_at(setting.file, traced.path, chosen)
        return finding._replace(stack=stack.name, file=setting.file, line=line)
    return finding._replace(stack=stack.name, file=stack.file, line=source.line)
