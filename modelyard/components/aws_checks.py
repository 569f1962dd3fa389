"""Checks a stack's AWS settings before any request to AWS.

Compares regions and machine types with the lists of the installed pulumi-aws and the tables of modelyard.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from pulumi_aws import Region, ec2

from modelyard.hardware.instances import may_be_in, region_names, types
from modelyard.hardware.limits import MEMORY_GB, TRAINING_CPU
from modelyard.hardware.verdict import GpuUse
from modelyard.stack.aws import Access, Aws, NodeGroup
from modelyard.stack.names import instead, repeated
from modelyard.stack.words import did_you_mean
from modelyard.workloads.remote.aws_job import is_prefix
from modelyard.workloads.remote.aws_launch import partition_of
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
        yield f"wanted of {name} is {group.wanted}, below least ({group.least}) or above most ({group.most})"
    if group.disk < SMALLEST_DISK:
        yield f"{name} has a disk of {group.disk} GiB: the machine image alone needs {SMALLEST_DISK}"
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

    If the ``region`` is known, types are compared with it.
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
        if is_cuda(aws.cuda) and (wrong := unfit_gpu(machine, GpuUse(aws.cuda, aws.images_embed_ptx))) is not None:
            yield f"{group.name} has {name}: it has {wrong[0]} ({wrong[1]})"
        needs = max(MEMORY_GB, machine.gpu.memory_gb) * GB_IN_GIB
        if machine.memory_gib is not None and machine.memory_gib <= needs:
            yield f"{group.name} has {name}: {machine.memory_gib:g} GiB of memory, but a worker needs {needs:.1f} GiB"
        if machine.vcpu is not None and machine.vcpu <= TRAINING_CPU:
            have = f"{machine.vcpu} CPUs, but a worker needs {TRAINING_CPU} and Kubernetes some more"
            yield f"{group.name} has {name}: {have}"


def is_cuda(version: str) -> bool:
    """Whether a text is a version of CUDA, such as ``12.4``."""
    return re.fullmatch(r"[1-9][0-9]?\.[0-9]{1,2}", version) is not None


def _arm(group: NodeGroup, name: str) -> str:
    return (
        f"{group.name} has {name}, whose processor is ARM, but the group's image is for x86_64: "
        "use a type with Intel or AMD processors"
    )


_KUBERNETES_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+")
SMALLEST: Final = 20
"""Prefix length of the smallest network that has room for a cluster's pods, each of which takes an address."""
LARGEST: Final = 16
"""Prefix length of the largest network that a VPC may have."""
OLDEST: Final = 31
"""Minor version of the oldest Kubernetes that EKS creates; extended support of 1.30 ended on 2026-07-23."""
_TAG_KEY: Final = 128
_TAG_VALUE: Final = 256
"""Letters that AWS accepts in a tag's key and value."""


def problems(aws: Aws) -> Iterator[str]:
    """Everything that is wrong with the settings, one sentence each."""
    if NAME.fullmatch(aws.name) is None:
        yield f"name is {aws.name!r}: {NAMED}"
    if re.fullmatch(r"\d{12}", aws.account) is None:
        yield f"account is {aws.account!r}: an AWS account ID has twelve digits"
    region = not (wrong := list(_region(aws)))
    yield from wrong
    yield from _network(aws, region=region)
    yield from _versions(aws)
    yield from _tags(aws)
    if not aws.admins:
        yield "admins is empty, so no one could use the cluster"
    for admin in aws.admins:
        if _ROLE.fullmatch(admin) is None:
            yield f"admins has {admin!r}: the ARN of a role or user is needed"
    groups = (aws.cpus, *aws.gpus)
    for index in repeated(group.name for group in groups):
        yield f"two groups of machines are called {groups[index].name}"
    for group in groups:
        yield from numbers(group)
    if aws.cpus.wanted == 0:
        yield f"wanted of {aws.cpus.name} is 0: CoreDNS and the storage driver are pods; set wanted to 1 or more"
    yield from cpu_types(aws.cpus)
    for group in aws.gpus:
        yield from gpu_types(aws, group, region=region)
    owners = ["/".join(access[:2]) for access in aws.access]
    for index in repeated(owners):
        yield f"access has {owners[index]} twice: a service account has one role"
    for access in aws.access:
        yield from _access(access)


