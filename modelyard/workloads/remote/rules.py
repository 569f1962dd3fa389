"""Checks providers, buckets and remote resources, except their machines (``machines``)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware.instances import provider_of
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.durations import text
from modelyard.stack.jobs import JobType, Resource
from modelyard.stack.names import instead, named_twice, repeated
from modelyard.stack.remote import PLATFORM, BucketPart, Provider, Remote, StaticCluster
from modelyard.stack.words import listed
from modelyard.workloads.facts.remote import reachers
from modelyard.workloads.remote.aws_rules import check_accounts, check_aws
from modelyard.workloads.remote.cluster import check_cluster
from modelyard.workloads.remote.machines import check_machine
from modelyard.workloads.remote.offers import Own
from modelyard.workloads.remote.places import data_of, overlapping, writes
from modelyard.workloads.remote.unread import check_unread
from modelyard.workloads.sizing import Sized, sized

ALLOWED: tuple[JobType, ...] = ("training", "runtime", "llm-serving")
"""Jobs that may be remote: training of deep-learning models, custom runtimes for training, serving of language
models (the platform's vendor, page on resources and GPUs)."""
_MANY = 3
"""Maximum number of overlapping places of one resource that are shown individually."""


def check_remote(stack: Stack, own: Own | None = None, everything: Sequence[Sized] | None = None) -> Iterator[Finding]:
    """Yields findings about remote resources.

    Uses the project's prices besides list prices. Pass ``everything``, the result of ``sizing.sized``, if you have it.
    """
    config = stack.config
    known = reachers(config)
    yield from _declared(stack, known)
    yield from check_accounts(stack)
    providers = {one.name: one for one in config.providers}
    reported: set[str] = set()
    for index, one in enumerate(sized(config) if everything is None else everything):
        resource, remote = one.resource, one.resource.remote
        # After the stack's own resources come the defaults of jobs that name none, which are never remote.
        if remote is None:
            continue
        where: StackPath = ("resources", index, "remote")
        if resource.type not in ALLOWED:
            yield stack.finding(
                "REM002",
                Severity.ERROR,
                ("resources", index, "type"),
                f"resource {resource.name} is of type {resource.type}, which cannot be remote",
                f"drop remote, or use one of the types {', '.join(ALLOWED)}",
            )
        else:
            if not one.need.on_gpus:
                # If its jobs need GPUs, the finding about them says so.
                yield from _without_gpus(stack, index, one)
            yield from _not_deep(stack, one)
        yield from _one_place(stack, where, resource, remote, providers)
        if remote.cluster is not None and remote.provider is not None:
            continue  # Which settings count depends on which of the two stays.
        yield from _reached(stack, where, resource, remote=remote, providers=providers, known=known, reported=reported)
        yield from check_cluster(stack, index, one)
        yield from check_unread(stack, index, one)
        yield from check_lifetimes(stack, index, one)
        if remote.provider in providers and remote.cluster is None:
            yield from check_machine(stack, index, one, own)
            yield from check_aws(stack, index, resource, own)
    yield from _apart(stack)


def _without_gpus(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Finds a resource that is remote but neither requests nor needs GPUs."""
    resource = one.resource
    if not one.size.gpus:
        yield stack.finding(
            "REM003",
            Severity.WARNING,
            ("resources", index) if resource.gpus is None else ("resources", index, "gpus"),
            f"resource {resource.name} is remote but has no GPU",
            "set gpus, or drop remote: jobs without GPUs run better beside their data",
        )


def _not_deep(stack: Stack, one: Sized) -> Iterator[Finding]:
    """Finds training jobs whose model is not a deep-learning model, as far as the stack file says.

    A job with model parameters trains one. A job with only a dataset does not: its estimate is that of a table in the
    memory of one pod. If a job sets neither, the GPUs of its resource decide.
    """
    for job, _ in one.jobs:
        if job.type != "training" or job.model.parameters is not None:
            continue
        if job.rows is not None or job.columns is not None:
            summary = f"job {job.name} cannot be remote: its sizes describe training on a dataset in memory"
        elif not one.size.gpus:
            summary = (
                f"job {job.name} cannot be remote: none of its settings shows that it trains a deep-learning model"
            )
        else:
            continue
        yield stack.finding(
            "REM002",
            Severity.ERROR,
            ("jobs", next(at for at, known in enumerate(stack.config.jobs) if known is job)),
            summary,
            "set model.parameters if the job trains a deep-learning model, or the type of the job and its resource to "
            "runtime if it is custom training; otherwise give the job a resource that is not remote",
        )


def _declared(stack: Stack, known: Collection[str]) -> Iterator[Finding]:
    """Checks each provider and bucket by itself."""
    config = stack.config
    for section in ("providers", "buckets"):
        yield from named_twice(stack, "REM001", section)
    for index, provider in enumerate(config.providers):
        if provider.launched_by == "pulumi" and provider.kind != "aws":
            yield stack.finding(
                "REM001",
                Severity.ERROR,
                ("providers", index, "launcher"),
                f"provider {provider.name} is of kind {provider.kind}, but launcher pulumi supports only aws",
                "set launcher to skypilot or dstack",
            )
        if provider.credentials is not None and provider.credentials_secret is not None:
            yield stack.finding(
                "REM012",
                Severity.ERROR,
                ("providers", index),
                f"provider {provider.name} has two kinds of credentials",
                "keep credentials (encrypted) or credentialsSecret, or drop both: its launcher has its own",
            )
    for index, bucket in enumerate(config.buckets):
        for number, who in enumerate(bucket.reached_by):
            if who not in known:
                yield stack.finding(
                    "REM010",
                    Severity.ERROR,
                    ("buckets", index, "reachedBy", number),
                    f"bucket {bucket.name} is reached by {who}, which is neither a provider nor a remote cluster",
                    instead(who, known, "names"),
                )


def _access(stack: Stack, where: StackPath, name: str, cluster: StaticCluster) -> Iterator[Finding]:
    """Checks how a remote cluster is reached: by a kubeconfig context, or by credentials."""
    accesses = {
        "context": cluster.context,
        "credentialsSecret": cluster.credentials_secret,
        "credentials": cluster.credentials,
    }
    given = [key for key, value in accesses.items() if value is not None]
    if len(given) == 1:
        return
    if given:
        summary = f"cluster of {name} has {listed(given, 'and')}, but may have only one of them"
        remedy = f"keep one of {' and '.join(given)}; to change from one to another, write the other and apply"
    else:
        summary = f"cluster of {name} has neither a context nor credentials"
        remedy = (
            "give one of context (of the kubeconfig), credentialsSecret (a Secret of the platform's namespace) and "
            "credentials (encrypted)"
        )
    yield stack.finding("REM012", Severity.ERROR, where, summary, remedy)


def _one_place(
    stack: Stack, where: StackPath, resource: Resource, remote: Remote, providers: Mapping[str, Provider]
) -> Iterator[Finding]:
    """Checks that the place where the jobs run is set, and complete."""
    name = resource.name
    if (remote.cluster is None) == (remote.provider is None):
        what = "neither a cluster nor a provider" if remote.cluster is None else "a cluster and a provider"
        yield stack.finding(
            "REM003", Severity.ERROR, where, f"resource {name} has {what}", "give one of the two: cluster or provider"
        )
    if remote.cluster is not None:
        yield from _access(stack, (*where, "cluster"), name, remote.cluster)
    elif remote.provider is not None and remote.provider not in providers:
        yield stack.finding(
            "REM001",
            Severity.ERROR,
            (*where, "provider"),
            f"resource {name} uses provider {remote.provider}, which is not defined",
            instead(remote.provider, providers, "providers"),
        )
    if remote.cluster is None:
        given = {"instanceType": remote.instance_type, "image": remote.image, "command": remote.command}
        missing = [key for key, value in given.items() if not value]
        if missing and remote.provider is not None:
            yield stack.finding(
                "REM003",
                Severity.ERROR,
                where,
                f"resource {name} does not set {' and '.join(missing)}",
                f"set {' and '.join(missing)} under remote: a rented machine needs its type, an image and a command",
            )
        if remote.time_limit is None and remote.provider is not None:
            yield stack.finding(
                "REM009",
                Severity.ERROR,
                where,
                f"resource {name} has no time limit, but a rented machine costs until it is released",
                "set timeLimit to the longest time that a job may run, such as 6h",
            )
    provider = providers.get(remote.provider or "")
    pulumi = remote.cluster is None and provider is not None and provider.launched_by == "pulumi"
    if pulumi and resource.type == "llm-serving" and remote.port is None:
        yield stack.finding(
            "REM003",
            Severity.ERROR,
            where,
            f"resource {name} does not set the port of its jobs, so clients cannot reach them",
            "set port to the port that its command listens on, such as 8000",
        )
    if remote.model is None and resource.type != "llm-serving":
        yield stack.finding(
            "REM003",
            Severity.ERROR,
            where,
            f"resource {name} does not set where its jobs write their models",
            "set model: a bucket that the platform and the job can reach, and a prefix",
        )
    if data_of(resource) is None and resource.type == "training":
        yield stack.finding(
            "REM003",
            Severity.ERROR,
            where,
            f"resource {name} does not set how its training jobs get their data",
            "set data.shared if the machine reaches the platform's storage, otherwise data.transfer",
        )


def _reached(
    stack: Stack,
    where: StackPath,
    resource: Resource,
    *,
    remote: Remote,
    providers: Mapping[str, Provider],
    known: Collection[str],
    reported: set[str],
) -> Iterator[Finding]:
    """Checks that both reach the buckets: the platform writes data and fetches models, the job does the reverse.

    ``known`` are the names that ``reachedBy`` of a bucket may have. ``reported`` gets the buckets that the platform
    cannot reach; each is reported once.
    """
    buckets = {one.name: one for one in stack.config.buckets}
    twice = {stack.config.buckets[index].name for index in repeated(one.name for one in stack.config.buckets)}
    user = resource.name if remote.cluster is not None else remote.provider
    # An undefined provider reaches nothing; another finding reports it.
    users = {PLATFORM: "the platform"}
    if user is not None and (user in providers or remote.cluster is not None):
        users[user] = user
    data = data_of(resource)
    places: list[tuple[BucketPart, StackPath, str]] = []
    if data is not None:
        places.append((data.place, (*where, "data", data.way), "its data"))
    if remote.model is not None:
        places.append((remote.model, (*where, "model"), "its models"))
    unreached: dict[str, tuple[StackPath, list[str], list[str]]] = {}
    for place, path, what in places:
        bucket = buckets.get(place.bucket)
        if bucket is None:
            yield stack.finding(
                "REM001",
                Severity.ERROR,
                (*path, "bucket"),
                f"resource {resource.name} keeps {what} in bucket {place.bucket}, which is not defined",
                instead(place.bucket, buckets, "buckets"),
            )
            continue
        reached = {*bucket.reached_by, *({PLATFORM} if bucket.name in reported else ())}
        absent = [who for who in users if who not in reached]
        # Other findings report two buckets of one name, and an unknown name, which may be a misspelled one of these.
        if absent and bucket.name not in twice and not set(bucket.reached_by).difference(known):
            unreached.setdefault(bucket.name, (path, absent, []))[2].append(what)
    for name, (path, absent, kept) in unreached.items():
        if PLATFORM in absent:
            reported.add(name)
        shared = path[-1] == "shared" and user in absent
        other = f"; if {user} cannot reach it, use data.transfer" if shared else ""
        yield stack.finding(
            "REM010",
            Severity.ERROR,
            (*path, "bucket"),
            f"resource {resource.name} keeps {listed(kept, 'and')} in bucket {name}, "
            f"which {' and '.join(users[who] for who in absent)} cannot reach",
            f"use a bucket that both can reach, or add {' and '.join(absent)} to its reachedBy{other}",
        )


def _apart(stack: Stack) -> Iterator[Finding]:
    """Checks that each job writes where no other job reads or writes."""
    counts: dict[str, int] = {}
    reads: set[tuple[StackPath, StackPath]] = set()
    for one, other in overlapping(stack.config):
        if not other.job and (one.path, other.path) in reads:
            continue  # The place of all jobs' models is inside the data.
        reads.add((one.path, other.path))
        counts[one.resource] = counts.get(one.resource, 0) + 1
        if counts[one.resource] > _MANY:
            continue
        what = f"job {other.job} writes to" if other.job else f"resource {other.resource} reads its data from"
        yield stack.finding(
            "REM011",
            Severity.ERROR,
            (*one.path, "prefix"),
            f"job {one.job} writes its model to {one.prefix} of {one.bucket}, and {what} {other.prefix}",
            "give each its own prefix, not inside the other",
        )


# Whether credentials live as long as the job that writes its model with them at its end.
#
# A machine that Pulumi launches on AWS renews its own credentials; other machines keep those from the launch of the
# job.
LASTS: Final[Mapping[str, int]] = {"s3": 12 * 3600, "gs": 3600}
"""Maximum lifetime of short-lived credentials in seconds, by scheme of a bucket's URL. Sources: AWS STS, AssumeRole,
DurationSeconds; Google Cloud IAM, short-lived credentials: an hour unless the organization extends it."""


def check_lifetimes(stack: Stack, index: int, sized: Sized) -> Iterator[Finding]:
    """Yields findings about the remote resource at ``index`` and about its jobs."""
    resource, provider = sized.resource, provider_of(stack.config, sized.resource)
    remote = resource.remote
    if remote is None or remote.model is None or not writes(resource):
        return
    bucket = next((one for one in stack.config.buckets if one.name == remote.model.bucket), None)
    if bucket is None or (remote.cluster is None and (provider is None or provider.launched_by == "pulumi")):
        return
    lasts = LASTS[bucket.url.partition("://")[0]]
    where, who, limit = _longest(stack, index, sized, lasts)
    if limit > lasts:
        yield stack.finding(
            "REM017",
            Severity.WARNING,
            where if where in stack.positions else where[:-1],
            f"{who} may run {text(limit)}, and credentials that write to {bucket.url} last {text(lasts)}",
            f"set timeLimit to {text(lasts)} at most, or renew the credentials while the job runs: it writes "
            f"its model at the end",
        )


def _longest(stack: Stack, index: int, one: Sized, lasts: int) -> tuple[StackPath, str, int]:
    """Returns the longest limit among the resource's jobs: its path, its owner, and its seconds."""
    resource, remote = one.resource, one.resource.remote
    assert remote is not None
    if remote.cluster is None:
        where: StackPath = ("resources", index, "remote", "timeLimit")
        return where, f"a job of resource {resource.name}", remote.time_limit or 0
    longer = [
        (job.time_limit, number, job.name)
        for number, job in enumerate(stack.config.jobs)
        if job.command and (job.resource, job.type) == (resource.name, resource.type) and job.time_limit > lasts
    ]
    limit, number, name = max(longer, key=lambda found: found[0], default=(0, 0, ""))
    more = f", one of {len(longer)} of resource {resource.name}," if len(longer) > 1 else ""
    return ("jobs", number, "timeLimit"), f"job {name}{more}", limit
