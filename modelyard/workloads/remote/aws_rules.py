"""Checks what prevents Pulumi from launching a resource's machine on AWS."""

from collections.abc import Iterator

from modelyard.findings import Finding, Severity
from modelyard.hardware.instances import provider_of, region_names
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.jobs import Resource
from modelyard.workloads.remote.aws_job import problems, user_data
from modelyard.workloads.remote.launch import launches
from modelyard.workloads.remote.offers import Own, near_regions, offers
from modelyard.workloads.remote.values import Launch


def check_accounts(stack: Stack) -> Iterator[Finding]:
    """Yields findings about providers' accounts: settings without effect."""
    for index, provider in enumerate(stack.config.providers):
        where: StackPath = ("providers", index, "aws")
        if provider.aws is None:
            continue
        if provider.kind != "aws":
            summary = f"provider {provider.name} is of kind {provider.kind}, but has an AWS account and networks"
            yield stack.finding("REM015", Severity.ERROR, where, summary, "drop aws, or set kind to aws")
            continue
        regions = [one.region for one in provider.aws.networks]
        for number, region in enumerate(regions):
            place: StackPath = (*where, "networks", number, "region")
            if region in regions[:number]:
                summary = f"provider {provider.name} has two networks in {region}, but machines use only the first"
                yield stack.finding(
                    "REM015", Severity.ERROR, place, summary, "keep the network that machines should use"
                )
            elif region not in region_names("aws"):
                summary = f"provider {provider.name} has a network in {region}, which is not a known AWS region"
                near = f"similar names: {', '.join(near_regions('aws', region))}"
                yield stack.finding("REM015", Severity.WARNING, place, summary, near)


def check_aws(stack: Stack, index: int, resource: Resource, own: Own | None = None) -> Iterator[Finding]:
    """Yields findings about the resource at ``index``, if Pulumi launches its machines."""
    provider, found = provider_of(stack.config, resource), offers(stack.config, resource, own)
    if provider is None or provider.launched_by != "pulumi" or provider.kind != "aws" or not found:
        return
    which = next(number for number, one in enumerate(stack.config.providers) if one is provider)
    if provider.aws is None:
        yield stack.finding(
            "REM015",
            Severity.ADVICE,
            ("providers", which),
            f"provider {provider.name} has no account and networks, so modelyard cannot write a Pulumi program",
            "add aws: the account, and for each region a VPC and a subnet",
        )
        return
    where: StackPath = ("resources", index, "remote")
    if all(one.region != found[0].region for one in provider.aws.networks):
        have = ", ".join(sorted(one.region for one in provider.aws.networks))
        yield stack.finding(
            "REM015",
            Severity.ERROR,
            (*where, "regionPrefix"),
            f"{provider.name} has no network in a region that suits {found[0].type}, only in {have}",
            f"add a network in one of {', '.join(one.region for one in found[:3])}, or correct regionPrefix",
        )
        return
    for launch in launches(stack, resource, own):
        for field, problem in _problems(launch):
            limited = field == "limit"
            yield stack.finding(
                "REM015",
                Severity.ERROR,
                (*where, "timeLimit") if limited else where,
                f"job {launch.job} cannot be launched on AWS: {problem}",
                "correct timeLimit, and write its unit, such as 6h"
                if limited
                else "correct the resource, or aws of its provider",
            )


def _problems(launch: Launch) -> Iterator[tuple[str, str]]:
    """Yields the fields of one launch that are wrong, each with a sentence."""
    if launch.aws is None:
        yield "model", "it needs remote.model for its result, and its buckets must be S3 buckets"
        return
    wrong = [(field, f"{field} {problem}") for field, problem in problems(launch.aws)]
    yield from wrong
    if not wrong:
        try:
            user_data(launch.aws)
        except ValueError as error:
            yield "command", str(error)
