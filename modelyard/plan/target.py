"""Plans one object: combines its patches into one request, and predicts the object."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from modelyard.catalog import PatchDocument, PatchVersion
from modelyard.catalog.library import BASE, TEMPLATE, Phase
from modelyard.cluster import Answer
from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential, words_without
from modelyard.kube import merge
from modelyard.kube.scheduling.pods import (
    ONE_TEMPLATE,
    RAY_CLUSTERS,
    asked_replicas,
    changed_templates,
    changes_template,
    gpus_of,
    is_rolled,
    pods_words,
    ray_cluster,
    ray_group,
    replaced_pods,
    replica_limits,
    replicas_of,
)
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.names import FIELD_MANAGER, STACK_NOTE
from modelyard.plan.compose import (
    MISFIT,
    Composed,
    as_spelled,
    completed,
    compose,
    first_phase,
    misfits,
    missing_items,
    whole_lists,
)
from modelyard.plan.conflicts import conflict_findings
from modelyard.plan.missing import missing_containers, missing_target
from modelyard.plan.ownership import (
    ENGINE_ANNOTATIONS,
    MODE_ANNOTATION,
    PATCHES_ANNOTATION,
    other_mode,
    other_stack,
    take_over,
    taken_unchanged,
)
from modelyard.plan.prediction import differences, predict
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.findings import doubts
from modelyard.plan.undo.ledger import known_ledger, ours
from modelyard.plan.undo.lists import by_item, earlier_ledger, list_around, unpatched
from modelyard.plan.undo.request import ListItems, ReversibleRequest, reversible_request
from modelyard.plan.undo.restore import with_earlier_owners
from modelyard.plan.values import Action, FieldChange, TargetPlan
from modelyard.stack.config import Stack
from modelyard.stack.words import few, listed, plural
from modelyard.workloads import Workload

REPLICAS = merge.Path(("spec", "replicas"))

Foreign = Callable[[str, Mapping[str, Any], bool], Finding]
"""Returns the finding about an existing object, by name, whose mode differs from the stack's; True: managed."""


OLD_PODS = "RES110"
"""Code of the finding about running pods that keep the old template."""


class TargetInputs(NamedTuple):
    """The input for the plan of one object: what the stack asks of it."""

    key: ObjectKey
    parts: list[tuple[PatchVersion, PatchDocument]]
    """The output of its patches, in merge order."""
    base: tuple[PatchVersion, dict[str, Any]] | None
    """The whole object if the stack owns it (mode managed), and the patch version whose base it is."""
    workloads: tuple[Workload, ...]
    """The workloads of the object, training workers first; none if only patches define it."""


class Prepared(NamedTuple):
    """A request for one object that can be sent, with its result as far as this can be predicted offline."""

    inputs: TargetInputs
    schema: merge.Type
    composed: Composed
    live: dict[str, Any] | None
    applied: dict[str, Any]
    offline: merge.ServerSide
    kept: ReversibleRequest | None
    """The reversible request with the ledger; None for an object that the stack owns."""


def prepare(
    inputs: TargetInputs, schema: merge.Type, state: ClusterState, stack: Stack, foreign: Foreign
) -> tuple[Prepared | None, tuple[Finding, ...]]:
    """The request of a stack for one object, with findings; no request if a finding rules it out. ``foreign`` returns
    the finding about an existing object that the stack may not take.
    """
    key, base = inputs.key, inputs.base
    composed, problems = compose(inputs.parts, schema, key.name)
    problems = (*problems, *conflict_findings(composed.conflicts, key, inputs.workloads, stack))
    wrong = misfits(base[0], BASE, base[1], schema, key.name) if base is not None else ()
    problems = (*problems, *wrong)
    if wrong or not composed.fits:
        return None, problems
    live = state.objects.reveal().get(key)
    if hindrances := tuple(_hindrances(inputs, composed, live, state, foreign)):
        return None, (*problems, *hindrances)
    if live is not None and (found := other_stack(key.name, live, stack.full_name)) is not None:
        problems = (*problems, found)
    kept: ReversibleRequest | None = None
    asked: ListItems | None = None
    copy = state.copy_of(key).reveal()
    try:
        if live is not None:
            composed = as_spelled(composed, live)
            asked = ListItems(composed.items, composed.schema, composed.body)
            composed = completed(composed, _unpatched(live, composed, copy))
            problems = (*problems, *whole_lists(composed, live, key.name))
        body = _request(key, _held(composed, live, base is not None, schema), base, schema, stack.full_name)
        # Pulumi sends quantities in the server's spelling, because the server sees a conflict between 1 and "1".
        applied = _shaped(merge.stored(schema, body), body)
        if live is not None and base is None:
            kept = reversible_request(live, applied, schema, copy, items=asked)
            applied = kept.request
        offline = merge.server_side(live, applied, FIELD_MANAGER, schema, force=True)
    except merge.MergeError as error:
        return None, (*problems, *_unfit(inputs, composed, schema, error))
    return Prepared(
        inputs=inputs, schema=schema, composed=composed, live=live, applied=applied, offline=offline, kept=kept
    ), problems


