"""Applies the hardware rules to what pods really get.

A stack file states what it wants. A parameter, a patch of the project, or a dropped patch can change
that; the rules still apply, and a finding names the source of the value.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction

from modelyard.catalog import Selected
from modelyard.findings import Finding
from modelyard.hardware.limits import GPUS_VARIABLE
from modelyard.hardware.rules.pods import Applied, stated_gpus
from modelyard.kube import merge
from modelyard.kube.scheduling.pods import container_requests, grace_of, pods_of
from modelyard.plan.trace import Trace, trace, written_at
from modelyard.plan.values import TargetPlan
from modelyard.quantity import parse
from modelyard.stack.config import Stack
from modelyard.workloads import Workload
from modelyard.workloads.rules import check_applied, check_container

_ZERO = Fraction(0)
_FIELDS = {
    "replicas": "spec.replicas",
    "gracePeriod": "spec.template.spec.terminationGracePeriodSeconds",
    "cpu": "spec.template.spec.containers[name={container}].resources.requests.cpu",
    "memory": "spec.template.spec.containers[name={container}].resources.requests.memory",
    "volume": 'spec.template.spec.containers[name={container}].resources.requests["ephemeral-storage"]',
    "gpu": 'spec.template.spec.containers[name={container}].resources.limits["nvidia.com/gpu"]',
    "gpus": 'spec.template.spec.containers[name={container}].resources.limits["nvidia.com/gpu"]',
    "perWorker": f"spec.template.spec.containers[name={{container}}].env[name={GPUS_VARIABLE}].value",
}
"""The field of a Deployment that shows each stack file field, by its last part."""


def check_sizes(
    stack: Stack,
    targets: Iterable[TargetPlan],
    workloads: Mapping[str, Workload],
    chosen: tuple[Selected, ...],
    reported: Collection[Finding],
) -> Iterator[Finding]:
    """Findings about pods that get something other than what the stack file says.

    Args:
        stack: the stack; its own invalid values have separate findings.
        targets: the plan's targets.
        workloads: by name of their Deployment.
        chosen: the stack's patches, to find the patch that set a value.
        reported: the findings about the stack's own values.
    """
    known = {(finding.code, finding.summary) for finding in reported}
    for target in targets:
        workload = workloads.get(target.name)
        if workload is None or workload.cpu is None or target.key.kind != "Deployment":
            continue
        yield from check_container(stack, workload.role, pods_of(target.after.reveal()).container(workload.container))
        applied = _applied(target, workload)
        if applied == wanted_sizes(workload):
            continue
        for finding in check_applied(stack, workload.role, applied):
            if (finding.code, finding.summary) not in known:
                yield _explained(finding, target, workload, stack, chosen)


def _applied(target: TargetPlan, workload: Workload) -> Applied:
    pods = pods_of(target.after.reveal())
    container = pods.container(workload.container)
    amounts = container_requests(container)
    return Applied(
        replicas=target.replicas[1],
        cpu=amounts.get("cpu", _ZERO),
        memory=amounts.get("memory", _ZERO),
        volume=amounts.get("ephemeral-storage", _ZERO) if workload.volume is not None else _ZERO,
        gpus=pods.gpus,
        grace_period=grace_of(target.after.reveal()) if workload.grace_period is not None else 0,
        stated_gpus=stated_gpus(container, pods.gpus),
    )


def wanted_sizes(workload: Workload) -> Applied:
    """What one pod gets if only the stack file decides."""
    return Applied(
        replicas=workload.replicas,
        cpu=parse(workload.cpu or "0"),
        memory=parse(workload.memory or "0"),
        volume=parse(workload.volume or "0"),
        gpus=workload.gpus,
        grace_period=workload.grace_period or 0,
    )


def _explained(
    finding: Finding, target: TargetPlan, workload: Workload, stack: Stack, chosen: tuple[Selected, ...]
) -> Finding:
    """The finding with the source of the pods' value, and where to correct it."""
    section, _, last = finding.field.rpartition(".")
    field = _FIELDS.get(last)
    if field is None:
        return finding
    path = merge.Path.parse(field.format(container=workload.container))
    schema = merge.MergeSchema.kubernetes(stack.config.kubernetes_version).of(target.key.api_version, target.key.kind)
    who, remedy, file, line = _giver(trace(target, path, schema, stack, chosen, bases=True), stack)
    if file and not line:
        line = written_at(file, path, chosen)
    return finding._replace(
        detail=f"{who}, regardless of {section}.{last}. {finding.detail}",
        remedy=remedy or finding.remedy,
        file=file or finding.file,
        line=line or (0 if file else finding.line),
        column=0 if file or line else finding.column,
    )


def _giver(traced: Trace, stack: Stack) -> tuple[str, str, str, int]:
    """The source of a field's value, what to do there, and its file and line where known."""
    if not traced.settings:
        return (
            f"{traced.target.name} has this value without a patch: no patch sets {traced.path}",
            "let a patch set it",
            "",
            0,
        )
    setting = traced.settings[-1]
    for source in setting.sources:
        if source.path[:1] == ("patches",):
            who = f"The parameter {source.param} of {setting.patch} sets it"
            return who, f"correct or drop the parameter {source.param} of {setting.patch}", stack.file, source.line
    return f"{setting.patch} sets it", f"correct {setting.patch}", setting.file, 0
