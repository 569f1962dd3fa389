"""The part of a plan that is shown, the targets that have no plan, and totals over targets and stacks."""

from collections.abc import Collection
from typing import NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.cost.values import StackCost, stack_cost
from modelyard.report.style import Style
from modelyard.stack.words import plural
from modelyard.workloads.training import WORKER_ROLES

_LEFT_OUT = ("PAT", "OWN")
"""Families of findings that leave a target out of a plan. Those about GPUs and sizes concern planned targets."""
_NO_PLAN = (*_LEFT_OUT, "CFG")
"""Families of findings without which a plan would have more targets."""


class Totals(NamedTuple):
    """Totals over some targets."""

    changed: int
    pods: int
    """Running pods that are replaced."""
    gpus: tuple[int, int]
    """Before and after, with the pods that run before an autoscaler sets their number."""
    autoscaled: bool
    """Whether an autoscaler sets the number of some of the pods with GPUs."""


def totals(targets: Collection[TargetPlan]) -> Totals:
    """The sums over targets."""
    return Totals(
        sum(target.action != "none" for target in targets),
        sum(target.replaces_pods for target in targets),
        (sum(target.gpus[0] for target in targets), sum(target.gpus[1] for target in targets)),
        any(_autoscaled(target) for target in targets),
    )


def _autoscaled(target: TargetPlan) -> bool:
    """Whether an autoscaler sets the number of a target's pods, which have GPUs even while there are none."""
    scaled = target.key.kind in WORKLOAD_KINDS and target.replicas[1] is None and not target.dropped
    return scaled and (target.role in WORKER_ROLES or any(target.gpus))


def unplanned(plan: Plan) -> dict[str, tuple[Finding, ...]]:
    """Targets that could not be planned, by name, with the errors that say why."""
    planned = {target.name for target in plan.everything}
    found: dict[str, tuple[Finding, ...]] = {}
    for finding in plan.findings:
        error = finding.severity is Severity.ERROR and finding.code.startswith(_LEFT_OUT)
        if error and finding.target and finding.target not in planned:
            found[finding.target] = (*found.get(finding.target, ()), finding)
    return dict(sorted(found.items()))


def complete(plan: Plan) -> bool:
    """Whether the plan has every target that the stack changes, even if other errors block its apply."""
    return not any(finding.blocks and finding.code.startswith(_NO_PLAN) for finding in plan.findings)


def target_names(plan: Plan) -> tuple[str, ...]:
    """Every target that the stack asks for: planned ones in the order in which they are applied, then the others."""
    return tuple(dict.fromkeys((*(target.name for target in plan.everything), *unplanned(plan))))


def part_of(plan: Plan, names: Collection[str]) -> Plan:
    """The plan with only the named targets.

    All errors stay, because they block the apply of every target.
    """
    remotes = tuple(
        part_of(remote, names) for remote in plan.remotes if any(target.name in names for target in remote.targets)
    )
    return plan._replace(
        targets=tuple(target for target in plan.targets if target.name in names),
        steps=tuple(step for step in plan.steps if step.target in names),
        findings=tuple(one for one in plan.findings if not one.target or one.target in names or one.blocks),
        remotes=remotes,
        cost=plan.cost and _part_of_cost(plan.cost, names, [remote.remote for remote in remotes]),
    )


def _part_of_cost(cost: StackCost, names: Collection[str], remotes: Collection[str]) -> StackCost:
    return stack_cost(
        (one for one in cost.targets if one.name in names),
        (one for one in cost.jobs_only if one.cluster in remotes),
    )


def overall_text(stacks: int, planned: int, changed: int, blocked: int, style: Style) -> list[str]:
    """One line over many plans: how many change something, how many have errors, how many could not be planned."""
    line = f"{plural(stacks, 'stack')}: {changed} with changes, {planned - changed} without"
    bad = [f"{blocked} with errors" if blocked else "", f"{stacks - planned} not planned" if planned < stacks else ""]
    return [style.bold(line) + "".join(f"; {style.error(words)}" for words in bad if words)]
