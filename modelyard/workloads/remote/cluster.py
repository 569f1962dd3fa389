"""A job on a remote cluster: the script of a rented machine, in a pod of that cluster, and what prevents it."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.stack.config import Config, Stack, StackPath
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import RemoteQuota, StaticCluster
from modelyard.stack.words import listed
from modelyard.workloads.environments.rules import has_image
from modelyard.workloads.facts.remote import cluster_of
from modelyard.workloads.remote.places import (
    bucket_files,
    data_of,
    data_part,
    model_part,
    remote_jobs,
    transfers,
    writes,
)
from modelyard.workloads.remote.script import job_script
from modelyard.workloads.sizing import Sized

SERVICE_ACCOUNT = "remote-job"
"""Service account of the patch ``remote-cluster``: it has no rights, and its pods get no token."""


def unfit(config: Config, resource: Resource, job: Job, workers: int) -> tuple[str, str] | None:
    """Returns why a job cannot run on its resource's remote cluster, and what to do; None if it can."""
    assert resource.remote is not None
    data, model, known = data_of(resource), resource.remote.model, {one.name for one in config.buckets}
    if job.environment or resource.environment:
        why = "has a Python environment, which is built in the platform's cluster"
        return why, "name an image that has its packages"
    if job.engine != "job" or job.trials is not None or workers != 1:
        return (
            "has several workers, but a remote job has one",
            "set workers of its resource to 1, and drop trials and engine: ray",
        )
    used = [*([data.place.bucket] if data is not None else []), *([model.bucket] if writes(resource) and model else [])]
    if unknown := [name for name in used if name not in known]:
        return f"uses bucket {unknown[0]}, which is not defined", "correct the resource's remote.data and remote.model"
    return missing_secret(resource)


def missing_secret(resource: Resource) -> tuple[str, str] | None:
    """Returns which job credentials a resource with a remote cluster does not name, and what to do."""
    assert resource.remote is not None
    cluster = resource.remote.cluster
    assert cluster is not None
    missing, there = {}, f"in namespace {cluster.namespace} of its cluster"
    if data_of(resource) is not None and cluster.read_secret is None:
        missing["its data"] = f"create a Secret with READ_ variables {there}, and set readSecret to its name"
    if writes(resource) and cluster.write_secret is None:
        missing["its models"] = (
            f"create a Secret PREFIX-JOB with WRITE_ variables for each job {there}, and set writeSecret to PREFIX"
        )
    return (f"has no credentials for {listed(missing, 'and')}", "; ".join(missing.values())) if missing else None


def cluster_run(config: Config, resource: Resource, job: Job) -> dict[str, Any]:
    """Returns what differs between a run on a remote cluster and one on the home cluster.

    The script fetches and verifies the data, runs the job without credentials, and writes the model to the job's own
    prefix with credentials that can write only there.
    """
    assert resource.remote is not None
    cluster = resource.remote.cluster
    assert cluster is not None
    data = data_part(config, resource)
    own = model_part(config, resource, job) if writes(resource) else None
    script = job_script(job.command, job.time_limit, data, own, resource.type == "llm-serving")
    # All jobs of a resource share the data. Each job has its own credentials for writing, and its own prefix.
    write = f"{cluster.write_secret}-{job.name}"
    secrets = [cluster.read_secret if data is not None else None, write if own is not None else None]
    image = job.image or resource.image or resource.remote.image or config.runtime.image
    return {
        "namespace": cluster.namespace,
        "queue": resource.name if cluster.quota is not None else None,
        "priority": None,
        # Topology and partial starts belong to the platform's queues; a single worker needs neither.
        "leastWorkers": None,
        "together": None,
        "anyPlace": False,
        "image": image,
        # Kubernetes reads $(NAME) as a variable; doubling the dollar sign prevents that.
        "command": ["sh", "-c", script.replace("$", "$$")],
        "serviceAccount": SERVICE_ACCOUNT,
        "secrets": list(dict.fromkeys(name for name in secrets if name is not None)),
    }


def cluster_files(config: Config, resource: Resource) -> dict[str, str]:
    """Returns the files for a remote cluster's jobs, by relative name: rights of its two Secrets, export, import."""
    made: dict[str, str] = {}
    data = data_part(config, resource)
    for job in remote_jobs(config, resource):
        own = model_part(config, resource, job) if writes(resource) else None
        files = bucket_files(data, transfers(resource), own)
        made |= {f"{job.name}/{name}": text for name, text in files.items()}
    return made


def check_cluster(stack: Stack, index: int, sized: Sized) -> Iterator[Finding]:
    """Yields findings about the resource at ``index`` if it has a remote cluster, except settings without effect."""
    resource, cluster = sized.resource, cluster_of(sized.resource)
    if cluster is None:
        return
    where: StackPath = ("resources", index, "remote", "cluster")
    yield from _one_controller(stack, where, index, resource.name, cluster)
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
        yield from _within_quota(stack, (*where, "quota"), sized, cluster.quota)
    jobs = remote_jobs(stack.config, resource)
    if any(job.command for job in jobs) and (missing := missing_secret(resource)) is not None:
        why, remedy = missing
        yield stack.finding("REM003", Severity.ERROR, where, f"resource {resource.name} {why}", remedy)
    if idle := ", ".join(job.name for job in jobs if not job.command):
        yield stack.finding(
            "REM003",
            Severity.ADVICE,
            where,
            f"jobs of resource {resource.name} without a command do not run in its remote cluster: {idle}",
            "give each of them a command",
        )
    if bare := [job.name for job in jobs if job.command and not has_image(stack.config, job, resource)]:
        yield stack.finding(
            "REM003",
            Severity.ADVICE,
            where,
            f"jobs of resource {resource.name} without an image cannot be submitted: {', '.join(bare)}",
            "set image of the job, remote.image of the resource, or image under modelyard:runtime",
        )


def _one_controller(stack: Stack, where: StackPath, index: int, name: str, cluster: StaticCluster) -> Iterator[Finding]:
    """Checks that its context points to the controller that earlier resources name for this context."""
    if cluster.context is None:
        return
    for other in stack.config.resources[:index]:
        known = cluster_of(other)
        if known is not None and known.context == cluster.context and known.controller != cluster.controller:
            yield stack.finding(
                "REM013",
                Severity.ERROR,
                (*where, "context"),
                f"{name} and {other.name} share context {cluster.context} but have different controllers: "
                f"{cluster.controller} and {known.controller}",
                "correct controller of one of them, or give them different contexts",
            )
            return


def _one_way(stack: Stack, where: StackPath, index: int, name: str, cluster: StaticCluster) -> Iterator[Finding]:
    """Checks whether earlier resources reach this cluster: only the credentials of the first would be used."""
    for other in stack.config.resources[:index]:
        known = cluster_of(other)
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


def _within_quota(stack: Stack, where: StackPath, one: Sized, quota: RemoteQuota) -> Iterator[Finding]:
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
            f"quota is too small for resource {one.resource.name}: it has {', '.join(short)}",
            "raise quota, or correct the resource",
            detail=f"modelyard size {stack.name} {one.resource.name} shows the calculation",
        )
