"""Which part of which bucket a remote job reads, and which it alone writes."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

from modelyard.stack.config import Config, Path
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import Place

Way = Literal["shared", "transfer"]


class Use(NamedTuple):
    """One part of a bucket that a remote resource reads or one of its jobs writes."""

    bucket: str
    prefix: str
    job: str
    """Who writes it; empty where it is read."""
    resource: str
    path: Path
    """Where the stack file says it."""

    @property
    def whole(self) -> str:
        """With a ``/`` at its end, so that ``a/b`` does not begin with ``a/bc``."""
        return f"{self.prefix}/"


def data_of(resource: Resource) -> tuple[Way, Place] | None:
    """How the resource's jobs get their data, None where nobody says."""
    data = resource.remote.data if resource.remote is not None else None
    if data is None:
        return None
    if data.shared is not None:
        return "shared", data.shared
    return ("transfer", data.transfer) if data.transfer is not None else None


def writes(resource: Resource) -> bool:
    """Whether the resource's jobs make models and it is said where to; serving makes none."""
    return resource.type != "llm-serving" and resource.remote is not None and resource.remote.model is not None


def model_prefix(resource: Resource, job: Job) -> str:
    """What a job writes below: nobody else may."""
    assert resource.remote is not None and resource.remote.model is not None
    return f"{resource.remote.model.prefix}/{job.name}"


def remote_jobs(config: Config, resource: Resource) -> tuple[Job, ...]:
    """The jobs on a resource."""
    return tuple(job for job in config.jobs if job.resource == resource.name and job.type == resource.type)


def uses(config: Config) -> Iterator[Use]:
    """Every part of a bucket that remote resources use, in the order of the stack file."""
    for index, resource in enumerate(config.resources):
        if resource.remote is None:
            continue
        where: Path = ("resources", index, "remote")
        way = data_of(resource)
        if way is not None:
            yield Use(way[1].bucket, way[1].prefix, "", resource.name, (*where, "data", way[0]))
        if not writes(resource):
            continue
        assert resource.remote.model is not None
        bucket = resource.remote.model.bucket
        for job in remote_jobs(config, resource):
            yield Use(bucket, model_prefix(resource, job), job.name, resource.name, (*where, "model"))


def overlapping(config: Config) -> Iterator[tuple[Use, Use]]:
    """Pairs of which the first is written and meets the second; of two that are written, the later one first."""
    every = tuple(uses(config))
    at: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(every):
        at.setdefault((one.bucket, one.whole), []).append(number)
    # Two places meet where one is the other or around it, so each looks up what is around it: a few folders.
    met = {
        (max(number, other), min(number, other))
        for number, one in enumerate(every)
        for around in accumulate(f"{part}/" for part in one.prefix.split("/"))
        for other in at.get((one.bucket, around), ())
        if other != number and (one.job or every[other].job)
    }
    for later, earlier in sorted(met):
        one, other = every[later], every[earlier]
        yield (one, other) if one.job else (other, one)
