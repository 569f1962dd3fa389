"""What a change will do, in a few sentences: the first thing that a reviewer reads, in every form of a preview."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from modelyard.cluster.recorded import ABSENT
from modelyard.findings import Finding, loud
from modelyard.plan.cost.values import StackCost
from modelyard.plan.cost.words import NO_CHANGE, UNKNOWN
from modelyard.plan.target import OLD_PODS
from modelyard.preview import Preview, StackDiff, TargetDiff
from modelyard.preview.values import HOLDS_DATA, RISKS, Risk
from modelyard.probes import BackendDrain
from modelyard.probes.values import PATIENCE
from modelyard.report.preview.words import SUBMITTED, cost_words, object_name
from modelyard.stack.durations import in_words
from modelyard.stack.words import few, listed, plural
from modelyard.workloads.training import BACKENDS
from modelyard.workloads.training.backend import NoJobSource

_NAMES = 4
"""Stacks, objects and codes that a sentence names."""
_VERBS = ("stops", "replaces", "starts")
"""What happens to pods, in the order of an apply."""
_REASONS = 2
"""Reasons for an unknown cost that a sentence names."""


class StackOutcome(NamedTuple):
    """What the change does in one stack, or in each of several stacks where it does the same."""

    stacks: tuple[str, ...]
    risk: Risk
    headline: str
    """What happens, without its subject: ``switches training from Celery to Ray``."""
    sentences: tuple[str, ...]
    """What else happens, each with its full stop."""
    steps: tuple[str, ...]
    """The steps of an apply in order; empty if their order does not matter."""

    @property
    def subject(self) -> str:
        """The stacks, as the subject of the headline."""
        number = len(self.stacks)
        if number == 1:
            return self.stacks[0]
        return f"each of {listed(self.stacks, 'and') if number <= _NAMES else f'{number} stacks'}"

    @property
    def title(self) -> str:
        """Subject and headline."""
        return f"{self.subject} {self.headline}"


def outcomes(preview: Preview) -> tuple[StackOutcome, ...]:
    """What happens in the stacks that change, the most serious first, and stacks where the same happens once."""
    found: dict[tuple[Risk, str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for stack in preview.stacks:
        actions = _actions(stack)
        headline = _headline(stack, actions)
        what = stack.risk, headline, tuple(_sentences(stack, headline, actions)), tuple(_steps(stack))
        found.setdefault(what, []).append(stack.stack)
    every = [StackOutcome(tuple(names), *what) for what, names in found.items()]
    return tuple(sorted(every, key=lambda one: RISKS.index(one.risk)))


def title(preview: Preview, shown: Sequence[StackOutcome]) -> str:
    """The outcomes in one line: the most serious, and how many others change or cannot be applied."""
    total = len(preview.stacks) + len(preview.unchanged)
    if not shown:
        stacks = plural(total, "stack")
        project = f"only findings of the project change, none of {stacks}"
        return project if preview.project.changes else f"no changes in {stacks}"
    others = [stack for stack in preview.stacks if stack.stack not in shown[0].stacks]
    unplanned = sum(stack.unplanned for stack in others)
    blocked = sum(stack.blocked for stack in others) - unplanned
    changed = len(others) - blocked - unplanned
    verbs = {
        f"change{'s' if changed == 1 else ''}": changed,
        "cannot be applied": blocked,
        "cannot be planned": unplanned,
    }
    found = [(number, verb) for verb, number in verbs.items() if number]
    # Only the first number needs its noun.
    more = [
        f"{number if index else plural(number, 'other stack')} {verb}" for index, (number, verb) in enumerate(found)
    ]
    return f"{shown[0].title}; {', '.join(more)}" if more else shown[0].title


def unaffected(preview: Preview) -> str:
    """``2 stacks unaffected.``; empty if every stack changes."""
    return f"{plural(len(preview.unchanged), 'stack')} unaffected." if preview.stacks and preview.unchanged else ""


def _headline(stack: StackDiff, actions: str) -> str:
    errors = [finding for finding in (*stack.new, *stack.still) if finding.blocks]
    if stack.unplanned:
        missing = " without a recorded platform" if _unrecorded(stack) else ""
        return f"cannot be planned{missing}{_codes(errors)}"
    if stack.status == "removed":
        return "loses its stack file; what was applied stays in the cluster"
    if stack.switches and stack.training is not None:
        before, after = (BACKENDS[name].title for name in stack.training)
        switch = f"switches training from {before} to {after}"
        return f"{switch}, but cannot be applied{_codes(errors)}" if stack.blocked else switch
    if stack.blocked:
        return f"cannot be applied{_codes(errors)}"
    if stack.status == "added":
        gpus = f" and {plural(stack.gpus[1], 'GPU')}" if stack.gpus and stack.gpus[1] else ""
        return f"is new, with {plural(len(stack.targets), 'object')}{gpus}"
    if lost := [f"{target.kind} {target.name}" for target in stack.targets if _loses_data(target)]:
        return f"deletes {few(lost, _NAMES)}, with all data"
    changed = [target for target in stack.targets if target.status != "same"]
    if not changed:
        return "changes no object"
    what = actions or f"changes {few(map(object_name, changed), _NAMES)} and stops no pod"
    stop = _unreported(stack)
    return what if stop is None else f"{what}, but an apply is refused"


def _unrecorded(stack: StackDiff) -> bool:
    """Whether a stack has no plan only because its platform is not recorded."""
    return stack.unplanned and {one.code for one in (*stack.new, *stack.still) if one.blocks} == {ABSENT}


def _codes(errors: Iterable[Finding]) -> str:
    codes = sorted({finding.code for finding in errors})
    return f" ({few(codes, _NAMES)})" if codes else ""


def _sentences(stack: StackDiff, headline: str, actions: str) -> Iterator[str]:
    acts = not stack.blocked and stack.status != "removed"
    if actions and not headline.startswith(actions) and acts:
        yield f"{actions[0].upper()}{actions[1:]}."
    if acts and (stop := _unreported(stack)) is not None:
        drain, source = stop
        yield (
            f"An apply is refused, because nothing reports {drain.name}'s jobs: {source.remedy}, or apply with "
            "--no-drain while no job runs."
        )
    for finding in stack.new if acts else ():
        if finding.code == OLD_PODS:
            yield f"{finding.summary[0].upper()}{finding.summary[1:]}."
    if stack.gpus is not None and stack.gpus[0] != stack.gpus[1] and stack.status == "changed":
        yield f"GPUs {stack.gpus[0]} → {stack.gpus[1]}."
    if cost := "" if stack.unplanned or stack.cost is None else _cost(stack.cost):
        yield f"{cost}."
    warnings = len([one for one in loud(stack.new) if not one.blocks])
    counted = [plural(warnings, "new warning")] if warnings else []
    counted += [f"{plural(len(stack.waived), 'finding')} waived"] if stack.waived else []
    counted += [f"{plural(len(stack.relaxed), 'finding')} no longer checked or less severe"] if stack.relaxed else []
    counted += [f"{plural(len(stack.fixed), 'finding')} fixed"] if loud(stack.fixed) else []
    if counted:
        yield f"{', '.join(counted)}."
    if stack.submissions:
        yield f"{plural(len(stack.submissions), 'change')} {SUBMITTED}."


def _loses_data(target: TargetDiff) -> bool:
    return target.status == "deleted" and target.kind in HOLDS_DATA


def _cost(cost: StackCost) -> str:
    """The change of the cost, and why it is unknown; empty if it is known not to change."""
    words = cost_words(cost.delta)
    if words == NO_CHANGE:
        return ""
    unknown = {one.unknown for one in cost.targets if one.unknown} if UNKNOWN in words else set()
    reasons = few(sorted(unknown), _REASONS, "; ")
    return f"Cost {words}{f': {reasons}' if reasons else ''}"


def _moves(target: TargetDiff) -> tuple[int, ...]:
    """Numbers of the target's pods, in the order of ``_VERBS``."""
    return target.stops_pods, target.replaces_pods, target.starts_pods


