"""Ray training: a head that keeps the jobs, and workers with the GPUs."""

from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import (
    GPUS_VARIABLE,
    HEAD_CPU,
    HEAD_REPLICAS,
    JOB_SECONDS,
    MEMORY_GB,
    RAY_DEFAULT,
    RAY_PREVIEW,
)
from modelyard.hardware.rules.shared import PodSizes, cpu_finding, gpu_of, memory_finding, release
from modelyard.hardware.rules.workloads import grace_finding, no_worker_finding, size_findings
from modelyard.stack.config import WORKERS, Allocation, Config, Stack
from modelyard.stack.words import plural
from modelyard.workloads.training.backend import (
    Backend,
    BackendQueries,
    Dashboard,
    HeadService,
    HeadWorkload,
    JobSource,
    NoJobSource,
)

_HEAD, _WORKER = "rayHead", WORKERS["ray"]


def rules(stack: Stack) -> list[Finding]:
    """Returns what is wrong with Ray training on this stack, except with its pods."""
    return [*_release(stack), *_interconnect(stack)]


def worker_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with Ray workers with these pods."""
    return [
        *size_findings(stack, pods),
        *_allocation(stack, pods),
        *grace_finding(stack, "RAY008", pods, JOB_SECONDS),
        *no_worker_finding(stack, "RAY009", pods),
        *_stated_gpus(stack, pods),
    ]


def head_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with a Ray head with these pods. The head stays up while training is on Celery."""
    target = pods.deployment
    findings = [
        *memory_finding(
            stack,
            "RAY002",
            (_HEAD, "memory"),
            pods.memory,
            MEMORY_GB,
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
                f"{_HEAD}.replicas is {pods.replicas}, but a Ray cluster has exactly one head",
                detail="The head runs the cluster's control services: two heads would be two clusters.",
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
                f"{_HEAD}.gpu is {pods.gpus}, but the head runs on a CPU node",
                detail="The head runs no tasks: the GPU would stay unused.",
                remedy=f"drop {_HEAD}.gpu; set GPUs of the workers with gpu.perWorker",
                target=target,
            )
        )
    return findings


def _stated_gpus(stack: Stack, pods: PodSizes) -> list[Finding]:
    if not pods.stated_gpus:
        return []
    return [
        stack.finding(
            "RAY010",
            Severity.ERROR,
            ("gpu", "perWorker"),
            f"{GPUS_VARIABLE} of {pods.deployment} is {pods.stated_gpus[:20]!r}, but its pods "
            f"have {plural(pods.gpus, 'GPU')}",
            detail="The program in the pod trains on as many GPUs as this variable says.",
            remedy=f"set it to {pods.gpus}, or gpu.perWorker to the GPUs that you mean",
            target=pods.deployment,
        )
    ]


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
                f"platform.release {text} has no Ray training; the first release with it is 23.04",
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


def _allocation(stack: Stack, pods: PodSizes) -> list[Finding]:
    if stack.config.gpu.allocation != "multi_gpu" or pods.gpus >= 2:
        return []
    return [
        stack.finding(
            "RAY007",
            Severity.ERROR,
            ("gpu", "allocation"),
            f"gpu.allocation multi_gpu needs at least two GPUs per worker, but gpu.perWorker is {pods.gpus}",
            detail="A multi-GPU job takes all GPUs of one worker.",
            remedy="set gpu.perWorker to 2 or more, or gpu.allocation to single",
            target=pods.deployment,
        )
    ]


def _interconnect(stack: Stack) -> list[Finding]:
    """Checks the links between GPUs: every task of a pod with several GPUs may choose multi-GPU training."""
    wanted, gpu = stack.config.gpu, gpu_of(stack.config)
    if gpu is None or wanted.per_worker < 2:
        return []
    default = wanted.allocation == "multi_gpu"
    marked = gpu.mark("nvlink") or (gpu.mark("nvlink_link") if gpu.nvlink else "")
    mark = f" ({marked})" if marked else ""
    detail = "Without NVLink, the GPUs of a worker exchange gradients over PCIe, which slows training."
    if not gpu.nvlink:
        return [
            stack.finding(
                "GPU008",
                Severity.WARNING if default else Severity.ADVICE,
                ("gpu", "model"),
                f"{gpu.short} has no NVLink{mark}, and each worker has {wanted.per_worker} GPUs",
                detail=detail,
                remedy="choose a GPU with NVLink for multi-GPU training, or workers of one GPU (gpu.perWorker: 1)",
            )
        ]
    if gpu.link == "built_in" or not default:
        return []
    how = "needs a bridge between the GPUs" if gpu.link == "bridge" else "depends on the variant of the GPU"
    return [
        stack.finding(
            "GPU008",
            Severity.ADVICE,
            ("gpu", "model"),
            f"NVLink on {gpu.short} {how}{mark}",
            detail=detail,
            remedy="check the nodes with `nvidia-smi topo -m`: NV# between GPUs is NVLink, PHB or SYS is not",
        )
    ]


_BUSY = 'max_over_time(clamp_min(sum(ray_tasks{State!~"FINISHED|FAILED"}), 0)[30m:15s]) or vector(0)'


def _released(config: Config) -> bool:
    # A release that cannot be read has a finding of its own.
    return (release(config) or RAY_PREVIEW) >= RAY_PREVIEW


def _allocations(config: Config) -> tuple[Allocation, ...]:
    # Half a GPU is Ray's bookkeeping inside the pod: the pod itself requests whole GPUs, because Kubernetes has no
    # fractional extended resources.
    return ("single", "partial", "multi_gpu") if config.gpu.per_worker >= 2 else ("single", "partial")


def _jobs(stack: Stack) -> JobSource:
    config = stack.config
    if config.drain.ray.jobs is not None:
        return Dashboard(config.drain.ray.jobs)
    if _HEAD in config.platform.without:
        return NoJobSource(
            f"platform.without leaves out {_HEAD}, which has the jobs API",
            "set drain.ray.jobs: http://ray-head.example.com:8265",
        )
    head = config.targets.ray_head
    return HeadService(stack.context, config.platform.namespace, head.name, head.kind)


RAY: Final = Backend(
    name="ray",
    title="Ray",
    worker=_WORKER,
    head=HeadWorkload(
        role="rayHead",
        sizes=lambda config: config.ray_head,
        target=lambda config: config.targets.ray_head,
        rules=head_findings,
    ),
    unit="worker",
    sizes=lambda config: config.ray_worker,
    target=lambda config: config.targets.ray_worker,
    gpus=lambda config: config.gpu.per_worker,
    gpus_set_by=("gpu", "perWorker"),
    allocations=_allocations,
    released=_released,
    longest_job=lambda _: JOB_SECONDS,
    rules=rules,
    pod_rules=worker_findings,
    jobs=_jobs,
    query=lambda config: config.drain.ray.query,
    queue=lambda config: config.targets.ray_head.name,
    queries=BackendQueries(
        valid=_BUSY,
        vendor='max_over_time(clamp_min(sum(ray_tasks{State!~"FINISHED|FAILED"}[15s]), 0)[30m]) or vector(0)',
        keda=_BUSY,
    ),
)
