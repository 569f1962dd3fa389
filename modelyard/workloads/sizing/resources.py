"""What each resource of a stack gets: what the stack file says, and else what its jobs need together."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from modelyard import quantity
from modelyard.hardware import Card, resolve
from modelyard.hardware.partitions import Slice, slice_of
from modelyard.quantity import GB, GI
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job, JobType, Resource
from modelyard.workloads.sizing.formulas import beside_gpus, estimate
from modelyard.workloads.sizing.values import Estimate, Need

DEFAULT_WORKERS: Final = 1
DEFAULT_CPU: Final = 2
DEFAULT_MEMORY: Final = 8 * GI
"""What a worker gets where neither the stack file nor an estimate says it."""
KEYS: Final = ("workers", "cpu", "memory", "gpus")
"""What a resource may say, by its key in the stack file."""
_DIVIDED: Final[Mapping[JobType, tuple[str, ...]]] = {
    "data-sink": ("cpu", "memory"),
    "dataset": ("cpu", "memory"),
    # Each worker has the whole model in its memory.
    "batch-prediction": ("cpu",),
    "serving": ("cpu",),
    "llm-serving": (),
    "runtime": (),
}
"""What the workers of a resource divide among themselves, by its type; training depends on its jobs."""


Jobs = Sequence[tuple[Job, Estimate]]
"""Jobs of one resource with what each needs."""


class Size(NamedTuple):
    """What a resource gets."""

    workers: int
    cpu: Fraction
    """Cores of one worker."""
    memory: Fraction
    """Bytes of one worker."""
    gpus: int
    """Of one worker, whole ones or slices."""


class Sized(NamedTuple):
    """One resource with its jobs."""

    resource: Resource
    own: bool
    """Whether it is the default of one job that names none."""
    jobs: tuple[tuple[Job, Estimate], ...]
    need: Need
    """Of the jobs that share its pods together, or of the largest job that has pods of its own."""
    size: Size
    card: Card | None
    """The GPU of its GPUs, with the memory of a slice where they are slices, and that of the machine where one is
    rented; None where nobody knows it.
    """
    part: Slice | None = None
    """What its GPUs are; None: whole ones."""

    @property
    def below(self) -> Mapping[str, Fraction]:
        """The estimate by key, where the stack file says less."""
        said = {key: Fraction(getattr(self.size, key)) for key in KEYS if getattr(self.resource, key) is not None}
        # Fewer workers that are larger do as well, where it is the sum that counts. Where they are too few and too
        # small, each is held against its part among as many as there should be: whoever follows all of it has enough.
        workers = self.need.workers or DEFAULT_WORKERS
        few = self.size.workers < workers and not all(self._enough(key, workers) for key in self._divided)
        among = workers if few else self.size.workers
        needed = {key: Fraction(value) for key in KEYS if (value := getattr(self.need, key)) is not None}
        if self.need.gpus is None and self.need.gpu_memory and self.card is not None:
            # More than one machine has: nobody can say how many of it, and yet these are too few.
            needed["gpus"] = Fraction(math.ceil(Fraction(self.need.gpu_memory, self.card.memory_gb * GB)))
        needed |= {key: needed[key] * workers / among for key in self._divided if key in needed}
        if self.need.gpus:
            # What stands beside GPUs follows those of one worker; its least is not divided.
            pod = _pod(self.resource, self.jobs, self.need, math.ceil(needed["gpus"]), self.card)
            needed |= {key: Fraction(value) for key in ("cpu", "memory") if (value := getattr(pod, key)) is not None}
        if not few:
            needed.pop("workers", None)
        return {key: needed[key] for key in KEYS if key in said and key in needed and said[key] < needed[key]}

    @property
    def _divided(self) -> tuple[str, ...]:
        """What of the need its workers divide among themselves; of the rest each of them needs all."""
        kind = self.resource.type
        if kind == "training":
            # Weights and optimizer are divided among GPUs; a model of another kind is in one pod, unless its engine
            # divides the data.
            if self.need.gpus or self.need.gpu_memory:
                return ("gpus",)
            return ("cpu", "memory") if all(job.engine != "job" for job, _ in self.jobs) else ("cpu",)
        return _DIVIDED[kind]

    def _enough(self, key: str, workers: int) -> bool:
        """Whether all workers together have what the jobs need of one kind."""
        needed = getattr(self.need, key)
        return needed is None or getattr(self.size, key) * self.size.workers >= Fraction(needed) * workers


def sized(config: Config) -> tuple[Sized, ...]:
    """The resources of a stack, those of its own first, then the default of each job that names none.

    A job whose resource is not there, or is of another type, is on none.
    """
    jobs: dict[tuple[str | None, JobType], list[Job]] = {}
    for job in config.jobs:
        jobs.setdefault((job.resource, job.type), []).append(job)
    return (
        *(_sized(config, resource, jobs.get((resource.name, resource.type), ())) for resource in config.resources),
        *(
            _sized(config, Resource(job.name, job.type), (job,), own=True)
            for job in config.jobs
            if job.resource is None
        ),
    )


def _sized(config: Config, resource: Resource, jobs: Iterable[Job], *, own: bool = False) -> Sized:
    part = slice_of(config, resource)
    card = _card(config, resource) if part is None else part.as_card
    estimates = tuple((job, estimate(job, card)) for job in jobs)
    alone, shared = apart(resource, estimates)
    need = largest((*alone, together(shared)))
    # A GPU is never given to somebody who has not asked for it.
    gpus = resource.gpus if resource.gpus is not None else int(resource.partition is not None or resource.grow)
    pod = _pod(resource, estimates, need, gpus, card)
    size = Size(
        resource.workers or need.workers or DEFAULT_WORKERS,
        quantity.parse(resource.cpu) if resource.cpu is not None else Fraction(pod.cpu or DEFAULT_CPU),
        quantity.parse(resource.memory) if resource.memory is not None else Fraction(pod.memory or DEFAULT_MEMORY),
        gpus,
    )
    return Sized(resource=resource, own=own, jobs=estimates, need=need, size=size, card=card, part=part)


def _card(config: Config, resource: Resource) -> Card | None:
    """The GPU of whole GPUs: that of the machine which is rented, else the one that the stack file names."""
    if resource.remote is not None:
        from modelyard.hardware.instances import machine_of

        if (machine := machine_of(config, resource)) is not None:
            return machine.card
    return resolve(resource.gpu or config.gpu.model)


def apart(resource: Resource, jobs: Jobs) -> tuple[list[Need], list[Need]]:
    """What the jobs need that have pods of their own, and what those need that share some.

    A run has pods of its own, with the size of the resource; so has a job elsewhere.
    """
    alone = [found.need for job, found in jobs if job.command or resource.remote is not None]
    shared = [found.need for job, found in jobs if not (job.command or resource.remote is not None)]
    return alone, shared


def _pod(resource: Resource, jobs: Jobs, need: Need, gpus: int, card: Card | None) -> Need:
    """Cores and memory of one pod.

    What stands beside GPUs follows those that a pod has, not those that its jobs are estimated to need: the stack file
    may say fewer, on more workers, or more. So it does where nobody knows what the jobs need: GPUs without cores and
    memory beside them starve.
    """
    if not gpus or card is None:
        return need
    cpu, memory = beside_gpus(gpus, card)
    if not (need.gpus or need.gpu_memory):
        return need._replace(cpu=need.cpu or cpu, memory=need.memory or memory)
    alone, shared = (
        [one._replace(cpu=None, memory=None) if one.gpu_memory else one for one in part]
        for part in apart(resource, jobs)
    )
    return largest((*alone, together(shared), Need(cpu=cpu, memory=memory)))


def together(needs: Iterable[Need]) -> Need:
    """What jobs need that run side by side on the same pods: as many as the largest takes, each with room for all."""
    found = tuple(needs)

    def added(key: str) -> int | None:
        known = [value for need in found if (value := getattr(need, key)) is not None]
        return sum(known) if known else None

    gpus = None if _uncounted(found) else added("gpus")
    return Need(largest(found).workers, added("cpu"), added("memory"), gpus, added("gpu_memory"))


def largest(needs: Iterable[Need]) -> Need:
    """The most that any of them needs, of each kind."""
    found = tuple(needs)
    most = Need(
        *(
            max((value for need in found if (value := need[kind]) is not None), default=None)
            for kind in range(len(Need._fields))
        )
    )
    return most._replace(gpus=None) if _uncounted(found) else most


def _uncounted(needs: Iterable[Need]) -> bool:
    """Whether one of them needs GPUs and nobody can say how many: the number of the others is not enough then."""
    return any(need.gpus is None and need.gpu_memory for need in needs)
