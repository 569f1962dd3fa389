"""A plan as text: what changes in which order and why, findings, totals, what to do next."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from modelyard.cluster.recorded import recorded_name
from modelyard.findings import Finding, loud
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.compose import WHOLE_LIST
from modelyard.report.fields import FieldRow, asked_by, is_own_note, rows_by, rows_text
from modelyard.report.finding import findings_text, taken_over, tally, together
from modelyard.report.part import complete, part_of, totals, unplanned
from modelyard.report.style import PLAIN, Style, hanging, safe, shorten, wrapped
from modelyard.report.values import kind_and_name
from modelyard.stack.words import plural


def plan_text(
    plan: Plan,
    style: Style = PLAIN,
    *,
    advice: bool = False,
    only: Collection[str] | None = None,
    saved: str = "",
    next_step: bool = True,
) -> list[str]:
    """The plan as lines; a single line if an apply has nothing to do and there are no findings.

    Args:
        plan: the whole plan.
        style: colours and width.
        advice: whether to show notes and waived findings, which are counted in any case.
        only: names of the targets to show; None for all.
        saved: the file that the plan is saved in, empty if it is not saved.
        next_step: whether to say what to do next; an apply that shows its plan continues by itself.
    """
    part = plan if only is None else part_of(plan, only)
    shown = part.findings if advice else loud(part.findings)
    if not plan.acts and not shown and not unplanned(plan):
        return [*_no_changes(plan, style), *(hanging(f"saved to {saved}", 2, style.columns) if saved else ())]
    head = hanging(f"{plan.stack}  {plan.headline}", 2, style.columns)
    lines = [*map(style.bold, head), *map(style.dim, hanging(_state(plan), 2, style.columns)), ""]
    lines.extend(_targets(plan, _changed(part), style))
    for remote in part.remotes:
        lines.extend(_remote(remote, style))
    if shown:
        lines.extend([style.bold("Findings"), *findings_text(shown, style), ""])
    if not advice:
        lines.extend(_taken(part.findings, style))
        grown = (one.summary for one in part.findings if one.code == "PAR018" and not one.waived)
        lines.extend(style.dim(line) for words in grown for line in hanging(safe(words), 2, style.columns))
    lines.extend(_cost(part, style))
    lines.extend(summary_text(plan, only, style, saved))
    return [*lines, *next_text(plan, only, style, saved)] if next_step else lines


def _changed(plan: Plan) -> tuple[TargetPlan, ...]:
    return tuple(target for target in plan.targets if target.action != "none")


def _remote(remote: Plan, style: Style) -> list[str]:
    """The part of a plan for a remote cluster."""
    changed = _changed(remote)
    state = _state(remote) if changed else f"no changes {_state(remote)}"
    return [
        *map(style.bold, hanging(remote.headline, 2, style.columns)),
        *map(style.dim, hanging(state, 2, style.columns)),
        "",
        *_targets(remote, changed, style),
    ]


def _no_changes(plan: Plan, style: Style) -> list[str]:
    first, *more = hanging(f"{plan.stack}: no changes {_against(plan)}", 2, style.columns)
    name, colon, words = first.partition(": ")
    return [style.bold(name) + colon + words, *more]


def _against(plan: Plan) -> str:
    if not plan.cluster:
        return f"against an empty cluster (modelyard record {plan.stack} records the real one)"
    recorded = recorded_name(plan.stack, plan.remote) if plan.remote else plan.stack
    where = "the live cluster" if plan.source == "live" else f"stacks/recorded/{recorded}"
    return f"against {where} (Kubernetes {plan.kubernetes}, cluster {plan.cluster[:8]})"


def _state(plan: Plan) -> str:
    return f"{_against(plan)}, namespace {plan.namespace}"


def _targets(plan: Plan, targets: tuple[TargetPlan, ...], style: Style) -> list[str]:
    """Each changed target with its number in the whole plan's order; targets of one line are grouped."""
    turns: dict[str, TargetTurn] = {}
    waits: dict[str, TargetTurn] = {}
    for number, step in enumerate(plan.steps, 1):
        (waits if step.phase == "drain" else turns)[step.target] = TargetTurn(number, step.why)
    seen: SeenRows = []
    lines: list[str] = []
    before: list[str] = []
    for target in targets:
        if target.name in waits:
            lines.extend([*([""] if lines else []), *wait_text(waits[target.name], style), ""])
            before = []
        block = target_text(target, turns.get(target.name) if len(plan.steps) > 1 else None, seen, style)
        lines.extend([""] if before and max(len(before), len(block)) > 1 else [])
        lines.extend(block)
        before = block
    return [*lines, ""] if lines else []


