"""Objects that the stack no longer asks for: an apply restores those that the stack patched, and deletes those that it
created.

The engine's state lists these objects. Without the state, as in an offline plan, the objects' annotations are used
instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from modelyard.catalog import Library
from modelyard.catalog.library import Phase
from modelyard.cluster import Answer, Deletion, Question, Refusal
from modelyard.findings import Finding
from modelyard.hiding import Confidential, hidden_words
from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.pods import gpus_of, is_ray_head, pod_places, replaced_pods, replicas_of
from modelyard.kube.state import ClusterState, ObjectKey, StateObject, annotations_of
from modelyard.names import FIELD_MANAGER, STACK_NOTE
from modelyard.plan.ownership import MODE_ANNOTATION, PATCHES_ANNOTATION
from modelyard.plan.prediction import differences, predict, refused, undeletable
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.findings import dropped_object, stranger, two_states
from modelyard.plan.undo.ledger import known_ledger, ours
from modelyard.plan.undo.lists import by_item, list_around
from modelyard.plan.undo.request import gets_back
from modelyard.plan.undo.restore import Undo, finished, undo
from modelyard.plan.values import FieldChange, TargetPlan, local_name
from modelyard.stack.config import Stack
from modelyard.workloads import Workload
from modelyard.workloads.training import WORKER_ROLES


class Dropped(NamedTuple):
    """One object that an apply or destroy restores or deletes."""

    key: ObjectKey
    live: dict[str, Any]
    schema: merge.Type
    undo: Undo | None
    """The undo that restores the object; None if an apply deletes the object."""
    role: str
    in_earlier_namespace: bool

    @property
    def local_name(self) -> str:
        """The object's name among the targets of its own cluster."""
        return local_name(self.key, in_earlier_namespace=self.in_earlier_namespace)

    @property
    def request(self) -> dict[str, Any]:
        """The request that restores the object, for any later version of the object."""
        if self.undo is None:
            return {}
        metadata = {name: value for name, value in self.undo.request["metadata"].items() if name != "resourceVersion"}
        return {**self.undo.request, "metadata": metadata}

    @property
    def question(self) -> Question:
        """The question to the API server about restoring or deleting the object."""
        return self.request if self.undo is not None else Deletion(self.key, self.live["metadata"].get("uid", ""))


def dropped_objects(
    wanted: Set[ObjectKey],
    state: ClusterState,
    schemas: merge.MergeSchema,
    *,
    library: Library,
    workloads: Mapping[str, tuple[Workload, ...]],
    namespace: str,
    stack: str,
) -> Iterator[Dropped]:
    """The objects that the stack no longer asks for: those other than ``wanted``.

    ``stack`` is the stack's full name, and ``namespace`` its namespace. The patches in ``library`` show an object's
    workload; ``workloads`` are by name of their object, training workers first.

    Raises:
        LookupError: the schemas do not have the kind of such an object.
    """
    for key, held in sorted(_held(state, stack).items()):
        live = state.objects.reveal().get(key)
        if key in wanted or live is None or (held.forgotten and not ours(live)):
            continue
        back = None if held.managed else undo(live, known_ledger(live, held.ledger.reveal()))
        if held.managed or back is not None:
            there = workloads if key.namespace == namespace else {}
            role = held.role or _role(key, live, library, there)
            yield Dropped(
                key=key,
                live=live,
                schema=schemas.of(key.api_version, key.kind),
                undo=back,
                role=role,
                in_earlier_namespace=key.namespace not in ("", namespace),
            )


def _held(state: ClusterState, stack: str) -> Mapping[ObjectKey, StateObject]:
    if state.state_objects is not None:
        return state.state_objects
    notes = {key: annotations_of(body) for key, body in state.objects.reveal().items()}
    return {
        key: StateObject(note.get(MODE_ANNOTATION) == "managed")
        for key, note in notes.items()
        # Earlier versions did not write the stack's name.
        if PATCHES_ANNOTATION in note and note.get(STACK_NOTE, stack) == stack
    }


def _role(key: ObjectKey, live: dict[str, Any], library: Library, workloads: Mapping[str, tuple[Workload, ...]]) -> str:
    """The workload of the object, by the object's name, or else by the patches on it; empty if unknown."""
    if key.name in workloads:
        return workloads[key.name][0].role
    roles = []
    for patch in str(annotations_of(live).get(PATCHES_ANNOTATION, "")).split(","):
        name, _, version = patch.partition("@")
        found = library.patches.get(name, {}).get(version)
        role, _, last = (found.meta.params.get("deployment", "") if found is not None else "").partition(".")
        if last == "deployment":
            roles.append(role)
    # An object of KubeRay has the head and the workers.
    return next((role for role in roles if role in WORKER_ROLES), roles[0] if roles else "")


