"""In which order the targets change: by free GPUs, so that no pod waits for a card that its rival still holds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from modelyard.catalog.library import Phase
from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import JOB_SECONDS
from modelyard.plan.autoscaling import most_replicas
from modelyard.plan.capacity import Room, fit
from modelyard.plan.pods import grace_of, pods_of
from modelyard.plan.values import Step, TargetPlan
from modelyard.workloads import GPU_ROLES, Workload


class Order(NamedTuple):
    """Target names in the order of their changes, the steps between them, and what they would interrupt."""

    targets: tuple[str, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]


class Switch(NamedTuple):
    """Training moves from one side to the other."""

    spare: bool
    """Whether there are GPUs for both sides at once."""
    why: str
    """If not, how many of the new pods fit."""
    wait: int
    """Seconds that jobs which still run on the old side get to finish; 0 where nothing runs there."""


def order(targets: Iterable[TargetPlan], workloads: Iterable[Workload], room: Room) -> Order:
    """The vendor's order is route, up, down. Without a GPU to spare it is route, down, up.

    The route always moves first, or the old side would never run dry.
    """
    # A Deployment comes before what may share its name, such as its disruption budget: it has the pods.
    by_name = {target.name: target for target in sorted(targets, key=lambda target: target.key.kind == "Deployment")}
    sides = {workload.deployment: workload for workload in workloads if workload.role in GPU_ROLES}
    ups = sorted(name for name in by_name if _phase(by_name[name]) == "up")
    downs = sorted(name for name in by_name if _phase(by_name[name]) == "down")
    routes = sorted(name for name, target in by_name.items() if target.phase == "route")
    normal = sorted(by_name.keys() - {*ups, *downs, *routes})

    spare = True
    why = ""
    for name in ups:
        if name in sides and downs:
            wanted = _new_pods(by_name[name])
            free = fit(pods_of(by_name[name].after), room, (), wanted).pods
            if free < wanted:
                spare, why = False, f"{free} of {wanted} new pods fit beside it"
    switch = None
    if _switches(by_name, ups, downs):
        switch = Switch(
            spare, why, max((grace_of(by_name[name].before) for name in downs if by_name[name].replicas[0]), default=0)
        )
    sequence = (*routes, *normal, *(ups + downs if spare else downs + ups))
    steps = tuple(
        Step(name, _phase(by_name[name]), _why(by_name[name], switch))
        for name in sequence
        if by_name[name].action != "none"
    )
    return Order(sequence, steps, tuple(_killed(by_name.values(), sides)))


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


def _why(target: TargetPlan, switch: Switch | None) -> str:
    phase = _phase(target)
    if switch is not None:
        match phase:
            case "route":
                return _why_route(switch)
            case "up":
                return _why_up(target, switch)
            case "down":
                return _why_down(target, switch)
    if target.replaces_pods:
        jobs = f"; their jobs get {_span(grace_of(target.before))} to finish" if target.gpus[0] else ""
        return f"replaces {_pods(target.replaces_pods, 'running ')}{jobs}"
    return "replaces no running pod"


def _why_route(switch: Switch) -> str:
    moved = "new training requests go to the other side from here on"
    if switch.spare or not switch.wait:
        return f"{moved} and wait in its queue until its pods are up"
    return (
        f"{moved} and wait in its queue until the old side's GPUs are free: "
        f"at most {_span(switch.wait)}, the time that its jobs get"
    )


def _why_up(target: TargetPlan, switch: Switch) -> str:
    if target.replicas[1] is None:
        room = "" if switch.spare else ", as the old side's GPUs get free"
        return f"the autoscaler may start up to {_pods(most_replicas(target.after) or 0)} here from now on{room}"
    return (
        "comes up beside the old side: there are GPUs for both"
        if switch.spare
        else "comes up on the GPUs that are free now"
    )


def _why_down(target: TargetPlan, switch: Switch) -> str:
    jobs = "it runs nothing"
    if target.replicas[0]:
        jobs = (
            f"jobs that still run get {_span(grace_of(target.before))} to finish, "
            "those that have not begun stay in its queue until training comes back"
        )
    if target.replicas[1] is None:
        return f"the autoscaler takes its pods down; {jobs}"
    return f"goes down; {jobs}" if switch.spare else f"goes down first ({switch.why}); {jobs}"


def _pods(number: int, kind: str = "") -> str:
    return f"{number} {kind}pod{'' if number == 1 else 's'}"


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
        if stopped and grace_of(target.before) < JOB_SECONDS:
            yield Finding(
                "RES102",
                Severity.WARNING,
                f"{_pods(stopped, 'running ')} of {target.name} will be stopped; "
                f"a job in it has {_span(grace_of(target.before))} to finish",
                target=target.name,
                field=f"{workload.role}.gracePeriod",
                detail=f"jobs may take up to {_span(JOB_SECONDS)}; pods that run now keep the grace period they have",
                remedy="apply while no training job runs on this side",
            )
