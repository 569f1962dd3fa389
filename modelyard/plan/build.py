"""Making a plan out of a stack, the patches and a starting state."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from modelyard import __version__
from modelyard.catalog import Library, Selected
from modelyard.cluster import Ask, ClusterState, Node
from modelyard.findings import Finding
from modelyard.hardware import check
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.hardware.nodes import check_nodes
from modelyard.plan.autoscaling import check_autoscaling
from modelyard.plan.capacity import room_of
from modelyard.plan.dispatch import check_clusters
from modelyard.plan.drains import check_drains, drains
from modelyard.plan.keda import check_keda, staying
from modelyard.plan.needed import Absent, check_needed
from modelyard.plan.objects import planned_objects
from modelyard.plan.order import order
from modelyard.plan.placement import check_placement
from modelyard.plan.places import place_in_patch, place_in_stack, places_in_stack
from modelyard.plan.queues import check_deleted, check_fixed, check_queues
from modelyard.plan.quotas import check_quotas
from modelyard.plan.reach import check_reach
from modelyard.plan.remotes import RemoteStart, plan_remote
from modelyard.plan.scalers import check_scalers
from modelyard.plan.sides import platform_side
from modelyard.plan.sizes import check_sizes
from modelyard.plan.trace import place_field
from modelyard.plan.unsettled import Unsettled, unsettled
from modelyard.plan.values import Plan
from modelyard.plan.versions import check_version
from modelyard.stack import apply_waivers, codes
from modelyard.stack.config import Config, Stack
from modelyard.workloads import workloads
from modelyard.workloads.nodepools import most_gpus

if TYPE_CHECKING:
    from modelyard.sizing import Sized


def make_plan(
    stack: Stack,
    library: Library,
    state: ClusterState,
    today: date,
    ask: Ask | None = None,
    remotes: Sequence[RemoteStart] = (),
    absent: Absent | None = None,
) -> Plan:
    """The plan of one environment against a starting state.

    Everything that is wrong is in its findings; a target that cannot be planned is left out and told there. With
    ``ask``, what becomes of the targets is what the API server says; all requests are asked together. Without it
    nobody is asked. ``remotes`` are the remote clusters that are planned too. ``absent`` says what is not there of the
    objects that new pods name.
    """
    config = stack.config
    sized = workloads(config)
    side = platform_side(stack)
    known = side.known
    findings: list[Finding] = [
        *library.findings,
        *check_version(stack, state),
        *check(stack),
        *check_nodes(stack, state.nodes),
        *_of_jobs(stack, state, side.sizes),
        *check_queues(stack, state.nodes),
        *check_clusters(stack),
        *_of_node_pools(stack, state),
    ]
    chosen, problems = side.chosen(library)
    findings.extend(problems)

    by_deployment = {workload.deployment: workload for workload in sized}
    found = planned_objects(stack, library, state, known, chosen, by_deployment, findings, ask)
    targets = found.asked
    everything = [*found.asked, *found.let_go]

    room = room_of(state)
    waits = drains(stack, everything, state.scalers)
    arranged = order(everything, sized, room, waits)
    doubtful = unsettled(library, stack, known, chosen, findings)
    findings.extend(
        doubtful.without(
            (
                *arranged.findings,
                *check_drains(config, waits),
                *check_sizes(stack, targets, by_deployment, chosen),
                *check_placement(everything, by_deployment, room, _growth(config), most_gpus(config)),
                *check_quotas(everything, room.quotas),
                *check_fixed(stack, targets),
                *check_deleted(stack, found.let_go),
                *check_reach(stack, everything),
                *(check_needed(everything, absent) if absent is not None else ()),
                *check_autoscaling(config, targets),
                *check_scalers(targets, staying(found.deleted, state.scalers)),
                *check_keda(config, targets, state.scalers),
            )
        )
    )
    others = tuple(plan_remote(stack, library, start, findings) for start in remotes)
    rank = {name: index for index, name in enumerate(arranged.targets)}
    places = places_in_stack(config)
    return Plan(
        stack.name,
        stack.file,
        _headline(config),
        config.training,
        config.platform.mode,
        stack.context,
        config.platform.namespace,
        state.source,
        state.identity,
        state.version,
        tuple(sorted(everything, key=lambda target: rank[target.name])),
        arranged.steps,
        _without_echoes(
            apply_waivers(
                (
                    place_field(place_in_patch(place_in_stack(finding, stack, places), library, targets), stack)
                    for finding in findings
                ),
                stack,
                today,
            ),
            doubtful,
        ),
        _inputs(stack, chosen),
        drains=waits,
        remotes=others,
    )


def _of_jobs(stack: Stack, state: ClusterState, everything: "tuple[Sized, ...]") -> Iterator[Finding]:
    """The findings about jobs, resources with their partitions and environments, pipelines, and notebook servers."""
    if stack.config.partitions:
        from modelyard.plan.partitions import check_partitions

        yield from check_partitions(stack, state)
    if stack.config.jobs or stack.config.resources or stack.config.pipelines:
        # Most stacks have none, and the formulas are an import of their own.
        from modelyard.jobs import check_dispatch, check_images, check_spark
        from modelyard.pipelines import check_pipelines
        from modelyard.plan.jobs import check_job_room
        from modelyard.plan.partitions import check_slice_quotas
        from modelyard.sizing import check_jobs

        yield from check_jobs(stack, everything)
        yield from check_job_room(stack, everything, state.nodes, _growth(stack.config))
        yield from check_slice_quotas(stack, everything)
        yield from check_spark(stack, everything)
        yield from check_dispatch(stack, everything)
        yield from check_images(stack)
        yield from check_pipelines(stack, everything)
    if stack.config.notebooks.servers is not None:
        from modelyard.plan.notebook_servers import check_notebook_servers

        yield from check_notebook_servers(stack)
    if stack.config.environments or _named_environments(stack.config):
        from modelyard.environments import check_environments

        yield from check_environments(stack, state.nodes)
    if stack.config.providers or stack.config.buckets or any(one.remote for one in stack.config.resources):
        from modelyard.remote import check_remote

        yield from check_remote(stack, everything=everything)


def _of_node_pools(stack: Stack, state: ClusterState) -> Iterator[Finding]:
    """The findings about node pools."""
    if stack.config.node_pools:
        # Most stacks have none, and the tables of machines are long.
        from modelyard.plan.nodepools import check_node_pools

        yield from check_node_pools(stack, state.nodes)


def _growth(config: Config) -> tuple[Node, ...]:
    """The nodes that may be added, one of each kind."""
    if not config.node_pools:
        return ()
    from modelyard.plan.nodepools import possible_nodes

    return possible_nodes(config.node_pools)


_UNFIT = ("GPU001", "GPU002", "GPU003", "GPU004", "GPU005", "GPU006")
"""Findings after which a card cannot be the stack's."""


