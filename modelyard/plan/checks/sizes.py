"""Applies the hardware rules to what pods really get.

A stack file sets the sizes of pods. A parameter, a patch of the project, or a dropped patch can change them; the rules
still apply, and a finding names the source of the value.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction

from modelyard.catalog import Selected
from modelyard.findings import Finding
from modelyard.hardware.limits import GPUS_VARIABLE
from modelyard.hardware.rules.shared import Applied, stated_gpus
from modelyard.kube import merge
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.pods import container_requests, grace_of, pods_of, replicas_of
from modelyard.plan.trace import Trace, kind_of, trace, written_at
from modelyard.plan.values import TargetPlan
from modelyard.quantity import parse
from modelyard.stack.config import Stack
from modelyard.workloads import Workload
from modelyard.workloads.rules import check_applied, check_container

_ZERO = Fraction(0)
_FIELDS = {
    "replicas": "replicas",
    "gracePeriod": "template.spec.terminationGracePeriodSeconds",
    "cpu": "template.spec.containers[name={container}].resources.requests.cpu",
    "memory": "template.spec.containers[name={container}].resources.requests.memory",
    "volume": 'template.spec.containers[name={container}].resources.requests["ephemeral-storage"]',
    "gpu": 'template.spec.containers[name={container}].resources.limits["nvidia.com/gpu"]',
    "gpus": 'template.spec.containers[name={container}].resources.limits["nvidia.com/gpu"]',
    "perWorker": f"template.spec.containers[name={{container}}].env[name={GPUS_VARIABLE}].value",
}
"""The field that has the value of each key of the stack file, by the key's last part: below the place of the pods."""


def check_sizes(
    stack: Stack,
    targets: Iterable[TargetPlan],
    workloads: Mapping[str, tuple[Workload, ...]],
    chosen: tuple[Selected, ...],
    reported: Collection[Finding],
) -> Iterator[Finding]:
    """Findings about pods that get something other than what the stack file sets.

    Args:
        stack: the stack; its own invalid values have separate findings.
        targets: the plan's targets.
        workloads: by name of their object.
        chosen: the stack's patches, to find the patch that set a value.
        reported: the findings about the stack's own values.
    """
    known = {(finding.code, finding.summary) for finding in reported}
    for target in targets:
        those = workloads.get(target.name, ()) if target.key.kind in WORKLOAD_KINDS else ()
        for workload in (one for one in those if one.cpu is not None):
            pods = pods_of(target.after.reveal(), workload.place)
            yield from check_container(stack, workload.role, pods.container(workload.container))
            applied = _applied(target, workload)
            if applied == wanted_sizes(workload):
                continue
            for finding in check_applied(stack, workload.role, applied):
                if (finding.code, finding.summary) not in known:
                    yield _explained(finding, target, workload, stack, chosen)


def _applied(target: TargetPlan, workload: Workload) -> Applied:
    body = target.after.reveal()
    pods = pods_of(body, workload.place)
    container = pods.container(workload.container)
    amounts = container_requests(container)
    return Applied(
        replicas=target.replicas[1] if workload.place == target.place else replicas_of(body, workload.place),
        cpu=amounts.get("cpu", _ZERO),
        memory=amounts.get("memory", _ZERO),
        volume=amounts.get("ephemeral-storage", _ZERO) if workload.volume is not None else _ZERO,
        gpus=pods.gpus,
        grace_period=grace_of(body, workload.place) if workload.grace_period is not None else 0,
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
    path = merge.Path((*workload.place, *merge.Path.parse(field.format(container=workload.container))))
    schema = kind_of(target, chosen, stack.config.kubernetes_version)
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