def _cost(plan: Plan, style: Style) -> list[str]:
    """What the targets cost, if the plan is priced."""
    if plan.cost is None or not plan.changed:
        return []
    from modelyard.plan.cost.words import short_cost

    return list(map(style.dim, hanging(short_cost(plan.cost), 2, style.columns)))


def _taken(findings: Iterable[Finding], style: Style) -> list[str]:
    """The owners whose fields the plan takes over; notes list the fields."""
    found = taken_over(findings)
    taken = " and ".join(f"{plural(number, 'field')} from {owner}" for owner, number in found.items())
    lines = [f"sends the whole list {one.field} of {one.target}" for one in findings if one.code == WHOLE_LIST]
    lines += [f"takes ownership of {taken} (list them with --notes)"] if taken else []
    return [style.dim(part) for line in lines for part in hanging(line, 2, style.columns)]


# One target of a plan as text: what happens to it, why now, and its changed fields by the patch that sets them.
Grouped = tuple[tuple[str, tuple[FieldRow, ...]], ...]
"""Rows by the patch that asks for them."""


class TargetTurn(NamedTuple):
    """A target's place in the order of changes."""

    number: int
    """The number, from 1."""
    why: str
    """Why now, and what it means for running pods."""


def wait_text(turn: TargetTurn, style: Style) -> list[str]:
    """The lines of a wait between two targets."""
    number = f"{turn.number}. "
    first, *more = wrapped(safe(turn.why), len(number) + 2, style.columns)
    return [f"{number}{style.changed('…')} {first.lstrip()}", *more]


def grouped(target: TargetPlan) -> Grouped:
    """The changed fields of a target by patch, without our own annotations; empty for a new or deleted object."""
    if target.action in ("create", "delete"):
        return ()
    changes = [change for change in target.changes if not is_own_note(change)]
    return rows_by(changes, asked_by, one_container=target.containers == 1)


SeenRows = list[tuple[tuple[FieldRow, ...], str]]
"""Rows that were already shown, with their patch and target."""

_WORTH_A_MENTION = 3
"""From this many rows on, it is shorter to name another target with the same rows."""


def target_text(target: TargetPlan, turn: TargetTurn | None, seen: SeenRows, style: Style) -> list[str]:
    """The lines of a target.

    Args:
        target: what happens to it.
        turn: its place in the order; None if there is no order.
        seen: rows shown for earlier targets, which are not repeated; the target's own rows are added.
        style: colours and width.
    """
    rows = grouped(target)
    mark, paint = {"create": ("+", style.added), "delete": ("-", style.removed)}.get(
        target.action, ("~", style.changed)
    )
    number = f"{turn.number}. " if turn else ""
    indent = len(number) + 2
    lead = f"{number}{paint(mark)} "
    lines = _head(target, rows, turn.why if turn else "", lead=lead, indent=indent, style=style)
    if target.action in ("update", "none") and not rows and len(target.patches) != 1:
        lines.extend(_dim(f"only records which patches it has: {', '.join(target.patches)}", indent, style))
    for patch, some in rows:
        lines.extend(_patched(patch, some, seen, indent, style, alone=_single(rows)))
        if len(some) >= _WORTH_A_MENTION:
            seen.append((some, f"{patch} on {target.name}"))
    return lines


