"""The remote clusters of a stack, and the facts of each."""

from typing import Final, NamedTuple

from modelyard.stack.config import Config, StackPath, dotted
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import PLATFORM, RemoteQuota, StaticCluster
from modelyard.workloads.facts.fact import FLAG, Fact, written


class ReachedCluster(NamedTuple):
    """A remote cluster of a stack, with the resources whose jobs run there."""

    name: str
    """Name of the first of its resources."""
    cluster: StaticCluster
    resources: tuple[Resource, ...]
    path: StackPath
    """Path of its first mention in the stack file."""

    @property
    def context(self) -> str:
        """Its kubeconfig context; a generated name if credentials replace it (``cluster.remote_credentials``)."""
        return self.cluster.context or own_context(self.name)

    @property
    def context_key(self) -> str:
        """Where its context is set, for messages."""
        return f"{dotted((*self.path, 'context'))} in the stack file"


def own_context(name: str) -> str:
    """Returns the context of a remote cluster whose credentials are passed."""
    return f"modelyard-remote-{name}"


def cluster_of(resource: Resource) -> StaticCluster | None:
    """Returns the remote cluster of a resource's jobs; None if they run elsewhere."""
    return resource.remote.cluster if resource.remote is not None else None


def reachers(config: Config) -> set[str]:
    """Returns the names that ``reachedBy`` of a bucket may have."""
    clusters = {one.name for one in config.resources if cluster_of(one) is not None}
    return {PLATFORM, *(one.name for one in config.providers), *clusters}


def remote_clusters(config: Config) -> tuple[ReachedCluster, ...]:
    """Returns the remote clusters in the order of the stack file; resources with equal controller, context and
    namespace share one.
    """
    found: dict[tuple[str, str | None, str], ReachedCluster] = {}
    for index, resource in enumerate(config.resources):
        cluster = cluster_of(resource)
        if cluster is None:
            continue
        known = found.get(cluster.place)
        path: StackPath = ("resources", index, "remote", "cluster")
        found[cluster.place] = (
            ReachedCluster(resource.name, cluster, (resource,), path)
            if known is None
            else known._replace(resources=(*known.resources, resource))
        )
    return tuple(found.values())


def queue_of(resource: Resource) -> str | None:
    """Returns the queue of a resource's jobs on its remote cluster; None: they start at once."""
    return resource.name if quota_of(resource) is not None else None


def quota_of(resource: Resource) -> RemoteQuota | None:
    """Returns what a resource's jobs may use at once on its remote cluster; None: no limit, or no remote cluster."""
    cluster = cluster_of(resource)
    return cluster.quota if cluster is not None else None


REMOTE: Final[tuple[Fact[ReachedCluster], ...]] = (
    Fact("remote.name", lambda remote: remote.name, ("remote",), meaning="Name of the remote cluster."),
    written("remote.namespace", lambda remote: remote.cluster.namespace),
    written("remote.createNamespace", lambda remote: remote.cluster.create_namespace, FLAG),
    Fact(
        "remote.queues",
        lambda remote: [
            {"name": one.name, **quota._asdict()} for one in remote.resources if (quota := quota_of(one)) is not None
        ],
        ("remote", "quota"),
        meaning="List of the resources with a quota in the remote cluster, with their quotas.",
    ),
)
"""The facts of a remote cluster, besides the stack's. In their sources ``remote`` stands for the cluster's path."""
