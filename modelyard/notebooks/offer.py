"""What a submission can choose, for who asks before: every flavor, device, team and priority that there is."""

from collections.abc import Mapping
from typing import NamedTuple

from modelyard.notebooks.choice import flavors, parts
from modelyard.stack.config import Allocation, Config
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads.pool import gpu_flavors, teams_here


class Part(NamedTuple):
    """A slice of a GPU."""

    partition: str
    slice: str | None
    """MIG profile; None: the partition has equal shares."""
    resource: str
    """Its name, as quotas count it."""
    memory_gb: int | None
    """GB of 10^9 bytes; None where nobody knows."""


class Offer(NamedTuple):
    """``choose`` takes each of them, where the team has a quota of the flavor's whole GPUs, or of the slice there."""

    flavors: tuple[Flavor, ...]
    """A single nameless one where the stack has none: nodes with the stack's card."""
    allocations: tuple[tuple[Allocation, int], ...]
    """Of whole GPUs, with the number of a pod."""
    parts: Mapping[str, tuple[Part, ...]]
    """By the name of the flavor whose nodes have them: what ``partial`` can be."""
    teams: tuple[Team, ...]
    able: Mapping[str, tuple[str, ...]]
    """By team, the flavors that it has or can borrow GPUs of, whole ones or slices."""
    priorities: tuple[str, ...]
    """The most urgent first; of queued jobs only."""


def offer(config: Config) -> Offer:
    """What a submission can choose."""
    several, known = config.gpu.per_worker, flavors(config)
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
        teams=teams_here(config),
        able={team.name: tuple(one.name for one in gpu_flavors(config, team)) for team in teams_here(config)},
        priorities=tuple(one.name for one in sorted(config.priorities, key=lambda one: -one.value))
        if teams_here(config)
        else (),
    )
