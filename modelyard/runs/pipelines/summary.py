"""The size of a pipeline: each stage with its pods, and the most GPUs that the pipeline holds at a time.

A slice does not count as a GPU.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from modelyard.runs.pipelines.graph import before, in_order, most_at_once
from modelyard.stack.jobs import Pipeline, Stage
from modelyard.workloads.facts.jobs import HeadSize, head_of
from modelyard.workloads.sizing import Sized


class StageSize(NamedTuple):
    """One stage and what it holds while it runs; a rollout holds no more than its resource already has."""

    stage: Stage
    workers: int
    """The most pods that run at a time."""
    cpu: Fraction
    """Cores of one worker."""
    memory: Fraction
    """Bytes of one worker."""
    gpus: int
    """Whole GPUs of all workers that run at a time."""
    time_limit: int | None
    """Seconds that the stage may run; None for a rollout."""
    team: str | None
    slices: int = 0
    """Slices of all workers that run at a time."""
    slice: str | None = None
    """The resource name of the slices; None if the stage has none."""
    head: HeadSize | None = None
    """The pod next to the workers (Ray's head, Spark's driver); None if there is none."""


class Summary(NamedTuple):
    """A pipeline in the order in which it runs."""

    name: str
    stages: tuple[StageSize, ...]
    most_gpus: int
    """The most GPUs that stages hold at a time."""
    most_by: tuple[str, ...]
    """The stages that hold ``most_gpus``."""
    gpu_seconds: int
    """The most that a run holds: each stage's GPUs for as long as it may run."""
    longest: int
    """Seconds of the longest path through the stages at their time limits, without time in queues."""


def summary(pipeline: Pipeline, everything: Sequence[Sized]) -> Summary:
    """The size of a pipeline without errors.

    Args:
        pipeline: its jobs and resources exist.
        everything: the stack's resources from ``sizing.sized``.
    """
    jobs = {job.name: (job, one) for one in everything for job, _ in one.jobs}
    sizes = []
    for stage in in_order(pipeline.stages):
        if stage.job is None:
            sizes.append(
                StageSize(
                    stage=stage, workers=0, cpu=Fraction(0), memory=Fraction(0), gpus=0, time_limit=None, team=None
                )
            )
            continue
        job, one = jobs[stage.job]
        # Trials are runs of one worker each, side by side if there is room; the number of executors may change.
        workers = job.trials or max(one.size.workers, job.spark.most_executors or 0)
        gpus = one.size.gpus * workers
        sizes.append(
            StageSize(
                stage=stage,
                workers=workers,
                cpu=one.size.cpu,
                memory=one.size.memory,
                gpus=gpus if one.part is None else 0,
                time_limit=job.time_limit,
                team=job.team or one.resource.team,
                slices=gpus if one.part is not None else 0,
                slice=one.part.resource if one.part is not None else None,
                head=head_of(job),
            )
        )
    most, by = most_at_once([size.stage for size in sizes], {size.stage.name: size.gpus for size in sizes})
    ends: dict[str, int] = {}
    known = before(pipeline.stages)
    for size in sizes:
        start = max((ends[name] for name in known[size.stage.name]), default=0)
        ends[size.stage.name] = start + (size.time_limit or 0)
    return Summary(
        name=pipeline.name,
        stages=tuple(sizes),
        most_gpus=most,
        most_by=by,
        gpu_seconds=sum(size.gpus * (size.time_limit or 0) for size in sizes),
        longest=max(ends.values()),
    )
