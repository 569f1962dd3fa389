"""Whether an environment was built: what its build Job, which stays, says."""

from typing import Literal

from lightkube import Client

from modelyard.cluster.live import read
from modelyard.kube.state import ObjectKey

State = Literal["built", "building", "failed", "none"]


def build_state(client: Client, namespace: str, job: str) -> State:
    """How far the build Job of a name is.

    Args:
        client: of the cluster.
        namespace: of the Job.
        job: its name, which has the digest of what it builds.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    found = read(client, ObjectKey("batch/v1", "Job", namespace, job))
    if found is None:
        return "none"
    for condition in found.get("status", {}).get("conditions", ()):
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return "built" if condition["type"] == "Complete" else "failed"
    return "building"
