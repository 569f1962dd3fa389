"""Reads a node's GPUs from its labels and allocatable resources, and checks the rules that need nodes.

A GPU counts if a pod that requests ``nvidia.com/gpu`` gets a whole GPU. MIG slices, time-sliced and MPS-shared GPUs,
and fractions from a hypervisor do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from modelyard.findings import Finding, Severity, in_order
from modelyard.hardware import cuda as toolkits
from modelyard.hardware.gpu_models import GpuModel, UnknownGpu, by_id, find, labels, products, resolve
from modelyard.hardware.limits import DEFAULT_CUDA, MEMORY_GB
from modelyard.hardware.rules.shared import PodSizes, falls_short, gpu_of, least_gi, spelled
from modelyard.kube.state import Node
from modelyard.names import (
    GPU_RESOURCE,
    HARDWARE_FILE,
    MACHINE_LABEL,
    MEMORY_LABEL,
    PRODUCT_LABEL,
    REPLICAS_LABEL,
    is_gpu,
    is_slice,
)
from modelyard.quantity import GB, parse, times
from modelyard.stack.config import SeenGpu, Stack, StackPath
from modelyard.stack.words import few, listed, nearest, plain, plural

GpuDivision = Literal["whole", "mig", "shared", "fraction", "unknown", "none"]

_MIB = 2**20
# Drivers and ECC use a few per cent of the nominal memory; the smallest fractions on the market use half.
_WHOLE_MEMORY = 0.9


class NodeGpus(NamedTuple):
    """The GPUs of one node."""

    gpu: GpuModel | None
    """None if the node has no GPU or nothing names its GPU."""
    whole: int
    """GPUs that a pod gets whole."""
    kind: GpuDivision
    """What ``nvidia.com/gpu`` means on this node; ``unknown`` if the GPU is unknown."""
    product: str
    """The label or instance type that names the GPU, empty without one."""
    slices: tuple[tuple[str, int], ...]
    """Other GPU resources (``nvidia.com/mig-1g.5gb``, ``nvidia.com/gpu.shared``), sorted."""


class DriverVerdict(NamedTuple):
    """Whether a node's driver runs the platform's CUDA."""

    version: str
    """Empty if no label sets it."""
    runs: bool | None
    """None if version or minimum is unknown."""
    minor_only: bool
    """Whether it runs only by minor-version compatibility: machine code yes, PTX no."""
    reason: str


def node_gpus(node: Node) -> NodeGpus:
    """Returns the GPU of a node and the number of whole GPUs."""
    count = int(node.allocatable.get(GPU_RESOURCE, 0))
    slices = tuple(
        (name, int(amount)) for name, amount in sorted(node.allocatable.items()) if is_slice(name) and amount >= 1
    )
    product = node.labels.get(PRODUCT_LABEL, "")
    base = product.partition("-MIG-")[0].removesuffix("-SHARED")
    gpu = resolve(base) if base else None
    if gpu is None and not base:
        product, gpu = _by_cloud(node.labels)
    kind = _kind(node.labels, gpu, product, count, bool(slices))
    return NodeGpus(gpu, count if kind in ("whole", "unknown") else 0, kind, product, slices)


def meant_product(product: str | None, nodes: Iterable[Node]) -> str | None:
    """Returns the product label of a node that a label which no node has was probably meant to be: a similar one if no
    known GPU has the label, or the A10's instead of the A10G's.
    """
    there = {node.labels[PRODUCT_LABEL] for node in nodes if PRODUCT_LABEL in node.labels}
    if product is None or product in there:
        return None
    if isinstance(find(product), UnknownGpu):
        return nearest(product, sorted(there), 0.8)
    return product[:-1] if product[-1:].isalpha() and product[:-1] in there else None


def driver_verdict(node_labels: Mapping[str, str], cuda: str = DEFAULT_CUDA) -> DriverVerdict:
    """Returns whether the driver in a node's labels runs images of CUDA ``cuda``."""
    text = _driver_label(node_labels)
    have = toolkits.driver(text) if text else None
    own, minor = toolkits.toolkit_driver(cuda), toolkits.minor_driver(cuda)
    floor = minor or own
    if have is None or floor is None:
        why = "no label shows the driver" if have is None else f"the minimum driver for CUDA {cuda} is unknown"
        return DriverVerdict(text, None, False, why)
    if have < _parts(floor):
        return DriverVerdict(text, False, False, f"driver {text} is older than {floor}, the minimum for CUDA {cuda}")
    if own and have < _parts(own):
        compatible = f"driver {text} runs CUDA {cuda} by minor-version compatibility only"
        reason = f"{compatible}; CUDA {cuda} was released with driver {own}"
        return DriverVerdict(text, True, True, reason)
    how = "" if own else " (by minor-version compatibility at least)"
    return DriverVerdict(text, True, False, f"driver {text} runs CUDA {cuda}{how}")


