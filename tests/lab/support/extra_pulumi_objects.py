"""Objects added to the Pulumi program: each violates a rule, and the API server accepts all of them."""

from typing import Any

import pulumi_kubernetes as kubernetes

WHERE = {"namespace": "ml-platform"}
IMAGE = "images.example.com/job:1.0.0"


def pod(**resources: Any) -> dict[str, Any]:
    """A pod spec with one container."""
    return {"containers": [{"name": "main", "image": IMAGE, "resources": resources}]}


kubernetes.apiextensions.CustomResource(
    "scaled",
    api_version="keda.sh/v1alpha1",
    kind="ScaledObject",
    metadata={**WHERE, "name": "scaled"},
    spec={
        "scaleTargetRef": {"name": "somebody-elses"},
        "maxReplicaCount": 2,
        "triggers": [
            {
                "type": "prometheus",
                "metadata": {"serverAddress": "http://prometheus:9090", "query": "sum(", "threshold": "1"},
            }
        ],
    },
)
kubernetes.batch.v1.Job(
    "short",
    metadata={**WHERE, "name": "short"},
    spec={
        "activeDeadlineSeconds": 3600,
        "template": {"spec": {**pod(limits={"nvidia.com/gpu": "1"}), "restartPolicy": "Never"}},
    },
)
kubernetes.apiextensions.CustomResource(
    "uneven",
    api_version="ray.io/v1",
    kind="RayCluster",
    metadata={**WHERE, "name": "uneven"},
    spec={
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": pod()}},
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": 1,
                "minReplicas": 1,
                "maxReplicas": 1,
                "rayStartParams": {},
                "template": {"spec": pod(limits={"nvidia.com/gpu": "2"}, requests={"nvidia.com/gpu": "1"})},
            }
        ],
    },
)
