"""What a submission can choose, to be shown before it: every flavor, device, team and priority."""

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
    """Its name, as quotas count it."""
    memory_gb: int | None
    """GB of 10^9 bytes; None where nobody knows."""


class Held(NamedTuple):
    """What a team can hold of a flavor at once: its own, and what it may borrow."""

    flavor: str
    resource: str
    """Whole GPUs or slices, as nodes call them."""
    most: int
    """One or more."""


class Offer(NamedTuple):
    """``choose`` takes each of them that the team can hold."""

    flavors: tuple[Flavor, ...]
    """Those of which a team has GPUs; a single nameless one where the stack has none: nodes with the stack's GPU."""
    allocations: tuple[tuple[Allocation, int], ...]
    """Of whole GPUs, with the number of a pod."""
    parts: Mapping[str, tuple[Part, ...]]
    """By the name of the flavor whose nodes have them: what ``partial`` can be."""
    teams: tuple[Team, ...]
    able: Mapping[str, tuple[str, ...]]
    """By team, the flavors that it has or can borrow GPUs of, whole ones or slices."""
    holds: Mapping[str, tuple[Held, ...]]
    """By team, in the order of its quotas."""
    priorities: tuple[str, ...]
    """The most urgent first; of queued jobs only."""


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
