"""The rules that a stack must follow: for its GPU, the model service and the training backends.

Rules are pure functions from a stack, and the sizes of a workload's pods, to findings. An idle training backend has no
pods, but a switch would start them: what would then be an error is reported as advice that says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from modelyard.findings import Finding, Severity, in_order
from modelyard.hardware.rules.gpu import gpu_findings
from modelyard.hardware.rules.partitions import partition_findings
from modelyard.hardware.rules.shared import AppliedPod, PodSizes, sizes_of
from modelyard.hardware.rules.workloads import service_findings
from modelyard.stack.config import Config, Stack, dotted
from modelyard.workloads.gpu_uses import check_gpu_uses
from modelyard.workloads.notebooks import check_notebooks
from modelyard.workloads.training import BACKENDS, Backend, backend_of


def check(stack: Stack) -> tuple[Finding, ...]:
    """Returns everything in ``stack`` that breaks a rule, most severe first.

    Quantities and versions must be well-formed: the stack's schema has checked them. Waivers are not applied.
    """
    config = stack.config
    without = config.platform.without
    findings = gpu_findings(stack)
    if "modelService" not in without:
        findings += service_findings(stack, _service(config))
    for backend in BACKENDS.values():
        if backend.worker in without:
            continue
        own = [*backend.rules(stack), *_autoscaled(stack, backend), *backend.pod_rules(stack, backend.pods(config))]
        findings += _of_backend(config, backend, own)
        if backend.head is None or backend.head.role in without:
            continue
        if backend.name == config.training or backend.available(config):
            findings += backend.head.rules(stack, backend.head.pods(config))
    return in_order([*findings, *check_gpu_uses(stack), *check_notebooks(stack), *partition_findings(stack)])


def check_applied(stack: Stack, role: str, applied: AppliedPod) -> tuple[Finding, ...]:
    """Returns what breaks a rule of the workload ``role`` (``rayWorker`` …) with these pods.

    Findings name the fields of the stack file that hold the values.
    """
    config = stack.config
    backend = backend_of(role)
    if role == "modelService":
        return tuple(service_findings(stack, sizes_of(_service(config), applied)))
    if backend is None:
        return ()
    if backend.head is not None and backend.head.role == role:
        return tuple(backend.head.rules(stack, sizes_of(backend.head.pods(config), applied)))
    idle = backend.name != config.training
    pods = sizes_of(backend.pods(config), applied, per_gpu=True, idle=idle)
    return tuple(_of_backend(config, backend, backend.pod_rules(stack, pods)))


def check_container(stack: Stack, role: str, container: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Returns what a training container, as it will be in the cluster, states otherwise than the stack."""
    backend = backend_of(role)
    if backend is None or backend.worker != role:
        return ()
    return tuple(_of_backend(stack.config, backend, backend.container_rules(stack, container)))


def _service(config: Config) -> PodSizes:
    service = config.model_service
    return PodSizes(
        role="modelService",
        deployment=config.targets.model_service.name,
        replicas=service.replicas,
        cpu=service.cpu,
        memory=service.memory,
        volume=service.volume,
        gpus=service.gpu,
    )


def _autoscaled(stack: Stack, backend: Backend) -> Iterator[Finding]:
    """Yields the note that a stack file sets replicas of a backend that an autoscaler scales."""
    scaling, path = stack.config.autoscaling, (backend.worker, "replicas")
    if scaling.mode != "none" and path in stack.positions:
        yield stack.finding(
            "AUT009",
            Severity.ADVICE,
            path,
            f"{dotted(path)} has no effect with autoscaling.mode {scaling.mode}",
            "no action needed; to limit the pods, set autoscaling.maxReplicas",
            detail=f"the autoscaler sets the number of pods, at most {scaling.max_replicas}",
        )


def _of_backend(config: Config, backend: Backend, findings: list[Finding]) -> list[Finding]:
    """Returns a backend's findings; of an idle one only the errors, as notes that say when they will count."""
    if backend.name == config.training:
        return findings
    return [
        finding._replace(
            severity=Severity.ADVICE,
            summary=f"{finding.summary} (idle now, an error once training is {backend.name})",
        )
        for finding in findings
        if finding.severity is Severity.ERROR
    ]