def _drains(stack: StackDiff) -> dict[str, BackendDrain]:
    """The wait of each target that has one."""
    return {name: drain for drain in stack.drains for name in drain.targets}


def _unreported(stack: StackDiff) -> tuple[BackendDrain, NoJobSource] | None:
    """The first wait that fails at once, because the stack names no source of the backend's jobs."""
    drains = _drains(stack)
    waits = (drains[step.target] for step in stack.steps if step.phase == "drain")
    return next(((drain, drain.source) for drain in waits if isinstance(drain.source, NoJobSource)), None)


def _in_order(stack: StackDiff) -> list[TargetDiff]:
    """The targets in the order of their steps, then those without a step."""
    places = {step.target: at for at, step in enumerate(stack.steps)}
    return sorted(stack.targets, key=lambda target: places.get(target.name, len(places)))


def _actions(stack: StackDiff) -> str:
    """What an apply does to pods, in order: ``waits for …, stops 3 GPU pods, then starts 3``."""
    drains = _drains(stack)
    waits = {step.target: drains[step.target] for step in stack.steps if step.phase == "drain"}
    words: list[str] = []
    with_gpu = False
    others: tuple[int, ...] = (0, 0, 0)
    named: list[str] = []
    for target in _in_order(stack):
        drain = waits.get(target.name)
        if drain is not None and not isinstance(drain.source, NoJobSource):
            limit = f"fails after {in_words(drain.limit)}"
            words.append(f"waits until {drain.name} has no running or queued job ({limit})")
        moves = _moves(target)
        if not any(moves):
            continue
        if not max(target.gpus):
            others = tuple(map(sum, zip(others, moves, strict=True)))
            named.append(target.name)
            continue
        for verb, number in zip(_VERBS, moves, strict=True):
            if number:
                words.append(f"{verb} {number}" if with_gpu else f"{verb} {plural(number, 'GPU pod')}")
                with_gpu = True
    rest = [f"{verb} {number}" for verb, number in zip(_VERBS, others, strict=True) if number]
    last = ""
    if rest:
        of = f" of {named[0]}" if len(named) == 1 else ""
        pods = "other pod" if with_gpu and not of else "pod"
        last = f"{listed(rest, 'and')} {pods if rest[-1].endswith(' 1') else pods + 's'}{of}"
    if not words:
        return last
    sequence = words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, then {words[-1]}"
    return f"{sequence}; also {last}" if last else sequence


