"""The API server's answers about what a change would do, as values without a client."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey

Why = Literal["rights", "admission", "quota", "invalid", "missing"]
"""Why a change is rejected: missing rights, rejection by a webhook or policy, an exhausted quota, an invalid object, or
a missing object that the change needs."""


class Claim(NamedTuple):
    """A field that an apply without force may not set, and its owner."""

    field: str
    """The field's path in the API server's notation: ``.spec.containers[name="worker"].image``."""
    manager: str
    operation: str
    """``Apply`` or ``Update``."""
    subresource: str = ""

    def __str__(self) -> str:
        """The field and its owner, for a message."""
        by = f"{self.manager} ({self.subresource})" if self.subresource else self.manager
        return f"{self.field.removeprefix('.')} from {by}"


class Refusal(NamedTuple):
    """A change that the API server rejects."""

    why: Why
    message: str
    """The API server's message."""


class Deletion(NamedTuple):
    """The delete of one object, never of a new object with the same name."""

    key: ObjectKey
    uid: str


class Created(NamedTuple):
    """A new object as the API server created it, or would create it."""

    key: ObjectKey
    uid: str
    labels: Mapping[str, str]
    suspended: bool
    """Whether the object is suspended (``spec.suspend``)."""


class Answer(NamedTuple):
    """What a change would do."""

    object: Confidential[dict[str, Any] | None]
    """The object after a forced apply, with everything that admission and defaults add; None for a rejected change or a
    delete."""
    claims: tuple[Claim, ...]
    """What a forced apply takes from other owners: the conflicts of the same apply without force, sorted."""
    refusal: Refusal | None = None


Question = Mapping[str, Any] | Deletion
"""An apply request, or a delete."""
Ask = Callable[[Sequence[Question]], Sequence[Answer]]
"""Asks several questions at once and returns the answers in their order."""