def _unpatched(live: dict[str, Any], composed: Composed, copy: str) -> dict[str, Any]:
    """The object with the lists of which patches change items as they would be without the patches."""
    if not composed.items or not ours(live):
        return live
    return unpatched(live, earlier_ledger(live, known_ledger(live, copy), composed.items, composed.schema))


def finish(
    prepared: Prepared, answer: Answer | None, installers: Collection[str] = ()
) -> tuple[TargetPlan, tuple[Finding, ...]]:
    """The plan of one object, and the findings about it.

    ``answer`` is the API server's answer to the object's request. If the API server was not asked, or rejects the
    request, the plan shows the result according to the rules known offline. ``installers`` are the managers that the
    stack lists as installers.
    """
    inputs, live, key, base = prepared.inputs, prepared.live, prepared.inputs.key, prepared.inputs.base
    foreseen, findings = predict(
        key.name, prepared.schema, live, applied=prepared.applied, offline=prepared.offline, answer=answer
    )
    # An apply is complete once the restored fields belong to their earlier owners.
    after = foreseen.after if prepared.kept is None else with_earlier_owners(foreseen.after, prepared.kept.ledger)
    changes = _changes(prepared, after, {claim.field for claim in foreseen.claims})
    action: Action = "create" if live is None else "update" if changes else "none"
    place = inputs.workloads[0].place if inputs.workloads else ONE_TEMPLATE
    target = TargetPlan(
        key=key,
        action=action,
        phase=_phase(inputs, prepared.composed, changes),
        patches=prepared.composed.patches if base is None or base[0].meta.use != "managed" else (base[0].id,),
        applied=Confidential(prepared.applied),
        before=Confidential(live),
        after=Confidential(after),
        changes=changes,
        replaces_pods=replaced_pods(live, after, (change.path for change in changes)),
        replicas=(
            replicas_of(live, place),
            None if REPLICAS in prepared.composed.unowned else replicas_of(after, place),
        ),
        gpus=(gpus_of(live), gpus_of(after)),
        managed=base is not None,
        role=inputs.workloads[0].role if inputs.workloads else "",
        conflicts=foreseen.claims,
        hands_over=prepared.kept is not None and prepared.kept.hands_over,
        place=place,
    )
    noted = doubts(key.name, prepared.kept) if prepared.kept is not None else ()
    group = _group_size(target, prepared.composed.origins.get(place / "replicas"))
    return target, (*findings, *_taken(target, installers), *old_pods(target), *group, *noted)


def old_pods(target: TargetPlan) -> Iterator[Finding]:
    """The finding about running pods that a new template does not replace."""
    before, after = target.before.reveal(), target.after.reveal()
    if target.action not in ("update", "restore") or is_rolled(after):
        return
    fields = [change.path for change in target.changes]
    if not changes_template(before, after, fields, running=True):
        return
    ray = target.key.kind in RAY_CLUSTERS
    places = changed_templates(before, after, fields, running=True)
    # Of a RayService, fields outside of pod templates count too.
    whose = listed([pods_words(target.name, place) for place in places], "and") if places else target.name
    yield Finding(
        OLD_PODS,
        Severity.WARNING,
        f"running pods of {whose} will keep the old template",
        target=target.name,
        field="spec.upgradeStrategy.type" if ray else "spec.updateStrategy.type",
        detail="KubeRay does not replace pods when their template changes"
        if ray
        else "updateStrategy is OnDelete: the change counts for a pod once it is deleted and created again",
        remedy="set upgradeStrategy.type of the RayService to NewCluster"
        if target.key.kind == "RayService"
        else f"afterwards, when no job runs in them, delete these pods: {deletion(target.key, places)}"
        if ray
        else f"afterwards, when no job runs in them, delete the pods of {target.name}",
    )


def deletion(key: ObjectKey, places: Iterable[merge.Path]) -> str:
    """The command that deletes a RayCluster's pods, by the labels that KubeRay gives them."""
    groups = [ray_group(place) for place in places]
    chosen = f"ray.io/group={groups[0]}" if len(groups) == 1 else f"ray.io/group in ({','.join(groups)})"
    selector = f"ray.io/cluster={key.name},{chosen}"
    selector = f"'{selector}'" if len(groups) > 1 else selector
    return f"kubectl --namespace {key.namespace} delete pods --selector {selector}"


