"""The rights of pods on AWS: a role for each service account, by EKS Pod Identity."""

from collections.abc import Sequence

import pulumi
from pulumi_aws import eks, iam

from modelyard.components.aws_cluster import attached
from modelyard.components.aws_storage import bucket_name
from modelyard.stack.aws import Access, Aws
from modelyard.workloads.remote.aws_rights import document, reading, trust, writing


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
    cluster: eks.Cluster,
    after: Sequence[pulumi.Resource],
    inside: pulumi.ResourceOptions,
    identity: tuple[str, str] | None = None,
) -> eks.Addon:
    """An add-on of EKS.

    Args:
        name: prefix of its resources' names.
        aws: the stack's AWS settings.
        addon_name: EKS's name for it.
        cluster: where it runs.
        after: resources that it needs first.
        inside: options with its parent.
        identity: its service account in ``kube-system`` and the AWS policy for it.
    """
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
