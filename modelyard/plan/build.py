"""Making a plan out of a stack, the patches and a starting state."""

from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import date
from functools import cache
from typing import Any

from modelyard import __version__, merge
from modelyard.catalog import Document, Library, PatchVersion, Selected, render, render_base, select
from modelyard.cluster import ClusterState, ObjectKey, key_of
from modelyard.cluster.state import GPU_RESOURCE
from modelyard.findings import Finding, Severity
from modelyard.hardware import check
from modelyard.hardware.nodes import check_nodes
from modelyard.plan.autoscaling import check_autoscaling
from modelyard.plan.compose import Composed, compose
from modelyard.plan.order import order
from modelyard.plan.ownership import (
    ENGINE_ANNOTATIONS,
    FIELD_MANAGER,
    MODE_ANNOTATION,
    PATCHES_ANNOTATION,
    given_up,
    mode_switch,
    take_over,
)
from modelyard.plan.trace import place_field
from modelyard.plan.values import Action, FieldChange, Plan, TargetPlan
from modelyard.stack import apply_waivers
from modelyard.stack.config import Config, Stack
from modelyard.workloads import Workload, facts, workloads

REPLICAS = merge.Path(("spec", "replicas"))


@cache
def _schema(version: str) -> merge.MergeSchema:
    return merge.MergeSchema.kubernetes(version)


def make_plan(stack: Stack, library: Library, state: ClusterState, today: date) -> Plan:
    """The plan of one environment against a starting state.

    Everything that is wrong is in its findings; a target that cannot be planned is left out and told there.
    """
    config = stack.config
    sized = workloads(config)
    known = facts(config, sized)
    findings: list[Finding] = [*library.findings, *check(stack), *check_nodes(stack, state.nodes)]
    chosen, problems = select(library, stack, known)
    findings.extend(problems)

    parts, bases = _documents(chosen, config, findings)
    schema = _schema(config.kubernetes_version)
    by_deployment = {workload.deployment: workload for workload in sized}
    owners = {one.patch.id: by_deployment.get(one.params.get("deployment", "")) for one in chosen}
    targets = []
    for key in sorted({**dict.fromkeys(parts), **dict.fromkeys(bases)}):
        base = bases.get(key)
        workload = owners[base[0].id] if base is not None else by_deployment.get(key.name)
        target = _plan_target(key, workload, parts.get(key, []), base, state, schema, config, findings)
        if target is not None:
            targets.append(target)

    if not any(finding.code.startswith("PAT") for finding in findings):
        # A patch that could not be rendered is not one that was dropped.
        findings.extend(_abandoned({*parts, *bases}, state))

    arranged = order(targets, sized, config, state)
    findings.extend((*arranged.findings, *check_autoscaling(config, targets)))
    rank = {name: index for index, name in enumerate(arranged.targets)}
    return Plan(
        stack.name,
        stack.file,
        _headline(config),
        config.training,
        config.platform.mode,
        stack.context,
        config.platform.namespace,
        state.source,
        state.identity,
        state.version,
        tuple(sorted(targets, key=lambda target: rank[target.name])),
        arranged.steps,
        _without_echoes(apply_waivers((place_field(finding, stack) for finding in findings), stack, today)),
        _inputs(stack, chosen),
    )


def _abandoned(wanted: Set[ObjectKey], state: ClusterState) -> Iterator[Finding]:
    """Objects that we hold fields of and that the stack does not ask for."""
    for key in sorted(state.objects.keys() - wanted):
        annotations = (state.objects[key].get("metadata") or {}).get("annotations") or {}
        if PATCHES_ANNOTATION in annotations:
            yield given_up(key.name, annotations[PATCHES_ANNOTATION])


_UNFIT = ("GPU001", "GPU002", "GPU003", "GPU004", "GPU005", "GPU006")
"""Findings after which a card cannot be the stack's."""


