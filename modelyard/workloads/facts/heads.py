"""The one pod without a GPU that starts with a job's workers: the head of Ray, or the driver of Spark."""

from fractions import Fraction
from typing import Literal, NamedTuple

from modelyard import quantity
from modelyard.stack.jobs import Job
from modelyard.workloads.facts.jobs import RAY_HEAD
from modelyard.workloads.facts.spark import driver_of


class Head(NamedTuple):
    """What it is, and what it asks for."""

    what: Literal["head", "driver"]
    """``head`` of Ray, or ``driver`` of Spark."""
    requests: tuple[tuple[str, Fraction], ...]
    """Cores and bytes, by ``cpu`` and ``memory``."""


def head_of(job: Job) -> Head | None:
    """That of a job's run; None where its workers are all there is."""
    if job.engine == "ray":
        return Head("head", tuple((key, quantity.parse(value)) for key, value in RAY_HEAD.items()))
    return Head("driver", tuple(driver_of(job.spark).items())) if job.engine == "spark" else None
