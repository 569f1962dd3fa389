"""The sizes of a workload's pods, which the size rules check."""

from fractions import Fraction
from typing import NamedTuple

from modelyard import quantity
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.stack.config import Config


class PodSizes(NamedTuple):
    """What one pod of a workload gets, as Kubernetes quantities, and the number of pods."""

    replicas: int
    cpu: str
    memory: str
    """Memory of the whole pod; for a training pod, per GPU."""
    volume: str = "0"
    gpus: int = 0
    grace_period: int = 0
    """Seconds."""


class Applied(NamedTuple):
    """What one pod of a workload really gets, and the number of pods."""

    replicas: int | None
    """None if an autoscaler sets the number."""
    cpu: Fraction
    """Cores."""
    memory: Fraction
    """Bytes of the whole pod."""
    volume: Fraction
    """Bytes of local disk."""
    gpus: int
    grace_period: int
    """Seconds."""


def wanted(config: Config, role: str) -> PodSizes:
    """Returns the sizes of a workload as in the stack file.

    Args:
        config: the stack's config.
        role: ``modelService``, ``rayHead``, ``rayWorker`` or ``celery``.
    """
    match role:
        case "modelService":
            service = config.model_service
            return PodSizes(service.replicas, service.cpu, service.memory, service.volume, service.gpu)
        case "rayHead":
            head = config.ray_head
            return PodSizes(head.replicas, head.cpu, head.memory, gpus=head.gpu)
        case "rayWorker":
            size, gpus = config.ray_worker, config.gpu.per_worker
            return PodSizes(size.replicas, size.cpu, size.memory, gpus=gpus, grace_period=size.grace_period)
        case _:
            tasks = config.celery
            return PodSizes(tasks.replicas, tasks.cpu, tasks.memory, gpus=CELERY_GPUS, grace_period=tasks.grace_period)


def sizes_of(config: Config, role: str, applied: Applied) -> PodSizes:
    """Returns the sizes of pods that really get ``applied``, in the units of the stack file."""
    backend = {"rayWorker": "ray", "celery": "celery"}.get(role)
    gpus = applied.gpus if backend is None else max(applied.gpus, 1)
    # The idle backend has no replicas because it is idle, which is not a finding.
    idle = backend is not None and backend != config.training
    return PodSizes(
        replicas=wanted(config, role).replicas if applied.replicas is None or idle else applied.replicas,
        cpu=quantity.cpu(applied.cpu),
        memory=quantity.memory(applied.memory if backend is None else applied.memory / gpus),
        volume=quantity.memory(applied.volume),
        gpus=gpus,
        grace_period=applied.grace_period,
    )
