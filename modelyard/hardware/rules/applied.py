"""The rules of one workload for the pods that it really gets, where they differ from what the stack file says."""

from fractions import Fraction
from typing import NamedTuple

from modelyard import quantity
from modelyard.findings import Finding
from modelyard.hardware.rules.celery_side import celery_findings
from modelyard.hardware.rules.ray_side import head_findings, worker_findings
from modelyard.hardware.rules.service import service_findings
from modelyard.hardware.rules.shared import idle
from modelyard.stack.config import Stack


class Applied(NamedTuple):
    """What one pod of a workload gets, and how many there are."""

    replicas: int | None
    """None where the number is an autoscaler's."""
    cpu: Fraction
    """Cores."""
    memory: Fraction
    """Bytes of the whole pod."""
    volume: Fraction
    """Bytes of local disk."""
    gpus: int
    grace_period: int
    """Seconds."""


def check_applied(stack: Stack, role: str, applied: Applied) -> tuple[Finding, ...]:
    """What breaks a rule of the workload ``role`` (``rayWorker`` …) when its pods are so.

    Findings name the fields of the stack file that stand for the values.
    """
    config = stack.config
    cpu, memory, gpus = quantity.cpu(applied.cpu), quantity.memory(applied.memory), applied.gpus
    each = quantity.memory(applied.memory / max(gpus, 1))
    match role:
        case "modelService":
            service = config.model_service
            service = service._replace(cpu=cpu, memory=memory, volume=quantity.memory(applied.volume), gpu=gpus)
            service = service._replace(replicas=_or(applied.replicas, service.replicas))
            return tuple(service_findings(stack._replace(config=config._replace(model_service=service))))
        case "rayHead":
            head = config.ray_head._replace(cpu=cpu, memory=memory, gpu=gpus)
            head = head._replace(replicas=_or(applied.replicas, head.replicas))
            return tuple(head_findings(stack._replace(config=config._replace(ray_head=head))))
        case "rayWorker":
            worker = config.ray_worker._replace(cpu=cpu, memory=each, grace_period=applied.grace_period)
            # The idle side has no replicas because it is idle: that is no finding.
            runs = config.training == "ray"
            worker = worker._replace(replicas=_or(applied.replicas, worker.replicas) if runs else worker.replicas)
            config = config._replace(ray_worker=worker, gpu=config.gpu._replace(per_worker=max(gpus, 1)))
            found = worker_findings(stack._replace(config=config))
            return tuple(found if runs else idle(found, "ray"))
        case "celery":
            tasks = config.celery._replace(cpu=cpu, memory=each, grace_period=applied.grace_period)
            runs = config.training == "celery"
            tasks = tasks._replace(replicas=_or(applied.replicas, tasks.replicas) if runs else tasks.replicas)
            found = celery_findings(stack._replace(config=config._replace(celery=tasks)), max(gpus, 1))
            return tuple(found if runs else idle(found, "celery"))
    return ()


def _or(number: int | None, other: int) -> int:
    return other if number is None else number
