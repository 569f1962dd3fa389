"""The state of a Python environment, read from its build Job, which stays in the cluster."""

from typing import Literal

from lightkube import Client

from modelyard.cluster.live import read
from modelyard.kube.state import ObjectKey

State = Literal["built", "building", "failed", "none"]


def build_state(client: Client, namespace: str, job: str) -> State:
    """The progress of a build Job.

    Args:
        client: connection to the cluster.
        namespace: the Job's namespace.
        job: the Job's name, which contains the digest of what it builds.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    found = read(client, ObjectKey("batch/v1", "Job", namespace, job))
    if found is None:
        return "none"
    for condition in found.get("status", {}).get("conditions", ()):
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return "built" if condition["type"] == "Complete" else "failed"
    return "building"
