"""Applies the hardware rules to what pods really get.

A stack file sets the sizes of pods. A parameter, a patch of the project, or a dropped patch can change them; the rules
still apply, and a finding names the source of the value.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.catalog import Library, Selected
from modelyard.catalog.library import absent_built_in
from modelyard.catalog.lock import LOCK_FILE
from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import GPUS_VARIABLE
from modelyard.hardware.rules.shared import AppliedPod, stated_gpus
from modelyard.kube import merge
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.pods import container_requests, grace_of, pods_of, pods_words, replicas_of
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.names import GPU_RESOURCE
from modelyard.plan.trace import Trace, kind_of, trace, written_at
from modelyard.plan.values import TargetPlan
from modelyard.quantity import parse
from modelyard.stack.config import Stack
from modelyard.stack.words import listed
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


_VALUES = {
    "replicas": "replicas",
    "cpu": "cpu",
    "memory": "memory",
    "volume": "volume",
    "gracePeriod": "grace_period",
}
"""The applied value for each key of the stack file."""


class _Off(NamedTuple):
    """A value of the stack file that no patch sets."""

    summary: str
    remedy: str
    entry: int | None = None
    """The index under ``modelyard:patches`` that turns it off, if one does."""


def check_sizes(
    stack: Stack,
    targets: Collection[TargetPlan],
    workloads: Mapping[str, tuple[Workload, ...]],
    *,
    chosen: tuple[Selected, ...],
    reported: Collection[Finding],
    library: Library,
    platform: ClusterState,
) -> Iterator[Finding]:
    """Findings about pods that get something other than what the stack file sets.

    Args:
        stack: the stack; its own invalid values have separate findings.
        targets: the plan's targets.
        workloads: by name of their object.
        chosen: the stack's patches, to find the patch that set a value.
        reported: the findings about the stack's own values.
        library: all patches, to find one that is off.
        platform: has the objects that no patch of the stack changes; their values count where a patch is off.
    """
    known = {(finding.code, finding.summary) for finding in reported}
    off = _off(stack, library, chosen)
    seen = {target.name for target in targets}
    for target in targets:
        body = target.after.reveal()
        those = workloads.get(target.name, ()) if target.key.kind in WORKLOAD_KINDS else ()
        for workload in (one for one in those if one.cpu is not None):
            pods = pods_of(body, workload.place)
            yield from check_container(stack, workload.role, pods.container(workload.container))
            replicas = target.replicas[1] if workload.place == target.place else replicas_of(body, workload.place)
            applied = applied_sizes(body, workload, replicas)
            broken = _breaking(stack, workload, applied, known)
            yield from (_explained(one, target, workload, stack=stack, chosen=chosen, off=off) for one in broken)
            yield from _ineffective(stack, workload, applied, off, broken)
    untouched = (workload for name, those in workloads.items() if name not in seen for workload in those)
    yield from _check_untouched(stack, untouched, platform, known, off)


def _check_untouched(
    stack: Stack,
    workloads: Iterable[Workload],
    platform: ClusterState,
    known: Collection[tuple[str, str]],
    off: Mapping[str, _Off],
) -> Iterator[Finding]:
    """The findings about values of the platform's pods that a patch would set if it were on."""
    roles = {field.partition(".")[0] for field in off}
    for workload in (one for one in workloads if one.role in roles and one.cpu is not None):
        key = workload.key(stack.config.platform.namespace)
        body = platform.objects.reveal().get(key)
        if body is None or not _of_its_kind(key, body, stack.config.kubernetes_version):
            continue
        applied = applied_sizes(body, workload, replicas_of(body, workload.place))
        # Without a request, the limit of the volume counts, which the stack file has.
        applied = applied._replace(volume=applied.volume or wanted_sizes(workload).volume)
        broken = [one for one in _breaking(stack, workload, applied, known) if one.field in off]
        for finding in broken:
            # The stack leaves the object alone, so this stops no apply: not even the one after an undo.
            severity = Severity.WARNING if finding.blocks else finding.severity
            why = f"no patch of the stack changes {key.name}"
            yield _without_patch(finding._replace(severity=severity), key.name, why, stack, off)
        yield from _ineffective(stack, workload, applied, off, broken)


def _ineffective(
    stack: Stack, workload: Workload, applied: AppliedPod, off: Mapping[str, _Off], broken: Iterable[Finding]
) -> Iterator[Finding]:
    """The findings about values of the stack file that pods do not get, because the patch that sets them is off.

    ``broken`` are the findings about rules that the pods break, which report their values already.
    """
    wanted = wanted_sizes(workload)
    reported = {one.field for one in broken if one.severity is not Severity.ADVICE}  # Notes are hidden by default.
    pods = pods_words(workload.deployment, workload.place)
    for key, name in _VALUES.items():
        field, value = f"{workload.role}.{key}", getattr(wanted, name)
        # A default of modelyard is nobody's request, and the idle backend has no replicas.
        if field not in off or field in reported or value is None or (workload.role, key) not in stack.positions:
            continue
        if value == getattr(applied, name) or (key == "replicas" and not workload.active):
            continue
        yield stack.finding(
            "RES113",
            Severity.WARNING,
            (workload.role, key),
            off[field].summary,
            f"{off[field].remedy}, or write the value that the pods have",
            detail=f"{pods} keeps another value",
            target=workload.deployment,
        )


def _of_its_kind(key: ObjectKey, body: Mapping[str, Any], version: str) -> bool:
    """Whether a recorded object can be read: every field has its type. A CRD of the cluster may have more fields."""
    try:
        schema = merge.MergeSchema.kubernetes(version).of(key.api_version, key.kind)
    except LookupError:
        return False
    return all(error.message.startswith("unknown field") for error in merge.validate(dict(body), schema))