def _patched(
    patch: str, rows: tuple[FieldRow, ...], seen: SeenRows, indent: int, style: Style, *, alone: bool
) -> list[str]:
    """What one patch changes, below its name unless the target's line has it."""
    if alone:
        return _unlike(rows, seen, indent, style)
    name = shorten(patch, style.columns - indent)
    head = " " * indent + style.link(name)
    beside = rows_text(rows, 0, style._replace(columns=style.columns - indent - len(name) - 2))
    if len(beside) == 1:
        return [f"{head}  {beside[0]}"]
    return [head, *_unlike(rows, seen, indent + 2, style)]


def _unlike(rows: tuple[FieldRow, ...], seen: SeenRows, indent: int, style: Style) -> list[str]:
    """The rows, but for those of an earlier patch that are all among them: its name stands for them."""
    other, who = max(
        (one for one in seen if all(row in rows for row in one[0])), key=lambda one: len(one[0]), default=((), "")
    )
    rest = tuple(row for row in rows if row not in other)
    words = f"the same as {who}" + (", and" if rest else "")
    return [*(_dim(words, indent, style) if who else []), *(rows_text(rest, indent, style) if rest else [])]


def _dim(text: str, indent: int, style: Style) -> list[str]:
    return list(map(style.dim, wrapped(text, indent, style.columns)))


def _single(rows: Grouped) -> bool:
    """Whether one patch makes all changes, so that its name fits beside the target's."""
    return len(rows) == 1 and "@" in rows[0][0]


def _patch(target: TargetPlan, rows: Grouped) -> str:
    """The patch beside the target's name, empty if there are several or none."""
    if not rows:
        return target.patches[0] if len(target.patches) == 1 else ""
    return rows[0][0] if _single(rows) else ""


def _head(target: TargetPlan, rows: Grouped, why: str, *, lead: str, indent: int, style: Style) -> list[str]:
    """Name, patch, effects and reason, on one line if they fit."""
    room = style.columns - indent
    name = shorten(kind_and_name(target.key.kind, target.name), room)
    line, used = lead + style.bold(name), len(name)
    lines = [line]
    patch = shorten(_patch(target, rows), room)
    if patch and used + 2 + len(patch) <= room:
        lines, used = [f"{line}  {style.link(patch)}"], used + 2 + len(patch)
    elif patch:
        lines, used = [line, " " * indent + style.link(patch)], len(patch)
    effects = safe(" · ".join(_effects(target, why, noted=not rows)))
    both = " · ".join(filter(None, (effects, safe(why))))
    if not both:
        return lines
    if used + 2 + len(both) <= room:
        return [*lines[:-1], f"{lines[-1]}  {both.replace(effects, style.changed(effects), 1)}"]
    first, *more = wrapped(both, indent, style.columns)
    return [*lines, first.replace(effects, style.changed(effects), 1), *more]


def _effects(target: TargetPlan, why: str, *, noted: bool) -> Iterator[str]:
    if target.action == "create":
        yield f"new, from {', '.join(target.patches)}" if len(target.patches) > 1 else "new"
        if target.replicas[1] is not None:
            yield plural(target.replicas[1], "pod")
    else:
        yield from _moves(target, noted=noted)
    if target.replaces_pods and f"replaces {target.replaces_pods} running" not in why:
        yield f"{plural(target.replaces_pods, 'pod')} replaced"
    if target.gpus[0] != target.gpus[1]:
        yield f"GPUs {target.gpus[0]} → {target.gpus[1]}"


def _moves(target: TargetPlan, *, noted: bool) -> Iterator[str]:
    """What happens to an existing object."""
    before, after = target.replicas
    if target.dropped:
        yield "restored" if target.action == "restore" else "deleted"
    if before != after and after is not None:
        # If the object set no number before, the API server or a controller did.
        yield f"pods {before} → {after}" if before is not None else f"{plural(after, 'pod')} after this step"
    elif noted and len(target.patches) == 1:
        yield "changes annotations only"