def _region(aws: Aws) -> Iterator[str]:
    """Whether AWS has the region; with a wrong region, zones and machines are not checked against it."""
    known = {*(one.value for one in Region), *region_names("aws")}
    if aws.region not in known:
        meant = (
            did_you_mean(aws.region, sorted(known), 2)
            or "name one such as eu-central-1; a newer one needs a newer pulumi-aws"
        )
        yield f"region is {aws.region!r}, which is not a known AWS region: {meant}"
    elif (needed := partition_of(aws.region)) != aws.partition:
        yield f"partition is {aws.partition}, but {aws.region} is in {needed}"


def _versions(aws: Aws) -> Iterator[str]:
    found = re.fullmatch(r"1\.([1-9][0-9]?)", aws.kubernetes)
    if found is None:
        yield f"kubernetes is {aws.kubernetes!r}: EKS takes a version of the form 1.35, without a patch number"
    elif int(found[1]) < OLDEST:
        yield f"kubernetes is {aws.kubernetes}: EKS no longer supports it; set it to 1.{OLDEST} or newer"
    if not is_cuda(aws.cuda):
        yield f"cuda is {aws.cuda!r}: a version of the form 12.4 is needed"


def _tags(aws: Aws) -> Iterator[str]:
    for key, value in aws.tags.items():
        if key.lower().startswith("aws:"):
            yield f"tags has {key!r}: names that begin with aws: are AWS's own; choose another"
        elif not 0 < len(key) <= _TAG_KEY or len(value) > _TAG_VALUE:
            yield f"tags has {key!r}: AWS takes keys of 1 to {_TAG_KEY} characters, and values of up to {_TAG_VALUE}"


def _network(aws: Aws, *, region: bool) -> Iterator[str]:
    if bool(aws.zones) == bool(aws.subnets):
        yield "set either zones (for a new network) or subnets (of an existing one), not both"
    elif len(set(aws.zones or aws.subnets)) < 2:
        yield "a control plane needs subnets in at least two zones"
    for subnet in aws.subnets:
        if re.fullmatch(r"subnet-[0-9a-f]+", subnet) is None:
            yield f"subnets has {subnet!r}: the ID of a subnet is needed, such as subnet-0a1b2c3d4e5f60718"
    for zone in aws.zones if region else ():
        if re.fullmatch(f"{re.escape(aws.region)}[a-z]", zone) is None:
            yield f"zones has {zone}, which is not a zone of {aws.region}"
    try:
        own = IPv4Network(aws.cidr)
        if own.prefixlen > SMALLEST:
            yield f"cidr is {aws.cidr}: a network of /{SMALLEST} or larger is needed, each pod takes an address"
        elif own.prefixlen < LARGEST:
            yield f"cidr is {aws.cidr}: AWS takes networks of /{LARGEST} or smaller"
    except ValueError:
        yield f"cidr is {aws.cidr!r}: {_no_network(aws.cidr)}"
    for one in aws.public:
        try:
            if IPv4Network(one).prefixlen == 0:
                yield f"public has {one}: that allows everyone; set your own networks"
        except ValueError:
            yield f"public has {one!r}: {_no_network(one)}"


def _no_network(text: str) -> str:
    try:
        meant = IPv4Network(text, strict=False)
    except ValueError:
        meant = IPv4Network("10.20.0.0/16")
    return f"not an IPv4 network; write one such as {meant}"


def _access(access: Access) -> Iterator[str]:
    whose = f"{access.namespace}/{access.service_account}"
    if any(_KUBERNETES_NAME.fullmatch(name) is None for name in access[:2]):
        yield f"access is for {whose!r}, which is not a service account name"
    for prefix in (*access.read, *access.write):
        if not is_prefix(prefix):
            yield f"{whose} has the prefix {prefix!r}: letters, digits, dots, dashes, a slash at the end"
    if not access.read and not access.write:
        yield f"{whose} has neither read nor write"
