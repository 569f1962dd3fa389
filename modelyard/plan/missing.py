"""Findings about what a stack needs and lacks: objects, containers, and values of parameters."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any

from modelyard.catalog import PatchDocument, PatchVersion, Selected
from modelyard.catalog.library import TEMPLATE
from modelyard.findings import Finding, Severity
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.pods import ONE_TEMPLATE, pod_places, pod_spec
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.stack.config import ROLES, TARGET_KINDS, Targets
from modelyard.stack.words import did_you_mean, few, listed, nearest, plain
from modelyard.workloads import Workload

MISSING = "PAT013"
"""Code of the finding about an object that patches need and the cluster does not have."""


def missing_target(
    key: ObjectKey,
    workloads: tuple[Workload, ...],
    parts: list[tuple[PatchVersion, PatchDocument]],
    state: ClusterState,
) -> Finding:
    """The finding for an object that patches need and the cluster does not have, with the nearest name."""
    # An object of another kind may have this name, too.
    workload = next((one for one in workloads if one.kind == key.kind), next(iter(workloads), None))
    others = [one for one in state.objects.reveal() if (one.kind, one.namespace) == (key.kind, key.namespace)]
    if workload is not None and workload.kind != key.kind:
        return _of_other_kind(key, workload, parts)
    names = sorted(one.name for one in others)
    # Deployments of one platform have similar prefixes; a typo changes less than that.
    close = nearest(key.name, names, 0.8)
    have = f"namespace {key.namespace} has {few(names, 8) if names else f'no {key.kind}'}"
    recorded = state.source == "recorded"
    fix = "name it under modelyard:targets" if workload else "correct the target of the patch"
    or_else = "or install the platform first"
    if workload and not close:
        or_else = f"or leave it out with platform.without: [{workload.role}]"
    remedy = f"{have}; {fix}, {or_else}"
    if close:
        remedy = f"did you mean {close}? {fix[0].upper()}{fix[1:]}, {or_else}"
    elif recorded:
        # A recorded platform has only the objects that the stack named when it was recorded.
        otherwise = f"correct modelyard:targets, {or_else}" if workload else fix
        remedy = f"run modelyard record if the cluster has it; otherwise {otherwise}"
    have_as = {one.kind for one in state.objects.reveal() if (one.namespace, one.name) == (key.namespace, key.name)}
    as_key = next((name for name, kind in TARGET_KINDS.items() if kind in have_as), None)
    if workload is not None and as_key is not None:
        remedy = f"it is a {TARGET_KINDS[as_key]}: write {as_key}: {key.name} under targets.{workload.role}"
    where = "recorded platform" if recorded else "cluster"
    wanted_by = ", ".join(dict.fromkeys(patch.id for patch, _ in parts))
    return Finding(
        MISSING,
        Severity.ERROR,
        f"{key.kind} {key.namespace}/{key.name} is not in the {where}",
        target=key.name,
        field=f"targets.{workload.role}.{workload.kind[0].lower()}{workload.kind[1:]}" if workload else "",
        file="" if workload else f"{parts[0][0].file}/{TEMPLATE}",
        detail=f"used by {wanted_by}; a patch changes only existing objects",
        remedy=remedy,
    )


def _of_other_kind(key: ObjectKey, workload: Workload, parts: list[tuple[PatchVersion, PatchDocument]]) -> Finding:
    """The finding about patches for another kind of object than the workload is."""
    patches = list(dict.fromkeys(patch.id for patch, _ in parts))
    verb = "changes" if len(patches) == 1 else "change"
    found = Finding(
        MISSING,
        Severity.ERROR,
        f"{' and '.join(patches)} {verb} a {key.kind}, but {key.name} is a {workload.kind}",
        target=key.name,
        field=f"targets.{workload.role}",
        remedy="drop the version that modelyard:patches pins, or make a version for this kind (kind: {{ kind }})",
    )
    own = next((patch for patch, _ in parts if not patch.from_modelyard), None)
    if own is None:
        return found
    remedy = f"set kind: {workload.kind} in the template, or fill it from the fact {workload.role}.kind"
    return found._replace(field="kind", file=f"{own.file}/{TEMPLATE}", remedy=remedy)


def in_namespace(
    namespace: str, findings: list[Finding], targets: Set[ObjectKey], state: ClusterState
) -> list[Finding]:
    """The findings; if the namespace has none of several targets, those about missing targets concern the namespace.

    Args:
        namespace: the platform's namespace.
        findings: those about the objects.
        targets: the workloads' objects that patches change.
        state: the starting state.
    """
    have = state.objects.reveal()
    if len(targets) < 2 or any(key in have for key in targets):
        return findings
    wanted = {(key.kind, key.name) for key in targets}
    in_others = {one for one in (*have, *state.other_namespaces) if one[1::2] in wanted and one.namespace != namespace}
    kinds = sorted({key.kind for key in targets})
    names = sorted(one.name for one in have if one.namespace == namespace and one.kind in kinds)
    if in_others:
        places = Counter(one.namespace for one in in_others).most_common(2)
        remedy = "set platform.namespace to " + " or ".join(f"{name}, which has {number}" for name, number in places)
    elif names:
        remedy = (
            f"namespace {namespace} has {few(names, 8)}; name the targets under modelyard:targets, correct "
            "platform.namespace, or leave out what the platform lacks with platform.without"
        )
    else:
        again = ", record the platform again (modelyard record)" if state.source == "recorded" else ""
        remedy = f"namespace {namespace} has no {' or '.join(kinds)}; correct it{again}, or install the platform first"
    missing = {key.name for key in targets}
    return [
        one._replace(
            summary=f"namespace {namespace} has none of the targets: {one.target}",
            field="platform.namespace",
            detail="a patch changes only existing objects",
            remedy=remedy,
        )
        if one.code == MISSING and one.target in missing
        else one
        for one in findings
    ]


def not_planned(missing: Finding) -> Finding:
    """The finding about a missing object for a stack without a recorded platform: the target is not planned."""
    return missing._replace(
        code=MISSING,
        severity=Severity.WARNING,
        summary=f"the changes of {missing.target} are not planned, because no recorded platform contains it",
        detail="patches change it, and the stack does not create it",
        remedy=f"run: modelyard record {missing.stack}",
    )


def sharing(key: ObjectKey, workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """The workloads in the same pods of one object, unlike the parts of a RayCluster; none if there is only one."""
    those = [one for one in workloads if one.kind == key.kind and one.place == ONE_TEMPLATE]
    return tuple(sorted(those, key=lambda one: ROLES.index(one.role))) if len(those) > 1 else ()


def shared_object(those: tuple[Workload, ...]) -> Finding:
    """The finding about workloads in the same pods whose patches do not fit into these."""
    usual = dict(zip(ROLES, Targets(), strict=True))
    # The user wrote this name; the others may be defaults.
    named = next((one for one in those if one.deployment != usual[one.role].name), those[0])
    kind, name, key = named.kind, named.deployment, f"{named.kind[0].lower()}{named.kind[1:]}"
    others = listed([one.role for one in those if one is not named], "and")
    return Finding(
        "PAT020",
        Severity.ERROR,
        f"targets.{named.role} is {kind} {name}, which is also the {kind} of {others}",
        target=name,
        field=f"targets.{named.role}.{key}",
        detail="the patches of these workloads do not fit into the same pods",
        remedy=f"name the {kind} of {named.role}; if its container is in {name}, name the container",
    )


def missing_containers(
    key: ObjectKey,
    workloads: tuple[Workload, ...],
    parts: list[tuple[PatchVersion, PatchDocument]],
    live: Mapping[str, Any],
) -> Iterator[Finding]:
    """One finding for each container or init container that patches change and the object does not have."""
    for place in pod_places(live):
        for kind in ("containers", "initContainers"):
            yield from _missing(kind, place, key, workloads=workloads, parts=parts, live=live)


def _missing(
    kind: str,
    place: Path,
    key: ObjectKey,
    *,
    workloads: tuple[Workload, ...],
    parts: list[tuple[PatchVersion, PatchDocument]],
    live: Mapping[str, Any],
) -> Iterator[Finding]:
    have = _containers(live, place, kind)
    wanted: dict[str, PatchVersion] = {}
    for patch, document in parts:
        for name, container in _containers(document.body.reveal(), place, kind).items():
            # A container with an image is a new one, such as a sidecar.
            if name not in have and "image" not in container:
                wanted.setdefault(name, patch)
    if not wanted:
        return
    for name, patch in wanted.items():
        ours = next((one for one in workloads if (one.place, one.container) == (place, name)), None)
        if ours and (together := sharing(key, workloads)):
            yield shared_object(together)
            continue
        what = "init container" if kind == "initContainers" else "container"
        yield Finding(
            "PAT014",
            Severity.ERROR,
            f"{key.name} has no {what} {plain(name)!r}",
            target=key.name,
            field=f"targets.{ours.role}.container" if ours else f"{place}.template.spec.{kind}",
            file="" if ours else f"{patch.file}/{TEMPLATE}",
            detail="server-side apply would add a second, incomplete container",
            remedy=(did_you_mean(name, have) or f"it has {', '.join(have) or f'no {what}s'}.")
            + (" Name it under modelyard:targets" if ours else " Correct the template"),
        )


def _containers(body: Mapping[str, Any], place: Path, kind: str) -> dict[str, Mapping[str, Any]]:
    return {str(container.get("name", "")): container for container in pod_spec(body, place).get(kind) or ()}


def unset(selected: Selected, name: str) -> Finding:
    """The finding for a parameter that the base of an object needs and the stack does not set."""
    path = selected.patch.meta.params.get(name, "")
    return Finding(
        "PAT017",
        Severity.ERROR,
        f"mode managed needs {path or name}, which is not set",
        field=path,
        detail=f"the base of {selected.patch.id} describes the whole object",
        remedy="set it in the stack file, or use mode existing, which keeps the platform's value",
    )
