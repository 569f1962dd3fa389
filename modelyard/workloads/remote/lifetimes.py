"""Whether credentials live as long as the job that writes its model with them at its end.

A machine that Pulumi launches on AWS renews its own; elsewhere they are those of the moment in which the job was
launched.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware.rented import provider_of
from modelyard.stack.config import Path, Stack
from modelyard.stack.durations import text
from modelyard.workloads.remote.places import writes
from modelyard.workloads.sizing import Sized

LASTS: Final[Mapping[str, int]] = {"s3": 12 * 3600, "gs": 3600}
"""Seconds that short-lived credentials last at the most, by scheme of a bucket's URL. Sources: AWS STS, AssumeRole,
DurationSeconds; Google Cloud IAM, short-lived credentials: an hour unless the organisation extends it."""


def check_lifetimes(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """The findings about the remote resource at ``index`` and about its jobs."""
    resource, provider = one.resource, provider_of(stack.config, one.resource)
    remote = resource.remote
    if remote is None or remote.model is None or not writes(resource):
        return
    bucket = next((one for one in stack.config.buckets if one.name == remote.model.bucket), None)
    if bucket is None or (remote.cluster is None and (provider is None or provider.launched_by == "pulumi")):
        return
    lasts = LASTS[bucket.url.partition("://")[0]]
    where, who, limit = _longest(stack, index, one, lasts)
    if limit > lasts:
        yield stack.finding(
            "REM017",
            Severity.WARNING,
            where if where in stack.positions else where[:-1],
            f"{who} may run {text(limit)}, and credentials that write to {bucket.url} last {text(lasts)}",
            f"set timeLimit to {text(lasts)} at most, or renew them while it runs: it writes its model at its end",
        )


def _longest(stack: Stack, index: int, one: Sized, lasts: int) -> tuple[Path, str, int]:
    """Where the longest limit of the resource's jobs is said, whose it is, and its seconds."""
    resource, remote = one.resource, one.resource.remote
    assert remote is not None
    if remote.cluster is None:
        where: Path = ("resources", index, "remote", "timeLimit")
        return where, f"a job of resource {resource.name}", remote.time_limit or 0
    longer = [
        (job.time_limit, number, job.name)
        for number, job in enumerate(stack.config.jobs)
        if job.command and (job.resource, job.type) == (resource.name, resource.type) and job.time_limit > lasts
    ]
    limit, number, name = max(longer, key=lambda found: found[0], default=(0, 0, ""))
    more = f", one of {len(longer)} of resource {resource.name}," if len(longer) > 1 else ""
    return ("jobs", number, "timeLimit"), f"job {name}{more}", limit
