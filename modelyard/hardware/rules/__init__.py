"""The rules that a stack must follow, one module per topic; ``check`` runs them all.

Rules are pure functions from a stack, and the sizes of a workload's pods, to findings. The idle training backend has
no pods, but a switch would start them: what would then be an error is reported as advice that says so.
"""

from modelyard.findings import Finding, ordered
from modelyard.hardware.rules.card import card_findings
from modelyard.hardware.rules.celery_side import celery_findings
from modelyard.hardware.rules.partitions import partition_findings
from modelyard.hardware.rules.pods import Applied, PodSizes, sizes_of, wanted
from modelyard.hardware.rules.ray_side import head_findings, ray_findings, worker_findings
from modelyard.hardware.rules.service import service_findings
from modelyard.hardware.rules.shared import has_ray, idle
from modelyard.stack.config import Stack

__all__ = ["Applied", "PodSizes", "check", "check_applied"]


def check(stack: Stack) -> tuple[Finding, ...]:
    """Returns everything in ``stack`` that breaks a hardware rule, most severe first.

    Quantities and versions must be well-formed: the stack's schema has checked them. Waivers are not applied.
    """
    config = stack.config
    ray = ray_findings(stack, wanted(config, "rayWorker"))
    celery = celery_findings(stack, wanted(config, "celery"))
    ray_runs = config.training == "ray"
    findings = [*card_findings(stack), *service_findings(stack, wanted(config, "modelService"))]
    findings += ray if ray_runs else idle(ray, "ray")
    findings += idle(celery, "celery") if ray_runs else celery
    if ray_runs or has_ray(config):
        findings += head_findings(stack, wanted(config, "rayHead"))
    if config.partitions:
        findings += partition_findings(stack)
    return ordered(findings)


def check_applied(stack: Stack, role: str, applied: Applied) -> tuple[Finding, ...]:
    """Returns what breaks a rule of the workload ``role`` (``rayWorker`` …) with these pods.

    Findings name the fields of the stack file that hold the values.
    """
    config = stack.config
    match role:
        case "modelService":
            return tuple(service_findings(stack, sizes_of(config, role, applied)))
        case "rayHead":
            return tuple(head_findings(stack, sizes_of(config, role, applied)))
        case "rayWorker":
            found = worker_findings(stack, sizes_of(config, role, applied))
            return tuple(found if config.training == "ray" else idle(found, "ray"))
        case "celery":
            found = celery_findings(stack, sizes_of(config, role, applied))
            return tuple(found if config.training == "celery" else idle(found, "celery"))
    return ()
