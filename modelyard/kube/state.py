"""The starting state of a plan, regardless of its source."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from modelyard import quantity
from modelyard.hiding import Confidential
from modelyard.kube.kinds import is_namespaced

SCALED_OBJECT = "ScaledObject"
"""KEDA's kind."""
PAUSED = "autoscaling.keda.sh/paused"
"""The annotation that pauses a ScaledObject."""
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
"""The annotation that pauses a ScaledObject at a number of pods."""


class ObjectKey(NamedTuple):
    """The identity of an object in a cluster."""

    api_version: str
    kind: str
    namespace: str
    """Empty if the kind is not namespaced."""
    name: str


class Node(NamedTuple):
    """A node as the scheduler sees it. Resources are cores, bytes or counts by name."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Mapping[str, Fraction]
    schedulable: bool = True


class Pod(NamedTuple):
    """What one running pod uses of its node."""

    node: str
    owner: str
    """Name of the Deployment it belongs to, else of the pod itself."""
    requests: Mapping[str, Fraction]
    namespace: str = ""
    """Empty if it is not known."""


class Waiting(NamedTuple):
    """A pod that waits for whole GPUs: no node has room for it, or Kueue has no quota for it."""

    name: str
    namespace: str
    owner: str
    """As for a running pod."""
    spec: Confidential[Mapping[str, Any]]
    """What decides on which nodes it fits: requests, node selector, node affinity and tolerations."""


class Quota(NamedTuple):
    """What one ResourceQuota allows the pods of its namespace. Amounts are cores, bytes or counts by the quota's own
    names (``requests.nvidia.com/gpu``, ``limits.cpu``, ``pods``).
    """

    namespace: str
    name: str
    hard: Mapping[str, Fraction]
    used: Mapping[str, Fraction]


class Scaler(NamedTuple):
    """An object by which an autoscaler sets the replicas of another object."""

    kind: str
    """``HorizontalPodAutoscaler`` or ``ScaledObject``."""
    name: str
    target: ObjectKey
    made_by: str = ""
    """The ScaledObject for which KEDA created it; empty if it has another creator."""

    @property
    def wakes(self) -> bool:
        """Whether it starts the first pod of a workload without pods; the other kind leaves 0 replicas alone."""
        return self.kind == SCALED_OBJECT


class StateObject(NamedTuple):
    """What the engine's state has of one applied object."""

    managed: bool
    """Whether the stack owns the whole object, which the engine deletes; else a ledger restores it."""
    ledger: Confidential[str] = Confidential("")
    """The state's copy of the object's ledger, empty if it has none."""
    role: str = ""
    """The workload for which it was applied, empty if unknown."""
    forgotten: bool = False
    """Whether only a note of a whole object is left: a refresh did not find it and removed it from the state."""


class ClusterState(NamedTuple):
    """Everything a plan needs to know about a cluster."""

    source: Literal["live", "recorded"]
    identity: str
    """UID of the namespace kube-system, which never changes in a cluster."""
    version: str
    """As the API server reports it, such as ``v1.35.4``."""
    objects: Confidential[Mapping[ObjectKey, dict[str, Any]]]
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    quotas: tuple[Quota, ...] = ()
    """Quotas that count every pod of their namespace."""
    scalers: tuple[Scaler, ...] = ()
    """Autoscalers in the targets' namespaces, as far as these credentials may see them."""
    state_objects: Mapping[ObjectKey, StateObject] | None = None
    """What the engine's state has of the stack; None if it was not read, as for a recorded platform."""
    waiting: tuple[Waiting, ...] | None = None
    """The pods that wait for whole GPUs; None if they were not read, as for stacks without resources that grow."""
    other_namespaces: frozenset[ObjectKey] = frozenset()
    """Objects in other namespaces with the names of the stack's targets, if its own namespace has none of these."""
    state_error: str = ""
    """Why the engine's state could not be read; empty if it was read or is not asked for."""

    def copy_of(self, key: ObjectKey) -> Confidential[str]:
        """Returns the ledger of an object in the engine's state; empty if it has none."""
        return self.state_objects[key].ledger if self.state_objects and key in self.state_objects else Confidential("")


def annotations_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the annotations of an object, empty if it has none."""
    return (body.get("metadata") or {}).get("annotations") or {}


def key_of(body: Mapping[str, Any], namespace: str) -> ObjectKey:
    """Returns an object's key, in ``namespace`` unless it sets another; in none if its kind is not namespaced."""
    metadata, api_version, kind = body.get("metadata") or {}, body["apiVersion"], body["kind"]
    place = (metadata.get("namespace") or namespace) if is_namespaced(api_version, kind) else ""
    return ObjectKey(api_version, kind, place, metadata["name"])


def node_of(body: Mapping[str, Any]) -> Node:
    """Returns a node from the object that the API server returns."""
    spec, metadata = body.get("spec") or {}, body["metadata"]
    return Node(
        metadata["name"],
        metadata.get("labels") or {},
        tuple(spec.get("taints") or ()),
        amounts((body.get("status") or {}).get("allocatable") or {}),
        not spec.get("unschedulable", False),
    )


def quotas_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[Quota, ...]:
    """Returns the quotas among ResourceQuota objects that count every pod, not those with scopes, which count some."""
    found = []
    for body in bodies:
        spec, status, metadata = body.get("spec") or {}, body.get("status") or {}, body["metadata"]
        if not (spec.get("scopes") or spec.get("scopeSelector")):
            hard, used = amounts(status.get("hard") or {}), amounts(status.get("used") or {})
            found.append(Quota(metadata["namespace"], metadata["name"], hard, used))
    return tuple(sorted(found, key=lambda quota: quota[:2]))


def scalers_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[Scaler, ...]:
    """Returns the autoscalers among objects that refer to what they scale, except paused ones, which write nothing."""
    found = []
    for body in bodies:
        metadata, ref = body["metadata"], (body.get("spec") or {}).get("scaleTargetRef") or {}
        annotations = annotations_of(body)
        paused = str(annotations.get(PAUSED, "")).lower() == "true" or PAUSED_REPLICAS in annotations
        if ref.get("name") and not paused:
            version, kind = ref.get("apiVersion") or "apps/v1", ref.get("kind") or "Deployment"
            key = ObjectKey(version, kind, metadata["namespace"], ref["name"])
            owners = metadata.get("ownerReferences") or ()
            made_by = next((str(owner["name"]) for owner in owners if owner.get("kind") == SCALED_OBJECT), "")
            found.append(Scaler(body["kind"], metadata["name"], key, made_by))
    return tuple(sorted(found))


def amounts(resources: Mapping[str, str | int | float]) -> dict[str, Fraction]:
    """Returns quantities by resource name as exact numbers."""
    return {name: quantity.parse(value) for name, value in resources.items()}


_VOLATILE = ("resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "managedFields")
_REVISION = "deployment.kubernetes.io/revision"


def essence(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an object without what changes by itself: status, versions, times and the rollout's revision."""
    metadata = {name: value for name, value in body.get("metadata", {}).items() if name not in _VOLATILE}
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != _REVISION}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return {**{name: value for name, value in body.items() if name not in ("status", "metadata")}, "metadata": metadata}
