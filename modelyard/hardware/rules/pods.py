"""What the pods of a workload get: what the rules about sizes look at."""

from fractions import Fraction
from typing import NamedTuple

from modelyard import quantity
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.stack.config import Config


class PodSizes(NamedTuple):
    """What one pod of a workload gets, as quantities of Kubernetes, and how many pods there are."""

    replicas: int
    cpu: str
    memory: str
    """Of the whole pod; of a training pod, for each of its GPUs."""
    volume: str = "0"
    gpus: int = 0
    grace_period: int = 0
    """Seconds."""


class Applied(NamedTuple):
    """What one pod of a workload really gets, and how many there are."""

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


def wanted(config: Config, role: str) -> PodSizes:
    """The sizes of a workload as the stack file has them.

    Args:
        config: of the stack.
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
    """The sizes of pods that really get ``applied``, in the units of the stack file."""
    backend = {"rayWorker": "ray", "celery": "celery"}.get(role)
    gpus = applied.gpus if backend is None else max(applied.gpus, 1)
    # The idle backend has no replicas because it is idle: that is no finding.
    idle = backend is not None and backend != config.training
    return PodSizes(
        replicas=wanted(config, role).replicas if applied.replicas is None or idle else applied.replicas,
        cpu=quantity.cpu(applied.cpu),
        memory=quantity.memory(applied.memory if backend is None else applied.memory / gpus),
        volume=quantity.memory(applied.volume),
        gpus=gpus,
        grace_period=applied.grace_period,
    )
