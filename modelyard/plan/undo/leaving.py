"""Objects that the stack no longer asks for: an apply restores what it patched, and deletes what it made.

The engine's state has these objects. If the state is not available, as in an offline plan,
the annotations of the objects replace it.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from modelyard.catalog import Library
from modelyard.catalog.library import Phase
from modelyard.cluster import Answer, Deletion, Question
from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.scheduling.pods import pods_of, replicas_of
from modelyard.kube.state import ClusterState, Held, ObjectKey, annotations_of
from modelyard.names import STACK_NOTE
from modelyard.plan.ownership import FIELD_MANAGER, MODE_ANNOTATION, PATCHES_ANNOTATION
from modelyard.plan.prediction import predict, undeletable
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.findings import let_go, stranger, two_states
from modelyard.plan.undo.ledger import known_ledger, ours
from modelyard.plan.undo.request import gets_back
from modelyard.plan.undo.restore import Undo, finished, undo
from modelyard.plan.values import FieldChange, TargetPlan, local_name
from modelyard.stack.config import Stack
from modelyard.workloads import Workload
from modelyard.workloads.training import WORKER_ROLES


class Leaving(NamedTuple):
    """One object that the stack no longer asks for."""

    key: ObjectKey
    live: dict[str, Any]
    schema: merge.Type
    undo: Undo | None
    """The undo that restores it; None if it is deleted."""
    role: str
    elsewhere: bool

    @property
    def local_name(self) -> str:
        """The object's name among the targets of its own cluster."""
        return local_name(self.key, elsewhere=self.elsewhere)

    @property
    def request(self) -> dict[str, Any]:
        """The request that restores it, for any later version of the object."""
        if self.undo is None:
            return {}
        metadata = {name: value for name, value in self.undo.request["metadata"].items() if name != "resourceVersion"}
        return {**self.undo.request, "metadata": metadata}

    @property
    def question(self) -> Question:
        """The question to the API server about it."""
        return self.request if self.undo is not None else Deletion(self.key, self.live["metadata"].get("uid", ""))


def leaving(
    wanted: Set[ObjectKey],
    state: ClusterState,
    schemas: merge.MergeSchema,
    library: Library,
    workloads: Mapping[str, Workload],
    namespace: str,
) -> Iterator[Leaving]:
    """The objects that the stack no longer asks for.

    Args:
        wanted: the objects that the stack asks for.
        state: the starting state.
        schemas: the schemas of the stack's Kubernetes version.
        library: the project's patches, which show the object's workload.
        workloads: by name of their Deployment.
        namespace: the stack's namespace.

    Raises:
        LookupError: the schemas do not have the kind of such an object.
    """
    for key, held in sorted(_held(state).items()):
        live = state.objects.reveal().get(key)
        if key in wanted or live is None or (held.forgotten and not ours(live)):
            continue
        back = None if held.managed else undo(live, known_ledger(live, held.ledger.reveal()))
        if held.managed or back is not None:
            there = workloads if key.namespace == namespace else {}
            role = held.role or _role(key, live, library, there)
            elsewhere = key.namespace not in ("", namespace)
            yield Leaving(
                key=key,
                live=live,
                schema=schemas.of(key.api_version, key.kind),
                undo=back,
                role=role,
                elsewhere=elsewhere,
            )


def _held(state: ClusterState) -> Mapping[ObjectKey, Held]:
    if state.held is not None:
        return state.held
    return {
        key: Held(annotations_of(body).get(MODE_ANNOTATION) == "managed")
        for key, body in state.objects.reveal().items()
        if PATCHES_ANNOTATION in annotations_of(body)
    }


def _role(key: ObjectKey, live: dict[str, Any], library: Library, workloads: Mapping[str, Workload]) -> str:
    """The workload of the object, by its name, else by the patches on it; empty if unknown."""
    if key.name in workloads:
        return workloads[key.name].role
    for patch in str(annotations_of(live).get(PATCHES_ANNOTATION, "")).split(","):
        name, _, version = patch.partition("@")
        found = library.patches.get(name, {}).get(version)
        role, _, last = (found.meta.params.get("deployment", "") if found is not None else "").partition(".")
        if last == "deployment":
            return role
    return ""