def _without_echoes(findings: tuple[Finding, ...], doubtful: Unsettled) -> tuple[Finding, ...]:
    """The findings without those that only say once more what another one says better.

    That no node has a card says nothing new about a card that cannot train, nor that none is divided about a card that
    cannot be; and that a waiver covers nothing says nothing where not everything was judged.
    """
    if doubtful:
        findings = tuple(finding for finding in findings if finding.code != codes.WAIVER_UNUSED)
    causes = {finding.code for finding in findings if finding.blocks}
    echoes = {("RES101", "rayWorker.replicas"), ("RES101", "celery.replicas")} if causes.intersection(_UNFIT) else set()
    wrong = (finding.field.partition(".")[0] for finding in findings if finding.blocks)
    echoes |= {("PAR015", field) for field in wrong if field.startswith("partitions[")}
    return tuple(finding for finding in findings if (finding.code, finding.field) not in echoes) if echoes else findings


def _named_environments(config: Config) -> bool:
    """Whether anything runs in an environment, there or not."""
    named = [one.environment for one in config.jobs] + [one.environment for one in config.resources]
    return any(named) or config.notebooks.environment is not None


def _headline(config: Config) -> str:
    gpu = config.gpu
    side, held = ("Ray", gpu.per_worker) if config.training == "ray" else ("Celery", CELERY_GPUS)
    cards = f"{held} × {gpu.model}" if held > 1 else gpu.model
    return f"{side} training on {cards} · release {config.platform.release} · {config.platform.mode}"


def _inputs(stack: Stack, chosen: Iterable[Selected]) -> dict[str, str]:
    return {
        "modelyard": __version__,
        stack.file: stack.sha256,
        **{one.patch.id: one.patch.sha256 for one in chosen},
    }
