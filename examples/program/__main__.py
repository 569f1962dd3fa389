"""A model service and a Ray cluster on an installed platform: arguments instead of a stack file."""

import pulumi

from modelyard.components import ModelService, RayCluster

NAMESPACE = "ml-platform"

models = ModelService("models", replicas=2, cpu=4, memory="16Gi", volume="50Gi", namespace=NAMESPACE)

RayCluster(
    "ray",
    gpu="A10",
    head={"cpu": 2, "memory": "16Gi"},
    worker={"cpu": 8, "memory": "32Gi", "grace_period": "6h5m"},
    autoscaling={"mode": "annotations", "max_replicas": 2},
    namespace=NAMESPACE,
    opts=pulumi.ResourceOptions(depends_on=[models]),
)
