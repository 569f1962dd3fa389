"""The sides of a stack: its part in the platform's cluster, and its part in each remote cluster.

To look at all clusters of a stack, use ``cluster_parts``; with a plan at hand, ``Plan.sides``.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from modelyard.catalog import Library, Selected, select
from modelyard.findings import Finding
from modelyard.stack.config import Path, Platform, Stack
from modelyard.workloads import Facts, sized_resources, stack_facts, workloads
from modelyard.workloads.facts.remote import RemoteCluster, remote_clusters, remote_facts

if TYPE_CHECKING:
    from modelyard.workloads import Workload
    from modelyard.workloads.sizing import Sized

_FACTS = "remote"
_WRITTEN = {"queues": "quota"}
"""Facts of a remote cluster that have another name in the stack file."""


class ClusterPart(NamedTuple):
    """What a stack asks for in one cluster is made of this, beside the project's patches."""

    stack: Stack
    """With the context and namespace of the cluster; ``stack.remote`` is its name, empty for the platform's."""
    known: Facts
    """What patches and rules may ask."""
    path: Path
    """Where the stack file says the cluster's namespace and the like."""
    sizes: "tuple[Sized, ...]" = ()
    """The stack's resources with their jobs, in the platform's cluster."""
    workloads: "tuple[Workload, ...]" = ()
    """The platform's workloads, in its cluster."""

    @property
    def name(self) -> str:
        """Of the remote cluster; empty: the platform's."""
        return self.stack.remote

    def chosen(self, library: Library) -> tuple[tuple[Selected, ...], tuple[Finding, ...]]:
        """The patches that the stack takes there, and what is wrong with the choice."""
        found, problems = select(library, self.stack, self.known)
        return (tuple(map(self._placed, found)) if self.name else found), problems

    def _placed(self, one: Selected) -> Selected:
        """With the places in the stack file of what is said of this cluster alone."""
        return one._replace(sources={name: self._written(where) for name, where in one.sources.items()})

    def _written(self, where: Path) -> Path:
        """Where the stack file says a fact; a patch may ask for all facts of a remote cluster together."""
        if where[:1] != (_FACTS,):
            return where
        return (*self.path, *(_WRITTEN.get(str(key), key) for key in where[1:2]))


def cluster_parts(stack: Stack) -> tuple[ClusterPart, ...]:
    """The sides of a stack, the platform's first."""
    return (home_part(stack), *(remote_part(stack, one) for one in remote_clusters(stack.config)))


def home_part(stack: Stack) -> ClusterPart:
    """The side in the platform's cluster."""
    sizes, sized = sized_resources(stack.config), workloads(stack.config)
    return ClusterPart(stack, stack_facts(stack, sized, sizes), ("platform",), sizes, sized)


def remote_part(stack: Stack, remote: RemoteCluster) -> ClusterPart:
    """The side in a remote cluster, which has nothing of the platform."""
    config = stack.config
    there = config._replace(
        platform=Platform(config.platform.release, namespace=remote.cluster.namespace),
        autoscaling=type(config.autoscaling)(),
        resources=(),
        jobs=(),
        teams=(),
        flavors=(),
        priorities=(),
        worker_clusters=(),
    )
    side = stack._replace(config=there, context=remote.context, remote=remote.name)
    return ClusterPart(side, {**stack_facts(side, ()), **remote_facts(remote)}, remote.path)


def on_cluster(finding: Finding, cluster: str) -> Finding:
    """The finding under the name of the remote cluster that it is about; as it is for the platform's."""
    if not cluster:
        return finding
    target = f"{cluster}/{finding.target}" if finding.target else ""
    return finding._replace(target=target, summary=f"on {cluster}: {finding.summary}")


def of_cluster(findings: Iterable[Finding], cluster: str) -> Iterator[Finding]:
    """The findings that may be about a cluster, under the names that objects have there."""
    for finding in findings:
        if not cluster or not finding.target:
            yield finding
        elif finding.target.startswith(f"{cluster}/"):
            yield finding._replace(target=finding.target.removeprefix(f"{cluster}/"))
