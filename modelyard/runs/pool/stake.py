"""What a run has of the pool: GPUs of pods that run, and quota of GPUs for pods that do not run yet."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from modelyard.runs.pool.kueue import quota_of
from modelyard.runs.pool.runs import Run


class Stake(NamedTuple):
    """GPUs that come free when a run is stopped."""

    gpus: int
    """Of its parts that run, or whose pods still stop."""
    quota: int
    """That it has quota of, and that no pod of it uses yet."""
    asked: int
    """Of parts that start without a queue: what their pods ask the scheduler for, and may have got."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


def stake(run: Run, workloads: Iterable[Mapping[str, Any]]) -> Stake:
    """What a run has now.

    Args:
        run: the run.
        workloads: Kueue's, of its namespace: they know of quota that a part has before it is started, as while a check
            of its queue is not passed. Empty where nobody may read them.
    """
    reserved: dict[str, int] = {}
    for body in workloads:
        for owner in body["metadata"].get("ownerReferences") or ():
            reserved[str(owner.get("uid"))] = quota_of(body)
    starting = [part for part in run.parts if part.state == "starting"]
    return Stake(
        sum(part.gpus for part in run.parts if part.state in ("running", "cancelled")),
        sum(part.gpus for part in starting if part.queue)
        + sum(reserved.get(part.uid, 0) for part in run.parts if part.state == "queued"),
        sum(part.gpus for part in starting if not part.queue),
    )
