"""Whether the nodes have room for a run's pods."""

from modelyard.pool.kueue import Work
from modelyard.pool.nodes import Floor, Places
from modelyard.pool.objects import NOTHING, asks_for
from modelyard.pool.told import Known, Told
from modelyard.pool.view import with_flavors
from modelyard.stack.words import few, plural


def tell_room(work: Work, told: Told, known: Known) -> None:
    """Whether the nodes would have room, were it admitted now."""
    floor = floor_of(told, known)
    for part in (work.body.get("spec") or NOTHING).get("podSets") or ():
        spec, count = (part.get("template") or NOTHING).get("spec") or NOTHING, int(part.get("count", 1))
        if floor is not None and asks_for(spec):
            specs = with_flavors(spec, work, known.queues)
            best = max((floor.places(one, count) for one in specs), key=lambda one: (one.room, one.empty))
            tell_places(best, count, told)


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
