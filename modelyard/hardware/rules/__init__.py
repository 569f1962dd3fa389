"""The rules that a stack file must keep, one module a concern, gathered by ``check``.

Rules are pure functions from a stack to findings. The training backend that is switched off has no pods, but flipping
the stack flag would start them: what would then be an error is reported as advice and says so.
"""

from modelyard.findings import Finding, ordered
from modelyard.hardware.rules.applied import Applied, check_applied
from modelyard.hardware.rules.card import card_findings
from modelyard.hardware.rules.celery_side import celery_findings
from modelyard.hardware.rules.partitions import partition_findings
from modelyard.hardware.rules.ray_side import head_findings, ray_findings
from modelyard.hardware.rules.service import service_findings
from modelyard.hardware.rules.shared import has_ray, idle
from modelyard.stack.config import Stack

__all__ = ["Applied", "check", "check_applied"]


def check(stack: Stack) -> tuple[Finding, ...]:
    """Everything in ``stack`` that breaks a hardware rule, the gravest first.

    Quantities and versions are taken to be well-formed: the stack's schema has checked them. Waivers are not applied.
    """
    ray, celery = ray_findings(stack), celery_findings(stack)
    ray_runs = stack.config.training == "ray"
    findings = [*card_findings(stack), *service_findings(stack)]
    findings += ray if ray_runs else idle(ray, "ray")
    findings += idle(celery, "celery") if ray_runs else celery
    if ray_runs or has_ray(stack.config):
        findings += head_findings(stack)
    if stack.config.partitions:
        findings += partition_findings(stack)
    return ordered(findings)
