"""Drift: what was applied, compared with what is live.

Offline and pure. A field has drifted when it was applied, is ours no longer, and has another value or is gone. The API
server takes a field from us whenever somebody else changes it, so a field that is still ours has only been spelled or
completed by the API server itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from modelyard.kube import merge
from modelyard.kube.merge import ABSENT, Owner, Path
from modelyard.kube.merge.fieldset import FieldSet
from modelyard.kube.state import ObjectKey, annotations_of
from modelyard.plan.ownership import FIELD_MANAGER, MODE_ANNOTATION
from modelyard.plan.secrets import hidden_change, hidden_field
from modelyard.plan.undo.ledger import LedgerError, has, ledger_of
from modelyard.plan.values import TargetPlan

FORMAT_VERSION = 1
"""Of what was applied, as the engine's state keeps it, and of the JSON form of drift."""

State = Literal["same", "changed", "gone", "unfinished"]
StackState = Literal["same", "drifted", "nothing", "unknown"]
"""``nothing``: nothing is applied. ``unknown``: the engine's state or the cluster is out of reach."""


class Applied(NamedTuple):
    """What was applied to one object last."""

    key: ObjectKey
    request: dict[str, Any] | None
    """The fields that became ours; None where no apply of the object ever came to its end."""
    finished: bool
    """False where the state says that a step on the object was begun and not ended."""


class FieldDrift(NamedTuple):
    """One field that is not as it was applied."""

    path: Path
    """Of the field, or of what is gone around it: a container, a map of limits."""
    applied: Any
    """Hidden where it is a secret, as ``live`` is."""
    live: Any
    """``merge.ABSENT`` where it is gone."""
    owners: tuple[Owner, ...]
    """Who holds it now. Nobody holds what is gone: the API server does not note who takes a field away."""


class TargetDrift(NamedTuple):
    """What became of one object since it was applied."""

    key: ObjectKey
    state: State
    """``gone`` is the whole object. ``unfinished``: nobody else has changed it, but its last apply never ended."""
    fields: tuple[FieldDrift, ...] = ()
    managed: bool = False
    """Whether the stack owns the whole object, so that an apply makes it anew."""


class StackDrift(NamedTuple):
    """What became of a stack since it was applied."""

    stack: str
    state: StackState
    context: str | None
    cluster: str | None
    """Identity of the cluster that it was applied to; None where that is not known."""
    targets: tuple[TargetDrift, ...] = ()
    reason: str = ""
    """Why there is nothing to compare, or no way to."""
    remedy: str = ""
    remote: str = ""
    """Name of the remote cluster that it is about; empty: the platform's."""

    @property
    def drifted(self) -> tuple[TargetDrift, ...]:
        """The objects that are not as they were applied."""
        return tuple(target for target in self.targets if target.state != "same")


def kept(target: TargetPlan) -> dict[str, Any]:
    """What an apply of a target makes ours to stay.

    That is the request, without replicas that are only held until an autoscaler has set them.
    """
    if target.replicas[1] is not None or "replicas" not in (target.applied.get("spec") or {}):
        return target.applied
    spec = {name: value for name, value in target.applied["spec"].items() if name != "replicas"}
    return {**target.applied, "spec": spec}


def compare(
    applied: Iterable[Applied], live: Mapping[ObjectKey, dict[str, Any]], schemas: merge.MergeSchema
) -> tuple[TargetDrift, ...]:
    """What became of every applied object, in the order of their keys.

    Raises:
        LookupError: the schemas do not have the kind of an object.
    """
    return tuple(_target(one, live.get(one.key), schemas) for one in sorted(applied, key=lambda one: one.key))


def _target(applied: Applied, live: dict[str, Any] | None, schemas: merge.MergeSchema) -> TargetDrift:
    managed = applied.request is not None and annotations_of(applied.request).get(MODE_ANNOTATION) == "managed"
    if live is None:
        return TargetDrift(applied.key, "gone", managed=managed)
    if applied.request is None:
        return TargetDrift(applied.key, "unfinished")
    schema = schemas.of(applied.key.api_version, applied.key.kind)
    fields = tuple(_fields(applied.key, applied.request, live, schema))
    state: State = "changed" if fields else "same" if applied.finished else "unfinished"
    return TargetDrift(applied.key, state, fields, managed)


def _fields(key: ObjectKey, request: dict[str, Any], live: dict[str, Any], schema: merge.Type) -> Iterator[FieldDrift]:
    told: set[Path] = set()
    returned = _returned(request)
    for leaf in merge.diff(None, request, schema):
        if has(returned, leaf.path):
            continue
        path = _gone(leaf.path, live, schema)
        if path is not None:
            if path not in told:
                told.add(path)
                yield FieldDrift(path, hidden_field(key, path, merge.value_at(schema, request, path)), ABSENT, ())
            continue
        value = merge.value_at(schema, live, leaf.path)
        holders = merge.owners(live, leaf.path, schema)
        if value != leaf.after and not any(map(_ours, holders)):
            was, is_now = hidden_change(key, leaf.path, leaf.after, value)
            yield FieldDrift(leaf.path, was, is_now, holders)


def _returned(request: dict[str, Any]) -> FieldSet:
    """The fields that a request only carried to set them back: their earlier owners have them."""
    try:
        return ledger_of(request).returning
    except LedgerError:
        return {}


def _gone(path: Path, live: dict[str, Any], schema: merge.Type) -> Path | None:
    """The shortest beginning of a path at which nothing stands; None where the field is there."""
    ends = (Path(path[:end]) for end in range(1, len(path) + 1))
    return next((one for one in ends if merge.value_at(schema, live, one) is ABSENT), None)


def _ours(owner: Owner) -> bool:
    return owner.manager == FIELD_MANAGER and owner.operation == "Apply"
