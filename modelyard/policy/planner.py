"""The planner's own rules as policies: its requirements for hardware and autoscaling, for objects of the engine.

The rules are in ``modelyard/hardware`` and ``modelyard/plan``; this module only passes the engine's objects to them.
Leaves out rules that need the nodes or the live object, which the plan reports, and rules that only give advice.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube.scheduling.pods import replicas_of
from modelyard.kube.state import ObjectKey
from modelyard.plan.autoscaling import check_autoscaling
from modelyard.plan.checks.sizes import applied_sizes, wanted_sizes
from modelyard.plan.values import TargetPlan
from modelyard.policy.rules import Level
from modelyard.policy.subject import Subject
from modelyard.stack.config import Stack
from modelyard.workloads import Workload
from modelyard.workloads.rules import check, check_applied
from modelyard.workloads.training import WORKER_ROLES

CODES: Final[Mapping[str, Level]] = {
    **dict.fromkeys(("GPU001", "GPU002", "GPU003", "GPU004", "GPU005", "GPU006"), "mandatory"),
    **dict.fromkeys(("GPU008", "GPU009"), "advisory"),
    **dict.fromkeys(("RES001", "RES002", "RES003", "RES004", "RES005", "RES006"), "mandatory"),
    **dict.fromkeys(("RES007",), "advisory"),
    **dict.fromkeys(("PAR001", "PAR002", "PAR003", "PAR004", "PAR005", "PAR006", "PAR007", "PAR008"), "mandatory"),
    **dict.fromkeys(("PAR010",), "advisory"),
    **dict.fromkeys(("RAY001", "RAY002", "RAY003", "RAY004", "RAY005", "RAY007", "RAY008", "RAY010"), "mandatory"),
    **dict.fromkeys(("RAY006", "RAY009"), "advisory"),
    **dict.fromkeys(("CEL001", "CEL002", "CEL003", "CEL004", "CEL006"), "mandatory"),
    **dict.fromkeys(("CEL005", "CEL007", "CEL008"), "advisory"),
    **dict.fromkeys(("AUT003", "AUT010", "AUT012", "AUT015"), "mandatory"),
    **dict.fromkeys(("AUT001", "AUT011", "AUT013", "AUT014", "AUT016", "AUT017", "AUT018"), "advisory"),
    **dict.fromkeys(("AUT030", "AUT031", "AUT032"), "advisory"),
}
"""By code, the level of its most severe findings."""


def of_stack(stack: Stack) -> tuple[Finding, ...]:
    """The findings about a stack file, independent of its objects."""
    return (*check(stack), *check_autoscaling(stack.config, ()))


def of_object(stack: Stack, workloads: Iterable[Workload], seen: Subject) -> tuple[Finding, ...]:
    """The findings about an object, some of which ``of_stack`` may report as well.

    Args:
        stack: the object's stack.
        workloads: the object's workloads; a RayCluster may have the head and the workers.
        seen: the object, or its known part; a size missing there counts as in the stack file.
    """
    try:
        sizes = (found for one in workloads for found in _sizes(stack, one, seen))
        return (*sizes, *check_autoscaling(stack.config, (_target(stack, seen),)))
    except (AttributeError, TypeError):
        # It lacks the shape of its kind: the API server refuses it, and there is nothing to judge.
        return ()


def _sizes(stack: Stack, workload: Workload, seen: Subject) -> tuple[Finding, ...]:
    if workload.cpu is None:
        return ()
    wanted = wanted_sizes(workload)
    replicas = None if _scaled(stack, workload.role) else replicas_of(seen.object, workload.place)
    applied = applied_sizes(seen.object, workload, replicas, None if seen.whole else wanted)
    found = () if applied == wanted else check_applied(stack, workload.role, applied)
    # The line of the stack file has another value: the finding is about the object.
    whose = f"the object {seen.name} has this value, regardless of the stack file"
    return tuple(one._replace(file="", line=0, column=0, detail=f"{whose}. {one.detail}") for one in found)


def _scaled(stack: Stack, role: str) -> bool:
    """Whether an autoscaler owns the replicas; a stack then holds them only until the autoscaler has taken them."""
    return role in WORKER_ROLES and stack.config.autoscaling.mode != "none"


def _target(stack: Stack, seen: Subject) -> TargetPlan:
    """The object as a target of a plan, as far as the engine shows it."""
    replicas = None if _scaled(stack, seen.role) else replicas_of(seen.sent)
    key = ObjectKey(seen.api_version, seen.kind, seen.namespace, seen.name)
    sent, body = dict(seen.sent), dict(seen.object)
    return TargetPlan(
        key=key,
        action="none",
        phase="normal",
        patches=(),
        applied=Confidential(sent),
        before=Confidential(None),
        after=Confidential(body),
        changes=(),
        replaces_pods=0,
        replicas=(None, replicas),
        gpus=(0, 0),
        managed=False,
        role=seen.role,
    )
