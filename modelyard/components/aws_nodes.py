"""The machines of a cluster."""

from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2, eks, iam

from modelyard.components.aws_cluster import attached
from modelyard.hardware.instances import types
from modelyard.hardware.machines import product_on
from modelyard.names import GPU_RESOURCE, PRESENT_LABEL, PRODUCT_LABEL
from modelyard.stack.aws import Aws, NodeGroup
from modelyard.workloads.remote.aws_rights import trust

CPU_IMAGE = "AL2023_x86_64_STANDARD"
GPU_IMAGE = "AL2023_x86_64_NVIDIA"
"""Has the NVIDIA driver and container toolkit; ``device_plugin`` adds the device plugin."""


def node_role(name: str, aws: Aws, inside: pulumi.ResourceOptions) -> tuple[iam.Role, list[pulumi.Resource]]:
    """The role of all machines, and its policies: join the cluster, pull images. Pods have roles of their own."""
    role = iam.Role(f"{name}-nodes", assume_role_policy=trust("ec2.amazonaws.com"), tags=dict(aws.tags), opts=inside)
    policies = ("AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly")
    return role, attached(f"{name}-nodes", role, policies, aws, inside)


def node_group(
    name: str,
    aws: Aws,
    group: NodeGroup,
    cluster: eks.Cluster,
    role: iam.Role,
    subnets: Sequence[pulumi.Input[str]],
    after: Sequence[pulumi.Resource],
    inside: pulumi.ResourceOptions,
    *,
    gpus: bool,
) -> eks.NodeGroup:
    """One group of machines; with ``gpus``, only pods that tolerate the taint run there."""
    template = ec2.LaunchTemplate(
        f"{name}-{group.name}",
        # One hop: pods get no credentials of the machine, they have Pod Identity.
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
        ),
        block_device_mappings=[
            ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name="/dev/xvda",
                ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_type="gp3", volume_size=group.disk, encrypted="true", delete_on_termination="true"
                ),
            )
        ],
        monitoring=ec2.LaunchTemplateMonitoringArgs(enabled=True),
        tag_specifications=[
            ec2.LaunchTemplateTagSpecificationArgs(
                resource_type=kind, tags={**aws.tags, "Name": f"{aws.name}-{group.name}"}
            )
            for kind in ("instance", "volume")
        ],
        tags=dict(aws.tags),
        opts=inside,
    )
    taints = [eks.NodeGroupTaintArgs(key=GPU_RESOURCE, value="present", effect="NO_SCHEDULE")]
    return eks.NodeGroup(
        f"{name}-{group.name}-nodes",
        cluster_name=cluster.name,
        node_group_name_prefix=f"{group.name}-",
        node_role_arn=role.arn,
        subnet_ids=subnets,
        ami_type=GPU_IMAGE if gpus else CPU_IMAGE,
        capacity_type="SPOT" if group.spot else "ON_DEMAND",
        instance_types=list(group.types),
        scaling_config=eks.NodeGroupScalingConfigArgs(
            min_size=group.least, max_size=group.most, desired_size=group.wanted
        ),
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        launch_template=eks.NodeGroupLaunchTemplateArgs(
            id=template.id, version=template.latest_version.apply(lambda version: str(version))
        ),
        labels={**group.labels, **(_gpu_labels(group) if gpus else {})},
        taints=taints if gpus else None,
        tags=dict(aws.tags),
        # Once the group exists, an autoscaler sets the number of machines.
        opts=pulumi.ResourceOptions(
            parent=inside.parent, depends_on=list(after), ignore_changes=["scalingConfig.desiredSize"]
        ),
    )


def _gpu_labels(group: NodeGroup) -> dict[str, str]:
    """The labels by which pods choose nodes with a GPU.

    GPU feature discovery sets the same labels on a running node. For a group without machines, an autoscaler knows only
    the group's labels: without them it would never start the first machine.
    """
    known = types("aws")
    gpus = {known[name].gpu for name in group.types if name in known}
    gpu = gpus.pop() if len(gpus) == 1 else None
    product = product_on("aws", gpu) if gpu is not None else None
    return {PRESENT_LABEL: "true", **({PRODUCT_LABEL: product} if product is not None else {})}
