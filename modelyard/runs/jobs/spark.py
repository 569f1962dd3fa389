"""What is wrong with jobs that run on Spark."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.stack.config import Path, Stack
from modelyard.stack.jobs import Job, Spark
from modelyard.workloads.facts.environments import run_environment
from modelyard.workloads.facts.spark import LEAST_HEAP, LEAST_OVERHEAD, driver_of, heap_of, kind_of
from modelyard.workloads.sizing import Sized

CONF = ("spark.executor.", "spark.driver.", "spark.task.resource.", "spark.dynamicAllocation.", "spark.kubernetes.")
"""Settings that the resource or other keys say; in ``conf`` they would say it twice, and Kueue would not count them."""
_SAID = (
    *("instances", "cores", "memory", "memoryOverhead", "memoryOverheadFactor", "resource.gpu.amount"),
    *("enabled", "minExecutors", "maxExecutors", "executorIdleTimeout"),
    *("executor.request.cores", "driver.request.cores"),
)


def check_spark(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """The findings about jobs of engine ``spark``, and about others that have its settings.

    Args:
        stack: whose jobs they are.
        everything: its resources, as ``sizing.sized`` gives them.
    """
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    for index, job in enumerate(stack.config.jobs):
        if job.engine != "spark":
            if job.spark != Spark():
                yield stack.finding(
                    "RES220",
                    Severity.ERROR,
                    ("jobs", index, "spark"),
                    f"job {job.name} has settings of Spark, and its engine is {job.engine}",
                    "set engine to spark, or drop them",
                )
            continue
        for path, what, remedy in (*_wrong(job, by_job.get(id(job))), *_beside(stack, job, by_job.get(id(job)))):
            where: Path = ("jobs", index, *path)
            yield stack.finding("RES220", Severity.ERROR, where, f"job {job.name} {what}", remedy)
        yield from _memory(stack, index, job, by_job.get(id(job)))


def _wrong(job: Job, one: Sized | None) -> Iterator[tuple[Path, str, str]]:
    """What cannot run as it is said: where, what, and what to do."""
    spark = job.spark
    if spark.version is None:
        yield ("spark",), "does not say which version of Spark its image has", "set spark.version, such as 3.5.7"
    if not job.command:
        yield (), "is an application of Spark without a command", "set command: its main file and its arguments"
    elif kind_of(job) != "Python" and spark.main_class is None:
        yield ("command",), "is no Python file and names no main class", "name a .py file, or set spark.mainClass"
    for key in spark.conf:
        rest = next((key.removeprefix(prefix) for prefix in CONF if key.startswith(prefix)), "")
        if rest in _SAID:
            remedy = "drop it; sizes are the resource's, and the driver's are driverCpu and driverMemory"
            yield ("spark", "conf", key), f"sets {key}, which modelyard sets", remedy
    most = spark.most_executors
    if most is None:
        return
    if most < spark.least_executors:
        what = f"has at most {most} executors and at least {spark.least_executors}"
        yield ("spark", "leastExecutors"), what, f"set leastExecutors to {most} or less"
    team = job.team or (one.resource.team if one is not None else None)
    if team is not None:
        what = f"lets executors come and go (mostExecutors), and Kueue admits a fixed number for team {team}"
        yield ("spark", "mostExecutors"), what, "drop mostExecutors and set workers of its resource, or drop the team"


def _beside(stack: Stack, job: Job, one: Sized | None) -> Iterator[tuple[Path, str, str]]:
    """What Spark's pods cannot have that other jobs' pods can."""
    resource = one.resource if one is not None else None
    named = job.environment or (resource.environment if resource is not None else None)
    if run_environment(stack.config, named) is not None:
        what = f"runs on Spark with the environment {named} of a volume"
        yield (), what, "build its packages into the image, and name an environment that is an image, or none"
    if resource is not None and (resource.partition or resource.grow):
        what = f"runs on Spark on slices of GPUs, of {resource.name}, and executors ask for whole ones"
        yield ("resource",), what, "name a resource with whole GPUs"


def _memory(stack: Stack, index: int, job: Job, one: Sized | None) -> Iterator[Finding]:
    """Whether a heap is left in the pods beside the overhead."""
    pods: list[tuple[str, Fraction, Path]] = [
        ("driver", driver_of(job.spark)["memory"], ("jobs", index, "spark", "driverMemory"))
    ]
    if one is not None:
        pods.append(("executors", one.size.memory, ("jobs", index)))
    for what, memory, where in pods:
        heap, overhead = heap_of(memory, job)
        if heap < LEAST_HEAP:
            yield stack.finding(
                "RES221",
                Severity.ERROR,
                where,
                f"the {what} of job {job.name} have {quantity.memory(memory)}, which leaves Spark a heap of "
                f"{max(heap, 0)}Mi",
                f"give them at least {(LEAST_HEAP + max(overhead, LEAST_OVERHEAD)) // 256 * 256 + 256}Mi",
                detail=f"{overhead}Mi are overhead, outside the heap; Spark starts with {LEAST_HEAP}Mi or more",
            )
