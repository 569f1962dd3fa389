"""Checks resources whose GPUs are slices: whether the slice exists, is large enough, and can grow."""

from collections.abc import Iterator
from fractions import Fraction

from modelyard.findings import Finding, Severity
from modelyard.hardware import resolve
from modelyard.hardware.partitions import Slice, able_to_grow, gpu_name, partition_gpu, replaceable, slices
from modelyard.quantity import GB
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.jobs import Resource
from modelyard.stack.names import instead
from modelyard.stack.pool import Partition
from modelyard.stack.words import listed
from modelyard.workloads.sizing.resources import Sized
from modelyard.workloads.sizing.sources import amount, count


def slice_findings(stack: Stack, index: int, sized: Sized) -> Iterator[Finding]:
    """Yields findings about the partition that a resource names, or that it needs."""
    resource, config = sized.resource, stack.config
    where: StackPath = ("resources", index)
    if resource.partition is None:
        if resource.slice is not None:
            yield _finding(stack, (*where, "slice"), resource, "has a slice but no partition", "set `partition`")
        if resource.grow and sized.part is None:
            able = [partition.name for partition in able_to_grow(config, resource)]
            yield stack.finding(
                "PAR012",
                Severity.ERROR,
                (*where, "grow"),
                f"resource {resource.name} has grow but no partition on which it could grow",
                f"set `partition` to {listed(able) if able else 'a partition with its GPU'}",
            )
            return
    else:
        known = {partition.name: partition for partition in config.partitions}
        partition = known.get(resource.partition)
        if partition is None:
            yield _finding(
                stack,
                (*where, "partition"),
                resource,
                f"uses partition {resource.partition}, which is not defined",
                instead(resource.partition, known, "partitions"),
            )
            return
        yield from _profile(stack, where, resource, partition, sized.part)
        runs = [job.name for job, _ in sized.jobs if job.command]
        if runs and replaceable(config, resource) is not None:
            yield stack.finding(
                "PAR012",
                Severity.ERROR,
                (*where, "grow"),
                f"resource {resource.name} cannot grow: job {runs[0]} has a command, and a run keeps its slice",
                "move jobs with a command to another resource, use a partition of mode time-slicing, or drop grow",
                detail=f"On a partition of mode {partition.mode}, a pod grows by a restart on a whole GPU, "
                "and a run would lose its work.",
            )
    if sized.part is not None:
        yield from _number(stack, where, sized, sized.part)
        yield from _memory(stack, where, sized, sized.part)
        if resource.remote is not None:
            yield _finding(
                stack,
                (*where, "partition"),
                resource,
                "is remote, but partitions divide nodes of the home cluster",
                "drop partition",
            )


def _finding(stack: Stack, where: StackPath, resource: Resource, summary: str, remedy: str) -> Finding:
    return stack.finding("PAR011", Severity.ERROR, where, f"resource {resource.name} {summary}", remedy)


def _profile(
    stack: Stack, where: StackPath, resource: Resource, partition: Partition, part: Slice | None
) -> Iterator[Finding]:
    """Checks that the partition has the slice, on the GPU that the resource wants."""
    if resource.slice is not None and partition.mode != "mig":
        summary = f"has slice {resource.slice}, but partition {partition.name} is of mode {partition.mode}"
        yield _finding(stack, (*where, "slice"), resource, summary, "drop slice: only MIG has profiles")
    elif resource.slice is not None and resource.slice not in partition.layout:
        summary = f"has slice {resource.slice}, which partition {partition.name} does not have"
        remedy = instead(resource.slice, partition.layout, "slices")
        yield _finding(stack, (*where, "slice"), resource, summary, remedy)
    elif part is None and len(slices(stack.config, partition)) > 1:
        summary = f"does not set a slice of partition {partition.name}"
        yield _finding(stack, (*where, "partition"), resource, summary, f"set slice: {' or '.join(partition.layout)}")
    gpu, wanted = partition_gpu(stack.config, partition), resolve(resource.gpu or "")
    # Without slices, another finding reports the partition's GPU.
    if gpu is not None and wanted is not None and gpu != wanted and slices(stack.config, partition):
        summary = f"has GPU {resource.gpu}, but partition {partition.name} divides {gpu_name(stack.config, partition)}"
        yield _finding(stack, (*where, "gpu"), resource, summary, "drop gpu, or name another partition")


def _number(stack: Stack, where: StackPath, one: Sized, part: Slice) -> Iterator[Finding]:
    """Checks that one pod may have this many slices, and can use them."""
    gpus, partition = one.size.gpus, part.partition
    if not gpus:
        yield stack.finding(
            "PAR013",
            Severity.ERROR,
            (*where, "gpus"),
            f"a pod of resource {one.resource.name} uses no slice of partition {partition.name} "
            "but is bound to its nodes",
            "set gpus to 1, or drop partition",
        )
    if gpus < 2:
        return
    # With MPS, the device plugin rejects such a request whatever the setting is.
    rejects = partition.fail_requests_greater_than_one if partition.mode == "time-slicing" else partition.mode == "mps"
    yield stack.finding(
        "PAR013",
        Severity.ERROR if rejects else Severity.WARNING,
        (*where, "gpus"),
        f"a pod of resource {one.resource.name} asks for {gpus} slices of partition {partition.name}, "
        + ("but the device plugin rejects more than one" if rejects else "but a process uses only one of them"),
        "set gpus to 1, and increase workers",
        detail="The pod would fail with UnexpectedAdmissionError."
        if rejects
        else "Slices do not add up: a process sees one MIG slice, and several shares of a GPU are not a larger share.",
    )


def _memory(stack: Stack, where: StackPath, one: Sized, part: Slice) -> Iterator[Finding]:
    """Checks that one pod has the GPU memory that the jobs need."""
    needed, have, partition = one.need.gpu_memory, part.memory, part.partition
    if not needed or have is None:
        return
    jobs = ", ".join(job.name for job, found in one.jobs if found.need.gpu_memory)
    detail = f"jobs: {jobs}; modelyard size {stack.name} {one.resource.name} shows the calculation"
    words = f"the jobs of resource {one.resource.name} need {amount(needed)} ({_gb(needed)}) of GPU memory"
    what = "a slice" if part.profile is None else f"slice {part.profile.name}"
    if needed > have:
        # A need that rests on assumptions is no proof.
        known = not any(found.assumptions for _, found in one.jobs if found.need.gpu_memory)
        remedies = {"mig": "use a larger slice, or whole GPUs", "mps": "set fewer replicas, or use whole GPUs"}
        yield stack.finding(
            "PAR014",
            Severity.ERROR if known else Severity.WARNING,
            (*where, "slice" if one.resource.slice else "partition"),
            f"{words}, but {what} of partition {partition.name} has {_gb(have)}",
            remedies.get(partition.mode, "use a GPU with more memory, or several whole GPUs"),
            detail=detail,
        )
    elif partition.mode == "time-slicing" and needed * (partition.replicas or 1) > have:
        yield stack.finding(
            "PAR014",
            Severity.WARNING,
            (*where, "partition"),
            f"{words}, and {partition.replicas} pods of partition {partition.name} share {_gb(have)}",
            "set fewer replicas, or let the pods use less memory; time-slicing does not limit it",
            detail=detail,
        )


def _gb(memory: Fraction | int) -> str:
    return f"{count(Fraction(memory, GB))} GB"
