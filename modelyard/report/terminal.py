"""A plan for the eyes: what changes in which order and why, what is wrong, what it comes to, what to do next."""

from collections.abc import Collection, Iterable

from modelyard.cluster.recorded import recorded_name
from modelyard.findings import Finding, loud
from modelyard.plan import Plan, TargetPlan
from modelyard.report.finding import findings_text
from modelyard.report.part import part_of, unplanned
from modelyard.report.style import PLAIN, Style, hanging
from modelyard.report.summary import next_text, summary_text
from modelyard.report.takeovers import taken_over
from modelyard.report.target import Seen, Turn, target_text, wait_text
from modelyard.report.values import count


def plan_text(
    plan: Plan,
    style: Style = PLAIN,
    *,
    advice: bool = False,
    only: Collection[str] | None = None,
    saved: str = "",
    next_step: bool = True,
) -> list[str]:
    """The plan as lines. One that changes nothing and complains about nothing is a single line.

    Args:
        plan: the whole plan.
        style: colours and width.
        advice: whether to show notes and waived findings, which are counted in any case.
        only: names of the targets to show; None for all.
        saved: the file that the plan is saved in, empty where it is not.
        next_step: whether to say what to do next; an apply that shows its plan goes on by itself.
    """
    part = plan if only is None else part_of(plan, only)
    shown = part.findings if advice else loud(part.findings)
    if not plan.changed and not shown and not unplanned(plan):
        return [*_no_changes(plan, style), *(hanging(f"saved to {saved}", 2, style.columns) if saved else ())]
    head = hanging(f"{plan.stack}  {plan.headline}", 2, style.columns)
    lines = [*map(style.bold, head), *map(style.dim, hanging(_state(plan), 2, style.columns)), ""]
    lines.extend(_targets(plan, _changed(part), style))
    for far in part.remotes:
        lines.extend(_remote(far, style))
    if shown:
        lines.extend([style.bold("Findings"), *findings_text(shown, style), ""])
    if not advice:
        lines.extend(_taken(part.findings, style))
    lines.extend(_cost(part, style))
    lines.extend(summary_text(plan, only, style, saved))
    return [*lines, *next_text(plan, only, style, saved)] if next_step else lines


def _changed(plan: Plan) -> tuple[TargetPlan, ...]:
    return tuple(target for target in plan.targets if target.action != "none")


def _remote(far: Plan, style: Style) -> list[str]:
    """The part of a plan that is in another cluster."""
    changed = _changed(far)
    state = _state(far) if changed else f"no changes {_state(far)}"
    head = [*map(style.bold, hanging(far.headline, 2, style.columns))]
    return [*head, *map(style.dim, hanging(state, 2, style.columns)), "", *_targets(far, changed, style)]


def _no_changes(plan: Plan, style: Style) -> list[str]:
    rest = f": no changes against {_where(plan)} (Kubernetes {plan.kubernetes}, cluster {plan.cluster[:8]})"
    first, *more = hanging(plan.stack + rest, 2, style.columns)
    name, colon, words = first.partition(": ")
    return [style.bold(name) + colon + words, *more]


def _where(plan: Plan) -> str:
    if plan.source == "live":
        return "the live cluster"
    return f"stacks/recorded/{recorded_name(plan.stack, plan.remote) if plan.remote else plan.stack}"


def _state(plan: Plan) -> str:
    if not plan.cluster:
        return f"as if nothing were there (modelyard record {plan.stack} looks), namespace {plan.namespace}"
    return (
        f"against {_where(plan)} (Kubernetes {plan.kubernetes}, cluster {plan.cluster[:8]}), namespace {plan.namespace}"
    )


def _targets(plan: Plan, targets: tuple[TargetPlan, ...], style: Style) -> list[str]:
    """Each changed target with its turn in the order of the whole plan; those of one line each stand together."""
    turns: dict[str, Turn] = {}
    waits: dict[str, Turn] = {}
    for number, step in enumerate(plan.steps, 1):
        (waits if step.phase == "drain" else turns)[step.target] = Turn(number, step.why)
    seen: Seen = []
    lines: list[str] = []
    before: list[str] = []
    for target in targets:
        if target.name in waits:
            lines.extend([*([""] if lines else []), *wait_text(waits[target.name], style), ""])
            before = []
        block = target_text(target, turns.get(target.name) if len(turns) > 1 else None, seen, style)
        lines.extend([""] if before and max(len(before), len(block)) > 1 else [])
        lines.extend(block)
        before = block
    return [*lines, ""] if lines else []


def _cost(plan: Plan, style: Style) -> list[str]:
    """What the targets cost, where somebody priced them."""
    if plan.cost is None or not plan.changed:
        return []
    from modelyard.plan.cost.words import short_cost

    return list(map(style.dim, hanging(short_cost(plan.cost), 2, style.columns)))


def _taken(findings: Iterable[Finding], style: Style) -> list[str]:
    """Whose fields the plan takes over; notes tell which."""
    found = taken_over(findings)
    if not found:
        return []
    words = " and ".join(f"{count(number, 'field')} over from {owner}" for owner, number in found.items())
    return list(map(style.dim, hanging(f"takes {words} (list them with --notes)", 2, style.columns)))
