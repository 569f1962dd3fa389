"""A plan for the eyes: what changes, why, what it means, what is wrong, what to do next."""

from collections.abc import Iterable

from modelyard import merge
from modelyard.findings import Severity
from modelyard.plan import FieldChange, Plan, TargetPlan
from modelyard.report.fields import Line, is_own_note, lines_of
from modelyard.report.finding import findings_text, tally
from modelyard.report.style import PLAIN, WIDTH, Style, safe, shorten, wrapped
from modelyard.report.values import count, text_of


def plan_text(plan: Plan, style: Style = PLAIN, *, advice: bool = False) -> list[str]:
    """The plan as lines of at most 100 columns.

    A plan that changes nothing and complains about nothing is one line. Notes (advice) are counted and only shown
    when asked for.
    """
    shown = [f for f in plan.findings if advice or (f.severity is not Severity.ADVICE and not f.waived)]
    if not plan.changed and not shown:
        return _no_changes(plan, style)
    lines = [style.bold(safe(f"{plan.stack}  {plan.headline}")), *map(style.dim, wrapped(_state(plan), 0)), ""]
    for target in plan.changed:
        lines.extend([*_target(target, style), ""])
    if len(plan.steps) > 1:
        lines.extend([style.bold("Order"), *_steps(plan, style), ""])
    if shown:
        lines.extend([style.bold("Findings"), *findings_text(shown, style), ""])
    lines.extend(_summary(plan, style))
    return lines


def _no_changes(plan: Plan, style: Style) -> list[str]:
    name = shorten(plan.stack, WIDTH // 3)
    rest = f": no changes against {_where(plan)} (Kubernetes {plan.kubernetes}, cluster {plan.cluster[:8]})"
    return [style.bold(name) + shorten(rest, WIDTH - len(name))]


def _where(plan: Plan) -> str:
    return "the live cluster" if plan.source == "live" else f"stacks/recorded/{plan.stack}"


def _state(plan: Plan) -> str:
    return (
        f"against {_where(plan)} (Kubernetes {plan.kubernetes}, cluster {plan.cluster[:8]}), namespace {plan.namespace}"
    )


def _target(target: TargetPlan, style: Style) -> list[str]:
    mark = style.added("+") if target.action == "create" else style.changed("~")
    effect = _effect(target)
    kind = "" if target.key.kind == "Deployment" else f"{target.key.kind} "
    name = shorten(kind + target.name, WIDTH - len(effect) - 4)
    lines = [f"{mark} {style.bold(name)}" + (f"  {style.changed(effect)}" if effect else "")]
    if target.action == "create":
        lines.extend(map(style.dim, wrapped(f"new, from {', '.join(target.patches) or 'its base'}", 4)))
        return lines
    real = [change for change in target.changes if not is_own_note(change)]
    if not real:
        return [*lines, *map(style.dim, wrapped(f"only notes which patches it has: {', '.join(target.patches)}", 4))]
    taken = {manager for line in lines_of(real) for manager in line.taken_from}
    for patch, changes in _by_patch(real):
        shown = lines_of(changes)
        width = min(max(len(line.name) for line in shown), 56)
        lines.append(f"    {style.link(shorten(patch, WIDTH - 4))}")
        for line in shown:
            lines.extend(_line(line, width, style, several_owners=len(taken) > 1))
    if len(taken) == 1:
        number = sum(change.taken for change in real)
        lines.extend(map(style.dim, wrapped(f"takes {count(number, 'field')} over from {taken.pop()}", 4)))
    return lines


def _effect(target: TargetPlan) -> str:
    parts = []
    before, after = target.replicas
    if target.action == "create":
        parts.append(count(after or 0, "pod") if after is not None else "")
    elif before != after and after is not None:
        parts.append(f"pods {before} → {after}")
    if target.replaces_pods:
        parts.append(f"{count(target.replaces_pods, 'pod')} replaced")
    if target.gpus[0] != target.gpus[1]:
        parts.append(f"GPUs {target.gpus[0]} → {target.gpus[1]}")
    return " · ".join(part for part in parts if part)


def _by_patch(changes: Iterable[FieldChange]) -> list[tuple[str, list[FieldChange]]]:
    grouped: dict[str, list[FieldChange]] = {}
    for change in changes:
        grouped.setdefault(change.patch or ("given up" if change.after is merge.ABSENT else "defaults"), []).append(
            change
        )
    return sorted(grouped.items())


def _line(line: Line, width: int, style: Style, several_owners: bool) -> list[str]:
    note = f"  from {shorten(', '.join(line.taken_from), WIDTH // 3)}" if several_owners and line.taken_from else ""
    before, after = text_of(line.before), text_of(line.after)
    name = safe(line.name)
    if len(name) <= width and 6 + width + 2 + len(before) + 3 + len(after) + len(note) <= WIDTH:
        return [f"      {name:<{width}}  {_arrow(line, before, after, style)}{style.dim(note)}"]
    lines = [f"      {shorten(name, WIDTH - 6 - len(note))}{style.dim(note)}"]
    if line.before is not merge.ABSENT:
        lines.append(f"        {style.removed('- ' + shorten(before, WIDTH - 10))}")
    if line.after is not merge.ABSENT:
        lines.append(f"        {style.added('+ ' + shorten(after, WIDTH - 10))}")
    return lines


def _arrow(line: Line, before: str, after: str, style: Style) -> str:
    before, after = shorten(before, WIDTH), shorten(after, WIDTH)
    if line.before is merge.ABSENT:
        return style.added(f"+ {after}")
    if line.after is merge.ABSENT:
        return style.removed(f"- {before}")
    return f"{style.removed(before)} → {style.added(after)}"


def _steps(plan: Plan, style: Style) -> list[str]:
    lines = []
    for number, step in enumerate(plan.steps, 1):
        first, *rest = wrapped(f"{step.target}: {step.why}", 6, WIDTH, f"  {number:>2}.")
        lines.extend([first.replace(safe(step.target), style.bold(safe(step.target)), 1), *rest])
    return lines


def _summary(plan: Plan, style: Style) -> list[str]:
    changed = plan.changed
    replaced = sum(target.replaces_pods for target in changed)
    before, after = sum(t.gpus[0] for t in plan.targets), sum(t.gpus[1] for t in plan.targets)
    parts = [f"{count(len(changed), 'target')} to change" if changed else "nothing to change"]
    if replaced:
        parts.append(f"{count(replaced, 'pod')} replaced")
    parts.append(f"GPUs {before} → {after}" if before != after else f"GPUs stay at {after}")
    found = tally(plan.findings)
    line = style.bold(safe(f"{plan.stack}: ") + ", ".join(parts)) + (f"; {found}" if found else "")
    return [line, _next(plan, style)]


def _next(plan: Plan, style: Style) -> str:
    if plan.blocked:
        code = next(finding.code for finding in plan.findings if finding.blocks)
        return f"Next: correct the errors above; {style.link(safe(f'modelyard explain {code}'))} tells more."
    if plan.changed:
        return f"Next: {style.link(safe(f'modelyard apply {plan.stack}'))}"
    return "Next: nothing to apply."


def overall_text(stacks: int, planned: int, changed: int, blocked: int, style: Style = PLAIN) -> list[str]:
    """One line over many plans: how many change something, how many have errors, how many could not be planned."""
    line = f"{count(stacks, 'stack')}: {changed} with changes, {planned - changed} without"
    bad = [f"{blocked} with errors" if blocked else "", f"{stacks - planned} not planned" if planned < stacks else ""]
    return [style.bold(line) + "".join(f"; {style.error(words)}" for words in bad if words)]
