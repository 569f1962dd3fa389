"""Making a plan out of a stack, the patches and a starting state."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from modelyard import __version__
from modelyard.catalog import Library, Selected
from modelyard.cluster import Ask
from modelyard.findings import Finding
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.kube.scheduling.room import room_of
from modelyard.kube.state import ClusterState
from modelyard.plan.checking import object_findings, stack_findings
from modelyard.plan.checks.needed import Absent, check_needed
from modelyard.plan.drains import check_drains, drains
from modelyard.plan.objects import planned_objects
from modelyard.plan.order import order
from modelyard.plan.places import place_in_patch, place_in_stack, places_in_stack
from modelyard.plan.remotes import RemoteStart, plan_remote
from modelyard.plan.secrets import findings_without
from modelyard.plan.sides import platform_side
from modelyard.plan.trace import place_field
from modelyard.plan.unsettled import Unsettled, unsettled
from modelyard.plan.values import Plan, TargetPlan
from modelyard.stack import apply_waivers, codes
from modelyard.stack.config import Config, Stack
from modelyard.workloads import workloads


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
    findings = [*library.findings, *stack_findings(stack, state, side.sizes)]
    chosen, problems = side.chosen(library)
    findings.extend(problems)

    by_deployment = {workload.deployment: workload for workload in sized}
    found = planned_objects(stack, library, state, side.known, chosen, by_deployment, findings, ask)
    everything = [*found.asked, *found.let_go]
    room = room_of(state)
    waits = drains(stack, everything, state.scalers)
    arranged = order(everything, sized, room, waits)
    doubtful = unsettled(library, stack, side.known, chosen, findings)
    findings.extend(doubtful.without(arranged.findings))
    findings.extend(doubtful.without(check_drains(config, waits)))
    findings.extend(doubtful.without(object_findings(stack, found, state, room, by_deployment, chosen)))
    if absent is not None:
        findings.extend(doubtful.without(check_needed(everything, absent)))
    others = tuple(plan_remote(stack, library, start, findings) for start in remotes)
    # Whoever reads a finding need not be allowed to read what it is about.
    targets = (*found.asked, *(target for other in others for target in other.targets))
    told = findings_without(findings, (body for one in targets for body in (one.applied, one.before)))
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
        arranged.targets,
        arranged.steps,
        _without_echoes(apply_waivers(_placed(told, stack, library, found.asked), stack, today), doubtful),
        _inputs(stack, chosen),
        drains=waits,
        remotes=others,
    )


def _placed(
    findings: Iterable[Finding], stack: Stack, library: Library, targets: Sequence[TargetPlan]
) -> Iterator[Finding]:
    """The findings with the lines of the stack file and of the patches that they are about."""
    places = places_in_stack(stack.config)
    for finding in findings:
        yield place_field(place_in_patch(place_in_stack(finding, stack, places), library, targets), stack)


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
