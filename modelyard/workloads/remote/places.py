"""The part of a bucket that a remote job reads, the part that only it writes, and the files for both."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

from modelyard.stack.config import Config, StackPath
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import BucketPart
from modelyard.workloads.remote.aws_rights import rights
from modelyard.workloads.remote.script import BucketFolder, export_script, import_script


class Dataset(NamedTuple):
    """How the jobs of a remote resource get their data."""

    way: Literal["shared", "transfer"]
    """Its key in the stack file."""
    place: BucketPart


class BucketUse(NamedTuple):
    """One part of a bucket that a remote resource reads or one of its jobs writes."""

    bucket: str
    prefix: str
    job: str
    """The job that writes it; empty if it is read."""
    resource: str
    path: StackPath
    """Its path in the stack file."""

    @property
    def whole(self) -> str:
        """The place with a ``/`` at its end, so that ``a/b`` is not a prefix of ``a/bc``."""
        return f"{self.prefix}/"


def data_of(resource: Resource) -> Dataset | None:
    """Returns how the resource's jobs get their data, None if it is not set."""
    if resource.remote is None:
        return None
    data = resource.remote.data
    if data.shared is not None:
        return Dataset("shared", data.shared)
    return Dataset("transfer", data.transfer) if data.transfer is not None else None


def transfers(resource: Resource) -> bool:
    """Whether the platform copies the data to the job's bucket, instead of sharing its own."""
    data = data_of(resource)
    return data is not None and data.way == "transfer"


def data_part(config: Config, resource: Resource) -> BucketFolder | None:
    """Returns the data of the resource's jobs; None if it is not set, or its bucket is not defined."""
    data = data_of(resource)
    return None if data is None else _part(config, data.place.bucket, data.place.prefix)


def writes(resource: Resource) -> bool:
    """Whether the resource's jobs write models and a place is set; serving jobs write none."""
    return resource.type != "llm-serving" and resource.remote is not None and resource.remote.model is not None


def model_prefix(resource: Resource, job: Job) -> str:
    """Returns the prefix below which only this job may write."""
    assert resource.remote is not None and resource.remote.model is not None
    return f"{resource.remote.model.prefix}/{job.name}"


def model_part(config: Config, resource: Resource, job: Job) -> BucketFolder | None:
    """Returns where only this job may write; None if it is not set, or its bucket is not defined."""
    model = resource.remote.model if resource.remote is not None else None
    return None if model is None else _part(config, model.bucket, model_prefix(resource, job))


def _part(config: Config, bucket: str, prefix: str) -> BucketFolder | None:
    return next((BucketFolder(one, prefix) for one in config.buckets if one.name == bucket), None)


def bucket_files(data: BucketFolder | None, exports: bool, model: BucketFolder | None) -> dict[str, str]:
    """Returns the rights to a job's data and model, and the scripts that export and import them, by file name."""
    made = {}
    if data is not None:
        made["read.rights.json"] = rights(data, write=False)
        if exports:
            made["export.sh"] = export_script(data)
    if model is not None:
        made["write.rights.json"] = rights(model, write=True)
        made["import.sh"] = import_script(model)
    return made


def remote_jobs(config: Config, resource: Resource) -> tuple[Job, ...]:
    """Returns the jobs on a resource."""
    return tuple(job for job in config.jobs if job.resource == resource.name and job.type == resource.type)


def uses(config: Config) -> Iterator[BucketUse]:
    """Yields every part of a bucket that remote resources use, in the order of the stack file."""
    for index, resource in enumerate(config.resources):
        if resource.remote is None:
            continue
        where: StackPath = ("resources", index, "remote")
        if (data := data_of(resource)) is not None:
            yield BucketUse(data.place.bucket, data.place.prefix, "", resource.name, (*where, "data", data.way))
        if not writes(resource):
            continue
        assert resource.remote.model is not None
        bucket = resource.remote.model.bucket
        for job in remote_jobs(config, resource):
            yield BucketUse(bucket, model_prefix(resource, job), job.name, resource.name, (*where, "model"))


def overlapping(config: Config) -> Iterator[tuple[BucketUse, BucketUse]]:
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
