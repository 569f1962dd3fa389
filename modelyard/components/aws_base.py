"""The AWS base of a stack, for projects that start from nothing: cluster, machines, and rights of pods."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2, eks, iam

from modelyard.components.aws_checks import problems
from modelyard.components.aws_cluster import attached, cluster
from modelyard.components.aws_storage import bucket, bucket_name, repository
from modelyard.hardware.instances import product_on, types
from modelyard.names import GPU_RESOURCE, PRESENT_LABEL, PRODUCT_LABEL
from modelyard.stack.aws import Access, Aws, NodeGroup
from modelyard.workloads.remote.aws_rights import document, reading, trust, writing


class AwsBase(pulumi.ComponentResource):
    """A cluster with CPU and GPU machines, a registry, a bucket, and roles for pods.

    Does not change Kubernetes itself: the platform's installer and modelyard's patches come after.
    """

    def __init__(self, name: str, aws: Aws, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declares all resources.

        Raises:
            pulumi.RunError: the settings are wrong; reports everything at once.
        """
        if wrong := list(problems(aws)):
            raise pulumi.RunError("\n".join((f"the AWS resources of {aws.name} cannot be created", *wrong)))
        super().__init__("modelyard:index:AwsBase", name, None, opts)
        inside = pulumi.ResourceOptions(parent=self)
        subnets: list[pulumi.Input[str]] = [*aws.subnets]
        if not subnets:
            # A stack with existing subnets does not need this import.
            from modelyard.components.aws_network import network

            subnets = [*network(name, aws, inside)]
        data = bucket(name, aws, inside)
        images = repository(name, aws, inside)
        plane = cluster(name, aws, subnets, inside)
        early = [
            addon(name, aws, "eks-pod-identity-agent", cluster=plane, after=[], inside=inside),
            addon(name, aws, "kube-proxy", cluster=plane, after=[], inside=inside),
            addon(
                name,
                aws,
                "vpc-cni",
                cluster=plane,
                after=[],
                inside=inside,
                identity=("aws-node", "AmazonEKS_CNI_Policy"),
            ),
        ]
        role, rights = node_role(name, aws, inside)
        # A machine without a network plugin never gets ready, and its group fails after twenty minutes.
        before: list[pulumi.Resource] = [*rights, *early]
        nodes = node_group(
            name, aws, aws.cpus, cluster=plane, role=role, subnets=subnets, after=before, inside=inside, gpus=False
        )
        for group in aws.gpus:
            node_group(
                name, aws, group, cluster=plane, role=role, subnets=subnets, after=before, inside=inside, gpus=True
            )
        # These are pods, which need a machine.
        addon(name, aws, "coredns", cluster=plane, after=[nodes], inside=inside)
        driver = ("ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy")
        addon(name, aws, "aws-ebs-csi-driver", cluster=plane, after=[nodes], inside=inside, identity=driver)
        for access in aws.access:
            give(name, aws, access, plane, inside)
        self.kubeconfig = pulumi.Output.all(plane.endpoint, plane.certificate_authority).apply(
            lambda found: kubeconfig(aws, found[0], found[1]["data"])
        )
        self.register_outputs(
            {
                "kubeconfig": self.kubeconfig,
                "cluster": plane.name,
                "bucket": data.bucket,
                "repository": images.repository_url,
            }
        )


def kubeconfig(aws: Aws, endpoint: str, authority: str) -> dict[str, Any]:
    """A kubeconfig for kubectl. It has no token: the AWS CLI makes one at each run."""
    asked = ["eks", "get-token", "--region", aws.region, "--cluster-name", aws.name, "--output", "json"]
    login = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": asked,
        "interactiveMode": "Never",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": aws.name,
        "clusters": [{"name": aws.name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
        "contexts": [{"name": aws.name, "context": {"cluster": aws.name, "user": aws.name}}],
        "users": [{"name": aws.name, "user": {"exec": login}}],
    }


def pod_role(name: str, aws: Aws, namespace: str, account: str, inside: pulumi.ResourceOptions) -> iam.Role:
    """A role that only the pods of one service account of this cluster can assume."""
    ours = {
        "StringEquals": {
            "aws:SourceAccount": aws.account,
            "aws:RequestTag/eks-cluster-name": aws.name,
            "aws:RequestTag/kubernetes-namespace": namespace,
            "aws:RequestTag/kubernetes-service-account": account,
        }
    }
    return iam.Role(
        name,
        assume_role_policy=trust("pods.eks.amazonaws.com", ours, ("sts:AssumeRole", "sts:TagSession")),
        tags=dict(aws.tags),
        opts=inside,
    )


def give(name: str, aws: Aws, access: Access, cluster: eks.Cluster, inside: pulumi.ResourceOptions) -> None:
    """Lets the pods of a service account read and add objects below their prefixes."""
    label = f"{name}-{access.namespace}-{access.service_account}"
    role = pod_role(label, aws, access.namespace, access.service_account, inside)
    bucket = bucket_name(aws)
    rights = [
        *(one for prefix in access.read for one in reading(bucket, prefix, aws.partition)),
        *(one for prefix in access.write for one in writing(bucket, prefix, aws.partition)),
    ]
    policy = iam.RolePolicy(f"{label}-rights", role=role.name, policy=document(rights), opts=inside)
    eks.PodIdentityAssociation(
        f"{label}-identity",
        cluster_name=cluster.name,
        namespace=access.namespace,
        service_account=access.service_account,
        role_arn=role.arn,
        tags=dict(aws.tags),
        opts=pulumi.ResourceOptions(parent=inside.parent, depends_on=[policy]),
    )


def addon(
    name: str,
    aws: Aws,
    addon_name: str,
    *,
    cluster: eks.Cluster,
    after: Sequence[pulumi.Resource],
    inside: pulumi.ResourceOptions,
    identity: tuple[str, str] | None = None,
) -> eks.Addon:
    """An add-on of EKS; its ``identity`` is its service account in ``kube-system`` and the AWS policy for it."""
    identities = None
    if identity is not None:
        account, policy = identity
        role = pod_role(f"{name}-{addon_name}", aws, "kube-system", account, inside)
        after = [*after, *attached(f"{name}-{addon_name}", role, (policy,), aws, inside)]
        identities = [eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=account)]
    return eks.Addon(
        f"{name}-{addon_name}-addon",
        cluster_name=cluster.name,
        addon_name=addon_name,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="PRESERVE",
        pod_identity_associations=identities,
        tags=dict(aws.tags),
        opts=pulumi.ResourceOptions(parent=inside.parent, depends_on=list(after)),
    )


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
    *,
    cluster: eks.Cluster,
    role: iam.Role,
    subnets: Sequence[pulumi.Input[str]],
    after: Sequence[pulumi.Resource],
    inside: pulumi.ResourceOptions,
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
