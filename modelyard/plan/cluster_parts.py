"""The parts of a stack: one in the home cluster, and one in each remote cluster, and the objects that patches change.

To look at all clusters of a stack, use ``cluster_parts``; if you have a plan, use ``Plan.clusters``.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from modelyard.catalog import Library, Selected, select
from modelyard.findings import Finding
from modelyard.kube.state import ObjectKey, key_of
from modelyard.stack.config import Platform, Stack, StackPath
from modelyard.workloads import Facts, Workload, every_workload, present, sized_resources, stack_facts
from modelyard.workloads.facts.fact import tree_of, values_of
from modelyard.workloads.facts.remote import REMOTE, ReachedCluster, remote_clusters

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized


class ClusterPart(NamedTuple):
    """The input for what a stack asks for in one cluster, apart from the project's patches."""

    stack: Stack
    """The stack with the cluster's context and namespace; ``stack.remote`` is the cluster's name, empty for the home
    cluster."""
    known: Facts
    """The facts that patches and rules may ask for."""
    path: StackPath
    """The path in the stack file of the cluster's namespace and other settings."""
    sizes: "tuple[Sized, ...]" = ()
    """The stack's resources with their jobs, in the home cluster."""
    workloads: tuple[Workload, ...] = ()
    """The platform's workloads, in the home cluster."""
    lacking: frozenset[str] = frozenset()
    """The names of objects that the platform does not have (``platform.without``)."""

    @property
    def name(self) -> str:
        """The name of the remote cluster; empty for the home cluster."""
        return self.stack.remote

    def chosen(self, library: Library) -> tuple[tuple[Selected, ...], tuple[Finding, ...]]:
        """The patches that the stack uses in this cluster, and the findings about that choice."""
        found, problems = select(library, self.stack, self.known)
        return (tuple(map(self._placed, found)) if self.name else found), problems

    def _placed(self, one: Selected) -> Selected:
        """The patch with the places in the stack file that concern this cluster."""
        return one._replace(sources={name: self._written(where) for name, where in one.sources.items()})

    def _written(self, where: StackPath) -> StackPath:
        """The place of a fact in the stack file: the facts of a remote cluster are below the cluster's path."""
        return (*self.path, *where[1:]) if where[:1] == ("remote",) else where


def cluster_parts(stack: Stack) -> tuple[ClusterPart, ...]:
    """The parts of a stack, the home cluster's first."""
    return (home_part(stack), *(remote_part(stack, one) for one in remote_clusters(stack.config)))


def home_part(stack: Stack) -> ClusterPart:
    """The part in the home cluster."""
    sizes, known = sized_resources(stack.config), every_workload(stack.config)
    workloads = present(known, stack.config)
    lacking = {one.deployment for one in known} - {one.deployment for one in workloads}
    return ClusterPart(
        stack=stack,
        known=stack_facts(stack, known, sizes),
        path=("platform",),
        sizes=sizes,
        workloads=workloads,
        lacking=frozenset(lacking),
    )


def remote_part(stack: Stack, remote: ReachedCluster) -> ClusterPart:
    """The part in a remote cluster, which has nothing of the platform."""
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
    own = stack._replace(config=there, context=remote.context, remote=remote.name)
    return ClusterPart(own, {**stack_facts(own, ()), **values_of(tree_of(REMOTE), remote)}, remote.path)


def on_cluster(finding: Finding, cluster: str) -> Finding:
    """The finding under the name of its remote cluster; unchanged for the home cluster."""
    if not cluster:
        return finding
    target = f"{cluster}/{finding.target}" if finding.target else ""
    return finding._replace(target=target, summary=f"on {cluster}: {finding.summary}")


def of_cluster(findings: Iterable[Finding], cluster: str) -> Iterator[Finding]:
    """The findings that may concern a cluster, with the names that objects have in that cluster."""
    for finding in findings:
        if not cluster or not finding.target:
            yield finding
        elif finding.target.startswith(f"{cluster}/"):
            yield finding._replace(target=finding.target.removeprefix(f"{cluster}/"))


def objects_about(chosen: Iterable[Selected], platform: Platform) -> Iterator[ObjectKey]:
    """The objects that patches and their bases change or create."""
    for one in chosen:
        for document in one.render().documents:
            body = document.body.reveal()
            yield ObjectKey(body["apiVersion"], body["kind"], platform.namespace, document.target)
        if one.patch.owns(platform.mode):
            for document in one.render_base().documents:
                yield key_of(document.body.reveal(), platform.namespace)
