"""The AWS base of a stack, for projects that start from nothing."""

from typing import Any

import pulumi

from modelyard.components.aws_access import addon, give
from modelyard.components.aws_checks import problems
from modelyard.components.aws_cluster import cluster
from modelyard.components.aws_nodes import node_group, node_role
from modelyard.components.aws_storage import bucket, repository
from modelyard.stack.aws import Aws


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
            addon(name, aws, "eks-pod-identity-agent", plane, [], inside),
            addon(name, aws, "kube-proxy", plane, [], inside),
            addon(name, aws, "vpc-cni", plane, [], inside, ("aws-node", "AmazonEKS_CNI_Policy")),
        ]
        role, rights = node_role(name, aws, inside)
        # A machine without a network plugin never gets ready, and its group fails after twenty minutes.
        before: list[pulumi.Resource] = [*rights, *early]
        nodes = node_group(name, aws, aws.cpus, plane, role, subnets, before, inside, gpus=False)
        for group in aws.gpus:
            node_group(name, aws, group, plane, role, subnets, before, inside, gpus=True)
        # These are pods, which need a machine.
        addon(name, aws, "coredns", plane, [nodes], inside)
        driver = ("ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy")
        addon(name, aws, "aws-ebs-csi-driver", plane, [nodes], inside, driver)
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
