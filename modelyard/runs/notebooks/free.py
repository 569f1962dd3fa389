"""What is free now of what a submission can choose."""

from datetime import datetime

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.kube.state import node_of
from modelyard.names import GPU_RESOURCE
from modelyard.runs.notebooks.choice import Chosen, parts
from modelyard.runs.notebooks.facts import labels_of
from modelyard.runs.notebooks.offer import Free, Offer
from modelyard.runs.pool import pool_view
from modelyard.runs.pool.objects import NOTHING
from modelyard.stack.config import Config
from modelyard.workloads.facts.pool import namespace_of


def free_now(config: Config, offered: Offer, objects: PoolObjects, now: datetime) -> Free:
    """What is free now of an offer.

    Args:
        config: the stack's config.
        offered: the choices.
        objects: from the API server.
        now: the present, with a time zone.
    """
    left = _left(offered, objects)
    if hidden := [name for name in ("nodes", "pods") if name in objects.unread]:
        return Free(f"these credentials may not list the {' and '.join(hidden)} of the cluster", left=left)
    uses = pool_view(objects, config, None, now).nodes
    labels = {str(body["metadata"]["name"]): node_of(body).labels for body in objects.nodes}

    def free(chosen: Chosen) -> int:
        resource = chosen.part.resource if chosen.part is not None else GPU_RESOURCE
        wanted = labels_of(chosen).items()
        return sum(
            use.free
            for use in uses
            if use.resource == resource
            and all(labels[use.name].get(key) in values for key, values in wanted)
            and (chosen.part is not None or not use.slices)
        )

    return Free(
        whole={one.name: free(Chosen(one, 1, "single", None, None)) for one in offered.flavors},
        parts={
            (one.name, partition, profile): free(Chosen(one, 1, "partial", None, None, part))
            for one in offered.flavors
            for partition, profile, part in parts(config, one)
        },
        left=left,
    )


def _left(offered: Offer, objects: PoolObjects) -> dict[tuple[str, str, str], int]:
    """What a team can hold, less what Kueue reports as reserved in its queue."""
    queues = {(body["metadata"]["namespace"], body["metadata"]["name"]): body for body in objects.local_queues}
    found = {}
    for team in offered.teams:
        if (queue := queues.get((namespace_of(team), team.name))) is None:
            continue
        used = {
            (flavor["name"], one["name"]): int(one.get("total") or 0)
            for flavor in (queue.get("status") or NOTHING).get("flavorsReservation") or ()
            for one in flavor.get("resources") or ()
            if str(one.get("total") or 0).isdigit()
        }
        for held in offered.holds[team.name]:
            taken = used.get((held.flavor, held.resource), 0)
            found[team.name, held.flavor, held.resource] = max(0, held.most - taken)
    return found
