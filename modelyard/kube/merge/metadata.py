"""What of an object's metadata is the API server's own: who writes it has no say in it."""

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from typing import Any

from modelyard.kube.merge.errors import SchemaError
from modelyard.kube.merge.path import Path
from modelyard.kube.merge.typed import same
from modelyard.kube.merge.types import Type
from modelyard.patterns import regex

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
_KEPT = SYSTEM | {"namespace"}
"""With a live object, also the namespace: an empty one stands for that of the request's address."""
DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
_TIMES = ("creationTimestamp", "deletionTimestamp")
_SAME: Mapping[str, tuple[Any, ...]] = {"name": (), "namespace": ("", None)}
"""What names an object, and what else stands for the live object's."""
_PRECONDITIONS = ("resourceVersion", "uid")
_ANY_VERSION = ("resourceVersion", "0")
_ONE_VERSION = frozenset(
    (
        *("CSIDriver", "CSINode", "CSIStorageCapacity", "ClusterTrustBundle", "Lease", "LeaseCandidate"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"),
        *("PodCertificateRequest", "PodDisruptionBudget", "RuntimeClass", "StorageVersionMigration"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
        "VolumeAttachment",
    )
)
"""Kinds whose requests cannot mean any version, as those of custom resources cannot: ``AllowUnconditionalUpdate`` of
their strategies in the API server's code."""
_TIME = regex(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)([.,]\d+)?(?:Z|[+-](\d\d):(\d\d))", re.ASCII)
NO_TIME = "is not a time such as 2026-01-31T12:00:00Z"


def is_time(text: Any, micro: bool = False) -> bool:
    """Whether Go reads it as a time of RFC 3339; ``micro``: one with six digits after the second."""
    found = _TIME.fullmatch(text) if type(text) is str else None
    if found is None or (micro and len(found[7] or "") != 7):
        return False
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    # A year that Go knows and Python does not has the days of one 400 years later.
    if not (1 <= month <= 12 and 1 <= day <= monthrange(year + 400, month)[1]):
        return False
    return hour < 24 and minute < 60 and second < 60 and int(found[8] or 0) <= 24 and int(found[9] or 0) <= 60


def refused(metadata: Mapping[str, Any], live: Mapping[str, Any] | None, schema: Type) -> Iterator[SchemaError]:
    """What of an apply the API server refuses because it alone sets the field. ``live`` as for ``foreign``.

    Of a custom resource it ignores a time that is none.
    """
    native = schema.native
    for name in _TIMES if native else ():
        if metadata.get(name) is not None and not is_time(metadata[name]):
            yield SchemaError(Path(("metadata", name)), f"{metadata[name]!r} {NO_TIME}; leave the field out")
    for name in DELETION if live is not None else ():
        sent = metadata.get(name)
        if sent not in (None, (live or {}).get(name)) and (native or name not in _TIMES or is_time(sent)):
            message = "only the API server sets it, when the object is deleted; leave the field out"
            yield SchemaError(Path(("metadata", name)), message)
    version = metadata.get("resourceVersion", "1")
    if live is None:
        if version and not re.fullmatch(r"\d+", str(version), re.ASCII):
            message = f"{version!r} is not the version of an object; leave the field out"
            yield SchemaError(Path(("metadata", "resourceVersion")), message)
    elif version in (None, "", "0") and (not native or schema.name.rpartition(".")[2] in _ONE_VERSION):
        message = f"{version!r} is not the version of the live object; leave the field out"
        yield SchemaError(Path(("metadata", "resourceVersion")), message)


def with_link(applied: Mapping[str, Any], schema: Type) -> bool:
    """Whether a request has a ``selfLink``, which the API server stores nowhere and still takes for a change."""
    metadata = applied.get("metadata") or {}
    return "selfLink" in metadata and bool(metadata["selfLink"] or not schema.native)


def foreign(metadata: Mapping[str, Any], live: Any) -> list[SchemaError]:
    """What in the metadata of a write belongs to another object, or to another version of the live one.

    The API server answers 409 to a wrong ``uid`` or ``resourceVersion``. ``live`` is the live object's metadata, None
    where no object is there.
    """
    known = live if isinstance(live, Mapping) else {}
    errors = [
        SchemaError(Path(("metadata", name)), f"{metadata[name]} is applied to the object {known[name]}")
        for name in _SAME
        if name in known and metadata.get(name, known[name]) not in (known[name], *_SAME[name])
    ]
    for name in _PRECONDITIONS:
        sent = metadata.get(name)
        if name in known and sent not in (None, "", known[name]) and (name, sent) != _ANY_VERSION:
            message = f"{sent} is not the {name} of the live object; leave the field out"
            errors.append(SchemaError(Path(("metadata", name)), message))
    if live is None and metadata.get("uid"):
        errors.append(SchemaError(Path(("metadata", "uid")), "no object exists that could have a uid; leave it out"))
    return errors


def settled(new: dict[str, Any], live: Mapping[str, Any] | None, by_apply: bool = False) -> dict[str, Any]:
    """``new`` with the system fields and the namespace of ``live``; its parts are those of ``live`` where equal.

    An object that an apply creates keeps what the request says about its deletion; one that is created otherwise does
    not. ``live`` itself when nothing else differs.
    """
    metadata = new.get("metadata")
    if not isinstance(metadata, dict):
        return new
    before = (live or {}).get("metadata")
    known = before if isinstance(before, Mapping) else {}
    kept = SYSTEM if live is None else _KEPT
    if all(known.get(name, known) is metadata.get(name, known) for name in kept):
        return new
    own = SYSTEM.difference(DELETION) if by_apply and live is None else kept
    after = {name: value for name, value in metadata.items() if name not in own}
    after |= {name: value for name, value in known.items() if name in own}
    if "deletionTimestamp" in after and not is_time(after["deletionTimestamp"]):
        # That of a custom resource, which is owned and not stored.
        del after["deletionTimestamp"]
    if not same(after, before):
        return {**new, "metadata": after}
    if (
        type(live) is dict
        and len(live) == len(new)
        and all(value is live.get(name, live) for name, value in new.items() if name != "metadata")
    ):
        return live
    return {**new, "metadata": before}