def _steps(stack: StackDiff) -> Iterator[str]:
    """The steps of an apply, if their order matters: training moves, a step waits, or pods run twice meanwhile."""
    upgrades = any(target.kind == "RayService" and target.replaces_pods for target in stack.targets)
    if stack.blocked or not (stack.switches or stack.drains or upgrades):
        return
    targets = {target.name: target for target in stack.targets}
    drains = _drains(stack)
    for step in stack.steps:
        if step.phase == "drain":
            drain = drains[step.target]
            idle = f"wait until {drain.name} has no running or queued job"
            if isinstance(drain.source, NoJobSource):
                yield f"{idle}; nothing reports its jobs, so an apply is refused"
            else:
                yield (
                    f"{idle}; if that takes more than {in_words(drain.limit)}, or there is no answer for "
                    f"{in_words(PATIENCE)}, the apply fails: {drain.name} is unchanged, earlier changes stay applied"
                )
        else:
            pods = _pods(targets.get(step.target), step.why)
            yield f"{step.target}{f' ({pods})' if pods else ''}: {step.why}"


def _pods(target: TargetDiff | None, why: str) -> str:
    """What happens to the pods in a step, as far as its reason does not say it."""
    if target is None:
        return ""
    before, after = target.replicas
    known = None not in (before, after) and before != after
    replaced = (
        f"replaces {plural(target.replaces_pods, 'pod')}" if target.replaces_pods and "replaces" not in why else ""
    )
    return ", ".join(filter(None, (f"pods {before} → {after}" if known else "", replaced)))


class Next(NamedTuple):
    """What to run next."""

    when: str
    command: str = ""
    """Such as ``modelyard apply prod``, or ``modelyard apply STACK`` for several stacks; empty if there is none."""
    stacks: str = ""
    """The names that stand for ``STACK``."""
    note: str = ""
    """What to know about the command."""

    @property
    def which(self) -> str:
        """What follows the command: its stacks and the note."""
        return (f" for {self.stacks}" if self.stacks else "") + (f" ({self.note})" if self.note else "")


def next_command(preview: Preview) -> Next:
    """What to run next: a check or a record of stacks that cannot be applied, or after the merge the applies."""
    blocked = [stack for stack in preview.stacks if stack.blocked and stack.status != "removed"]
    wrong = [stack for stack in blocked if not _unrecorded(stack)]
    if blocked:
        names = [stack.stack for stack in wrong or blocked]
        return Next("next", f"modelyard {'check' if wrong else 'record'} {' '.join(names[:_NAMES])}")
    acting = [stack for stack in preview.stacks if any(one.status != "same" for one in stack.targets)]
    if not acting:
        return Next("after the merge")
    names = [stack.stack for stack in acting]
    # A preview that did not read the cluster cannot know what earlier merges left to apply; a new stack has none.
    unread = any(stack.pending is None and stack.status != "added" for stack in acting)
    also = f"also applies anything in {preview.base.name} that the cluster does not have yet" if unread else ""
    several = len(names) > 1
    return Next(
        "after the merge",
        command=f"modelyard apply {'STACK' if several else names[0]}",
        stacks=few(names, _NAMES) if several else "",
        note=also,
    )
