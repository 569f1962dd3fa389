"""The remote clusters of a stack, and what patches may ask of one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from modelyard.stack.config import Config, Path
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Cluster, RemoteQuota


class RemoteCluster(NamedTuple):
    """A second cluster of a stack, with the resources whose jobs run there."""

    name: str
    """Of the first of its resources."""
    cluster: Cluster
    resources: tuple[Resource, ...]
    path: Path
    """Where the stack file says it first."""

    @property
    def context(self) -> str:
        """Of the kubeconfig; a name of its own where the credentials are handed over (``cluster.handed``)."""
        return self.cluster.context or own_context(self.name)


def own_context(name: str) -> str:
    """The context of a remote cluster whose credentials are handed over."""
    return f"modelyard-remote-{name}"


def remote_clusters(config: Config) -> tuple[RemoteCluster, ...]:
    """The remote clusters in the order of the stack file; resources with one controller, context and namespace share
    one.
    """
    found: dict[tuple[str, str | None, str], RemoteCluster] = {}
    for index, resource in enumerate(config.resources):
        cluster = resource.remote.cluster if resource.remote is not None else None
        if cluster is None:
            continue
        known = found.get(cluster.place)
        path: Path = ("resources", index, "remote", "cluster")
        found[cluster.place] = (
            RemoteCluster(resource.name, cluster, (resource,), path)
            if known is None
            else known._replace(resources=(*known.resources, resource))
        )
    return tuple(found.values())


def remote_facts(remote: RemoteCluster) -> Mapping[str, Any]:
    """What a patch for a remote cluster may ask beside the stack's facts, as plain JSON-like values."""
    return {
        "remote": {
            "name": remote.name,
            "namespace": remote.cluster.namespace,
            "createNamespace": remote.cluster.create_namespace,
            "queues": [
                {"name": one.name, **quota._asdict()}
                for one in remote.resources
                if (quota := quota_of(one)) is not None
            ],
        }
    }


def queue_of(resource: Resource) -> str | None:
    """The queue in which a resource's jobs wait on its remote cluster; None: they start at once."""
    return resource.name if quota_of(resource) is not None else None


def quota_of(resource: Resource) -> RemoteQuota | None:
    """What the jobs of a resource may have at once on its remote cluster; None: nothing limits them, or it has none."""
    cluster = resource.remote.cluster if resource.remote is not None else None
    return cluster.quota if cluster is not None else None
