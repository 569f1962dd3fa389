"""The part of a bucket that a remote job reads, and the part that only it writes."""

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
    """The job that writes it; empty if it is read."""
    resource: str
    path: Path
    """Its path in the stack file."""

    @property
    def whole(self) -> str:
        """The place with a ``/`` at its end, so that ``a/b`` is not a prefix of ``a/bc``."""
        return f"{self.prefix}/"


def data_of(resource: Resource) -> tuple[Way, Place] | None:
    """Returns how the resource's jobs get their data, None if it is not set."""
    data = resource.remote.data if resource.remote is not None else None
    if data is None:
        return None
    if data.shared is not None:
        return "shared", data.shared
    return ("transfer", data.transfer) if data.transfer is not None else None


def writes(resource: Resource) -> bool:
    """Whether the resource's jobs write models and a place is set; serving jobs write none."""
    return resource.type != "llm-serving" and resource.remote is not None and resource.remote.model is not None


def model_prefix(resource: Resource, job: Job) -> str:
    """Returns the prefix below which only this job may write."""
    assert resource.remote is not None and resource.remote.model is not None
    return f"{resource.remote.model.prefix}/{job.name}"


def remote_jobs(config: Config, resource: Resource) -> tuple[Job, ...]:
    """Returns the jobs on a resource."""
    return tuple(job for job in config.jobs if job.resource == resource.name and job.type == resource.type)


def uses(config: Config) -> Iterator[Use]:
    """Yields every part of a bucket that remote resources use, in the order of the stack file."""
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
    """Yields pairs that overlap, the first of which is written; of two that are written, the later one is first."""
    every = tuple(uses(config))
    at: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(every):
        at.setdefault((one.bucket, one.whole), []).append(number)
    # Two places overlap if one equals or contains the other, so each looks up its ancestors: a few folders.
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