def _group_size(target: TargetPlan, patch: str | None) -> Iterator[Finding]:
    """Findings about a worker group of KubeRay that will not have the replicas that a patch sets."""
    after, kind = target.after.reveal(), target.key.kind
    if patch is None or kind not in RAY_CLUSTERS:
        return
    field, whose = target.place / "replicas", pods_words(target.name, target.place)
    if ray_cluster(after).get("enableInTreeAutoscaling"):
        yield Finding(
            "OWN002",
            Severity.ERROR,
            f"Ray's autoscaler sets replicas of {whose}",
            target=target.name,
            field=str(field),
            detail="modelyard and Ray's autoscaler would keep overwriting each other",
            remedy=f"drop {patch.partition('@')[0]} under modelyard:patches (enabled: false), "
            f"or set enableInTreeAutoscaling of the {kind} to false",
        )
        return
    running = target.replicas[0] or 0
    if kind == "RayService" and target.action == "update" and not target.upgrades and target.replicas[1] != running:
        yield Finding(
            "RES111",
            Severity.WARNING,
            f"KubeRay will keep {plural(running, 'pod')} of {whose}",
            target=target.name,
            field=str(field),
            detail=f"KubeRay takes replicas of a RayService only into a new RayCluster, and {patch} leads to none",
            remedy="let the patch change an annotation of the pod template too; upgradeStrategy must not be None",
        )
        return
    wanted, pods = asked_replicas(after, target.place), replicas_of(after, target.place)
    if wanted != pods:
        limits = " and ".join(replica_limits(after, target.place))
        yield Finding(
            "RES111",
            Severity.WARNING,
            f"KubeRay will run {plural(pods or 0, 'pod')} of {whose}, not {wanted}",
            target=target.name,
            field=str(field),
            detail=f"the {kind} has {limits}, and {patch} sets replicas to {wanted}",
            remedy=f"correct this in the {kind}, or replicas in the stack file",
        )


def _phase(inputs: TargetInputs, composed: Composed, changes: Iterable[FieldChange]) -> Phase:
    """The phase of the target. A target is a route only if the route's own patch changes it."""
    if composed.phase != "route":
        return composed.phase
    asking = {change.patch for change in changes if not change.reorders}
    phases = [document.phase for patch, document in inputs.parts if patch.id in asking]
    return first_phase(phases) if phases else composed.phase


def _taken(target: TargetPlan, installers: Collection[str]) -> Iterator[Finding]:
    """The findings for the fields that a plan takes from others."""
    reported = set()
    for change in target.changes:
        if change.taken:
            reported.add(change.path.server_text)
            yield from take_over(target.name, change, installers)
    rest = [claim for claim in target.conflicts if claim.field not in reported]
    yield from taken_unchanged(target.name, target.before.reveal() or {}, rest, installers)


def _unfit(inputs: TargetInputs, composed: Composed, schema: merge.Type, error: merge.MergeError) -> Iterator[Finding]:
    """The errors of the request, each at the patch that sets its field; errors without such a patch are one finding."""
    key, base, rest = inputs.key, inputs.base, []
    shown = words_without([composed.body] if base is None else [composed.body, base[1]])
    files = {patch.id: f"{patch.file}/{TEMPLATE}" for patch, _ in inputs.parts}
    for problem in error.errors:
        file = files.get(composed.origins.get(problem.path, ""), "")
        if not file and base is not None and merge.value_at(schema, base[1], problem.path) is not merge.ABSENT:
            file = f"{base[0].file}/{BASE}"
        if not file:
            rest.append(shown(str(problem)))
            continue
        yield Finding(
            MISFIT,
            Severity.ERROR,
            f"the API server would reject what the patch sets in {key.name}: {shown(str(problem))}",
            target=key.name,
            field=str(problem.path),
            file=file,
            remedy="correct the field in the template, or the parameter that fills it",
        )
    if rest:
        yield Finding(
            MISFIT,
            Severity.ERROR,
            f"the patches of {key.name} do not form a complete {key.kind}: {few(rest)}",
            target=key.name,
            remedy="correct these fields in the patch that sets them, or add them to base.yaml.j2",
        )


