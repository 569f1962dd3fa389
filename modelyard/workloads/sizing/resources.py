"""Sizes each resource of a stack: from the stack file, else from what its jobs need together."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from modelyard import quantity
from modelyard.hardware import GpuModel, resolve
from modelyard.hardware.partitions import Slice, slice_of
from modelyard.quantity import GB, GI
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job, JobType, Resource
from modelyard.workloads.sizing.formulas import beside_gpus, estimate
from modelyard.workloads.sizing.sources import MOST_CPU, MOST_MEMORY, PROCESS, Estimate, Need

DEFAULT_WORKERS: Final = 1
DEFAULT_CPU: Final = 2
DEFAULT_MEMORY: Final = 8 * GI
"""Memory of a worker if neither the stack file nor an estimate sets it."""
KEYS: Final = ("workers", "cpu", "memory", "gpus")
"""Sizes that a resource can set, by key in the stack file."""
_DIVIDED: Final[Mapping[JobType, tuple[str, ...]]] = {
    "data-sink": ("cpu", "memory"),
    "dataset": ("cpu", "memory"),
    # Each worker holds the whole model in memory.
    "batch-prediction": ("cpu",),
    "serving": ("cpu",),
    "llm-serving": (),
    "runtime": (),
}
"""What a resource's workers divide among themselves, by type; for training it depends on the jobs."""


Jobs = Sequence[tuple[Job, Estimate]]
"""Jobs of one resource with the estimate of each."""


class Size(NamedTuple):
    """The size of a resource."""

    workers: int
    cpu: Fraction
    """Cores of one worker."""
    memory: Fraction
    """Bytes of one worker."""
    gpus: int
    """GPUs of one worker, whole or slices."""


class Sized(NamedTuple):
    """A resource with its jobs."""

    resource: Resource
    own: bool
    """Whether it is the default for one job that names no resource."""
    jobs: tuple[tuple[Job, Estimate], ...]
    need: Need
    """What the jobs that share its pods need together, or the largest job with its own pods."""
    size: Size
    gpu: GpuModel | None
    """The GPU model, with the memory of a slice if the GPUs are slices, and that of the machine if one is rented; None
    if it is unknown.
    """
    part: Slice | None = None
    """The slice that its GPUs are; None: whole GPUs."""

    @property
    def among(self) -> int:
        """The number of workers on which ``needed`` is based: that of the resource, or the estimated number if its
        workers are too few and too small.
        """
        return (self.need.workers or DEFAULT_WORKERS) if self._few else self.size.workers

    @property
    def needed(self) -> Mapping[str, Fraction]:
        """What the jobs need, by key: the number of workers as estimated, everything else for each of ``among``."""
        needed = {key: Fraction(value) for key in KEYS if (value := getattr(self.need, key)) is not None}
        if self.need.gpus is None and self.need.gpu_memory and self.gpu is not None:
            # The number of GPUs exceeds one machine and is unknown, but these are too few.
            needed["gpus"] = Fraction(math.ceil(Fraction(self.need.gpu_memory, self.gpu.memory_gb * GB)))
        workers = self.need.workers or DEFAULT_WORKERS
        needed |= {key: needed[key] * workers / self.among for key in self._divided if key in needed}
        if self.need.gpus:
            # CPU and memory follow the GPUs of one worker; their minimum is not divided.
            pod = _pod(self.resource, self.jobs, self.need, math.ceil(needed["gpus"]), self.gpu)
            needed |= {key: Fraction(value) for key in ("cpu", "memory") if (value := getattr(pod, key)) is not None}
        return needed

    @property
    def below(self) -> Mapping[str, Fraction]:
        """Estimates, by key, that exceed the stack file's settings."""
        requested = {key: Fraction(getattr(self.size, key)) for key in KEYS if getattr(self.resource, key) is not None}
        needed = self.needed
        return {
            key: needed[key]
            for key in KEYS
            if key in requested and key in needed and requested[key] < needed[key] and (key != "workers" or self._few)
        }

    @property
    def _few(self) -> bool:
        """Whether the workers are too few and too small.

        If only the sum counts, fewer but larger workers are enough. Else each is compared with its part of the
        estimated number: following every recommendation is always enough.
        """
        workers = self.need.workers or DEFAULT_WORKERS
        return self.size.workers < workers and not all(self._enough(key, workers) for key in self._divided)

    @property
    def _divided(self) -> tuple[str, ...]:
        """What the workers divide among themselves; of everything else each worker needs all."""
        kind = self.resource.type
        if kind == "training":
            # GPUs divide weights and optimizer; another kind of model is in one pod, unless its engine divides
            # the data.
            if self.need.on_gpus:
                return ("gpus",)
            return ("cpu", "memory") if all(job.engine != "job" for job, _ in self.jobs) else ("cpu",)
        return _DIVIDED[kind]

    def _enough(self, key: str, workers: int) -> bool:
        """Whether all workers together have enough of one kind."""
        needed = getattr(self.need, key)
        return needed is None or getattr(self.size, key) * self.size.workers >= Fraction(needed) * workers