def summary_text(plan: Plan, only: Collection[str] | None, style: Style, saved: str = "") -> list[str]:
    """Totals of the whole plan, preceded by those of the targets in ``only``, and where the plan is saved."""
    left_out = unplanned(plan)
    every = len(plan.everything) + len(left_out)
    name = plan.stack
    lines = []
    if only is not None:
        some = plan._replace(targets=tuple(one for one in plan.everything if one.name in only), remotes=())
        missing = sum(target in only for target in left_out)
        shown = f"{name}: {len(some.targets) + missing} of {plural(every, 'target')} shown"
        lines = _line(f"{shown}: {', '.join(_parts(some, missing, '', 0))}", "", style)
        name = f"all {every} targets"
    found = tally(plan.findings)
    words = ", ".join(_parts(plan, len(left_out), "" if only is not None else "target", len(plan.dropped_remotes)))
    lines += _line(f"{name}: {words}", f"; {found}" if found else "", style)
    if saved:
        lines += hanging(f"saved to {saved}", 2, style.columns)
    return lines


def _parts(plan: Plan, missing: int, noun: str, dropped: int) -> Iterator[str]:
    """The targets' totals; ``missing`` more could not be planned, the stack leaves ``dropped`` remote clusters."""
    sums = totals(plan.everything)
    if not plan.everything and (missing or not complete(plan)):
        which = f" ({plural(missing, 'target')})" if missing else ""
        yield f"nothing could be planned{which}" if noun else f"{missing} could not be planned"
        return
    number = plural(sums.changed, noun) if noun else str(sums.changed)
    if sums.changed or not dropped:
        yield f"{number} to change" if sums.changed else "nothing to change"
    if dropped:
        yield f"{plural(dropped, 'remote cluster')} no longer used"
    if missing:
        yield f"{missing} could not be planned"
    if sums.pods:
        yield f"{plural(sums.pods, 'pod')} replaced"
    before, after = sums.gpus
    if before or after:
        gpus = f"GPUs {before} → {after}" if before != after else f"GPUs stay at {after}"
        yield f"{gpus} before autoscaling" if sums.autoscaled else gpus


def _line(words: str, rest: str, style: Style) -> list[str]:
    """A bold statement and the text after it, broken if it is too long."""
    lines = hanging(words + rest, 2, style.columns)
    if len(lines) > 1 or not rest:
        return [style.bold(line) for line in lines]
    shown = safe(rest)
    return [style.bold(lines[0].removesuffix(shown)) + shown]


def next_text(plan: Plan, only: Collection[str] | None, style: Style, saved: str = "") -> list[str]:
    """What to do next with a plan whose targets in ``only`` were shown."""
    before, command, after = _step(plan, only, saved)
    lines = hanging(f"Next: {before}{command}{after}", 2, style.columns)
    shown = safe(command)
    return [line.replace(shown, style.link(shown)) if shown else line for line in lines]


def _step(plan: Plan, only: Collection[str] | None, saved: str) -> tuple[str, str, str]:
    """The next step: a command, and the words around it."""
    if plan.blocked:
        blocking = [alike[0].code for alike in together(plan.findings) if alike[0].blocks]
        what = "the error above" if len(blocking) == 1 else f"the {len(blocking)} errors above"
        return f"correct {what}; for the reason: ", f"modelyard explain {blocking[0]}", ""
    if not plan.acts:
        return "nothing to apply.", "", ""
    if saved:
        from shlex import quote

        differs = "" if plan.source == "live" else "; it fails if the cluster is not as recorded"
        return "", f"modelyard apply --plan {quote(saved)}", differs
    changed = [target.name for target in plan.changed]
    unseen = only is not None and any(name not in only for name in changed)
    every = f"all {len(changed)} targets" if len(changed) > 1 else "1 target"
    return "", f"modelyard apply {plan.stack}", f" ({every})" if unseen else ""
