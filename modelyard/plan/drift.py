"""Drift: compares what was applied with what is live.

Offline and pure. A field has drifted if it was applied, modelyard no longer owns it, and it has another value or is
gone. The API server ends modelyard's ownership of a field when another manager changes it. So if modelyard still owns a
field, any difference comes from the API server itself: another spelling, or defaults.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.merge import ABSENT, Owner, Path
from modelyard.kube.state import ObjectKey, annotations_of
from modelyard.names import FIELD_MANAGER
from modelyard.plan.ownership import MODE_ANNOTATION
from modelyard.plan.secrets import hidden_change, hidden_field
from modelyard.plan.undo.ledger import ListField, at, has, known_ledger
from modelyard.plan.values import TargetPlan

FORMAT_VERSION = 1
"""The version of applied requests in the engine's state, and of the JSON form of drift."""

DriftState = Literal["same", "changed", "gone", "unfinished"]
StackState = Literal["same", "drifted", "nothing", "unknown"]
"""``nothing``: nothing is applied. ``unknown``: the engine's state or the cluster is unreachable."""


class AppliedObject(NamedTuple):
    """What was last applied to one object."""

    key: ObjectKey
    request: Confidential[dict[str, Any] | None]
    """The fields that modelyard took ownership of; None if no apply of the object ever finished."""
    finished: bool
    """False if, by the engine's state, a step on the object began but did not end."""


class FieldDrift(NamedTuple):
    """One field that differs from what was applied."""

    path: Path
    """The path of the field, or of a missing parent: a container, a map of limits."""
    applied: Any
    """The applied value; hidden if it is a secret, like ``live``."""
    live: Any
    """The live value; ``merge.ABSENT`` if the field is gone."""
    owners: tuple[Owner, ...]
    """The current owners. A missing field has none: the API server does not record who removes a field."""


class TargetDrift(NamedTuple):
    """How one object differs from what was applied."""

    key: ObjectKey
    state: DriftState
    """``gone`` means the whole object. ``unfinished``: nothing else changed it, but its last apply never ended."""
    fields: tuple[FieldDrift, ...] = ()
    managed: bool = False
    """Whether the stack owns the whole object, so that an apply recreates it."""


class StackDrift(NamedTuple):
    """How a stack differs from what was applied."""

    stack: str
    state: StackState
    context: str | None
    cluster: str | None
    """Identity of the cluster that it was applied to; None where unknown."""
    targets: tuple[TargetDrift, ...] = ()
    reason: str = ""
    """Why there is nothing to compare, or why comparing is impossible."""
    remedy: str = ""
    remote: str = ""
    """Name of its remote cluster; empty for the home cluster."""

    @property
    def drifted(self) -> tuple[TargetDrift, ...]:
        """The objects that differ from what was applied."""
        return tuple(target for target in self.targets if target.state != "same")


def kept(target: TargetPlan) -> dict[str, Any]:
    """The fields that modelyard owns permanently after an apply of a target.

    These are the fields of the request, without replicas that are only held until an autoscaler has set them.
    """
    request = target.applied.reveal()
    if target.replicas[1] is not None or "replicas" not in (request.get("spec") or {}):
        return request
    return {**request, "spec": {name: value for name, value in request["spec"].items() if name != "replicas"}}


def compare(
    applied: Iterable[AppliedObject],
    live: Confidential[Mapping[ObjectKey, dict[str, Any]]],
    schemas: merge.MergeSchema,
) -> tuple[TargetDrift, ...]:
    """The state of every applied object, in the order of their keys; ``live`` are those that exist.

    Raises:
        LookupError: the schemas do not have the kind of an object.
    """
    objects = live.reveal()
    return tuple(_target(one, objects.get(one.key), schemas) for one in sorted(applied, key=lambda one: one.key))


def _target(applied: AppliedObject, live: dict[str, Any] | None, schemas: merge.MergeSchema) -> TargetDrift:
    request = applied.request.reveal()
    managed = request is not None and annotations_of(request).get(MODE_ANNOTATION) == "managed"
    if live is None:
        return TargetDrift(applied.key, "gone", managed=managed)
    if request is None:
        return TargetDrift(applied.key, "unfinished")
    schema = schemas.of(applied.key.api_version, applied.key.kind)
    fields = tuple(_fields(applied.key, request, live, schema))
    state: DriftState = "changed" if fields else "same" if applied.finished else "unfinished"
    return TargetDrift(applied.key, state, fields, managed)


def _fields(key: ObjectKey, request: dict[str, Any], live: dict[str, Any], schema: merge.Type) -> Iterator[FieldDrift]:
    reported: set[Path] = set()
    ledger = known_ledger(request)
    for leaf in merge.diff(None, request, schema):
        if has(ledger.to_hand_over, leaf.path):
            continue  # Fields that the request only restored belong to their earlier owners.
        if leaf.path in ledger.lists:
            yield from _parts(key, leaf.path, ledger.lists[leaf.path], request, live)
            continue
        path = _gone(leaf.path, live, schema)
        if path is not None:
            if path not in reported:
                reported.add(path)
                value = hidden_field(key, path, merge.value_at(schema, request, path), request)
                yield FieldDrift(path, value, ABSENT, ())
            continue
        value = merge.value_at(schema, live, leaf.path)
        holders = merge.owners(live, leaf.path, schema)
        if value != leaf.after and not any(map(_ours, holders)):
            was, is_now = hidden_change(key, leaf.path, leaf.after, value, (request, live))
            yield FieldDrift(leaf.path, was, is_now, holders)


def _parts(
    key: ObjectKey, path: Path, parts: Iterable[ListField], request: dict[str, Any], live: dict[str, Any]
) -> Iterator[FieldDrift]:
    """The fields that differ of those that patches set in a list; its other fields are not modelyard's."""
    holders = merge.owners(live, path)
    for part in parts if not any(map(_ours, holders)) else ():
        value = at(live, part.path)
        if value != part.given:
            was, is_now = hidden_change(key, part.path, part.given, value, (request, live))
            yield FieldDrift(part.path, was, is_now, holders)


def _gone(path: Path, live: dict[str, Any], schema: merge.Type) -> Path | None:
    """The shortest prefix of a path that leads to no field; None where the field exists."""
    ends = (Path(path[:end]) for end in range(1, len(path) + 1))
    return next((one for one in ends if merge.value_at(schema, live, one) is ABSENT), None)


def _ours(owner: Owner) -> bool:
    return owner.manager == FIELD_MANAGER and owner.operation == "Apply"
