"""The kinds of objects that are read and written, by what the API server calls them."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """How the API server calls the objects of one kind."""

    plural: str
    namespaced: bool = True


KUEUE: Final = "kueue.x-k8s.io/v1beta2"
RAY: Final = "ray.io/v1"
SPARK: Final = "sparkoperator.k8s.io/v1beta2"
KEDA: Final = "keda.sh/v1alpha1"
"""API versions of what operators bring, as they are read and written here."""

OPERATORS: Final[Mapping[str, str]] = {
    "karpenter.sh": "Karpenter",
    "karpenter.k8s.aws": "Karpenter",
    "keda.sh": "KEDA",
    "kueue.x-k8s.io": "Kueue",
    "ray.io": "KubeRay",
    "sparkoperator.k8s.io": "the Spark Operator",
}
"""The operators that install the kinds of an API group."""

KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    ("apps/v1", "Deployment"): Kind("deployments"),
    ("apps/v1", "StatefulSet"): Kind("statefulsets"),
    ("apps/v1", "DaemonSet"): Kind("daemonsets"),
    ("v1", "Service"): Kind("services"),
    ("v1", "ConfigMap"): Kind("configmaps"),
    ("v1", "Namespace"): Kind("namespaces", namespaced=False),
    ("v1", "Node"): Kind("nodes", namespaced=False),
    ("v1", "PersistentVolumeClaim"): Kind("persistentvolumeclaims"),
    ("v1", "Pod"): Kind("pods"),
    ("v1", "ServiceAccount"): Kind("serviceaccounts"),
    ("batch/v1", "CronJob"): Kind("cronjobs"),
    ("batch/v1", "Job"): Kind("jobs"),
    ("rbac.authorization.k8s.io/v1", "Role"): Kind("roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): Kind("rolebindings"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): Kind(
        "validatingadmissionpolicies", namespaced=False
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): Kind(
        "validatingadmissionpolicybindings", namespaced=False
    ),
    ("policy/v1", "PodDisruptionBudget"): Kind("poddisruptionbudgets"),
    (KUEUE, "ResourceFlavor"): Kind("resourceflavors", namespaced=False),
    (KUEUE, "ClusterQueue"): Kind("clusterqueues", namespaced=False),
    (KUEUE, "Cohort"): Kind("cohorts", namespaced=False),
    (KUEUE, "LocalQueue"): Kind("localqueues"),
    (KUEUE, "Topology"): Kind("topologies", namespaced=False),
    (KUEUE, "AdmissionCheck"): Kind("admissionchecks", namespaced=False),
    (KUEUE, "MultiKueueCluster"): Kind("multikueueclusters", namespaced=False),
    (KUEUE, "MultiKueueConfig"): Kind("multikueueconfigs", namespaced=False),
    (KUEUE, "Workload"): Kind("workloads"),
    (KUEUE, "WorkloadPriorityClass"): Kind("workloadpriorityclasses", namespaced=False),
    (RAY, "RayCluster"): Kind("rayclusters"),
    (RAY, "RayJob"): Kind("rayjobs"),
    (RAY, "RayService"): Kind("rayservices"),
    (SPARK, "SparkApplication"): Kind("sparkapplications"),
    (KEDA, "ScaledObject"): Kind("scaledobjects"),
    (KEDA, "TriggerAuthentication"): Kind("triggerauthentications"),
    ("karpenter.sh/v1", "NodePool"): Kind("nodepools", namespaced=False),
    ("karpenter.k8s.aws/v1", "EC2NodeClass"): Kind("ec2nodeclasses", namespaced=False),
}
"""By API version and kind."""

WORKLOAD_KINDS: Final[Mapping[str, str]] = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "RayCluster": RAY,
    "RayService": RAY,
}
"""The kinds of the platform's workloads, with their API versions: their controllers keep a number of pods running."""


def is_namespaced(api_version: str, kind: str) -> bool:
    """Whether objects of a kind stand in a namespace; so it is taken to be of a kind that is not known."""
    known = KINDS.get((api_version, kind))
    return known is None or known.namespaced