def _hindrances(
    inputs: TargetInputs, composed: Composed, live: dict[str, Any] | None, state: ClusterState, foreign: Foreign
) -> Iterator[Finding]:
    """Why the object cannot be planned at all."""
    owned = inputs.base is not None
    if live is None:
        if not owned:
            yield missing_target(inputs.key, inputs.workloads, inputs.parts, state)
        return
    if not owned:
        yield from missing_containers(inputs.key, inputs.workloads, inputs.parts, live)
    if other_mode(live, owned):
        yield foreign(inputs.key.name, live, owned)
    if not owned:
        groups = {one.group: one.role for one in inputs.workloads if one.group}
        yield from missing_items(composed, live, inputs.key.name, groups)


def _held(composed: Composed, live: dict[str, Any] | None, owned: bool, schema: merge.Type) -> Composed:
    """The composed request, with replicas that would have no owner without it.

    A field that its last owner drops gets the API server's default: an unwanted GPU pod. Replicas that a patch leaves
    to another owner are therefore held at their current value (0 for a new object) until that owner has taken them.
    """
    if REPLICAS not in composed.unowned:
        return composed
    if live is None:
        value = 0 if owned else None
    else:
        holders = {owner.manager for owner in merge.owners(live, REPLICAS, schema)}
        # A field without an owner, such as an autoscaler's 0, stays as it is when a request leaves it out.
        value = replicas_of(live) if holders == {FIELD_MANAGER} else None
    if value is None:
        return composed
    body = composed.body
    return composed._replace(body={**body, "spec": {**body.get("spec", {}), "replicas": value}})


def _request(
    key: ObjectKey,
    composed: Composed,
    base: tuple[PatchVersion, dict[str, Any]] | None,
    schema: merge.Type,
    stack: str,
) -> dict[str, Any]:
    """The one request of a target: its base if the stack owns the object, its patches, and modelyard's annotations."""
    body = composed.body if base is None else merge.strategic(base[1], composed.body, schema)
    metadata = dict(body.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    patches = composed.patches if base is None else tuple(dict.fromkeys((base[0].id, *composed.patches)))
    annotations[PATCHES_ANNOTATION] = ",".join(patches)
    annotations[MODE_ANNOTATION] = "existing" if base is None else "managed"
    annotations[STACK_NOTE] = stack
    annotations |= ENGINE_ANNOTATIONS
    place = {"namespace": key.namespace} if key.namespace else {}
    metadata |= {"name": key.name, **place, "annotations": annotations}
    return {**body, "apiVersion": key.api_version, "kind": key.kind, "metadata": metadata}


def _shaped(value: Any, shape: Any) -> Any:
    """The value without the fields that the shape lacks."""
    if isinstance(shape, dict):
        return {name: _shaped(value[name], inner) for name, inner in shape.items() if name in value}
    if isinstance(shape, list) and isinstance(value, list) and len(value) == len(shape):
        return [_shaped(*pair) for pair in zip(value, shape, strict=True)]
    return value


def _changes(prepared: Prepared, after: dict[str, Any], taken: Set[str]) -> tuple[FieldChange, ...]:
    """The changes from the request; ``taken`` are the fields, as the server words them, that are taken from others."""
    # Of a list that is sent as a whole, the items that change are shown.
    live, kept, base = prepared.live, prepared.kept, prepared.inputs.base
    schema = prepared.composed.schema if kept is None else by_item(prepared.composed.schema, kept.ledger)
    changes = []
    for change in differences(live, after, schema):
        owners = () if live is None else merge.owners(live, change.path, schema)
        origin = _origin(change.path, prepared.composed.origins)
        if (
            origin is None
            and base is not None
            and merge.value_at(schema, prepared.applied, change.path) != merge.ABSENT
        ):
            origin = base[0].id
        back = None if kept is None or origin is not None else _given_back(kept, change.path)
        was, now = hidden_change(prepared.inputs.key, change.path, change.before, change.after, (live, after))
        changes.append(
            FieldChange(
                path=change.path,
                before=was,
                after=now,
                patch=origin,
                owners=owners,
                taken=change.path.server_text in taken,
                back=back,
            )
        )
    return tuple(changes)


def _given_back(kept: ReversibleRequest, path: merge.Path) -> tuple[merge.Owner, ...] | None:
    """The owners that get a restored field back: none in a list that modelyard still sends; None if not restored."""
    around = list_around(path, kept.ledger)
    return kept.given_back.get(path) if around is None else kept.given_back.get(around, ())


def _origin(path: merge.Path, origins: Mapping[merge.Path, str]) -> str | None:
    """The patch that set a field, or a field below or above it if the field is atomic."""
    if path in origins:
        return origins[path]
    for other, patch in origins.items():
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            return patch
    return None
