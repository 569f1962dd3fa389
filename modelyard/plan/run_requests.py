"""What a run of a job asks of a cluster: of its nodes, and of its team's quota."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard.hardware import Card, products, resolve
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job
from modelyard.workloads.facts.heads import Head, head_of
from modelyard.workloads.sizing import Sized

Requests = tuple[tuple[str, Fraction], ...]
"""Of one pod: cores, bytes and GPUs by resource."""


class Ask(NamedTuple):
    """What a run asks for. Jobs that ask for the same are judged once, so it can be hashed."""

    team: str | None
    requests: Requests
    """Of one worker."""
    products: tuple[str, ...]
    """Values of the nodes' product label, one of which its GPUs have; none: any."""
    workers: int
    """That start together, or not at all."""
    together: str | None
    """Label of nodes whose value the nodes of all workers share."""
    head: Head | None
    resource: str = GPU_RESOURCE
    """By which its GPUs are called."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels of nodes with its slices."""

    @property
    def amounts(self) -> Mapping[str, Fraction]:
        """Cores, bytes and GPUs of one worker."""
        return dict(self.requests)

    @property
    def gpus(self) -> int:
        """GPUs or slices of one worker."""
        return int(self.amounts[self.resource])


def ask_of(config: Config, job: Job, one: Sized) -> Ask:
    """What a run of a job asks for.

    Args:
        config: whose job it is.
        job: with a command.
        one: the resource that it is on, sized.
    """
    size, resource, part = one.size, one.resource, one.part
    name = part.resource if part is not None else GPU_RESOURCE
    card = resolve(resource.gpu or config.gpu.model) if size.gpus and part is None else None
    return Ask(
        team=job.team or resource.team,
        requests=(("cpu", size.cpu), ("memory", size.memory), (name, Fraction(size.gpus))),
        products=products(card) if isinstance(card, Card) else (),
        workers=1 if job.trials is not None else job.least_workers or size.workers,
        together=job.together,
        head=head_of(job),
        resource=name,
        selector=tuple(part.nodes.items()) if part is not None else (),
    )
