"""Undoes changes on a live cluster: the writes that restore a target, and that hand single fields over.

Every write contains the version of the object that it was computed from; after another client's write, everything is
computed again. So an undo may be interrupted anywhere and run again.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lightkube import Client

from modelyard.cluster import writing
from modelyard.cluster.answer import Deletion
from modelyard.cluster.connection import ClusterError
from modelyard.cluster.writing import OvertakenError, RefusedError
from modelyard.kube.merge import Owner, Path
from modelyard.kube.state import ObjectKey
from modelyard.plan.undo.ledger import known_ledger
from modelyard.plan.undo.restore import finished, foreign, undo, with_earlier_owners

ATTEMPTS = 12
"""The number of attempts for a target that other clients write at the same time, or whose API server is busy."""
PAUSE = 0.05
"""Seconds before the second attempt; each further pause is twice as long, up to ``LONGEST``."""
LONGEST = 2.0


class Undone(NamedTuple):
    """The result of an undo for one object."""

    exists: bool
    """Whether the object exists."""
    back: tuple[Path, ...] = ()
    """Fields whose earlier values and owners were restored."""
    left: Mapping[Path, tuple[Owner, ...]] = {}
    """Fields that another owner set after modelyard; they keep their values."""


def restore(client: Client, key: ObjectKey, noted: str) -> Undone:
    """Restores an object to what it was before modelyard took any field of it.

    Args:
        client: connection to the object's cluster.
        key: the object.
        noted: the ledger to use for fields that the object's own ledger lacks, or if that ledger cannot be read.

    Raises:
        ClusterError: the cluster is unreachable or rejects a request, or other clients write the object all the time.
    """

    def once(live: dict[str, Any]) -> Undone:
        ledger = known_ledger(live, noted)
        plan = undo(live, ledger)
        if plan is None:
            return Undone(True)
        # The apply removes dropped fields; restored fields are still ours, at their earlier value.
        released = writing.apply(client, plan.request)
        if released is None:
            return Undone(False)
        writing.hand_over(client, released, finished(released, plan.ledger))
        return Undone(True, tuple(path for path, _ in ledger.values if path not in plan.left), plan.left)

    return _patiently(client, key, once)


def remove(client: Client, key: ObjectKey, _noted: str) -> Undone:
    """Deletes an object that the stack made.

    Raises:
        ClusterError: as for :func:`restore`.
    """

    def once(live: dict[str, Any]) -> Undone:
        writing.delete(client, Deletion(key, live["metadata"]["uid"]))
        return Undone(True)

    return _patiently(client, key, once)


def hand_over(client: Client, key: ObjectKey, noted: str) -> Undone:
    """Hands the waiting fields of a ledger to their earlier owners; their values are already restored.

    Raises:
        ClusterError: as for :func:`restore`.
    """

    def once(live: dict[str, Any]) -> Undone:
        ledger = known_ledger(live, noted)
        after = with_earlier_owners(live, ledger)
        if after is not live:
            writing.hand_over(client, live, after)
        return Undone(True, (), foreign(live, ledger))

    return _patiently(client, key, once)


def _patiently(client: Client, key: ObjectKey, once: Callable[[dict[str, Any]], Undone]) -> Undone:
    """Changes the current version of an object, again after another client's write; does nothing without an object."""
    pause = PAUSE
    for attempt in range(ATTEMPTS):
        try:
            live = writing.read(client, key)
            return Undone(False) if live is None else once(live)
        except OvertakenError as error:
            if attempt == ATTEMPTS - 1:
                raise ClusterError(
                    f"{key.kind} {key.name} could not be restored: {error}",
                    "run again when nothing else changes the object",
                ) from error
        except RefusedError as error:
            raise ClusterError(
                f"{key.kind} {key.name} could not be restored: {error}",
                "correct what the API server rejects and run again; finished steps are kept",
            ) from error
        time.sleep(pause)
        pause = min(2 * pause, LONGEST)
    raise AssertionError("unreachable")
