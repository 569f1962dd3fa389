"""The control plane of a cluster, and its administrators."""

from collections.abc import Sequence

import pulumi
from pulumi_aws import cloudwatch, eks, iam, kms

from modelyard.stack.aws import Aws
from modelyard.workloads.remote.aws_rights import document, trust

RETENTION = 90
"""Days that the control plane's logs are kept."""
LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def cluster(name: str, aws: Aws, subnets: Sequence[pulumi.Input[str]], inside: pulumi.ResourceOptions) -> eks.Cluster:
    """A control plane with a private endpoint, encrypted secrets and all its logs.

    Only ``admins`` are administrators: a role that creates clusters in CI would otherwise stay one for ever.
    """
    here = f"arn:{aws.partition}:eks:{aws.region}:{aws.account}:cluster/{aws.name}"
    ours = {"StringEquals": {"aws:SourceAccount": aws.account}, "ArnEquals": {"aws:SourceArn": here}}
    role = iam.Role(
        f"{name}-control",
        assume_role_policy=trust("eks.amazonaws.com", ours),
        tags=dict(aws.tags),
        opts=inside,
    )
    rights = attached(f"{name}-control", role, ("AmazonEKSClusterPolicy",), aws, inside)
    key = kms.Key(
        f"{name}-secrets",
        description=f"Secrets of the cluster {aws.name}",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=_key_policy(aws),
        tags=dict(aws.tags),
        opts=inside,
    )
    # EKS would make the group itself, and keep its content for ever.
    logs = cloudwatch.LogGroup(
        f"{name}-logs",
        name=f"/aws/eks/{aws.name}/cluster",
        retention_in_days=RETENTION,
        tags=dict(aws.tags),
        opts=inside,
    )
    made = eks.Cluster(
        f"{name}-cluster",
        name=aws.name,
        version=aws.kubernetes,
        role_arn=role.arn,
        vpc_config=eks.ClusterVpcConfigArgs(
            subnet_ids=subnets,
            endpoint_private_access=True,
            endpoint_public_access=bool(aws.public),
            public_access_cidrs=list(aws.public) or None,
        ),
        access_config=eks.ClusterAccessConfigArgs(
            authentication_mode="API", bootstrap_cluster_creator_admin_permissions=False
        ),
        encryption_config=eks.ClusterEncryptionConfigArgs(
            provider=eks.ClusterEncryptionConfigProviderArgs(key_arn=key.arn), resources=["secrets"]
        ),
        enabled_cluster_log_types=list(LOGS),
        bootstrap_self_managed_addons=False,
        tags=dict(aws.tags),
        opts=pulumi.ResourceOptions(parent=inside.parent, depends_on=[*rights, logs]),
    )
    for index, admin in enumerate(aws.admins):
        entry = eks.AccessEntry(
            f"{name}-admin-{index}", cluster_name=made.name, principal_arn=admin, tags=dict(aws.tags), opts=inside
        )
        eks.AccessPolicyAssociation(
            f"{name}-admin-{index}",
            cluster_name=made.name,
            principal_arn=admin,
            policy_arn=f"arn:{aws.partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope=eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=pulumi.ResourceOptions(parent=inside.parent, depends_on=[entry]),
        )
    return made


def attached(
    name: str, role: iam.Role, policies: Sequence[str], aws: Aws, inside: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """AWS's managed policies on a role; resources that need the role wait for them."""
    return [
        iam.RolePolicyAttachment(
            f"{name}-{policy.rpartition('/')[2]}",
            role=role.name,
            policy_arn=f"arn:{aws.partition}:iam::aws:policy/{policy}",
            opts=inside,
        )
        for policy in policies
    ]


def _key_policy(aws: Aws) -> str:
    """Lets the account's policies control the use of the key; without this, it could never be changed again."""
    root = {"AWS": f"arn:{aws.partition}:iam::{aws.account}:root"}
    return document([{"Effect": "Allow", "Principal": root, "Action": "kms:*", "Resource": "*"}])
