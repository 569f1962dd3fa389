"""Whether the nodes have room for a run's pods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from modelyard.runs.pool.diagnosis import Known, Told
from modelyard.runs.pool.kueue import Work
from modelyard.runs.pool.nodes import Floor, Places
from modelyard.runs.pool.objects import NOTHING, asks_for
from modelyard.runs.pool.view import with_flavors
from modelyard.stack.words import few, plural

_DOMAINS: Final = 6
"""Values of a label that are told one by one."""


def tell_room(work: Work, told: Told, known: Known) -> None:
    """Whether the nodes would have room, were it admitted now."""
    floor = floor_of(told, known)
    for part in (work.body.get("spec") or NOTHING).get("podSets") or ():
        spec, count = (part.get("template") or NOTHING).get("spec") or NOTHING, int(part.get("count", 1))
        if floor is not None and asks_for(spec):
            specs = with_flavors(spec, work, known.queues)
            level = (part.get("topologyRequest") or NOTHING).get("required")
            if level is None or not _tell_together(floor, specs, count, str(level), told):
                tell_places(_best(floor.places(one, count) for one in specs), count, told)


def _best(found: Iterable[Places]) -> Places:
    return max(found, key=lambda one: (one.room, one.empty))


def _tell_together(floor: Floor, specs: Sequence[Mapping[str, Any]], count: int, level: str, told: Told) -> bool:
    """Whether the nodes that share a value of the label ``level`` are too few for all workers; if so, it is told."""
    found = {
        value: _best(floor.places(one, count, nodes) for one in specs) for value, nodes in floor.apart(level).items()
    }
    if not found or _best(found.values()).room >= count:
        return False
    order = sorted(found, key=lambda value: (-found[value].room, -found[value].empty, value))
    lines = [f"{value}: {found[value].room} now, {found[value].empty} when empty" for value in order[:_DOMAINS]]
    if len(order) > _DOMAINS:
        lines.append(f"{len(order) - _DOMAINS} others have no more")
    most = max(one.empty for one in found.values())
    workers = plural(count, "worker")
    told.cause("nodes", f"nodes with one {level} have room for {_best(found.values()).room} of {workers} now", *lines)
    if most < count:
        held = f"nodes with one {level} hold {most} of {workers} even when empty"
        told.helps.append(f"{held}: drop together, ask for fewer or smaller workers, or add nodes there")
    else:
        told.helps.append(f"it starts when {workers} have room on nodes with one {level}, or without together")
    return True


def floor_of(told: Told, known: Known) -> Floor | None:
    """The nodes and what runs there; None where nobody shows us."""
    if hidden := [name for name in ("nodes", "pods") if name in known.objects.unread]:
        told.cause(
            "nodes", f"these credentials may not list the cluster's {' and '.join(hidden)}, so room is not known"
        )
        return None
    return Floor(known.objects.nodes, known.objects.pods)


def tell_places(found: Places, count: int, told: Told) -> None:
    """What is short where not all of ``count`` pods find a place."""
    lines = [f"{few(one.nodes)}: {one.reason}" for one in found.refuses]
    if found.room >= count:
        return
    told.cause("nodes", f"the nodes have room for {found.room} of {plural(count, 'worker')} now", *lines)
    if found.empty < count:
        held = f"the nodes hold {found.empty} of {plural(count, 'worker')} even when empty"
        open_up = f"uncordon {few(found.cordoned)}, " if found.cordoned else ""
        told.helps.append(f"{held}: {open_up}add nodes, or ask for less")
