"""Explains to the user that the engine does not reach a cluster.

The engine's own message suggests a variable with which the engine drops from its state whatever it does not reach.
Objects that still exist would then belong to no stack, even if the cluster is unreachable only briefly. modelyard
therefore does not show this advice.
"""

import re
from typing import Final

from modelyard.cluster.engine_state import REMOTE

_FORGETTING: Final = re.compile(r"\s*[^.\n]*PULUMI_K8S_DELETE_UNREACHABLE[^.\n]*\.?")
_UNREACHED: Final = re.compile(
    r"(?:failed to read resource state due to unreachable cluster|configured Kubernetes cluster is unreachable)"
    r"(?:\.(?=\s|$))?(?::\s*(?P<why>\S.*))?\s*$",
    re.DOTALL,
)
_NO_ANSWER: Final = "does not answer"


def without_forgetting(message: str) -> str:
    """The message without the advice to make the engine forget what it does not reach."""
    return _FORGETTING.sub("", message)


def unreached(message: str, urn: str = "") -> str | None:
    """The cluster that the engine does not reach, and why.

    The text is the same for all objects of one cluster that are unreachable for the same reason.

    Args:
        message: an error of the engine about an object.
        urn: URN of the object; empty: the stack's cluster is unknown.

    Returns:
        None if the message is about something else.
    """
    if (found := _UNREACHED.search(without_forgetting(message))) is None:
        return None
    kind, _, name = urn.rpartition("::")
    cluster = f"remote cluster {name.partition('/')[0]}" if f"${REMOTE}$" in kind else "the platform's cluster"
    why = " ".join((found["why"] or "").split())
    return f"{cluster if urn else 'a cluster'} {_NO_ANSWER}{f': {why}' if why else ''}"


def is_unreached(text: str) -> bool:
    """Whether a text reports that a cluster does not answer."""
    return _NO_ANSWER in text
