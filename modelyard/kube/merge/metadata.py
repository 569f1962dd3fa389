"""What of an object's metadata is the API server's own: who writes it has no say in it."""

from collections.abc import Mapping
from typing import Any

from modelyard.kube.merge.errors import SchemaError
from modelyard.kube.merge.path import Path

SYSTEM = frozenset(
    (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
"""Fields that keep the value they have, whatever a client sends."""
_NAMES = ("name", "namespace")
_PRECONDITIONS = ("resourceVersion", "uid")
_ANY_VERSION = ("resourceVersion", "0")


def foreign(metadata: Mapping[str, Any], live: Any) -> list[SchemaError]:
    """What in the metadata of a write belongs to another object, or to another version of the live one.

    The API server answers 409 to a wrong ``uid`` or ``resourceVersion``. ``live`` is the live object's metadata, None
    where no object is there.
    """
    known = live if isinstance(live, Mapping) else {}
    errors = [
        SchemaError(Path(("metadata", name)), f"{metadata[name]} is applied to the object {known[name]}")
        for name in _NAMES
        if name in known and metadata.get(name, known[name]) != known[name]
    ]
    for name in _PRECONDITIONS:
        sent = metadata.get(name)
        if name in known and sent not in (None, "", known[name]) and (name, sent) != _ANY_VERSION:
            message = f"{sent} is not the {name} of the live object; leave the field out"
            errors.append(SchemaError(Path(("metadata", name)), message))
    if live is None and metadata.get("uid"):
        errors.append(SchemaError(Path(("metadata", "uid")), "no object exists that could have a uid; leave it out"))
    return errors


def settled(new: dict[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """``new`` with the system fields that ``live`` has; its parts are those of ``live`` where they are equal then."""
    metadata = new.get("metadata")
    if not isinstance(metadata, dict):
        return new
    before = (live or {}).get("metadata")
    known = before if isinstance(before, Mapping) else {}
    if all(known.get(name, known) is metadata.get(name, known) for name in SYSTEM):
        return new
    after = {name: value for name, value in metadata.items() if name not in SYSTEM}
    after |= {name: value for name, value in known.items() if name in SYSTEM}
    return {**new, "metadata": before if after == before else after}
