"""Rules for the pods of workloads.

The model service runs inference on CPUs, with room for the models. Ray workers and Celery replicas need memory and CPU
by GPU, time to finish a job, and a pod to run it.
"""

from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import by_id
from modelyard.hardware.limits import MEMORY_GB, SERVICE_CPU, SERVICE_VOLUME_GB, TRAINING_CPU
from modelyard.hardware.rules.shared import (
    PodSizes,
    cpu_finding,
    falls_short,
    gpu_of,
    least_gi,
    memory_finding,
    spelled,
)
from modelyard.names import MEMORY_LABEL
from modelyard.quantity import times
from modelyard.stack.config import Stack
from modelyard.stack.durations import text
from modelyard.stack.words import listed, plural

_SECTION = "modelService"
"""Section of the stack file for the model service."""


def service_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with a model service with these pods."""
    target = pods.deployment
    findings = [
        *memory_finding(
            stack,
            "RES003",
            (_SECTION, "memory"),
            pods.memory,
            MEMORY_GB,
            what=" per pod",
            detail=f"A model service pod needs {MEMORY_GB} GB of memory.",
            target=target,
        ),
        *cpu_finding(
            stack,
            "RES004",
            (_SECTION, "cpu"),
            pods.cpu,
            SERVICE_CPU,
            detail=f"A model service pod needs {SERVICE_CPU} cores.",
            target=target,
        ),
        *memory_finding(
            stack,
            "RES005",
            (_SECTION, "volume"),
            pods.volume,
            SERVICE_VOLUME_GB,
            what=" per pod",
            detail=f"Models are served from a local volume of at least {SERVICE_VOLUME_GB} GB.",
            target=target,
        ),
    ]
    if pods.gpus:
        findings.append(
            stack.finding(
                "RES006",
                Severity.ERROR,
                (_SECTION, "gpu"),
                f"{_SECTION}.gpu is {pods.gpus}, but the model service runs on CPUs only",
                detail="The model service does not use GPUs: the GPU would stay unused.",
                remedy=f"drop {_SECTION}.gpu",
                target=target,
            )
        )
    if not pods.replicas:
        findings.append(
            stack.finding(
                "RES007",
                Severity.WARNING,
                (_SECTION, "replicas"),
                f"{_SECTION}.replicas is 0, so models are not served",
                detail="Requests to models fail while the model service has no pod.",
                remedy=f"set {_SECTION}.replicas to 1 or more",
                target=target,
            )
        )
    return findings


def size_findings(stack: Stack, pods: PodSizes, slice_gb: int | None = None) -> list[Finding]:
    """Checks memory and cores of training pods; pods with a slice need its ``slice_gb`` GB of memory."""
    gpus = pods.gpus
    return [
        *_memory(stack, pods, slice_gb),
        *cpu_finding(
            stack,
            "RES002",
            (pods.role, "cpu"),
            pods.cpu,
            max(TRAINING_CPU, gpus),
            detail=f"A training pod needs 4 cores, and no fewer cores than GPUs; this one has {plural(gpus, 'GPU')}.",
            target=pods.deployment,
        ),
    ]


def _memory(stack: Stack, pods: PodSizes, slice_gb: int | None) -> list[Finding]:
    """Checks the memory of the pod, then that of each of its GPUs, then that for larger variants of the GPU."""
    path, memory, gpus, target = (pods.role, "memory"), pods.memory, pods.gpus, pods.deployment
    field = ".".join(path)
    gpu = gpu_of(stack.config)
    if gpu is not None and slice_gb is not None:
        gpu = gpu._replace(name=f"slice of the {gpu.short}", memory_gb=slice_gb, members=())
    seen = stack.config.gpu.seen if gpu is None else None
    minimum = max(MEMORY_GB, gpu.memory_gb if gpu is not None else (seen.memory_gb if seen is not None else 0) or 0)
    detail = f"A training pod needs as much memory as its GPU, and at least {MEMORY_GB} GB"
    if gpu is not None:
        mark = f" ({gpu.mark('vram_gb')})" if gpu.mark("vram_gb") else ""
        detail += f"; the {gpu.short} has {gpu.memory_gb} GB{mark}"
    elif seen is not None and seen.memory_gb is not None:
        labels = ", ".join(seen.labels)
        detail += f"; by their label {MEMORY_LABEL}, nodes with {labels} have GPUs with {seen.memory_gb} GB"
    short = memory_finding(
        stack, "RES001", path, memory, minimum, what=" per GPU", gpus=gpus, detail=f"{detail}.", target=target
    )
    if short:
        return short
    if falls_short(memory, minimum):
        return [
            stack.finding(
                "RES001",
                Severity.WARNING,
                path,
                f"{field} is {spelled(memory)} per GPU, enough for the pod but not for a job on each GPU",
                detail=f"{detail}. The pod has {spelled(times(memory, gpus))} for {gpus} GPUs. A job on one GPU "
                f"needs {minimum} GB while the other GPUs train too; a job on all of them has all of the pod's memory.",
                remedy=f"set {field} to {least_gi(minimum)}Gi, or keep it if each job uses all GPUs of its pod",
                target=target,
            )
        ]
    if gpu is None or not gpu.members:
        return []
    largest = max(by_id(member).memory_gb for member in gpu.members)
    if not falls_short(memory, largest):
        return []
    return [
        stack.finding(
            "GPU010",
            Severity.ADVICE,
            path,
            f"{field} is {spelled(memory)} per GPU: enough for {gpu.short} GPUs with {gpu.memory_gb} GB, "
            f"too little for those with {largest} GB",
            detail=f"gpu.model {gpu.short} stands for {listed(gpu.members, 'and')}, "
            "so pods can run on nodes with any of them.",
            remedy=f"name the variant in gpu.model ({' or '.join(gpu.members)}), "
            f"or set {field} to {least_gi(largest)}Gi",
            target=target,
        )
    ]


def grace_finding(stack: Stack, code: str, pods: PodSizes, job_seconds: int) -> list[Finding]:
    """Checks that a pod that must stop has the time to finish its job."""
    section = pods.role
    if pods.grace_period >= job_seconds:
        return []
    needed = text(job_seconds)
    return [
        stack.finding(
            code,
            Severity.ERROR,
            (section, "gracePeriod"),
            f"{section}.gracePeriod is {text(pods.grace_period)}, but a training job may run for {needed}",
            detail="A rollout or node drain would kill a running job and waste its GPU hours.",
            remedy=f"set {section}.gracePeriod to {needed} or more (a few minutes more let the pod clean up)",
            target=pods.deployment,
        )
    ]


def no_worker_finding(stack: Stack, code: str, pods: PodSizes) -> list[Finding]:
    """Checks that the active backend's jobs have a replica, or an autoscaler that can start one."""
    if stack.config.autoscaling.mode != "none" or pods.replicas != 0:
        return []
    field = f"{pods.role}.replicas"
    return [
        stack.finding(
            code,
            Severity.WARNING,
            (pods.role, "replicas"),
            f"{field} is 0: training jobs wait forever",
            detail="The active training backend has no pod, and no autoscaler can start a pod.",
            remedy=f"set {field} to 1 or more",
            target=pods.deployment,
        )
    ]