def sized(config: Config) -> tuple[Sized, ...]:
    """Returns the resources of a stack: first those that it defines, then the default of each job that names none.

    A job whose resource is not defined, or has another type, is on no resource.
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


def sizes_by_job(everything: Sequence[Sized]) -> dict[int, Sized]:
    """Returns the size that each job runs on, by the identity of the job; a job on no resource is not among them.

    Of two resources with one name, a job runs on the first.
    """
    return {id(job): one for one in reversed(everything) for job, _ in one.jobs}


def _sized(config: Config, resource: Resource, jobs: Iterable[Job], *, own: bool = False) -> Sized:
    part = slice_of(config, resource)
    gpu = _gpu(config, resource) if part is None else part.as_gpu
    estimates = tuple((job, estimate(job, gpu)) for job in jobs)
    alone, shared = apart(resource, estimates)
    beside = together(shared)
    if resource.workers is None and len(shared) > 1:
        beside = spread(resource.type, shared, beside)
    need = largest((*alone, beside))
    # A job gets a GPU only if it asks for one.
    gpus = resource.gpus if resource.gpus is not None else int(resource.partition is not None or resource.grow)
    pod = _pod(resource, estimates, need, gpus, gpu)
    size = Size(
        resource.workers or need.workers or DEFAULT_WORKERS,
        quantity.parse(resource.cpu) if resource.cpu is not None else Fraction(pod.cpu or DEFAULT_CPU),
        quantity.parse(resource.memory) if resource.memory is not None else Fraction(pod.memory or DEFAULT_MEMORY),
        gpus,
    )
    return Sized(resource=resource, own=own, jobs=estimates, need=need, size=size, gpu=gpu, part=part)


def _gpu(config: Config, resource: Resource) -> GpuModel | None:
    """Returns the model of whole GPUs: that of the rented machine, else the one in the stack file."""
    if resource.remote is not None:
        from modelyard.hardware.instances import machine_of

        if (machine := machine_of(config, resource)) is not None:
            return machine.gpu
    return resolve(resource.gpu or config.gpu.model)


def apart(resource: Resource, jobs: Jobs) -> tuple[list[Need], list[Need]]:
    """Returns the needs of jobs with their own pods, and the needs of jobs that share pods.

    A run has its own pods, with the size of the resource; so has a remote job.
    """
    alone = [found.need for job, found in jobs if job.command or resource.remote is not None]
    shared = [found.need for job, found in jobs if not (job.command or resource.remote is not None)]
    return alone, shared


def _pod(resource: Resource, jobs: Jobs, need: Need, gpus: int, gpu: GpuModel | None) -> Need:
    """Returns the cores and memory of one pod.

    CPU and memory follow the pod's GPUs, not the estimated GPUs: the stack file may set fewer, on more workers, or
    more. This also applies if the jobs' needs are unknown: GPUs without cores and memory starve.
    """
    if not gpus or gpu is None:
        return need
    cpu, memory = beside_gpus(gpus, gpu)
    if not need.on_gpus:
        return need._replace(cpu=need.cpu or cpu, memory=need.memory or memory)
    alone, shared = (
        [one._replace(cpu=None, memory=None) if one.gpu_memory else one for one in part]
        for part in apart(resource, jobs)
    )
    return largest((*alone, together(shared), Need(cpu=cpu, memory=memory)))


def together(needs: Iterable[Need]) -> Need:
    """Returns what jobs need side by side on shared pods: as many pods as the largest needs, each with room for all."""
    found = tuple(needs)

    def added(key: str) -> int | None:
        known = [value for need in found if (value := getattr(need, key)) is not None]
        return sum(known) if known else None

    gpus = None if _uncounted(found) else added("gpus")
    return Need(largest(found).workers, added("cpu"), added("memory"), gpus, added("gpu_memory"))


def spread(kind: JobType, needs: Sequence[Need], beside: Need) -> Need:
    """Returns what jobs need side by side, on more workers where one worker would be larger than the convention.

    ``beside`` is the result of :func:`together`. Only what the workers of a type divide can be spread: each worker
    keeps a process for each job.
    """
    divided, workers = _DIVIDED.get(kind, ()), beside.workers
    if workers is None or beside.gpus:
        return beside
    cores, processes = (beside.cpu or 0) * workers, PROCESS * sum(need.memory is not None for need in needs)
    data = max((beside.memory or 0) - processes, 0) * workers
    more = workers
    if "cpu" in divided:
        more = max(more, math.ceil(cores / MOST_CPU))
    if "memory" in divided and processes < MOST_MEMORY:
        more = max(more, math.ceil(data / (MOST_MEMORY - processes)))
    if more == workers:
        return beside
    cpu = math.ceil(cores / more) if beside.cpu is not None else None
    memory = beside.memory
    if "memory" in divided and memory is not None:
        memory = math.ceil(Fraction(data, more * GI)) * GI + processes
    return beside._replace(workers=more, cpu=cpu, memory=memory)


def largest(needs: Iterable[Need]) -> Need:
    """Returns the maximum of each kind over all needs."""
    found = tuple(needs)
    most = Need(
        *(
            max((value for need in found if (value := need[kind]) is not None), default=None)
            for kind in range(len(Need._fields))
        )
    )
    return most._replace(gpus=None) if _uncounted(found) else most


def _uncounted(needs: Iterable[Need]) -> bool:
    """Whether a job needs an unknown number of GPUs, so that the number of the others is not enough."""
    return any(need.gpus is None and need.gpu_memory for need in needs)
