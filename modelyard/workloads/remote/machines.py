"""Checks the machine of a remote resource: its type, GPU, size, region and price."""

from collections.abc import Iterator

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.hardware.instances import Instance, begins, provider_of, region_names, types
from modelyard.hardware.rules.gpu import use_findings
from modelyard.hardware.verdict import GpuUse, verdict
from modelyard.quantity import GI
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.jobs import Resource
from modelyard.stack.words import did_you_mean
from modelyard.workloads.gpu_uses import resource_use
from modelyard.workloads.remote.offers import Own, near_regions, offers
from modelyard.workloads.sizing import Sized


def check_machine(stack: Stack, index: int, sized: Sized, own: Own | None = None) -> Iterator[Finding]:
    """Yields findings about the machine of the resource at ``index``, whose provider is known."""
    resource = sized.resource
    provider, remote = provider_of(stack.config, resource), resource.remote
    if provider is None or remote is None or remote.instance_type is None:
        return
    where: StackPath = ("resources", index, "remote")
    known = types(provider.kind)
    machine = known.get(remote.instance_type)
    if machine is None:
        yield stack.finding(
            "REM004",
            Severity.ERROR,
            (*where, "instanceType"),
            f"{remote.instance_type} is not a known machine type with GPUs of {provider.kind}",
            did_you_mean(remote.instance_type, known, 3, 0.5)
            or f"known types: {', '.join(sorted(known)[:3])} and others",
        )
        yield from _region(stack, where, resource, cloud=provider.kind, machine=None, own=own)
        return
    if not machine.whole_gpus:
        what = "fractions of a GPU" if machine.whole == "no" else "GPUs that may be fractions"
        yield stack.finding(
            "REM004",
            Severity.ERROR,
            (*where, "instanceType"),
            f"{machine.type} has {what}",
            "choose a machine with whole GPUs",
        )
    yield from _gpu(stack, where, machine, resource)
    yield from _size(stack, where, machine, sized)
    yield from _region(stack, where, resource, cloud=provider.kind, machine=machine, own=own)


def unfit_gpu(machine: Instance, use: GpuUse) -> tuple[str, str] | None:
    """Returns what is wrong with a machine's GPU for a use, and why; None if it is supported."""
    gpu = machine.gpu
    if gpu is None:
        return f"the unknown GPU {machine.gpu_id}", ""
    found = verdict(gpu, use)
    if not found.refusals:
        return None
    word = "not supported" if found.supported is False else "not known to be supported"
    return f"the {gpu.short}, which is {word}", found.reason


def _gpu(stack: Stack, where: StackPath, machine: Instance, resource: Resource) -> Iterator[Finding]:
    use, path = resource_use(stack.config, resource), (*where, "instanceType")
    if machine.gpu is not None and not verdict(machine.gpu, use).refusals:
        who = f"resource {resource.name} on {machine.type}"
        yield from use_findings(stack, path, machine.gpu, use, who=who, only=("GPU001", "GPU004", "GPU005"))
    if (wrong := unfit_gpu(machine, use)) is not None:
        yield stack.finding(
            "REM005",
            Severity.ERROR,
            path,
            f"{machine.type} has {wrong[0]}",
            "choose a machine with a GPU that `modelyard gpus --supported` lists",
            detail=wrong[1],
        )


def _size(stack: Stack, where: StackPath, machine: Instance, one: Sized) -> Iterator[Finding]:
    """Checks that one machine has the size of one worker; each job has one machine."""
    size = one.size
    short = []
    if machine.vcpu is not None and machine.vcpu < size.cpu:
        short.append(f"{machine.vcpu} of {quantity.cpu(size.cpu)} cores")
    if machine.memory_gib is not None and machine.memory_gib * GI < size.memory:
        short.append(f"{machine.memory_gib:g} GiB of {quantity.memory(size.memory)} memory")
    gpus = max(size.gpus, one.need.gpus or 0)
    if machine.gpus is not None and machine.gpus < gpus:
        short.append(f"{machine.gpus} of {gpus} GPUs")
    have = None if machine.gpus is None or machine.gpu_memory_gb is None else machine.gpus * machine.gpu_memory_gb
    needed = (one.need.gpu_memory or 0) / 10**9
    if have is not None and have < needed:
        short.append(f"{have:g} of {needed:.0f} GB of GPU memory")
    if short:
        yield stack.finding(
            "REM006",
            Severity.ERROR,
            (*where, "instanceType"),
            f"{machine.type} is too small for resource {one.resource.name}: it has {', '.join(short)}",
            "choose a larger machine",
            detail=f"modelyard size {stack.name} {one.resource.name} shows the calculation",
        )


def _region(
    stack: Stack, where: StackPath, resource: Resource, *, cloud: str, machine: Instance | None, own: Own | None
) -> Iterator[Finding]:
    assert resource.remote is not None
    prefix = resource.remote.region_prefix or ""
    names = [name for name in region_names(cloud) if begins(name, prefix)]
    found = offers(stack.config, resource, own)
    if (machine is None and not names) or (machine is not None and not found):
        near = ", ".join(near_regions(cloud, prefix, machine))
        what = (
            f"no region of {cloud}"
            if not names
            else f"no region in which {cloud} rents {resource.remote.instance_type}"
        )
        yield stack.finding(
            "REM007",
            Severity.ERROR,
            (*where, "regionPrefix"),
            f"{what} begins with {prefix}",
            f"the nearest: {near}" if near else "drop it",
        )
        return
    if not found:
        return
    best = found[0]
    if not best.known:
        yield stack.finding(
            "REM007",
            Severity.ADVICE,
            (*where, "regionPrefix" if prefix else "instanceType"),
            f"whether {best.type} is available in {best.region} is not verified",
            "ask the provider before relying on it; the launch fails if it is not available",
            detail=best.unverified,
        )
    # The caller that passes prices reads the price file; without prices its content is unknown.
    if best.usd_per_hour is None and (own is not None or stack.config.prices is None):
        priced = [one.region for one in found if one.usd_per_hour is not None]
        yield stack.finding(
            "REM008",
            Severity.WARNING,
            (*where, "instanceType"),
            f"the price of {best.type} in {best.region} is unknown",
            f"choose {priced[0]}, whose price is known" if priced else "add its price to the stack's price file",
        )
