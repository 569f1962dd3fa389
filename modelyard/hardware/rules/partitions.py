"""Rules for partitions, as far as the stack file and the GPU's data allow."""

from collections.abc import Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import GpuModel, by_id, near_gpus, not_one_gpu
from modelyard.hardware.partitions import (
    CONFIG_LABEL,
    MIG_LABEL,
    MPS_CLIENTS,
    RESERVED,
    Mig,
    fits,
    mig,
    mps_clients,
    partition_gpu,
    variants_with_mig,
)
from modelyard.names import GPU_RESOURCE
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.names import instead, named_twice
from modelyard.stack.pool import Partition, PartitionMode
from modelyard.stack.words import listed

ISOLATION: Final[dict[PartitionMode, tuple[str, str]]] = {
    "mig": (
        "slices are isolated in memory, compute and faults",
        "Slices are parts of the hardware: a pod cannot use another pod's memory or time, and a fault ends only "
        "its own pod.",
    ),
    "mps": (
        "memory and threads are limited, and a fault ends all pods on the GPU",
        "The device plugin gives each pod an equal part of memory and threads, idle or not. All run in one process on "
        "the GPU: a fatal fault of one ends the others'.",
    ),
    "time-slicing": (
        "pods are not isolated in memory, time or faults",
        "Pods take turns on the whole GPU. A pod that uses all memory or breaks the GPU makes the others fail.",
    ),
}
"""Isolation of a pod by mode, in short and in long (NVIDIA/k8s-device-plugin README, shared access to GPUs;
NVIDIA MIG user guide, introduction; NVIDIA Multi-Process Service, memory protection and error containment)."""
_OF_MODE: Final[dict[PartitionMode, tuple[str, ...]]] = {
    "mig": ("layout", "strategy"),
    "mps": ("replicas", "rename", "failRequestsGreaterThanOne"),
    "time-slicing": ("replicas", "rename", "failRequestsGreaterThanOne"),
}
"""Settings that only some modes have, by key of the stack file."""


def partition_findings(stack: Stack) -> Iterator[Finding]:
    """Yields the findings about ``modelyard:partitions``."""
    yield from named_twice(stack, "PAR001", "partitions")
    seen: dict[str, str] = {}
    for index, partition in enumerate(stack.config.partitions):
        if partition.name in RESERVED:
            yield stack.finding(
                "PAR001",
                Severity.ERROR,
                ("partitions", index, "name"),
                f"{partition.name} cannot be the name of a partition: this name is reserved for a configuration of the "
                "device plugin or the MIG manager",
                "give it another name",
            )
        yield from _nodes(stack, index, partition, seen)
        yield from _settings(stack, index, partition)
        yield from _named(stack, index, partition)
        gpu = partition_gpu(stack.config, partition)
        # The GPU of an undefined flavor is unknown; the stack's GPU says nothing about it.
        astray = partition.gpu is None and partition.flavor not in (None, *(one.name for one in stack.config.flavors))
        if gpu is not None and not astray:
            yield from _divided(stack, index, partition, gpu)
        yield _isolation(stack, index, partition)


