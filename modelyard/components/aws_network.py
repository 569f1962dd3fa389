"""A new network for a cluster: private subnets, and one way out."""

from collections.abc import Sequence
from ipaddress import IPv4Network

import pulumi
from pulumi_aws import ec2

from modelyard.stack.aws import Aws

SMALL = 24
"""Prefix length of the public subnet, which holds the NAT gateway and nothing else."""


def ranges(cidr: str, zones: int) -> tuple[str, list[str]]:
    """The public subnet's addresses and one range for each zone; the ranges are as large as fit.

    Raises:
        ValueError: ``cidr`` is not a network, or too small.
    """
    whole = IPv4Network(cidr)
    parts = list(whole.subnets(new_prefix=whole.prefixlen + zones.bit_length()))
    return str(next(parts[-1].subnets(new_prefix=SMALL))), [str(part) for part in parts[:zones]]


def network(name: str, aws: Aws, inside: pulumi.ResourceOptions) -> Sequence[pulumi.Output[str]]:
    """Ids of the private subnets of a new network.

    One NAT gateway serves all zones: if its zone fails, nodes elsewhere reach no registry until it is back. A gateway
    endpoint leads to S3, so data transfers do not pay for the NAT gateway.
    """
    public, private = ranges(aws.cidr, len(aws.zones))
    tags = {**aws.tags, "Name": name}
    vpc = ec2.Vpc(
        f"{name}-vpc",
        cidr_block=aws.cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,
        tags=tags,
        opts=inside,
    )
    # Machines that are launched without a security group get this one: it allows no traffic.
    ec2.DefaultSecurityGroup(f"{name}-closed", vpc_id=vpc.id, ingress=[], egress=[], tags=tags, opts=inside)
    gateway = ec2.InternetGateway(f"{name}-internet", vpc_id=vpc.id, tags=tags, opts=inside)
    outside = ec2.Subnet(
        f"{name}-public",
        vpc_id=vpc.id,
        cidr_block=public,
        availability_zone=aws.zones[0],
        map_public_ip_on_launch=False,
        tags={**tags, "Name": f"{name}-public"},
        opts=inside,
    )
    address = ec2.Eip(f"{name}-address", domain="vpc", tags=tags, opts=inside)
    nat = ec2.NatGateway(
        f"{name}-nat",
        allocation_id=address.id,
        subnet_id=outside.id,
        tags=tags,
        opts=pulumi.ResourceOptions(parent=inside.parent, depends_on=[gateway]),
    )
    to_internet = ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id)
    outer = ec2.RouteTable(f"{name}-public-routes", vpc_id=vpc.id, routes=[to_internet], tags=tags, opts=inside)
    to_nat = ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id)
    inner = ec2.RouteTable(f"{name}-private-routes", vpc_id=vpc.id, routes=[to_nat], tags=tags, opts=inside)
    ec2.RouteTableAssociation(f"{name}-public-way", subnet_id=outside.id, route_table_id=outer.id, opts=inside)
    ec2.VpcEndpoint(
        f"{name}-s3",
        vpc_id=vpc.id,
        service_name=f"com.amazonaws.{aws.region}.s3",
        vpc_endpoint_type="Gateway",
        route_table_ids=[inner.id],
        tags=tags,
        opts=inside,
    )
    subnets = []
    for zone, part in zip(aws.zones, private, strict=True):
        subnet = ec2.Subnet(
            f"{name}-{zone}",
            vpc_id=vpc.id,
            cidr_block=part,
            availability_zone=zone,
            map_public_ip_on_launch=False,
            tags={**tags, "Name": f"{name}-{zone}", "kubernetes.io/role/internal-elb": "1"},
            opts=inside,
        )
        ec2.RouteTableAssociation(f"{name}-{zone}-way", subnet_id=subnet.id, route_table_id=inner.id, opts=inside)
        subnets.append(subnet.id)
    return subnets
