"""In which order the targets change: by free GPUs, so that no pod waits for a card that its rival still holds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from modelyard.catalog.library import Phase
from modelyard.cluster import ClusterState
from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import JOB_SECONDS
from modelyard.plan.capacity import fit
from modelyard.plan.values import Step, TargetPlan
from modelyard.stack.config import Config
from modelyard.workloads import GPU_ROLES, Workload


class Order(NamedTuple):
    """Target names in the order of their changes, the steps between them, and what can never run."""

    targets: tuple[str, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]


def order(targets: Iterable[TargetPlan], workloads: Iterable[Workload], config: Config, state: ClusterState) -> Order:
    """The vendor's order is route, up, down. Without a GPU to spare it is route, down, up.

    The route always moves first, or the old side would never run dry. A side that no arrangement of the nodes can hold
    is a finding with the reason for each node.
    """
    # A Deployment comes before what may share its name, such as its disruption budget: it has the pods.
    by_name = {target.name: target for target in sorted(targets, key=lambda target: target.key.kind == "Deployment")}
    sides = {workload.deployment: workload for workload in workloads if workload.role in GPU_ROLES}
    ups = sorted(name for name in by_name if _phase(by_name[name]) == "up")
    downs = sorted(name for name in by_name if _phase(by_name[name]) == "down")
    routes = sorted(name for name, target in by_name.items() if target.phase == "route")
    normal = sorted(by_name.keys() - {*ups, *downs, *routes})

    findings = tuple(
        finding
        for workload in sides.values()
        if workload.active and workload.deployment in by_name
        for finding in _schedulable(workload, [name for name in sides if name != workload.deployment], config, state)
    )
    spare = True
    why = ""
    for name in ups:
        if name in sides and downs:
            wanted = _new_pods(by_name[name])
            free = fit(sides[name], state, (), wanted).pods
            if free < wanted:
                spare, why = False, f"{free} of {wanted} new pods fit beside it"
    switching = _switches(by_name, ups, downs)
    sequence = (*routes, *normal, *(ups + downs if spare else downs + ups))
    steps = tuple(
        Step(name, _phase(by_name[name]), _why(by_name[name], spare, why, switching))
        for name in sequence
        if by_name[name].action != "none"
    )
    return Order(sequence, steps, (*findings, *_killed(by_name.values(), sides)))


def _phase(target: TargetPlan) -> Phase:
    """Up and down follow what really happens to the pods where the numbers are known."""
    before, after = target.replicas
    if target.phase in ("up", "down") and before is not None and after is not None:
        return "up" if after > before else "down" if after < before else target.phase
    return target.phase


def _new_pods(target: TargetPlan) -> int:
    before, after = target.replicas
    return max((after or 0) - (before or 0), 1 if after is None else 0)


def _switches(by_name: Mapping[str, TargetPlan], ups: list[str], downs: list[str]) -> bool:
    """Whether training moves from one side to the other: the route's own field changes, and a side with it."""
    sides = any(by_name[name].action != "none" for name in (*ups, *downs))
    return sides and any(
        target.phase == "route" and any(change.patch is not None for change in target.changes)
        for target in by_name.values()
    )


def _why(target: TargetPlan, spare: bool, why: str, switching: bool) -> str:
    phase = _phase(target)
    if switching and phase == "route":
        return "new training requests go to the other side from here on"
    if switching and phase == "up":
        return (
            "comes up beside the old side: there are GPUs for both"
            if spare
            else "comes up on the GPUs that are free now"
        )
    if switching and phase == "down":
        jobs = f"jobs that still run get {_span(grace(target))} to finish" if target.replicas[0] else "it runs nothing"
        return f"goes down; {jobs}" if spare else f"goes down first ({why}); {jobs}"
    if target.replaces_pods:
        jobs = f"; their jobs get {_span(grace(target))} to finish" if target.gpus[0] else ""
        return f"replaces {target.replaces_pods} running pod{'s' if target.replaces_pods > 1 else ''}{jobs}"
    return "replaces no running pod"


def grace(target: TargetPlan) -> int:
    """Seconds that the pods which run now have between being told to stop and being killed."""
    pod = (((target.before or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    return int(pod.get("terminationGracePeriodSeconds", 30))


def _span(seconds: int) -> str:
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if not hours:
        return f"{minutes} min" if minutes and not seconds % 60 else f"{seconds} s"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _killed(targets: Iterable[TargetPlan], sides: Mapping[str, Workload]) -> Iterator[Finding]:
    """Running GPU pods that this change stops before the longest job could end."""
    for target in targets:
        workload = sides.get(target.name)
        if workload is None or target.action != "update":
            continue
        before, after = target.replicas
        stopped = target.replaces_pods or max((before or 0) - (after if after is not None else before or 0), 0)
        if stopped and grace(target) < JOB_SECONDS:
            yield Finding(
                "RES102",
                Severity.WARNING,
                f"{stopped} running pod{'s' if stopped > 1 else ''} of {target.name} will be stopped; "
                f"a job in it has {_span(grace(target))} to finish",
                target=target.name,
                field=f"{workload.role}.gracePeriod",
                detail=f"jobs may take up to {_span(JOB_SECONDS)}; pods that run now keep the grace period they have",
                remedy="apply while no training job runs on this side",
            )


def _schedulable(workload: Workload, rivals: list[str], config: Config, state: ClusterState) -> Iterator[Finding]:
    """Whether the nodes could hold the side at all, with nobody of either training side on them."""
    scaled = config.autoscaling.mode != "none"
    wanted = config.autoscaling.max_replicas if scaled else workload.replicas or 0
    if not wanted:
        return
    can = fit(workload, state, (workload.deployment, *rivals), wanted)
    if can.pods >= wanted:
        return
    # Nodes that do not exist yet may be an autoscaler's to make, but the card must then exist somewhere to be sure.
    severity = Severity.WARNING if scaled else Severity.ERROR
    nodes = "; ".join(f"{name} {reason}" for name, reason in can.reasons) or "no node is known"
    yield Finding(
        "RES101",
        severity,
        f"{workload.deployment} wants {wanted} pod{'s' if wanted > 1 else ''} and the nodes can hold {can.pods}",
        target=workload.deployment,
        field=f"{workload.role}.replicas",
        detail=nodes,
        remedy="ask for less per pod, for fewer replicas, or add nodes"
        + (" (an autoscaler may add them)" if scaled else ""),
    )