def _nodes(stack: Stack, index: int, partition: Partition, seen: dict[str, str]) -> Iterator[Finding]:
    """Checks that the nodes are identifiable, and divided in only one way."""
    config = stack.config
    flavors = {flavor.name: flavor for flavor in config.flavors}
    where: StackPath = ("partitions", index)
    if partition.flavor is not None:
        flavor = flavors.get(partition.flavor)
        if flavor is None:
            yield stack.finding(
                "PAR002",
                Severity.ERROR,
                (*where, "flavor"),
                f"partition {partition.name} divides the nodes of flavor {partition.flavor}, which is not defined",
                instead(partition.flavor, flavors, "flavors"),
            )
        elif (other := flavor.labels.get(CONFIG_LABEL, partition.name)) != partition.name:
            yield stack.finding(
                "PAR008",
                Severity.ERROR,
                (*where, "flavor"),
                f"nodes of flavor {flavor.name} have {CONFIG_LABEL}={other}, not {partition.name}",
                "set the partition in the flavor's labels, or remove the label",
            )
        if partition.flavor in seen:
            yield stack.finding(
                "PAR008",
                Severity.ERROR,
                (*where, "flavor"),
                f"partitions {seen[partition.flavor]} and {partition.name} both divide the nodes of {partition.flavor}",
                "use flavors of different nodes: all GPUs of a node are divided in the same way",
                detail="The device plugin takes one configuration for a node, and MPS needs GPUs without MIG.",
            )
        seen.setdefault(partition.flavor, partition.name)
    # Findings about a flavor's or the stack's GPU are reported at that setting.
    if partition.gpu and (wrong := not_one_gpu(partition.gpu)):
        yield stack.finding(
            "PAR002",
            Severity.ERROR,
            (*where, "gpu"),
            f"partition {partition.name}: {wrong}",
            near_gpus(partition.gpu),
        )


def _settings(stack: Stack, index: int, partition: Partition) -> Iterator[Finding]:
    """Checks that it has the settings of its mode, and no others."""
    mode = partition.mode
    needed = _OF_MODE[mode][0]
    if not getattr(partition, needed):
        example = "{1g.10gb: 7}" if needed == "layout" else "4"
        yield stack.finding(
            "PAR003",
            Severity.ERROR,
            ("partitions", index),
            f"partition {partition.name} has no {needed}, which {mode} needs",
            f"add {needed}, such as {needed}: {example}",
        )
    others = {key for keys in _OF_MODE.values() for key in keys} - set(_OF_MODE[mode])
    for key in sorted(others):
        if ("partitions", index, key) in stack.positions:
            yield stack.finding(
                "PAR003",
                Severity.ERROR,
                ("partitions", index, key),
                f"partition {partition.name} has {key}, which {mode} does not support",
                f"drop it: {mode} has {listed(_OF_MODE[mode], 'and')}",
            )
    if mode == "mps" and not partition.fail_requests_greater_than_one:
        yield stack.finding(
            "PAR003",
            Severity.ERROR,
            ("partitions", index, "failRequestsGreaterThanOne"),
            f"partition {partition.name} allows a container several shared GPUs, which MPS does not support",
            "drop failRequestsGreaterThanOne, which the device plugin does not read with mps",
        )


def _named(stack: Stack, index: int, partition: Partition) -> Iterator[Finding]:
    """Checks that its slices have other names than whole GPUs."""
    called_gpu = partition.strategy == "single" if partition.mode == "mig" else not partition.rename
    if called_gpu:
        yield stack.finding(
            "PAR010",
            Severity.WARNING,
            ("partitions", index, "strategy" if partition.mode == "mig" else "rename"),
            f"slices of partition {partition.name} are called {GPU_RESOURCE}: "
            "quotas and limits count them as whole GPUs",
            "set strategy to mixed" if partition.mode == "mig" else "drop rename: false",
        )


def _divided(stack: Stack, index: int, partition: Partition, gpu: GpuModel) -> Iterator[Finding]:
    """Checks that the GPU can be divided this way."""
    where: StackPath = ("partitions", index)
    if partition.mode == "mps":
        yield from _clients(stack, (*where, "replicas"), partition, gpu)
    if partition.mode != "mig":
        return
    found = mig(gpu)
    variants = variants_with_mig(gpu)
    if found is None and len(variants) > 1:
        yield stack.finding(
            "PAR002",
            Severity.ERROR,
            (*where, "gpu" if partition.gpu else "mode"),
            f"partition {partition.name} divides the {gpu.short}, whose variants have different MIG profiles",
            f"name one of them in gpu: {', '.join(variants)}",
            detail="; ".join(f"{one}: {_names(mig(by_id(one)))}" for one in variants),
        )
    elif found is None:
        yield stack.finding(
            "PAR004",
            Severity.ERROR,
            (*where, "mode"),
            f"partition {partition.name} divides the {gpu.short}, which has no MIG",
            "use mps or time-slicing, or nodes whose GPU has MIG",
        )
    else:
        yield from _layout(stack, (*where, "layout"), partition, gpu, found)


