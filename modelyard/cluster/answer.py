"""What the API server answers to the question what a change would do, as values without a client."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from modelyard.kube.state import ObjectKey

Why = Literal["rights", "admission", "quota", "invalid", "missing"]
"""Why a change is refused: no right to it, a webhook or policy says no, a quota is used up, the object would not be
valid, what it needs is not there.
"""


class Claim(NamedTuple):
    """A field that an apply without force may not set, and who holds it."""

    field: str
    """As the API server words it: ``.spec.containers[name="worker"].image``."""
    manager: str
    operation: str
    """``Apply`` or ``Update``."""
    subresource: str = ""

    def __str__(self) -> str:
        """The field and its holder, for a message."""
        by = f"{self.manager} ({self.subresource})" if self.subresource else self.manager
        return f"{self.field.removeprefix('.')} of {by}"


class Refusal(NamedTuple):
    """A change that the API server would not carry out."""

    why: Why
    message: str
    """The API server's own words."""


class Deletion(NamedTuple):
    """The delete of one object, and of none that was made anew under its name."""

    key: ObjectKey
    uid: str


class Answer(NamedTuple):
    """What a change would do."""

    object: dict[str, Any] | None
    """The object after a forced apply, with everything that admission and defaults add; None where it is refused, and
    after a delete."""
    claims: tuple[Claim, ...]
    """What a forced apply takes from others: the conflicts of the same apply without force, sorted."""
    refusal: Refusal | None = None


Question = Mapping[str, Any] | Deletion
"""The request of an apply, or a delete."""
Ask = Callable[[Sequence[Question]], Sequence[Answer]]
"""Asks several questions at once; the answers come in their order."""
