"""Which stage comes before which. Names of stages that there are not are passed over: ``rules`` tells them."""

from collections.abc import Mapping, Sequence

from modelyard.stack.pipelines import Stage


def before(stages: Sequence[Stage]) -> Mapping[str, frozenset[str]]:
    """All stages that have to succeed before each one, by its name; in a circle that is the stage itself too."""
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
    """A stage and all that need it, directly or through others; each needs only what is among them."""
    known = before(stages)
    found = [stage for stage in stages if stage.name == name or name in known[stage.name]]
    names = {stage.name for stage in found}
    return tuple(stage._replace(needs=tuple(one for one in stage.needs if one in names)) for stage in found)


def in_order(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with every one behind those that it needs, else as they stand; those of a circle come last."""
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
    """Of each set of stages that wait for one another, names of which each needs the next and the last needs the first.

    A stage that needs itself is no circle here. Circles that share a stage are one set: the shortest of its first stage
    is told.
    """
    needs = {stage.name: [name for name in stage.needs if name != stage.name] for stage in stages}
    known = before([stage._replace(needs=tuple(needs[stage.name])) for stage in stages])
    told, found = set[str](), []
    for stage in stages:
        if stage.name in known[stage.name] and stage.name not in told:
            told |= {name for name in known[stage.name] if stage.name in known[name]}
            found.append(_way_back(needs, stage.name))
    return tuple(found)


def _way_back(needs: Mapping[str, Sequence[str]], start: str) -> tuple[str, ...]:
    """The shortest way from a stage in a circle back to itself, so that nobody reads of stages beside it."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    for way in ways:
        for name in needs.get(way[-1], ()):
            if name == start:
                return way
            if name in needs and name not in seen:
                seen.add(name)
                ways.append((*way, name))
    raise AssertionError("a stage that is before itself has a way back")


def most_at_once(stages: Sequence[Stage], weights: Mapping[str, int]) -> tuple[int, tuple[str, ...]]:
    """The largest sum of weights of stages that can run side by side, and their names in the order of the stages."""
    known = before(stages)
    names = [stage.name for stage in stages if weights.get(stage.name)]
    beside = {
        name: {other for other in names if other != name and other not in known[name] and name not in known[other]}
        for name in names
    }

    def best(left: frozenset[str]) -> tuple[int, frozenset[str]]:
        # Whoever runs beside all others is taken at once; only of two that follow each other one has to give way.
        split = next((name for name in names if name in left and not left - {name} <= beside[name]), None)
        if split is None:
            return sum(weights[name] for name in left), left
        with_it, chosen = best(left & beside[split])
        without, others = best(left - {split})
        return max((with_it + weights[split], chosen | {split}), (without, others), key=lambda one: one[0])

    total, chosen = best(frozenset(names))
    return total, tuple(name for name in names if name in chosen)
