"""What a run of a job requests: from the cluster's nodes, and from its team's quota."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job
from modelyard.workloads.facts.jobs import Head, head_of, products_for
from modelyard.workloads.sizing import Sized

Requests = tuple[tuple[str, Fraction], ...]
"""Requests of one pod: cores, bytes and GPUs by resource."""


class Ask(NamedTuple):
    """What a run requests. It is hashable, because jobs with equal requests are checked once."""

    team: str | None
    requests: Requests
    """The requests of one worker."""
    products: tuple[str, ...]
    """Allowed values of the nodes' product label for the run's GPUs; empty: any."""
    workers: int
    """The number of workers, which start together or not at all."""
    together: str | None
    """The node label whose value all workers' nodes must share."""
    head: Head | None
    resource: str = GPU_RESOURCE
    """The resource name of the run's GPUs."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels of the nodes that have the run's slices."""
    most: int | None = None
    """The number of workers to which the run may grow on Ray; None: it keeps the number that it starts with."""
    fewer: tuple[str, ...] = ()
    """What the stack can change so that the run starts with fewer workers, each in the words of a remedy."""

    @property
    def amounts(self) -> Mapping[str, Fraction]:
        """Cores, bytes and GPUs of one worker."""
        return dict(self.requests)

    @property
    def gpus(self) -> int:
        """GPUs or slices of one worker."""
        return int(self.amounts[self.resource])


def ask_of(config: Config, job: Job, one: Sized) -> Ask:
    """What a run of a job requests.

    Args:
        config: the stack's configuration.
        job: the job, which has a command.
        one: the job's resource, sized.
    """
    size, resource, part = one.size, one.resource, one.part
    name = part.resource if part is not None else GPU_RESOURCE
    return Ask(
        team=job.team or resource.team,
        requests=(("cpu", size.cpu), ("memory", size.memory), (name, Fraction(size.gpus))),
        products=products_for(config, resource.gpu) if size.gpus and part is None else (),
        workers=1 if job.trials is not None else job.least_workers or size.workers,
        together=job.together,
        head=head_of(job),
        resource=name,
        selector=tuple(part.nodes.items()) if part is not None else (),
        most=size.workers if job.grows else None,
        fewer=_fewer(job),
    )


def _fewer(job: Job) -> tuple[str, ...]:
    if job.least_workers is not None:
        return ("lower leastWorkers",)
    lower = "give its resource fewer workers" if job.resource is not None else "give it a resource with fewer workers"
    # Spark has no leastWorkers, and workers that Ray adds later cannot be placed together.
    some = job.engine != "spark" and (job.engine != "ray" or job.together is None)
    return (lower, "set leastWorkers") if some else (lower,)
