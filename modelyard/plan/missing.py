"""What a stack asks for but cannot have: missing objects and containers, values that are not set."""

from collections.abc import Iterator, Mapping
from typing import Any

from modelyard.catalog import Document, PatchVersion, Selected
from modelyard.findings import Finding, Severity
from modelyard.kube.scheduling.pods import pod_spec
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.stack.words import did_you_mean, few, nearest, plain
from modelyard.workloads import Workload

MISSING = "PAT013"
"""Code of the finding about an object that patches need and the cluster does not have."""


def missing_target(
    key: ObjectKey, workload: Workload | None, parts: list[tuple[PatchVersion, Document]], state: ClusterState
) -> Finding:
    """The finding for an object that patches need and the cluster does not have, with the nearest name."""
    others = [one for one in state.objects.reveal() if (one.kind, one.namespace) == (key.kind, key.namespace)]
    names = sorted(one.name for one in others)
    # Deployments of one platform have similar prefixes; a typo changes less than that.
    close = nearest(key.name, names, 0.8)
    have = f"namespace {key.namespace} has {few(names, 8) if names else f'no {key.kind}'}"
    first = "name it under modelyard:targets" if workload else "correct the target of the patch"
    first = f"did you mean {close}? {first[0].upper()}{first[1:]}" if close else f"{have}; {first}"
    wanted_by = ", ".join(dict.fromkeys(patch.id for patch, _ in parts))
    return Finding(
        MISSING,
        Severity.ERROR,
        f"{key.kind} {key.namespace}/{key.name} is not in the cluster",
        target=key.name,
        field=f"targets.{workload.role}.deployment" if workload else "",
        file="" if workload else f"{parts[0][0].file}/patch.yaml.j2",
        detail=f"used by {wanted_by}; a patch changes only existing objects",
        remedy=f"{first}, or install the platform first",
    )


def not_planned(missing: Finding) -> Finding:
    """The finding about a target in place of the one that it is missing, where no platform is recorded."""
    return Finding(
        MISSING,
        Severity.WARNING,
        f"the changes of {missing.target} are not planned, because no platform is recorded that has it",
        stack=missing.stack,
        target=missing.target,
        field=missing.field,
        detail="patches change it, and the stack does not create it",
        remedy=f"run: modelyard record {missing.stack}",
        file=missing.file,
        line=missing.line,
        column=missing.column,
    )


def missing_containers(
    key: ObjectKey,
    workload: Workload | None,
    parts: list[tuple[PatchVersion, Document]],
    live: Mapping[str, Any],
) -> Iterator[Finding]:
    """One finding for each container or init container that patches change and the object does not have."""
    for kind in ("containers", "initContainers"):
        yield from _missing(kind, key, workload, parts, live)


def _missing(
    kind: str,
    key: ObjectKey,
    workload: Workload | None,
    parts: list[tuple[PatchVersion, Document]],
    live: Mapping[str, Any],
) -> Iterator[Finding]:
    have = _containers(live, kind)
    wanted: dict[str, PatchVersion] = {}
    for patch, document in parts:
        for name, container in _containers(document.body.reveal(), kind).items():
            # A container with an image is a new one, such as a sidecar.
            if name not in have and "image" not in container:
                wanted.setdefault(name, patch)
    if not wanted:
        return
    for name, patch in wanted.items():
        ours = workload is not None and name == workload.container
        what = "init container" if kind == "initContainers" else "container"
        yield Finding(
            "PAT014",
            Severity.ERROR,
            f"{key.name} has no {what} {plain(name)!r}",
            target=key.name,
            field=f"targets.{workload.role}.container" if ours and workload else f"spec.template.spec.{kind}",
            file="" if ours else f"{patch.file}/patch.yaml.j2",
            detail="server-side apply would add a second, incomplete container",
            remedy=(did_you_mean(name, have) or f"it has {', '.join(have) or f'no {what}s'}.")
            + (" Name it under modelyard:targets" if ours else " Correct the template"),
        )


def _containers(body: Mapping[str, Any], kind: str) -> dict[str, Mapping[str, Any]]:
    return {str(container.get("name", "")): container for container in pod_spec(body).get(kind) or ()}


def unset(one: Selected, name: str) -> Finding:
    """The finding for a parameter that the base of an object needs and the stack does not set."""
    path = one.patch.meta.params.get(name, "")
    return Finding(
        "PAT017",
        Severity.ERROR,
        f"mode managed needs {path or name}, which is not set",
        field=path,
        detail=f"the base of {one.patch.id} describes the whole object",
        remedy="set it in the stack file, or use mode existing, which keeps the platform's value",
    )
