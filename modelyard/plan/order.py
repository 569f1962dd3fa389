"""In which order the targets change: by free GPUs, so that no pod waits for a card that its rival still holds."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from modelyard.cluster import ClusterState
from modelyard.findings import Finding, Severity
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
    by_name = {target.name: target for target in targets}
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
                spare, why = False, f"{free} of {wanted} new pods fit beside the old side"
    switching = _switches(by_name, ups, downs)
    sequence = [*routes, *normal, *(ups + downs if spare else downs + ups)]
    steps: list[Step] = []
    for name in sequence:
        target = by_name[name]
        phase = _phase(target)
        if target.action == "none":
            continue
        if switching and phase == "down":
            steps.append(
                Step("drain", name, "down", "wait until its jobs are done; new ones already go to the other side")
            )
        steps.append(Step("apply", name, phase, _why(target, phase, spare, why, switching)))
    return Order(tuple(sequence), tuple(steps), findings)


def _phase(target: TargetPlan) -> str:
    """Up and down follow what really happens to the pods where the numbers are known."""
    before, after = target.replicas
    if target.phase in ("up", "down") and before is not None and after is not None:
        return "up" if after > before else "down" if after < before else target.phase
    return target.phase


def _new_pods(target: TargetPlan) -> int:
    before, after = target.replicas
    return max((after or 0) - (before or 0), 1 if after is None else 0)


def _switches(by_name: Mapping[str, TargetPlan], ups: list[str], downs: list[str]) -> bool:
    changing = [name for name in (*ups, *downs) if by_name[name].action != "none"]
    return bool(changing) and any(target.phase == "route" and target.action != "none" for target in by_name.values())


def _why(target: TargetPlan, phase: str, spare: bool, why: str, switching: bool) -> str:
    match phase:
        case "route":
            return "new training requests go to the active side from here on" if switching else "the training route"
        case "up":
            if not switching:
                return "the active training side"
            return "there are GPUs for both sides" if spare else "its GPUs are free now"
        case "down":
            if not switching:
                return "the idle training side"
            return "the other side runs" if spare else f"frees the GPUs first: {why}"
        case _:
            if target.replaces_pods:
                return f"replaces {target.replaces_pods} running pod{'s' if target.replaces_pods > 1 else ''}"
            return "changes no running pod"


def _schedulable(workload: Workload, rivals: list[str], config: Config, state: ClusterState) -> Iterable[Finding]:
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
