"""What you can choose before a submission: every flavor, device, team and priority, and what of it is free now."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.kube.state import node_of
from modelyard.names import GPU_RESOURCE
from modelyard.runs.notebooks.choice import Chosen, flavors, labels_of, parts
from modelyard.runs.pool import pool_view
from modelyard.runs.pool.objects import status_of
from modelyard.stack.config import Allocation, Config
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads.facts.pool import Quotas, gpu_flavors, namespace_of, teams_here


class GpuSlice(NamedTuple):
    """A slice of a GPU."""

    partition: str
    slice: str | None
    """MIG profile; None: the partition has equal shares."""
    resource: str
    """Name of the resource that quotas count."""
    memory_gb: int | None
    """GB of 10^9 bytes; None if unknown."""


class Allowance(NamedTuple):
    """What a team can hold of a flavor at once: its quota, and the quota that it may borrow."""

    flavor: str
    resource: str
    """Whole GPUs or slices, by the resource name of nodes."""
    most: int
    """One or more."""


class NotebookOffer(NamedTuple):
    """The choices; ``choose`` accepts each of them that the team can hold."""

    flavors: tuple[Flavor, ...]
    """Flavors of which a team has GPUs; in a stack without flavors, one without a name, for nodes with the stack's
    GPU."""
    allocations: tuple[tuple[Allocation, int], ...]
    """Modes for whole GPUs, with the number of GPUs per pod."""
    parts: Mapping[str, tuple[GpuSlice, ...]]
    """The slices for ``partial``, by the name of the flavor whose nodes have them."""
    teams: tuple[Team, ...]
    able: Mapping[str, tuple[str, ...]]
    """By team, the flavors of which the team has or can borrow GPUs, whole ones or slices."""
    holds: Mapping[str, tuple[Allowance, ...]]
    """What each team can hold, in the order of the team's quotas."""
    priorities: tuple[str, ...]
    """For queued jobs only, the most urgent first."""


class Free(NamedTuple):
    """GPUs that no pod requests, and the unused quotas."""

    unknown: str = ""
    """Why free GPUs are unknown; empty: they are known."""
    whole: Mapping[str, int] = {}
    """Whole GPUs that a new pod could get, by flavor."""
    parts: Mapping[tuple[str, str, str | None], int] = {}
    """Slices that a new pod could get, by flavor, partition and MIG profile."""
    left: Mapping[tuple[str, str, str], int] = {}
    """GPUs that a team can still get of what it can hold, by team, flavor and resource. Teams without a readable queue
    are left out.
    """


def offer(config: Config) -> NotebookOffer:
    """What a submission can choose."""
    several, everyone = config.gpu.per_worker, teams_here(config)
    able = {team.name: tuple(one.name for one in gpu_flavors(config, team)) for team in everyone}
    named = {name for names in able.values() for name in names}
    known = {name: flavor for name, flavor in flavors(config).items() if name in named or not everyone}
    return NotebookOffer(
        flavors=tuple(known.values()),
        allocations=(("single", 1), ("multi_gpu", several)) if several > 1 else (("single", 1),),
        parts={
            name: tuple(
                GpuSlice(partition, profile, part.resource, part.memory_gb)
                for partition, profile, part in parts(config, flavor)
            )
            for name, flavor in known.items()
        },
        teams=everyone,
        able=able,
        holds={team.name: _holds(config, team) for team in everyone},
        priorities=tuple(one.name for one in sorted(config.priorities, key=lambda one: -one.value)) if everyone else (),
    )


def _holds(config: Config, team: Team) -> tuple[Allowance, ...]:
    pool, known = Quotas(config), flavors(config)
    asked = dict.fromkeys((quota.flavor, quota.resource) for quota in team.quotas if quota.flavor in known)
    found = (Allowance(flavor, resource, int(pool.most(team, flavor, resource))) for flavor, resource in asked)
    return tuple(one for one in found if one.most)


def free_now(config: Config, offered: NotebookOffer, objects: PoolObjects, now: datetime) -> Free:
    """The GPUs and quotas of an offer that are free now.

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
        whole={
            one.name: free(Chosen(flavor=one, gpus=1, allocation="single", team=None, priority=None))
            for one in offered.flavors
        },
        parts={
            (one.name, partition, profile): free(
                Chosen(flavor=one, gpus=1, allocation="partial", team=None, priority=None, part=part)
            )
            for one in offered.flavors
            for partition, profile, part in parts(config, one)
        },
        left=left,
    )


def _left(offered: NotebookOffer, objects: PoolObjects) -> dict[tuple[str, str, str], int]:
    """What a team can hold, minus what Kueue reports as reserved in the team's queue."""
    queues = {(body["metadata"]["namespace"], body["metadata"]["name"]): body for body in objects.local_queues}
    found = {}
    for team in offered.teams:
        if (queue := queues.get((namespace_of(team), team.name))) is None:
            continue
        used = {
            (flavor["name"], one["name"]): int(one.get("total") or 0)
            for flavor in status_of(queue).get("flavorsReservation") or ()
            for one in flavor.get("resources") or ()
            if str(one.get("total") or 0).isdigit()
        }
        for held in offered.holds[team.name]:
            taken = used.get((held.flavor, held.resource), 0)
            found[team.name, held.flavor, held.resource] = max(0, held.most - taken)
    return found
