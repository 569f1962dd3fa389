"""Rules for the model service: inference on CPUs, with room for the models."""

from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import MEMORY_GB, SERVICE_CPU, SERVICE_VOLUME_GB
from modelyard.hardware.rules.shared import PodSizes, cpu_finding, memory_finding
from modelyard.stack.config import Stack

_SECTION = "modelService"


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
            what=" a pod",
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
            what=" a pod",
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
