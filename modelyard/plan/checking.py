"""Everything that is checked for a plan: the stack against the tables and the nodes, its objects against the cluster.

Most stacks have few of the sections: what judges the others is imported only when there is something to judge.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from modelyard.catalog import Selected
from modelyard.findings import Finding
from modelyard.hardware import check
from modelyard.hardware.nodes import check_nodes
from modelyard.kube.scheduling.room import Room
from modelyard.kube.state import ClusterState, Node
from modelyard.plan.autoscaling import check_autoscaling
from modelyard.plan.checks.dispatch import check_clusters
from modelyard.plan.checks.placement import check_placement
from modelyard.plan.checks.queues import check_deleted, check_fixed, check_queues
from modelyard.plan.checks.quotas import check_quotas
from modelyard.plan.checks.sizes import check_sizes
from modelyard.plan.checks.versions import check_version
from modelyard.plan.keda import check_keda, staying
from modelyard.plan.objects import Objects
from modelyard.plan.reach import check_reach
from modelyard.plan.scalers import check_scalers
from modelyard.stack.config import Config, Stack
from modelyard.workloads import Workload
from modelyard.workloads.facts.nodepools import most_gpus

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized


def stack_findings(stack: Stack, state: ClusterState, sizes: "tuple[Sized, ...]") -> Iterator[Finding]:
    """What is wrong with a stack whatever its patches make of it; ``sizes`` are those of its resources."""
    yield from check_version(stack, state)
    yield from check(stack)
    yield from check_nodes(stack, state.nodes)
    yield from _of_jobs(stack, state, sizes)
    yield from check_queues(stack, state.nodes)
    yield from check_clusters(stack)
    if stack.config.node_pools:
        # The tables of machines are long.
        from modelyard.plan.checks.nodepools import check_node_pools

        yield from check_node_pools(stack, state.nodes)


def object_findings(
    stack: Stack,
    found: Objects,
    state: ClusterState,
    room: Room,
    by_deployment: Mapping[str, Workload],
    chosen: tuple[Selected, ...],
) -> Iterator[Finding]:
    """What is wrong with the objects that the stack asks for, and with those that it lets go of."""
    config = stack.config
    targets, everything = found.asked, [*found.asked, *found.let_go]
    yield from check_sizes(stack, targets, by_deployment, chosen)
    yield from check_placement(everything, by_deployment, room, _growth(config), most_gpus(config))
    yield from check_quotas(everything, room.quotas)
    yield from check_fixed(stack, targets)
    yield from check_deleted(stack, found.let_go)
    yield from check_reach(stack, everything)
    yield from check_autoscaling(config, targets)
    yield from check_scalers(targets, staying(found.deleted, state.scalers))
    yield from check_keda(config, targets, state.scalers)


def _of_jobs(stack: Stack, state: ClusterState, everything: "tuple[Sized, ...]") -> Iterator[Finding]:
    """The findings about jobs, resources with their partitions and environments, pipelines, and notebook servers."""
    if stack.config.partitions:
        from modelyard.plan.checks.partitions import check_partitions

        yield from check_partitions(stack, state)
    if stack.config.jobs or stack.config.resources or stack.config.pipelines:
        # Most stacks have none, and the formulas are an import of their own.
        from modelyard.plan.checks.jobs import check_job_room
        from modelyard.plan.checks.partitions import check_slice_quotas
        from modelyard.runs.jobs import check_dispatch, check_images, check_spark
        from modelyard.runs.pipelines import check_pipelines
        from modelyard.workloads.sizing import check_jobs

        yield from check_jobs(stack, everything)
        yield from check_job_room(stack, everything, state.nodes, _growth(stack.config))
        yield from check_slice_quotas(stack, everything)
        yield from check_spark(stack, everything)
        yield from check_dispatch(stack, everything)
        yield from check_images(stack)
        yield from check_pipelines(stack, everything)
    if stack.config.notebooks.servers is not None:
        from modelyard.plan.checks.notebook_servers import check_notebook_servers

        yield from check_notebook_servers(stack)
    if stack.config.environments or _named_environments(stack.config):
        from modelyard.workloads.environments import check_environments

        yield from check_environments(stack, state.nodes)
    if stack.config.providers or stack.config.buckets or any(one.remote for one in stack.config.resources):
        from modelyard.workloads.remote import check_remote

        yield from check_remote(stack, everything=everything)


def _growth(config: Config) -> tuple[Node, ...]:
    """The nodes that may be added, one of each kind."""
    if not config.node_pools:
        return ()
    from modelyard.plan.checks.nodepools import possible_nodes

    return possible_nodes(config.node_pools)


def _named_environments(config: Config) -> bool:
    """Whether anything runs in an environment, there or not."""
    named = [one.environment for one in config.jobs] + [one.environment for one in config.resources]
    return any(named) or config.notebooks.environment is not None
