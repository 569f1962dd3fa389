"""A cluster with GPUs on AWS: network, EKS, groups of CPU and GPU machines, NVIDIA's device plugin."""

import json

import pulumi
import pulumi_kubernetes

from modelyard.components.aws_base import AwsBase
from modelyard.components.device_plugin import DevicePlugin
from modelyard.stack.aws import Access, Aws, NodeGroup

NAMESPACE = "ml-platform"

base = AwsBase(
    "base",
    Aws(
        name="vision",
        account="123456789012",
        region="eu-central-1",
        zones=("eu-central-1a", "eu-central-1b"),
        public=("203.0.113.0/24",),
        admins=("arn:aws:iam::123456789012:role/platform",),
        gpus=(NodeGroup("l40s", ("g6e.2xlarge", "g6e.4xlarge"), least=1, most=4, wanted=1),),
        access=(Access(NAMESPACE, "train", read=("sets/",), write=("models/",)),),
    ),
)
cluster = pulumi_kubernetes.Provider("cluster", kubeconfig=base.kubeconfig.apply(json.dumps))
inside = pulumi.ResourceOptions(provider=cluster)
DevicePlugin("device-plugin", inside)
pulumi_kubernetes.core.v1.Namespace(NAMESPACE, metadata={"name": NAMESPACE}, opts=inside)
pulumi.export("kubeconfig", base.kubeconfig)
