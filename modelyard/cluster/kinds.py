"""The kinds of objects that are read and written, by what the API server calls them."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """How the API server calls the objects of one kind."""

    plural: str
    namespaced: bool = True


KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    ("apps/v1", "Deployment"): Kind("deployments"),
    ("apps/v1", "StatefulSet"): Kind("statefulsets"),
    ("apps/v1", "DaemonSet"): Kind("daemonsets"),
    ("v1", "Service"): Kind("services"),
    ("v1", "ConfigMap"): Kind("configmaps"),
    ("policy/v1", "PodDisruptionBudget"): Kind("poddisruptionbudgets"),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): Kind("resourceflavors", namespaced=False),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): Kind("clusterqueues", namespaced=False),
    ("kueue.x-k8s.io/v1beta2", "Cohort"): Kind("cohorts", namespaced=False),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): Kind("localqueues"),
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"): Kind("workloadpriorityclasses", namespaced=False),
}
"""By API version and kind."""


def is_namespaced(api_version: str, kind: str) -> bool:
    """Whether objects of a kind stand in a namespace; so it is taken to be of a kind that is not known."""
    known = KINDS.get((api_version, kind))
    return known is None or known.namespaced