def strangers(wanted: Set[ObjectKey], state: ClusterState) -> Iterator[Finding]:
    """Findings about objects that carry patches but are neither in the stack nor in its state."""
    if state.held is None:
        return
    objects = state.objects.reveal()
    for key in sorted(objects.keys() - wanted - state.held.keys()):
        if PATCHES_ANNOTATION in annotations_of(objects[key]):
            yield stranger(key.name, objects[key])


def of_another_state(stack: Stack, wanted: Set[ObjectKey], state: ClusterState) -> Iterator[Finding]:
    """The finding where the cluster has objects that this stack applied, but the state that was read does not have
    them: they are from another state of the stack.
    """
    objects = state.objects.reveal()
    names = [
        key.name
        for key in sorted(wanted & objects.keys() - (state.held or {}).keys())
        if annotations_of(objects[key]).get(STACK_NOTE) == stack.full_name and ours(objects[key])
    ]
    if state.held is not None and names:
        yield two_states(stack, names)


def let_go_of(one: Leaving, answer: Answer | None) -> tuple[TargetPlan, tuple[Finding, ...]]:
    """The plan of such an object, with its findings; ``answer`` is the API server's answer to its question."""
    findings: tuple[Finding, ...] = ()
    after: dict[str, Any] = {}
    changes: tuple[FieldChange, ...] = ()
    if one.undo is not None:
        offline = merge.server_side(one.live, one.request, FIELD_MANAGER, one.schema, force=True)
        foreseen, findings = predict(one.local_name, one.schema, one.live, one.request, offline, answer)
        after = finished(foreseen.after, one.undo.ledger)
        changes = tuple(_changes(one, one.undo, after))
    elif answer is not None and answer.refusal is not None:
        findings = (undeletable(one.local_name, answer.refusal),)
    rolls = any(change.path[:2] == ("spec", "template") for change in changes)
    before_replicas = replicas_of(one.live)
    after_replicas = replicas_of(after) if after or before_replicas is None else 0
    gpus = (pods_of(one.live).gpus * (before_replicas or 0), pods_of(after).gpus * (after_replicas or 0))
    target = TargetPlan(
        key=one.key,
        action="delete" if one.undo is None else "restore",
        phase=_phase(one, before_replicas or 0, after_replicas or 0),
        patches=(),
        applied=Confidential(one.request),
        before=Confidential(one.live),
        after=Confidential(after),
        changes=changes,
        replaces_pods=min(before_replicas or 0, after_replicas or 0) if rolls else 0,
        replicas=(before_replicas, after_replicas),
        gpus=gpus,
        managed=one.undo is None,
        role=one.role,
        elsewhere=one.elsewhere,
    )
    return target, (*findings, let_go(one.local_name, one.live, one.undo))


def _phase(one: Leaving, before: int, after: int) -> Phase:
    """The phase: a deletion comes after its replacement is ready, if the GPUs allow it."""
    if one.undo is None:
        return "down"
    if one.role == "apiServer":
        return "route"
    if one.role not in WORKER_ROLES:
        return "normal"
    return "down" if after < before else "up"


def _changes(one: Leaving, back: Undo, after: dict[str, Any]) -> Iterable[FieldChange]:
    gets = gets_back(back.ledger)
    for change in merge.diff(one.live, after, one.schema):
        if change.path[:2] == ("metadata", "managedFields") or change.path[:1] == ("status",):
            continue
        owners = merge.owners(one.live, change.path, one.schema)
        was, now = hidden_change(one.key, change.path, change.before, change.after, (one.live, after))
        yield FieldChange(
            path=change.path,
            before=was,
            after=now,
            patch=None,
            owners=owners,
            taken=False,
            back=gets.get(change.path),
        )
