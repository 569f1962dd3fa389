"""What is wrong with an environment's side on AWS, before AWS is asked for anything."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from modelyard.hardware.limits import MEMORY_GB, TRAINING_CPU
from modelyard.hardware.regions import may_be_in
from modelyard.hardware.rented import types
from modelyard.remote.aws_job import is_prefix
from modelyard.remote.aws_launch import partition_of
from modelyard.remote.machines import unfit_card
from modelyard.remote.offers import near_regions
from modelyard.stack.aws import Access, Aws, NodeGroup
from modelyard.stack.names import instead, repeated

GB_IN_GIB: Final = 10**9 / 2**30
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]")
_NAMED: Final = "two to 32 lower-case letters, digits and dashes are needed, a letter first and no dash last"
_KUBERNETES_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+")
SMALLEST: Final = 20
"""Prefix length of the smallest network that has room for a cluster's pods, each of which takes an address."""


def problems(aws: Aws) -> Iterator[str]:
    """Everything that keeps it from being made, a sentence each."""
    if _NAME.fullmatch(aws.name) is None:
        yield f"name is {aws.name!r}: {_NAMED}"
    if re.fullmatch(r"\d{12}", aws.account) is None:
        yield f"account is {aws.account!r}: an AWS account has twelve digits"
    yield from _network(aws)
    if (needed := partition_of(aws.region)) != aws.partition:
        yield f"partition is {aws.partition}, and {aws.region} is of {needed}"
    if not aws.admins:
        yield "admins is empty: nobody could do anything with the cluster"
    for admin in aws.admins:
        if _ROLE.fullmatch(admin) is None:
            yield f"admins has {admin!r}: the ARN of a role or user is needed"
    groups = (aws.cpus, *aws.gpus)
    for index in repeated(group.name for group in groups):
        yield f"two groups of machines are called {groups[index].name}"
    for group in groups:
        yield from _numbers(group)
    for group in aws.gpus:
        yield from _machines(aws, group)
    owners = ["/".join(access[:2]) for access in aws.access]
    for index in repeated(owners):
        yield f"access is twice of {owners[index]}: a service account has one role"
    for access in aws.access:
        yield from _access(access)


def _network(aws: Aws) -> Iterator[str]:
    if bool(aws.zones) == bool(aws.subnets):
        yield "either zones (of a new network) or subnets (of one that is there) are needed, and not both"
    elif len(set(aws.zones or aws.subnets)) < 2:
        yield "a control plane needs subnets in two zones at least"
    for zone in aws.zones:
        if re.fullmatch(f"{re.escape(aws.region)}[a-z]", zone) is None:
            yield f"zones has {zone}, which is none of {aws.region}"
    try:
        own = IPv4Network(aws.cidr)
        if own.prefixlen > SMALLEST:
            yield f"cidr is {aws.cidr}: a network of /{SMALLEST} or larger is needed, each pod takes an address"
    except ValueError as error:
        yield f"cidr is {aws.cidr!r}: {error}"
    for one in aws.public:
        try:
            if IPv4Network(one).prefixlen == 0:
                yield f"public has {one}: that is everybody; name your networks"
        except ValueError as error:
            yield f"public has {one!r}: {error}"


def _numbers(group: NodeGroup) -> Iterator[str]:
    if _NAME.fullmatch(group.name) is None:
        yield f"a group of machines is called {group.name!r}: {_NAMED}"
    if not group.types:
        yield f"{group.name} has no machine type"
    if not 0 <= group.least <= group.wanted <= group.most or group.most < 1:
        yield f"{group.name} wants {group.wanted} machines, from {group.least} to {group.most}"


def _machines(aws: Aws, group: NodeGroup) -> Iterator[str]:
    """Whether each machine type has a card that the platform supports, and room for a training worker with one GPU."""
    known = types("aws")
    cards = {known[name].card_id for name in group.types if name in known}
    if len(cards) > 1:
        yield f"{group.name} has machines with {' and '.join(sorted(cards))}: make a group for each card"
    for name in group.types:
        machine = known.get(name)
        if machine is None:
            yield f"{group.name} has {name}, which is no GPU machine of AWS: {instead(name, known, 'types')}"
            continue
        if not may_be_in(machine, aws.region):
            near = ", ".join(near_regions("aws", aws.region, machine))
            yield f"{group.name} has {name}, which AWS does not have in {aws.region}; the nearest: {near}"
        if machine.card is None or not machine.whole_gpus:
            yield f"{group.name} has {name}: its GPU ({machine.card_id}) is no whole card that is supported"
            continue
        if (wrong := unfit_card(machine, aws.cuda, aws.images_embed_ptx)) is not None:
            yield f"{group.name} has {name}: it has {wrong[0]} ({wrong[1]})"
        needs = max(MEMORY_GB, machine.card.memory_gb) * GB_IN_GIB
        if machine.memory_gib is not None and machine.memory_gib <= needs:
            yield f"{group.name} has {name}: {machine.memory_gib:g} GiB hold no worker, which needs {needs:.1f} GiB"
        if machine.vcpu is not None and machine.vcpu <= TRAINING_CPU:
            yield f"{group.name} has {name}: a worker needs {TRAINING_CPU} of {machine.vcpu} CPUs, Kubernetes some too"


def _access(access: Access) -> Iterator[str]:
    whose = f"{access.namespace}/{access.service_account}"
    if any(_KUBERNETES_NAME.fullmatch(name) is None for name in access[:2]):
        yield f"access is of {whose!r}, which is no service account's name"
    for prefix in (*access.read, *access.write):
        if not is_prefix(prefix):
            yield f"{whose} has the prefix {prefix!r}: letters, digits, dots, dashes, a slash at the end"
    if not access.read and not access.write:
        yield f"{whose} has neither read nor write"
