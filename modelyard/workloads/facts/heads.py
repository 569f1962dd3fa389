"""The one pod without a GPU that starts with a job's workers: Ray's head, or Spark's driver."""

from fractions import Fraction
from typing import Final, Literal, NamedTuple

from modelyard import quantity
from modelyard.stack.jobs import Job
from modelyard.workloads.facts.jobs import RAY_HEAD
from modelyard.workloads.facts.spark import driver_of

_AUTOSCALER: Final = {"cpu": Fraction(1, 2), "memory": Fraction(512 * 2**20)}
"""What KubeRay 1.5.1 adds to the head for Ray's autoscaler (BuildAutoscalerContainer), as Kueue counts it too."""


class Head(NamedTuple):
    """The kind of head and its requests."""

    what: Literal["head", "driver"]
    """``head`` of Ray, or ``driver`` of Spark."""
    requests: tuple[tuple[str, Fraction], ...]
    """Cores and bytes, by ``cpu`` and ``memory``."""


def head_of(job: Job) -> Head | None:
    """Returns the head of a job's run; None if the run has only workers."""
    if job.engine == "ray":
        more = _AUTOSCALER if job.grows else {}
        return Head("head", tuple((key, quantity.parse(value) + more.get(key, 0)) for key, value in RAY_HEAD.items()))
    return Head("driver", tuple(driver_of(job.spark).items())) if job.engine == "spark" else None