def _layout(stack: Stack, where: StackPath, partition: Partition, gpu: GpuModel, found: Mig) -> Iterator[Finding]:
    layout = partition.layout
    lacking = [name for name in layout if name not in found.profiles]
    if not found.profiles:
        yield stack.finding(
            "PAR005",
            Severity.WARNING,
            where,
            f"the MIG profiles of the {gpu.short} are unknown, so the layout of {partition.name} is not checked",
            "compare it with `nvidia-smi mig -lgip` on a node",
        )
        return
    for name in lacking:
        yield stack.finding(
            "PAR005",
            Severity.ERROR,
            (*where, name),
            f"the {gpu.short} has no MIG profile {name}",
            f"use one of its profiles: {_names(found)}",
        )
    if lacking or not layout:
        return
    if partition.strategy == "single" and len(layout) > 1:
        yield stack.finding(
            "PAR006",
            Severity.ERROR,
            where,
            f"partition {partition.name} has {len(layout)} profiles, but strategy single allows one",
            "set strategy to mixed, or use one profile",
        )
    words = ", ".join(f"{count} × {name}" for name, count in layout.items())
    verdict = fits(found, layout)
    if verdict is None:
        yield stack.finding(
            "PAR006",
            Severity.WARNING,
            where,
            f"whether {words} fit on one {gpu.short} is unknown",
            "compare it with `nvidia-smi mig -lgipp` on a node",
        )
    elif not verdict:
        compute = sum(found.profiles[name].compute * count for name, count in layout.items())
        most = listed(f"{found.profiles[name].most} × {name}" for name in layout)
        yield stack.finding(
            "PAR006",
            Severity.ERROR,
            where,
            f"{words} do not fit on one {gpu.short}",
            f"use fewer or smaller slices; one GPU holds at most {most}",
            detail=f"they take {compute} of {found.instances} compute slices, and each needs its own memory slices, "
            "at positions that its profile allows",
        )


def _clients(stack: Stack, where: StackPath, partition: Partition, gpu: GpuModel) -> Iterator[Finding]:
    most = mps_clients(gpu)
    if not most:
        yield stack.finding(
            "PAR007",
            Severity.ERROR,
            (*where[:-1], "mode"),
            f"partition {partition.name} divides the {gpu.short}, on which MPS cannot limit its clients",
            "use time-slicing; MPS needs a V100 or a newer GPU",
        )
    elif (partition.replicas or 0) > most:
        why = "" if most == MPS_CLIENTS else f"; {MPS_CLIENTS} are for GPUs from compute capability 7.5 on"
        yield stack.finding(
            "PAR007",
            Severity.ERROR,
            where,
            f"{partition.replicas} pods would share one {gpu.short}, but the device plugin's MPS allows {most}",
            f"set replicas to {most} or less",
            detail=f"Its control daemon ends with an error above {most} on this GPU{why}.",
        )


def _isolation(stack: Stack, index: int, partition: Partition) -> Finding:
    brief, full = ISOLATION[partition.mode]
    also = (
        f" A new layout needs GPUs without pods: drain a node before you set its labels {CONFIG_LABEL} and {MIG_LABEL}."
        if partition.mode == "mig"
        else ""
    )
    return stack.finding(
        "PAR009",
        Severity.ADVICE,
        ("partitions", index, "mode"),
        f"partition {partition.name}, {partition.mode}: {brief}",
        "no action needed if that is enough",
        detail=f"{full}{also}",
    )


def _names(found: Mig | None) -> str:
    return ", ".join(found.profiles) if found is not None and found.profiles else "unknown"