def strangers(wanted: Set[ObjectKey], state: ClusterState) -> Iterator[Finding]:
    """Findings about objects that carry patches but are neither in the stack nor in its state."""
    if state.state_objects is None:
        return
    objects = state.objects.reveal()
    for key in sorted(objects.keys() - wanted - state.state_objects.keys()):
        if PATCHES_ANNOTATION in annotations_of(objects[key]):
            yield stranger(key.name, objects[key])


def of_another_state(stack: Stack, wanted: Set[ObjectKey], state: ClusterState) -> Iterator[Finding]:
    """The finding that this stack applied objects in the cluster from another state than the one that was read."""
    objects = state.objects.reveal()
    names = [
        key.name
        for key in sorted(wanted & objects.keys() - (state.state_objects or {}).keys())
        if annotations_of(objects[key]).get(STACK_NOTE) == stack.full_name and ours(objects[key])
    ]
    if state.state_objects is not None and names:
        yield two_states(stack, names)


def planned_drop(dropped: Dropped, answer: Answer | None) -> tuple[TargetPlan, tuple[Finding, ...]]:
    """The plan of an object to restore or delete, with findings; ``answer`` is the answer to ``Dropped.question``."""
    findings: tuple[Finding, ...] = ()
    after: dict[str, Any] = {}
    changes: tuple[FieldChange, ...] = ()
    if dropped.undo is not None:
        after, findings = _restored(dropped, dropped.undo, answer)
        changes = tuple(_changes(dropped, dropped.undo, after))
    elif answer is not None and answer.refusal is not None:
        findings = (undeletable(dropped.local_name, answer.refusal),)
    place = _place(dropped, after)
    before_replicas = replicas_of(dropped.live, place)
    after_replicas = replicas_of(after, place) if after or before_replicas is None else 0
    target = TargetPlan(
        key=dropped.key,
        action="delete" if dropped.undo is None else "restore",
        phase=_phase(dropped, before_replicas or 0, after_replicas or 0),
        patches=(),
        applied=Confidential(dropped.request),
        before=Confidential(dropped.live),
        after=Confidential(after),
        changes=changes,
        replaces_pods=replaced_pods(dropped.live, after, (change.path for change in changes)),
        replicas=(before_replicas, after_replicas),
        gpus=(gpus_of(dropped.live), gpus_of(after)),
        managed=dropped.undo is None,
        role=dropped.role,
        in_earlier_namespace=dropped.in_earlier_namespace,
        place=place,
    )
    return target, (*findings, dropped_object(dropped.local_name, dropped.live, dropped.undo))


def _restored(one: Dropped, back: Undo, answer: Answer | None) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The object after its undo, with findings; if the undo would be rejected, the object as it is."""
    try:
        offline = merge.server_side(one.live, one.request, FIELD_MANAGER, one.schema, force=True)
    except merge.MergeError as error:
        refusal = Refusal("invalid", hidden_words(str(error), one.request))
        return one.live, (refused(one.local_name, refusal),)
    foreseen, findings = predict(
        one.local_name, one.schema, one.live, applied=one.request, offline=offline, answer=answer
    )
    return finished(foreseen.after, back.ledger), findings


def _place(one: Dropped, after: Mapping[str, Any]) -> Path:
    """Where the object has the pods of its workload; of several worker groups, the first that an apply scales."""
    places = pod_places(one.live)
    if one.role not in WORKER_ROLES or len(places) == 1:
        return places[0]
    groups = [place for place in places if not is_ray_head(place)]
    scaled = (place for place in groups if replicas_of(one.live, place) != replicas_of(after, place))
    return next(scaled, groups[0])


def _phase(one: Dropped, before: int, after: int) -> Phase:
    """The phase of an object to restore or delete: a delete waits for the replacement, if the GPUs allow it."""
    if one.undo is None:
        return "down"
    if one.role == "apiServer":
        return "route"
    if one.role not in WORKER_ROLES:
        return "normal"
    return "down" if after < before else "up"


def _changes(one: Dropped, back: Undo, after: dict[str, Any]) -> Iterable[FieldChange]:
    gets = gets_back(back.ledger)
    for change in differences(one.live, after, by_item(one.schema, back.ledger)):
        was, now = hidden_change(one.key, change.path, change.before, change.after, (one.live, after))
        yield FieldChange(
            path=change.path,
            before=was,
            after=now,
            patch=None,
            owners=merge.owners(one.live, change.path, one.schema),
            back=gets.get(list_around(change.path, back.ledger) or change.path),
        )
