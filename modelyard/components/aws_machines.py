"""Checks groups of machines on AWS."""

import re
from collections.abc import Iterator
from typing import Final

from pulumi_aws import ec2

from modelyard.hardware.instances import types
from modelyard.hardware.limits import MEMORY_GB, TRAINING_CPU
from modelyard.hardware.regions import may_be_in
from modelyard.hardware.verdict import Use
from modelyard.stack.aws import Aws, NodeGroup
from modelyard.stack.names import instead
from modelyard.stack.words import did_you_mean
from modelyard.workloads.remote.machines import unfit_gpu
from modelyard.workloads.remote.offers import near_regions

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]")
NAMED: Final = "two to 32 lower-case letters, digits and dashes are needed, a letter first and no dash last"
GB_IN_GIB: Final = 10**9 / 2**30
SMALLEST_DISK: Final = 20
"""GiB of the volume in EKS's images of Amazon Linux 2023; a disk cannot be smaller than that."""
_ARM: Final = re.compile(r"(a1|[a-z]+[0-9]+g[a-z]*|p6e-gb200)\..*")
"""Machines with ARM processors: a ``g`` right after the generation, except for the first ones and GB200."""
_WITH_GPUS: Final = re.compile(r"(g|gr|p)[0-9].*")
_LABEL: Final = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_RESERVED: Final = re.compile(r"((.*\.)?(kubernetes|k8s)\.io|eks\.amazonaws\.com)/.*")
_KUBELETS: Final = re.compile(r"(.*\.)?(node|kubelet)\.kubernetes\.io/.*")
"""The reserved labels that a kubelet may set on its own node."""


def numbers(group: NodeGroup) -> Iterator[str]:
    """What is wrong with a group, independent of its machine types."""
    name = group.name
    if NAME.fullmatch(name) is None:
        yield f"a group of machines is called {name!r}: {NAMED}"
    if not group.types:
        yield f"{name} has no machine type"
    if group.least < 0:
        yield f"{name} has least {group.least}: set it to 0 or more"
    if group.most < 1:
        yield f"{name} has most {group.most}: set it to 1 or more"
    elif group.least > group.most:
        yield f"{name} has least {group.least} and most {group.most}: raise most, or lower least"
    elif not group.least <= group.wanted <= group.most:
        yield f"{name} wants {group.wanted} machines, fewer than least ({group.least}) or more than most ({group.most})"
    if group.disk < SMALLEST_DISK:
        yield f"{name} has a disk of {group.disk} GiB: the machines' image has {SMALLEST_DISK}, container images more"
    for key, value in group.labels.items():
        if _LABEL.fullmatch(key) is None:
            yield f"{name} has the label {key!r}: not a valid label key; write it like example.com/pool"
        elif _RESERVED.fullmatch(key) and not _KUBELETS.fullmatch(key):
            yield f"{name} has the label {key}: nodes with it cannot join; use your own domain"
        if _LABEL_VALUE.fullmatch(value) is None:
            yield (
                f"{name} has the label {key!r} with {value!r}: up to 63 letters, digits, dots, dashes and underscores "
                "are needed, a letter or digit first and last"
            )


def cpu_types(group: NodeGroup) -> Iterator[str]:
    """Whether AWS has each machine type, and whether it is one for pods without GPUs."""
    gpus = types("aws")
    known = {one.value for one in ec2.InstanceType}
    for name in group.types:
        if name in gpus or (name in known and _WITH_GPUS.fullmatch(name)):
            yield f"{group.name} has {name}, which has GPUs: use it in a group of gpus, and a type without GPUs here"
        elif name not in known:
            meant = did_you_mean(name, sorted(known), 2) or "use one such as m7i.xlarge"
            yield (
                f"{group.name} has {name}, which is not a known AWS machine type: {meant} "
                "(a newer type needs a newer pulumi-aws)"
            )
        elif _ARM.fullmatch(name):
            yield _arm(group, name) + ", such as m7i or m7a"


def gpu_types(aws: Aws, group: NodeGroup, *, region: bool) -> Iterator[str]:
    """Whether each machine type has a GPU that the platform supports, and room for a training worker with one GPU.

    Args:
        aws: the stack's AWS settings.
        group: one of its groups with GPUs.
        region: whether the region is known, so that types can be compared with it.
    """
    known = types("aws")
    gpus = {known[name].gpu_id for name in group.types if name in known}
    if len(gpus) > 1:
        yield f"{group.name} has machines with {' and '.join(sorted(gpus))}: make a group for each GPU"
    for name in group.types:
        machine = known.get(name)
        if machine is None:
            yield f"{group.name} has {name}, which is not an AWS GPU machine: {instead(name, known, 'types')}"
            continue
        if region and not may_be_in(machine, aws.region):
            near = ", ".join(near_regions("aws", aws.region, machine))
            yield f"{group.name} has {name}, which AWS does not offer in {aws.region}; similar: {near}"
        if _ARM.fullmatch(name):
            yield _arm(group, name)
            continue
        if machine.gpu is None or not machine.whole_gpus:
            yield f"{group.name} has {name}: its GPU ({machine.gpu_id}) is not a supported whole GPU"
            continue
        if is_cuda(aws.cuda) and (wrong := unfit_gpu(machine, Use(aws.cuda, aws.images_embed_ptx))) is not None:
            yield f"{group.name} has {name}: it has {wrong[0]} ({wrong[1]})"
        needs = max(MEMORY_GB, machine.gpu.memory_gb) * GB_IN_GIB
        if machine.memory_gib is not None and machine.memory_gib <= needs:
            yield f"{group.name} has {name}: {machine.memory_gib:g} GiB of memory, but a worker needs {needs:.1f} GiB"
        if machine.vcpu is not None and machine.vcpu <= TRAINING_CPU:
            yield f"{group.name} has {name}: a worker needs {TRAINING_CPU} of {machine.vcpu} CPUs, Kubernetes some too"


def is_cuda(version: str) -> bool:
    """Whether a text is a version of CUDA, such as ``12.4``."""
    return re.fullmatch(r"[1-9][0-9]?\.[0-9]{1,2}", version) is not None


def _arm(group: NodeGroup, name: str) -> str:
    return (
        f"{group.name} has {name}, whose processor is ARM, and its image is for x86_64: "
        "use a type with Intel or AMD processors"
    )