def _breaking(
    stack: Stack, workload: Workload, applied: AppliedPod, known: Collection[tuple[str, str]]
) -> list[Finding]:
    """What breaks a rule and is not known from the stack's own values."""
    if applied == wanted_sizes(workload):
        return []
    found = check_applied(stack, workload.role, applied)
    return [one for one in found if (one.code, one.summary) not in known]


def _off(stack: Stack, library: Library, chosen: Iterable[Selected]) -> dict[str, _Off]:
    """The patches that would set a value of the stack file and do not, by setting (``rayHead.memory``)."""
    indexes: dict[str, list[int]] = {}
    for index, choice in enumerate(stack.config.patches):
        if not choice.enabled and choice.name in library.patches:
            for fact in library.latest(choice.name).meta.params.values():
                indexes.setdefault(fact, []).append(index)
    names = {fact: listed(stack.config.patches[index].name for index in those) for fact, those in indexes.items()}
    found = {
        fact: _Off(f"{fact} has no effect: {names[fact]} is off", f"turn on {names[fact]}, which sets {fact}", those[0])
        for fact, those in indexes.items()
    }
    taken = {fact for one in chosen for fact in one.patch.meta.params.values()}
    for patch in absent_built_in(library):
        for fact in patch.meta.params.values():
            if fact not in taken:
                absent = patch.id if patch.name in library.patches else patch.name
                summary = f"{fact} has no effect: {LOCK_FILE} does not list {absent}"
                use = f"to use the built-in {patch.name}, run modelyard patches {patch.name} --release"
                found.setdefault(fact, _Off(summary, use))
    return found


def _without_patch(finding: Finding, name: str, why: str, stack: Stack, off: Mapping[str, _Off]) -> Finding:
    """The finding about a value that an object has, because no patch sets it."""
    _, _, last = finding.field.rpartition(".")
    finding = finding._replace(
        # The stack file may have another value on that line.
        summary=finding.summary.replace(finding.field, f"{last} of {name}", 1),
        detail=f"{name} has this value without a patch: {why}. {finding.detail}".rstrip(),
        remedy="set it in a patch of your own, or in the platform's own configuration",
    )
    if finding.field not in off:
        return finding
    one = off[finding.field]
    finding = finding._replace(remedy=one.remedy)
    return finding if one.entry is None else stack.place(finding, "patches", one.entry)


def applied_sizes(
    body: Mapping[str, Any], workload: Workload, replicas: int | None, known: AppliedPod | None = None
) -> AppliedPod:
    """What one pod of an object gets.

    Args:
        body: the object.
        workload: the workload that has the pods.
        replicas: the number of pods; None if an autoscaler sets it.
        known: what counts for each field that the object lacks; None: no request, and the API server's grace period.
    """
    pods = pods_of(body, workload.place)
    container = pods.container(workload.container)
    amounts = container_requests(container)
    limited = workload.grace_period is not None and (known is None or "terminationGracePeriodSeconds" in pods.spec)
    known = known or AppliedPod(replicas=None, cpu=_ZERO, memory=_ZERO, volume=_ZERO, gpus=0, grace_period=0)
    gpus = pods.gpus if GPU_RESOURCE in pods.requests else known.gpus
    return AppliedPod(
        replicas=known.replicas if replicas is None else replicas,
        cpu=amounts.get("cpu", known.cpu),
        memory=amounts.get("memory", known.memory),
        volume=amounts.get("ephemeral-storage", known.volume) if workload.volume is not None else known.volume,
        gpus=gpus,
        grace_period=grace_of(body, workload.place) if limited else known.grace_period,
        stated_gpus=stated_gpus(container, gpus),
    )


def wanted_sizes(workload: Workload) -> AppliedPod:
    """What one pod gets if only the stack file decides."""
    return AppliedPod(
        replicas=workload.replicas,
        cpu=parse(workload.cpu or "0"),
        memory=parse(workload.memory or "0"),
        volume=parse(workload.volume or "0"),
        gpus=workload.gpus,
        grace_period=workload.grace_period or 0,
    )


def _explained(
    finding: Finding,
    target: TargetPlan,
    workload: Workload,
    *,
    stack: Stack,
    chosen: tuple[Selected, ...],
    off: Mapping[str, _Off],
) -> Finding:
    """The finding with the source of the pods' value, and where to correct it."""
    section, _, last = finding.field.rpartition(".")
    field = _FIELDS.get(last)
    if field is None:
        return finding
    path = merge.Path((*workload.place, *merge.Path.parse(field.format(container=workload.container))))
    schema = kind_of(target, chosen, stack.config.kubernetes_version)
    traced = trace(target, path, schema, stack, chosen)
    if not traced.settings:
        return _without_patch(finding, target.name, f"no patch sets {traced.path}", stack, off)
    who, remedy, file, line = _giver(traced, stack)
    if file and not line:
        line = written_at(file, path, chosen)
    regardless = "" if last == "gpus" else f", regardless of {section}.{last}"  # the stack file has no key for GPUs
    return finding._replace(
        detail=f"{who}{regardless}. {finding.detail}",
        remedy=remedy or finding.remedy,
        file=file or finding.file,
        line=line or (0 if file else finding.line),
        column=0 if file or line else finding.column,
    )


def _giver(traced: Trace, stack: Stack) -> tuple[str, str, str, int]:
    """The source of a field's value, what to do there, and its file and line where known."""
    setting = traced.settings[-1]
    for source in setting.sources:
        if source.path[:1] == ("patches",):
            who = f"The parameter {source.param} of {setting.patch} sets it"
            return who, f"correct or drop the parameter {source.param} of {setting.patch}", stack.file, source.line
    return f"{setting.patch} sets it", f"correct {setting.patch}", setting.file, 0
