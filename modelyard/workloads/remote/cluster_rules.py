"""Checks what prevents a resource's jobs from running on its remote cluster."""

from collections.abc import Iterator
from fractions import Fraction

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.stack.config import Path, Stack
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Cluster, RemoteQuota
from modelyard.workloads.environments.rules import has_image
from modelyard.workloads.remote.cluster import missing_secret
from modelyard.workloads.remote.places import remote_jobs
from modelyard.workloads.sizing import Sized


def check_cluster(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Yields findings about the resource at ``index`` if it has a remote cluster, except settings without effect."""
    resource, cluster = one.resource, _cluster(one.resource)
    if cluster is None:
        return
    where: Path = ("resources", index, "remote", "cluster")
    yield from _one_controller(stack, where, index, resource)
    yield from _one_way(stack, where, index, resource.name, cluster)
    if cluster.context is None and cluster.controller.startswith("http://"):
        yield stack.finding(
            "REM012",
            Severity.WARNING,
            (*where, "controller"),
            f"the credentials of {resource.name} would go to {cluster.controller} unencrypted",
            "use an address that begins with https://",
        )
    if cluster.quota is not None:
        yield from _within_quota(stack, (*where, "quota"), one, cluster.quota)
    jobs = remote_jobs(stack.config, resource)
    if any(job.command for job in jobs) and (missing := missing_secret(resource)) is not None:
        why, remedy = missing
        yield stack.finding("REM003", Severity.ERROR, where, f"resource {resource.name} {why}", remedy)
    if idle := ", ".join(job.name for job in jobs if not job.command):
        yield stack.finding(
            "REM003",
            Severity.ADVICE,
            where,
            f"resource {resource.name} has no pods in its remote cluster for {idle}, which have no command",
            "give the jobs a command",
        )
    if bare := [job.name for job in jobs if job.command and not has_image(stack.config, job, resource)]:
        yield stack.finding(
            "REM003",
            Severity.ADVICE,
            where,
            f"resource {resource.name} has no image for {', '.join(bare)}, so these jobs cannot be submitted",
            "set remote.image of the resource, or image under modelyard:runtime",
        )


def _one_controller(stack: Stack, where: Path, index: int, resource: Resource) -> Iterator[Finding]:
    """Checks that its context points to the controller that earlier resources name for this context."""
    cluster = _cluster(resource)
    if cluster is None or cluster.context is None:
        return
    for other in stack.config.resources[:index]:
        known = _cluster(other)
        if known is not None and known.context == cluster.context and known.controller != cluster.controller:
            yield stack.finding(
                "REM013",
                Severity.ERROR,
                (*where, "context"),
                f"context {cluster.context} of {resource.name} points to one API server, "
                f"but controller of {other.name} is {known.controller}",
                "correct controller of one of them, or give them different contexts",
            )
            return


def _one_way(stack: Stack, where: Path, index: int, name: str, cluster: Cluster) -> Iterator[Finding]:
    """Checks whether earlier resources reach this cluster: only the credentials of the first would be used."""
    for other in stack.config.resources[:index]:
        known = _cluster(other)
        if known is None or known.place != cluster.place:
            continue
        if known.credentials_secret != cluster.credentials_secret:
            ours, theirs = (
                "encrypted credentials" if one.credentials_secret is None else f"Secret {one.credentials_secret}"
                for one in (cluster, known)
            )
            yield stack.finding(
                "REM012",
                Severity.ERROR,
                where,
                f"{name} reaches its cluster by {ours}, but {other.name} reaches the same cluster by {theirs}",
                "give both the same credentials; modelyard uses those of the first",
            )
        return


def _cluster(resource: Resource) -> Cluster | None:
    return resource.remote.cluster if resource.remote is not None else None


def _within_quota(stack: Stack, where: Path, one: Sized, quota: RemoteQuota) -> Iterator[Finding]:
    """Checks that the quota has room for one worker: otherwise Kueue would never admit a job there."""
    size = one.size
    asked = (
        ("cores", quantity.parse(quota.cpu), size.cpu, quantity.cpu),
        ("memory", quantity.parse(quota.memory), size.memory, quantity.memory),
        ("GPUs", Fraction(quota.gpus), Fraction(size.gpus), str),
    )
    short = [f"{text(most)} of {text(wanted)} {what}" for what, most, wanted, text in asked if most < wanted]
    if short:
        yield stack.finding(
            "REM006",
            Severity.ERROR,
            where,
            f"quota has only {', '.join(short)} that resource {one.resource.name} needs",
            "raise quota, or correct the resource",
            detail=f"modelyard size {stack.name} {one.resource.name} shows the calculation",
        )
