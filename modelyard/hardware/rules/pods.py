"""The sizes of a workload's pods, which the size rules check."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.hardware.limits import GPUS_VARIABLE


class PodSizes(NamedTuple):
    """What one pod of a workload gets, as Kubernetes quantities, and the number of pods."""

    role: str
    """The workload, which is also its section of the stack file."""
    deployment: str
    replicas: int
    cpu: str
    memory: str
    """Memory of the whole pod; for a training pod, per GPU."""
    volume: str = "0"
    gpus: int = 0
    grace_period: int = 0
    """Seconds."""
    stated_gpus: str = ""
    """``NUM_GPUS_REQUESTED`` of its container if that is not the number of its GPUs."""


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
    stated_gpus: str = ""
    """``NUM_GPUS_REQUESTED`` of its container if that is not the number of its GPUs."""


def stated_gpus(container: Mapping[str, Any], gpus: int) -> str:
    """Returns the ``NUM_GPUS_REQUESTED`` of a container if it is not ``gpus``; empty if it is, or a reference."""
    variables = (one.get("value") for one in container.get("env") or () if one.get("name") == GPUS_VARIABLE)
    return next((str(value) for value in variables if value not in (None, str(gpus))), "")


def sizes_of(wanted: PodSizes, applied: Applied, *, per_gpu: bool = False, idle: bool = False) -> PodSizes:
    """Returns the sizes of pods that really get ``applied``, in the units of the stack file.

    Args:
        wanted: the sizes in the stack file.
        applied: what the pods get.
        per_gpu: whether the stack file states memory per GPU.
        idle: whether it is a backend that is idle: that it has no replicas is no finding then.
    """
    gpus = max(applied.gpus, 1) if per_gpu else applied.gpus
    return PodSizes(
        role=wanted.role,
        deployment=wanted.deployment,
        replicas=wanted.replicas if applied.replicas is None or idle else applied.replicas,
        cpu=quantity.cpu(applied.cpu),
        memory=quantity.memory(applied.memory / gpus if per_gpu else applied.memory),
        volume=quantity.memory(applied.volume),
        gpus=gpus,
        grace_period=applied.grace_period,
        stated_gpus=applied.stated_gpus,
    )
