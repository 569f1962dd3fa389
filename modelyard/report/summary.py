"""The totals of a plan, and what to do next."""

from collections.abc import Collection, Iterator

from modelyard.plan import Plan
from modelyard.report.finding import tally, together
from modelyard.report.part import complete, totals, unplanned
from modelyard.report.style import Style, hanging, safe
from modelyard.stack.words import plural


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
        yield f"{plural(dropped, 'remote cluster')} to leave"
    if missing:
        yield f"{missing} could not be planned"
    if sums.pods:
        yield f"{plural(sums.pods, 'pod')} replaced"
    before, after = sums.gpus
    yield f"GPUs {before} → {after}" if before != after else f"GPUs stay at {after}"


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
        differs = "" if plan.source == "live" else "; it fails if the cluster is not as recorded"
        return "", f"modelyard apply --plan {_quoted(saved)}", differs
    changed = [target.name for target in plan.changed]
    unseen = only is not None and any(name not in only for name in changed)
    every = f"all {len(changed)} targets" if len(changed) > 1 else "1 target"
    return "", f"modelyard apply {plan.stack}", f" applies {every}" if unseen else ""


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)


def overall_text(stacks: int, planned: int, changed: int, blocked: int, style: Style) -> list[str]:
    """One line over many plans: how many change something, how many have errors, how many could not be planned."""
    line = f"{plural(stacks, 'stack')}: {changed} with changes, {planned - changed} without"
    bad = [f"{blocked} with errors" if blocked else "", f"{stacks - planned} not planned" if planned < stacks else ""]
    return [style.bold(line) + "".join(f"; {style.error(words)}" for words in bad if words)]