def _without_echoes(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without those that only say once more what another one says better.

    That no node has a card says nothing new about a card that cannot train; nor does the multi-GPU patch about a
    stack that has one GPU a worker.
    """
    causes = {finding.code for finding in findings if finding.blocks}
    echoes = {("RES101", "rayWorker.replicas"), ("RES101", "celery.replicas")} if causes.intersection(_UNFIT) else set()
    if "RAY007" in causes:
        echoes.add(("PAT004", "gpus"))
    return tuple(finding for finding in findings if (finding.code, finding.field) not in echoes) if echoes else findings


def _documents(
    chosen: Iterable[Selected], config: Config, findings: list[Finding]
) -> tuple[dict[ObjectKey, list[tuple[PatchVersion, Document]]], dict[ObjectKey, tuple[PatchVersion, dict[str, Any]]]]:
    """What every patch rendered to, by object, and in managed mode the bases of the objects that the stack owns."""
    parts: dict[ObjectKey, list[tuple[PatchVersion, Document]]] = {}
    bases: dict[ObjectKey, tuple[PatchVersion, dict[str, Any]]] = {}
    incomplete: set[ObjectKey] = set()
    namespace = config.platform.namespace
    for one in chosen:
        rendered = render(one.patch, one.params)
        findings.extend(rendered.findings)
        for document in rendered.documents:
            parts.setdefault(_key(document, namespace), []).append((one.patch, document))
        if config.platform.mode == "managed" and one.patch.base is not None:
            unset = sorted(name for name, value in one.params.items() if value is None)
            if unset:
                findings.extend(_unset(one, name) for name in unset)
                incomplete.update(_key(document, namespace) for document in rendered.documents)
                continue
            base = render_base(one.patch, one.params)
            findings.extend(base.findings)
            for document in base.documents:
                bases[key_of(document.body, namespace)] = (one.patch, document.body)
    # Half an object is no plan: its patches would look for a target that is not there.
    return {key: documents for key, documents in parts.items() if key not in incomplete}, bases


def _key(document: Document, namespace: str) -> ObjectKey:
    return ObjectKey(document.body["apiVersion"], document.body["kind"], namespace, document.target)


def _unset(one: Selected, name: str) -> Finding:
    path = one.patch.meta.params.get(name, "")
    return Finding(
        "PAT017",
        Severity.ERROR,
        f"mode managed needs {path or name}, which is not set",
        field=path,
        detail=f"the base of {one.patch.id} describes the whole object",
        remedy="set it in the stack file, or use mode existing, where the platform keeps its own",
    )


def _plan_target(
    key: ObjectKey,
    workload: Workload | None,
    parts: list[tuple[PatchVersion, Document]],
    base: tuple[PatchVersion, dict[str, Any]] | None,
    state: ClusterState,
    schemas: merge.MergeSchema,
    config: Config,
    findings: list[Finding],
) -> TargetPlan | None:
    try:
        schema = schemas.of(key.api_version, key.kind)
    except KeyError:
        findings.append(
            Finding(
                "PAT008",
                Severity.ERROR,
                f"Kubernetes {config.kubernetes_version} has no {key.kind} in {key.api_version}",
                target=key.name,
                file=f"{parts[0][0].file}/patch.yaml.j2" if parts else "",
                remedy="correct apiVersion and kind in the template",
            )
        )
        return None
    composed, problems = compose(parts, schema, key.name)
    findings.extend(problems)
    live = state.objects.get(key)
    if live is None and base is None:
        findings.append(_missing_target(key, workload, parts, state))
        return None
    if base is None:
        assert live is not None
        problem = _missing_container(key, workload, parts, live)
        if problem is not None:
            findings.append(problem)
            return None
    if live is not None:
        switch = mode_switch(key.name, live, base is not None)
        if switch is not None:
            findings.append(switch)
            return None
    request = _request(key, _held(composed, live, base is not None, schema), base, schema)
    # Pulumi sends quantities in the server's spelling. It matters: to the server, 1 is in conflict with "1".
    applied = _shaped(merge.stored(schema, request), request)
    try:
        merged = merge.server_side(live, applied, FIELD_MANAGER, schema, force=True)
    except merge.MergeError as error:
        findings.append(
            Finding(
                "PAT008",
                Severity.ERROR,
                f"the patches of {key.name} do not make a {key.kind}: {error}",
                target=key.name,
                remedy="modelyard render shows what the patches came out as",
            )
        )
        return None
    after = merged.object
    changes = _changes(live, after, merged.taken, composed, base, schema, key, findings)
    before_replicas, after_replicas = _replicas(live), _replicas(after)
    action: Action = "create" if live is None else "update" if changes else "none"
    rolls = live is not None and any(change.path[:2] == ("spec", "template") for change in changes)
    released = REPLICAS in composed.unowned
    return TargetPlan(
        key,
        action,
        composed.phase,
        composed.patches,
        applied,
        live,
        after,
        changes,
        min(before_replicas or 0, after_replicas or 0) if rolls else 0,
        (before_replicas, None if released else after_replicas),
        (_gpus(live, before_replicas), _gpus(after, after_replicas)),
        base is not None,
        workload.role if workload is not None else "",
    )


def _held(composed: Composed, live: dict[str, Any] | None, owned: bool, schema: merge.Type) -> Composed:
    """The composed request with the fields that nobody would hold if we left them out.

    A field that its last owner drops takes the API server's default, which for ``replicas`` is a GPU pod that nobody
    asked for. So a field that a patch leaves to somebody else is held at its present value (0 for a new object) until
    that somebody has taken it.
    """
    body = composed.body
    for path in sorted(composed.unowned, key=lambda path: path.sort_key):
        if path != REPLICAS:
            continue
        if live is None:
            value: Any = 0 if owned else None
        else:
            others = [owner for owner in merge.owners(live, path, schema) if owner.manager != FIELD_MANAGER]
            value = None if others else _replicas(live)
        if value is not None:
            body = {**body, "spec": {**body.get("spec", {}), "replicas": value}}
    return composed._replace(body=body)


def _request(
    key: ObjectKey,
    composed: Composed,
    base: tuple[PatchVersion, dict[str, Any]] | None,
    schema: merge.Type,
) -> dict[str, Any]:
    """The one request of a target: its base when the stack owns it, its patches, and our own annotations."""
    body = composed.body if base is None else merge.strategic(base[1], composed.body, schema)
    metadata = dict(body.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    patches = composed.patches if base is None else tuple(dict.fromkeys((base[0].id, *composed.patches)))
    annotations[PATCHES_ANNOTATION] = ",".join(patches)
    annotations[MODE_ANNOTATION] = "existing" if base is None else "managed"
    annotations |= ENGINE_ANNOTATIONS
    metadata |= {"name": key.name, "namespace": key.namespace, "annotations": annotations}
    return {**body, "apiVersion": key.api_version, "kind": key.kind, "metadata": metadata}


def _shaped(value: Any, shape: Any) -> Any:
    """The value without the fields that the shape lacks."""
    if isinstance(shape, dict):
        return {name: _shaped(value[name], inner) for name, inner in shape.items() if name in value}
    if isinstance(shape, list):
        return [_shaped(*pair) for pair in zip(value, shape, strict=True)]
    return value


def _changes(
    live: dict[str, Any] | None,
    after: dict[str, Any],
    conflicts: Iterable[merge.Conflict],
    composed: Composed,
    base: tuple[PatchVersion, dict[str, Any]] | None,
    schema: merge.Type,
    key: ObjectKey,
    findings: list[Finding],
) -> tuple[FieldChange, ...]:
    taken = {conflict.path for conflict in conflicts}
    changes = []
    for change in merge.diff(live, after, schema):
        if change.path[:2] == ("metadata", "managedFields") or change.path[:1] == ("status",):
            continue
        owners = () if live is None else merge.owners(live, change.path, schema)
        if change.path in taken:
            others = tuple(owner for owner in owners if owner.manager != FIELD_MANAGER)
            findings.append(take_over(key.name, str(change.path), others))
        origin = _origin(change.path, composed.origins) or (base[0].id if base is not None else None)
        changes.append(FieldChange(change.path, change.before, change.after, origin, owners, change.path in taken))
    return tuple(changes)


def _origin(path: merge.Path, origins: Mapping[merge.Path, str]) -> str | None:
    """The patch that set a field, or a field below or above it where the field is atomic."""
    if path in origins:
        return origins[path]
    for other, patch in origins.items():
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            return patch
    return None


def _missing_target(
    key: ObjectKey, workload: Workload | None, parts: list[tuple[PatchVersion, Document]], state: ClusterState
) -> Finding:
    from difflib import get_close_matches

    names = sorted(other.name for other in state.objects if other.kind == key.kind and other.namespace == key.namespace)
    close = get_close_matches(key.name, names, 1)
    have = f"Did you mean {close[0]}?" if close else f"In {key.namespace} there are: {', '.join(names) or 'none'}."
    wanted_by = ", ".join(dict.fromkeys(patch.id for patch, _ in parts))
    return Finding(
        "PAT013",
        Severity.ERROR,
        f"{key.kind} {key.namespace}/{key.name} is not in the cluster",
        target=key.name,
        field=f"targets.{workload.role}.deployment" if workload else "",
        file="" if workload else f"{parts[0][0].file}/patch.yaml.j2",
        detail=f"wanted by {wanted_by}; a patch changes only what is there",
        remedy=f"{have} Name it under modelyard:targets, or install the platform first"
        if workload
        else f"{have} Correct the target of the patch, or install the platform first",
    )


def _missing_container(
    key: ObjectKey,
    workload: Workload | None,
    parts: list[tuple[PatchVersion, Document]],
    live: Mapping[str, Any],
) -> Finding | None:
    from difflib import get_close_matches

    def containers(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        pod = ((body.get("spec") or {}).get("template") or {}).get("spec") or {}
        return {container.get("name", ""): container for container in pod.get("containers") or ()}

    have = containers(live)
    for patch, document in parts:
        for name, container in containers(document.body).items():
            # A container that brings its image is a new one, such as a sidecar.
            if name in have or "image" in container:
                continue
            close = get_close_matches(name, have, 1)
            ours = workload is not None and name == workload.container
            return Finding(
                "PAT014",
                Severity.ERROR,
                f"{key.name} has no container {name!r}",
                target=key.name,
                field=f"targets.{workload.role}.container" if ours and workload else "spec.template.spec.containers",
                file="" if ours else f"{patch.file}/patch.yaml.j2",
                detail="server-side apply would add a second, half-made container",
                remedy=(f"did you mean {close[0]}?" if close else f"it has {', '.join(have)}.")
                + (" Name it under modelyard:targets" if ours else " Correct the template"),
            )
    return None


def _replicas(body: Mapping[str, Any] | None) -> int | None:
    value = ((body or {}).get("spec") or {}).get("replicas")
    return value if isinstance(value, int) else None


def _gpus(body: Mapping[str, Any] | None, replicas: int | None) -> int:
    pod = (((body or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    each = sum(
        int(((container.get("resources") or {}).get("limits") or {}).get(GPU_RESOURCE, 0))
        for container in pod.get("containers") or ()
    )
    return each * (replicas or 0)


def _headline(config: Config) -> str:
    gpu = config.gpu
    side = "Ray" if config.training == "ray" else "Celery"
    cards = f"{gpu.per_worker} × {gpu.model}" if gpu.per_worker > 1 else gpu.model
    return f"{side} training on {cards} · release {config.platform.release} · {config.platform.mode}"


def _inputs(stack: Stack, chosen: Iterable[Selected]) -> dict[str, str]:
    return {
        "modelyard": __version__,
        stack.file: stack.sha256,
        **{one.patch.id: one.patch.sha256 for one in chosen},
    }
