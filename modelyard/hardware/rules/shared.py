"""Shared code of the rules: the sizes of pods, a finding at its place, quantities against minima, the release."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import Ambiguous, GpuModel, UnknownGpu, Version, find, together, version
from modelyard.hardware.limits import GPUS_VARIABLE
from modelyard.quantity import GB, GI, cpu, parse, times
from modelyard.stack.config import Config, Stack
from modelyard.stack.words import plain


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


class AppliedPod(NamedTuple):
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


def sizes_of(wanted: PodSizes, applied: AppliedPod, *, per_gpu: bool = False, idle: bool = False) -> PodSizes:
    """Returns the sizes of pods that really get ``applied``, in the units of the stack file: memory may be ``per_gpu``.

    That a backend has no replicas while it is ``idle`` is no finding.
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


def release(config: Config) -> Version | None:
    """Returns the platform's release as ``(year, month)``, None if it has another form."""
    try:
        return version(config.platform.release)
    except ValueError:
        return None


def gpu_of(config: Config) -> GpuModel | None:
    """Returns the stack's GPU, None if its name is unknown. Several GPUs that share the name are one family.

    A waiver may accept a name of several GPUs. What holds for all of them still counts then.
    """
    match find(config.gpu.model):
        case GpuModel() as gpu:
            return gpu
        case Ambiguous(name, gpus):
            return together(plain(name), gpus)
        case UnknownGpu():
            return None


def memory_finding(
    stack: Stack,
    code: str,
    path: tuple[str, str],
    text: str,
    minimum_gb: int,
    *,
    what: str = "",
    gpus: int = 1,
    detail: str,
    target: str,
) -> list[Finding]:
    """Returns a finding if a pod has less than ``minimum_gb`` GB of 10^9 bytes.

    Args:
        stack: the stack that sets the memory.
        code: the finding's code.
        path: the field of the stack file.
        text: its quantity.
        minimum_gb: minimum for the whole pod.
        what: suffix that says what the quantity is for, such as `` per GPU``.
        gpus: number of times that the pod gets the quantity.
        detail: why so much is needed.
        target: the Deployment of the pods.
    """
    pod = times(text, gpus)
    if not falls_short(pod, minimum_gb):
        return []
    if gpus > 1:
        what += f" and {spelled(pod)} for {gpus} GPUs"
    return [
        stack.finding(
            code,
            Severity.ERROR,
            path,
            f"{'.'.join(path)} is {spelled(text)}{what}; the minimum is {minimum_gb} GB",
            detail=f"{detail} {minimum_gb} GB = {_in_gi(minimum_gb)}Gi: 1 GB is 10^9 bytes, 1Gi is 2^30 bytes.",
            remedy=f"set {'.'.join(path)} to {least_gi(minimum_gb, gpus)}Gi or more",
            target=target,
        )
    ]


def cpu_finding(
    stack: Stack, code: str, path: tuple[str, str], text: str, minimum: int, *, detail: str, target: str
) -> list[Finding]:
    """Returns a finding if ``text`` is fewer cores than ``minimum``."""
    if value(text) >= minimum:
        return []
    return [
        stack.finding(
            code,
            Severity.ERROR,
            path,
            f"{'.'.join(path)} is {cpu(value(text))}; the minimum is {minimum} cores",
            detail=detail,
            remedy=f"set {'.'.join(path)} to {minimum} or more",
            target=target,
        )
    ]


value = lru_cache(maxsize=1024)(parse)
"""Parses a quantity to its base unit; cached, because stacks repeat a few quantities."""


def falls_short(text: str, minimum_gb: int) -> bool:
    """Whether a memory quantity is less than ``minimum_gb`` GB of 10^9 bytes."""
    return value(text) < minimum_gb * GB


def spelled(text: str) -> str:
    """Returns a memory quantity with its GB, rounded down so that it never looks sufficient: ``12Gi (12.88 GB)``."""
    return f"{text} ({int(value(text) * 100 // GB) / 100:g} GB)"


def least_gi(gb: int, shares: int = 1) -> int:
    """Returns the smallest whole number of Gi of which ``shares`` are at least ``gb`` GB."""
    return -(-gb * GB // (GI * shares))


def _in_gi(gb: int) -> str:
    """Returns GB as Gi, rounded up, so that writing that value is enough."""
    return f"{-(-gb * GB * 100 // GI) / 100:.2f}"
