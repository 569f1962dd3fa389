"""Rules for Ray training: the release that has it, its head, its workers and their allocation modes."""

from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import (
    HEAD_CPU,
    HEAD_REPLICAS,
    JOB_SECONDS,
    MEMORY_GB,
    RAY_DEFAULT,
    RAY_PREVIEW,
)
from modelyard.hardware.rules.pods import PodSizes
from modelyard.hardware.rules.shared import cpu_finding, memory_finding, release
from modelyard.hardware.rules.worker import grace_finding, nobody_finding, size_findings
from modelyard.stack.config import Stack

_HEAD, _WORKER = "rayHead", "rayWorker"


def ray_findings(stack: Stack, workers: PodSizes) -> list[Finding]:
    """Returns what is wrong with Ray training on this stack, except its head."""
    return [*_release(stack), *worker_findings(stack, workers)]


def worker_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with Ray workers with these pods."""
    target = stack.config.targets.ray_worker.deployment
    return [
        *size_findings(stack, _WORKER, pods, target),
        *_allocation(stack, pods.gpus, target),
        *grace_finding(stack, "RAY008", _WORKER, pods.grace_period, JOB_SECONDS, target),
        *nobody_finding(stack, "RAY009", _WORKER, pods.replicas, target),
    ]


def head_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with a Ray head with these pods. The head stays up while training is on Celery."""
    target = stack.config.targets.ray_head.deployment
    findings = [
        *memory_finding(
            stack,
            "RAY002",
            (_HEAD, "memory"),
            pods.memory,
            MEMORY_GB,
            what="",
            detail=f"The Ray head needs {MEMORY_GB} GB of memory.",
            target=target,
        ),
        *cpu_finding(
            stack,
            "RAY003",
            (_HEAD, "cpu"),
            pods.cpu,
            HEAD_CPU,
            detail=f"The Ray head needs {HEAD_CPU} cores to schedule tasks and manage the cluster.",
            target=target,
        ),
    ]
    if pods.replicas != HEAD_REPLICAS:
        findings.append(
            stack.finding(
                "RAY001",
                Severity.ERROR,
                (_HEAD, "replicas"),
                f"{_HEAD}.replicas is {pods.replicas}, a Ray cluster has exactly one head",
                detail="The head runs the cluster's singletons: two heads are two clusters, none is no cluster.",
                remedy=f"set {_HEAD}.replicas to 1 or drop it; {_WORKER}.replicas adds workers",
                target=target,
            )
        )
    if pods.gpus:
        findings.append(
            stack.finding(
                "RAY004",
                Severity.ERROR,
                (_HEAD, "gpu"),
                f"{_HEAD}.gpu is {pods.gpus}, the head runs on a CPU node",
                detail="The head runs no tasks of its own: the GPU would be held and never used.",
                remedy=f"drop {_HEAD}.gpu; gpu.perWorker gives GPUs to the workers",
                target=target,
            )
        )
    return findings


def _release(stack: Stack) -> list[Finding]:
    current = release(stack.config)
    path, text = ("platform", "release"), stack.config.platform.release
    if current is None or current >= RAY_DEFAULT:
        return []
    if current < RAY_PREVIEW:
        return [
            stack.finding(
                "RAY005",
                Severity.ERROR,
                path,
                f"platform.release {text} has no Ray training, which came with 23.04",
                detail="Ray training is a preview from release 23.04 on and the default from 23.07 on.",
                remedy="set training to celery, or upgrade the platform",
            )
        ]
    return [
        stack.finding(
            "RAY006",
            Severity.WARNING,
            path,
            f"Ray training is a preview in platform.release {text}",
            detail="Ray training is a preview from release 23.04 on and the default from 23.07 on.",
            remedy="upgrade to 23.07 or newer before production depends on it, or set training to celery",
        )
    ]


def _allocation(stack: Stack, gpus: int, target: str) -> list[Finding]:
    if stack.config.gpu.allocation != "multi_gpu" or gpus >= 2:
        return []
    return [
        stack.finding(
            "RAY007",
            Severity.ERROR,
            ("gpu", "allocation"),
            f"gpu.allocation multi_gpu needs two GPUs a worker, gpu.perWorker is {gpus}",
            detail="A multi-GPU job takes all GPUs of one worker.",
            remedy="set gpu.perWorker to 2 or more, or gpu.allocation to single",
            target=target,
        )
    ]
