"""What you can choose before a submission: every flavor, device, team and priority."""

from collections.abc import Mapping
from typing import NamedTuple

from modelyard.runs.notebooks.choice import flavors, parts
from modelyard.stack.config import Allocation, Config
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads.facts.pool import Quotas, gpu_flavors, teams_here


class Part(NamedTuple):
    """A slice of a GPU."""

    partition: str
    slice: str | None
    """MIG profile; None: the partition has equal shares."""
    resource: str
    """Name of the resource that quotas count."""
    memory_gb: int | None
    """GB of 10^9 bytes; None if unknown."""


class Held(NamedTuple):
    """What a team can hold of a flavor at once: its quota, and what it may borrow."""

    flavor: str
    resource: str
    """Whole GPUs or slices, by the resource name of nodes."""
    most: int
    """One or more."""


class Offer(NamedTuple):
    """The choices; ``choose`` accepts each of them that the team can hold."""

    flavors: tuple[Flavor, ...]
    """Flavors of which a team has GPUs; in a stack without flavors, one without a name: nodes with the stack's GPU."""
    allocations: tuple[tuple[Allocation, int], ...]
    """Modes for whole GPUs, with the number of GPUs per pod."""
    parts: Mapping[str, tuple[Part, ...]]
    """The slices for ``partial``, by the name of the flavor whose nodes have them."""
    teams: tuple[Team, ...]
    able: Mapping[str, tuple[str, ...]]
    """By team, the flavors of which it has or can borrow GPUs, whole ones or slices."""
    holds: Mapping[str, tuple[Held, ...]]
    """By team, in the order of its quotas."""
    priorities: tuple[str, ...]
    """For queued jobs only, the most urgent first."""


class Free(NamedTuple):
    """GPUs that nobody has, and the rest of the quotas."""

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


def offer(config: Config) -> Offer:
    """What a submission can choose."""
    several, everyone = config.gpu.per_worker, teams_here(config)
    able = {team.name: tuple(one.name for one in gpu_flavors(config, team)) for team in everyone}
    named = {name for names in able.values() for name in names}
    known = {name: flavor for name, flavor in flavors(config).items() if name in named or not everyone}
    return Offer(
        flavors=tuple(known.values()),
        allocations=(("single", 1), ("multi_gpu", several)) if several > 1 else (("single", 1),),
        parts={
            name: tuple(
                Part(partition, profile, part.resource, part.memory_gb)
                for partition, profile, part in parts(config, flavor)
            )
            for name, flavor in known.items()
        },
        teams=everyone,
        able=able,
        holds={team.name: _holds(config, team) for team in everyone},
        priorities=tuple(one.name for one in sorted(config.priorities, key=lambda one: -one.value)) if everyone else (),
    )


def _holds(config: Config, team: Team) -> tuple[Held, ...]:
    pool, known = Quotas(config), flavors(config)
    asked = dict.fromkeys((quota.flavor, quota.resource) for quota in team.quotas if quota.flavor in known)
    found = (Held(flavor, resource, int(pool.most(team, flavor, resource))) for flavor, resource in asked)
    return tuple(one for one in found if one.most)
