"""The order of stages. Ignores unknown stages: ``rules`` reports them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from modelyard.stack.jobs import Stage


def before(stages: Sequence[Stage]) -> Mapping[str, frozenset[str]]:
    """All stages that must succeed before each stage, by the stage's name; a stage in a cycle is one of them."""
    needs = {stage.name: {name for name in stage.needs if any(one.name == name for one in stages)} for stage in stages}
    found: dict[str, frozenset[str]] = {}
    for name, direct in needs.items():
        seen: set[str] = set()
        left = list(direct)
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                left += needs[one]
        found[name] = frozenset(seen)
    return found


def behind(stages: Sequence[Stage], name: str) -> tuple[Stage, ...]:
    """A stage and all stages that need it, directly or indirectly, each with only the needs among them."""
    known = before(stages)
    found = [stage for stage in stages if stage.name == name or name in known[stage.name]]
    names = {stage.name for stage in found}
    return tuple(stage._replace(needs=tuple(one for one in stage.needs if one in names)) for stage in found)


def in_order(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages, each after those that it needs, otherwise in their given order; stages of a cycle come last."""
    names = {stage.name for stage in stages}
    left, done, ordered = list(stages), set[str](), list[Stage]()
    while left:
        ready = next((stage for stage in left if names.intersection(stage.needs) <= done), None)
        if ready is None:
            break
        left.remove(ready)
        ordered.append(ready)
        done.add(ready.name)
    return (*ordered, *left)


def circles(stages: Sequence[Stage]) -> tuple[tuple[str, ...], ...]:
    """For each set of stages that wait for one another, the names of a cycle: each needs the next, the last the first.

    Leaves out a stage that needs itself. Cycles that share a stage are one set, shown by the shortest cycle of the
    set's first stage.
    """
    needs = {stage.name: [name for name in stage.needs if name != stage.name] for stage in stages}
    known = before([stage._replace(needs=tuple(needs[stage.name])) for stage in stages])
    reported, found = set[str](), []
    for stage in stages:
        if stage.name in known[stage.name] and stage.name not in reported:
            reported |= {name for name in known[stage.name] if stage.name in known[name]}
            found.append(_path_back(needs, stage.name))
    return tuple(found)


def circle_through(stages: Sequence[Stage], name: str, need: str) -> tuple[str, ...]:
    """The shortest cycle that would result if a stage also needed ``need``: the stage's name, that of ``need``, and so
    on.

    Empty if no cycle would result.
    """
    if name not in before(stages)[need]:
        return ()
    known = {stage.name for stage in stages}
    needs = {stage.name: [one for one in stage.needs if one in known] for stage in stages}
    return _path_back({**needs, name: [need]}, name)


def _path_back(needs: Mapping[str, Sequence[str]], start: str) -> tuple[str, ...]:
    """The shortest path from a stage in a cycle back to itself, without other stages."""
    paths: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    for path in paths:
        for name in needs.get(path[-1], ()):
            if name == start:
                return path
            if name in needs and name not in seen:
                seen.add(name)
                paths.append((*path, name))
    raise AssertionError("a stage that comes before itself is part of a cycle")


def most_at_once(stages: Sequence[Stage], weights: Mapping[str, int]) -> tuple[int, tuple[str, ...]]:
    """The largest sum of weights of stages that can run at the same time, and their names in the order of the stages.

    A stage can pass its GPUs on to any stage after it. If as many GPUs as possible are passed on, the others are the
    most in use at a time (Dilworth's theorem, with weights). Handing on is a maximum flow, and its minimum cut contains
    the stages. The running time therefore grows with the number of stages, not with that of their subsets.
    """
    known = before(stages)
    names = [stage.name for stage in stages if weights.get(stage.name)]
    later = {name: [other for other in names if name in known[other]] for name in names}
    gives, takes = ({name: weights[name] for name in names} for _ in range(2))
    passed: dict[tuple[str, str], int] = {}
    while True:
        came, last = _path(later, gives, takes, passed)
        if last is None:
            break
        path = [last]
        while (step := came[path[-1]]) is not None:
            path.append(step)
        path.reverse()
        first = path[0]
        # Every other step goes back: it takes back what was passed on before.
        forth = [(giver.stage, taker.stage) for giver, taker in pairwise(path) if giver.gives]
        back = [(giver.stage, taker.stage) for taker, giver in pairwise(path) if giver.gives]
        amount = min(gives[first.stage], takes[last.stage], *(passed[pair] for pair in back))
        gives[first.stage] -= amount
        takes[last.stage] -= amount
        for pair in forth:
            passed[pair] = passed.get(pair, 0) + amount
        for pair in back:
            passed[pair] -= amount
    chosen = tuple(name for name in names if _Step(name, True) in came and _Step(name, False) not in came)
    return sum(weights[name] for name in chosen), chosen


class _Step(NamedTuple):
    """A stage on a path of passed GPUs, either as the giver or as the taker."""

    stage: str
    gives: bool


def _path(
    later: Mapping[str, Sequence[str]],
    gives: Mapping[str, int],
    takes: Mapping[str, int],
    passed: Mapping[tuple[str, str], int],
) -> tuple[dict[_Step, _Step | None], _Step | None]:
    """A shortest path by which more GPUs can be passed on.

    Args:
        later: the stages after each one.
        gives: what each can still pass on.
        takes: what each can still receive.
        passed: what one has passed to another.

    Returns:
        Each step that was reached with the step before it, and the last step of the path; None if there is no path.
    """
    queue = [_Step(name, True) for name in later if gives[name]]
    came: dict[_Step, _Step | None] = dict.fromkeys(queue)
    for step in queue:
        if not step.gives and takes[step.stage]:
            return came, step
        if step.gives:
            following = [_Step(other, False) for other in later[step.stage]]
        else:
            following = [_Step(other, True) for other in later if passed.get((other, step.stage))]
        for one in following:
            if one not in came:
                came[one] = step
                queue.append(one)
    return came, None