def check_nodes(stack: Stack, nodes: Iterable[Node], training: PodSizes) -> tuple[Finding, ...]:
    """Checks the rules that need the cluster's nodes: device plugin, minimum driver and memory of the stack's GPU, and
    the model service's disk.

    ``training`` are the pods of the active training backend. The plan decides whether pods fit by CPU, memory and free
    GPUs.
    """
    known = tuple(nodes)
    return in_order(
        [
            *_unknown_findings(stack),
            *_plugin_findings(stack, known),
            *_driver_findings(stack, known),
            *_memory_findings(stack, known, training),
            *_disk_findings(stack, known),
        ]
    )


def with_nodes(stack: Stack, nodes: Iterable[Node]) -> Stack:
    """Returns the stack with what nodes say of its GPU, if its name is unknown and nodes have that name."""
    gpu = stack.config.gpu
    if not isinstance(find(gpu.model), UnknownGpu):
        return stack
    wanted = gpu.model.strip().casefold()
    memory = {
        (label, node.labels.get(MEMORY_LABEL, ""))
        for node in nodes
        if (label := node.labels.get(PRODUCT_LABEL, "")).casefold() == wanted
    }
    if not memory:
        return stack
    sizes = [int(amount) * _MIB // GB if amount.isdecimal() else None for _, amount in memory]
    least = None if None in sizes else min(size for size in sizes if size is not None)
    seen = SeenGpu(tuple(sorted({label for label, _ in memory})), least)
    return stack._replace(config=stack.config._replace(gpu=gpu._replace(seen=seen)))


def _unknown_findings(stack: Stack) -> list[Finding]:
    """Returns what cannot be checked for a GPU whose name is unknown, if a waiver accepts that."""
    gpu = stack.config.gpu
    waived = any(one.code == "GPU002" for one in stack.config.waivers)
    if not waived or not isinstance(find(gpu.model), UnknownGpu) or (gpu.seen and gpu.seen.memory_gb is not None):
        return []
    lost = f"memory is checked for {MEMORY_GB} GB a pod, not for the GPU"
    if gpu.seen is None:
        lost = f"training pods have no node affinity, and their {lost}"
        why = f"No node has the name in {PRODUCT_LABEL}"
    else:
        why = f"A node with {', '.join(gpu.seen.labels)} has no memory in {MEMORY_LABEL}"
    return [
        stack.finding(
            "GPU012",
            Severity.WARNING,
            ("gpu", "model"),
            f"too little is known about GPU {plain(gpu.model)!r}: {lost}",
            detail=f"{why}, and neither modelyard's table nor {HARDWARE_FILE} has the GPU.",
            remedy=f"define the GPU in {HARDWARE_FILE}, with its node labels and memory",
        )
    ]


def _plugin_findings(stack: Stack, nodes: tuple[Node, ...]) -> list[Finding]:
    """Returns the nodes with a GPU that the stack names, but without a device plugin that offers it to pods."""
    config = stack.config
    places: dict[str, StackPath] = {}
    for name, where in (
        (config.gpu.model, ("gpu", "model")),
        *((one.gpu, ("resources", index, "gpu")) for index, one in enumerate(config.resources) if one.gpu),
    ):
        gpu = resolve(name)
        for label in products(gpu) if gpu is not None else ():
            places.setdefault(label, where)
    without: dict[StackPath, list[str]] = {}
    others: Counter[StackPath] = Counter()
    for node in nodes:
        place = places.get(node.labels.get(PRODUCT_LABEL, ""))
        if place is None:
            continue
        if any(is_gpu(name) and amount for name, amount in node.allocatable.items()):
            others[place] += 1
        else:
            without.setdefault(place, []).append(node.name)
    return [
        stack.finding(
            "GPU013",
            Severity.WARNING,
            place,
            f"{few(sorted(names))} {'has' if len(names) == 1 else 'have'} this GPU, "
            f"but {'offers' if len(names) == 1 else 'offer'} none to pods",
            detail="No NVIDIA device plugin runs there, or it finds no driver; the scheduler places no GPU pod there."
            + (f" {plural(others[place], 'other node')} with this GPU can allocate it." if others[place] else ""),
            remedy="install the GPU operator or the device plugin there; if it runs, read its log",
        )
        for place, names in without.items()
    ]


def _driver_findings(stack: Stack, nodes: tuple[Node, ...]) -> list[Finding]:
    gpu = gpu_of(stack.config)
    if gpu is None:
        return []
    ours = set(products(gpu))
    found: dict[DriverVerdict, list[str]] = {}
    for node in nodes:
        if node.labels.get(PRODUCT_LABEL) in ours:
            verdict = driver_verdict(node.labels, stack.config.platform.cuda)
            if verdict.runs is False or verdict.minor_only:
                found.setdefault(verdict, []).append(node.name)
    return [_driver_finding(stack, verdict, names) for verdict, names in found.items()]


def _driver_finding(stack: Stack, verdict: DriverVerdict, names: list[str]) -> Finding:
    cuda = stack.config.platform.cuda
    needed = (toolkits.toolkit_driver(cuda) if verdict.minor_only else None) or toolkits.minor_driver(cuda)
    return stack.finding(
        "GPU011",
        Severity.ADVICE if verdict.minor_only else Severity.ERROR,
        ("platform", "cuda"),
        f"{verdict.reason} ({few(sorted(names))})",
        detail="A driver runs toolkits up to its own version. Newer toolkits of the same major version "
        "run machine code only: the driver cannot compile their PTX.",
        remedy=f"upgrade the driver of these nodes to {needed} or newer",
    )


def _memory_findings(stack: Stack, nodes: tuple[Node, ...], training: PodSizes) -> list[Finding]:
    """Finds training pods with less memory, as a whole or per GPU, than the GPU variants on the nodes have.

    The rules without nodes check only the smallest variant.
    """
    gpu = gpu_of(stack.config)
    if gpu is None or not gpu.members:
        return []
    found: dict[int, list[str]] = {}
    for node in nodes:
        own = node_gpus(node).gpu if node.allocatable.get(GPU_RESOURCE) else None
        if own is not None and own.id in gpu.members:
            found.setdefault(own.memory_gb, []).append(node.name)
    short = sorted(gb for gb in found if gb > gpu.memory_gb and falls_short(training.memory, gb))
    if not short:
        return []
    everywhere = len(short) == len(found)
    names = [name for gb in short for name in found[gb]]
    needed = short[0] if everywhere else short[-1]
    field = f"{training.role}.memory"
    pod_short = falls_short(times(training.memory, training.gpus), needed)
    return [
        stack.finding(
            "RES001",
            Severity.ERROR if everywhere and pod_short else Severity.WARNING,
            (training.role, "memory"),
            f"{field} is {spelled(training.memory)} per GPU, and a GPU has {needed} GB on {few(sorted(names))}",
            detail="A training pod needs as much memory as its GPU has, and so does a job on one of its GPUs. "
            f"gpu.model {gpu.short} stands for {listed(gpu.members, 'and')}, "
            "so pods can run on nodes with any of them.",
            remedy=f"set {field} to {least_gi(needed)}Gi or more"
            + ("" if everywhere else ", or name the smaller variant in gpu.model"),
            target=training.deployment,
        )
    ]


def _disk_findings(stack: Stack, nodes: tuple[Node, ...]) -> list[Finding]:
    if "modelService" in stack.config.platform.without:
        return []
    wanted = parse(stack.config.model_service.volume)
    disks = {
        node.name: node.allocatable["ephemeral-storage"] for node in nodes if "ephemeral-storage" in node.allocatable
    }
    if not disks or max(disks.values()) >= wanted:
        return []
    name = max(disks, key=lambda node: (disks[node], node))
    return [
        stack.finding(
            "RES008",
            Severity.ERROR,
            ("modelService", "volume"),
            f"no node has {stack.config.model_service.volume} ({float(wanted) / GB:.1f} GB) of disk for "
            f"modelService.volume; {name} has the most, {float(disks[name]) / GB:.1f} GB",
            detail="The volume is a request for ephemeral storage: a pod that no node can hold stays Pending.",
            remedy="give nodes larger disks, or request less (50 GB at least)",
            target=stack.config.targets.model_service.name,
        )
    ]


def _kind(node_labels: Mapping[str, str], gpu: GpuModel | None, product: str, count: int, slices: bool) -> GpuDivision:
    if "-MIG-" in product or "cloud.google.com/gke-gpu-partition-size" in node_labels:
        return "mig"
    if _shared(node_labels, product):
        return "shared"
    if not count:
        return "mig" if slices else "none"
    if gpu is None:
        return "unknown"
    memory = node_labels.get(MEMORY_LABEL, "")
    if memory.isdigit() and int(memory) * _MIB < _WHOLE_MEMORY * _least_memory(gpu) * GB:
        return "fraction"
    return "whole"


def _shared(node_labels: Mapping[str, str], product: str) -> bool:
    replicas = node_labels.get(REPLICAS_LABEL, "")
    return (
        product.endswith("-SHARED")
        or (replicas.isdigit() and int(replicas) > 1)
        or node_labels.get("nvidia.com/gpu.sharing-strategy", "none") not in ("none", "")
        or "cloud.google.com/gke-gpu-sharing-strategy" in node_labels
    )


def _least_memory(gpu: GpuModel) -> int:
    return min((by_id(member).memory_gb for member in gpu.members), default=gpu.memory_gb)


def _by_cloud(node_labels: Mapping[str, str]) -> tuple[str, GpuModel | None]:
    """Returns the GPU from the cloud's own labels, for nodes without labels of GPU feature discovery."""
    aws = node_labels.get("karpenter.k8s.aws/instance-gpu-name", "")
    exact = labels().aws.get((aws, node_labels.get("karpenter.k8s.aws/instance-gpu-memory", "")))
    if exact:
        return aws, by_id(exact)
    for key in ("cloud.google.com/gke-accelerator", "karpenter.azure.com/sku-gpu-name"):
        if name := node_labels.get(key, ""):
            return name, resolve(name)
    machine = node_labels.get(MACHINE_LABEL, "")
    if machine:
        from modelyard.hardware.instances import by_type  # a table that few clusters need

        known = by_type().get(machine)
        if known and known.whole_gpus and known.gpu:
            return machine, known.gpu
    return "", None


def _driver_label(node_labels: Mapping[str, str]) -> str:
    full = node_labels.get("nvidia.com/cuda.driver-version.full", "")
    if full:
        return full
    old = [node_labels.get(f"nvidia.com/cuda.driver.{part}", "") for part in ("major", "minor", "rev")]
    return ".".join(part for part in old if part) if old[0] else ""


def _parts(text: str) -> toolkits.Driver:
    return toolkits.driver(text) or ()
