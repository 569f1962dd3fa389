"""Reads single objects of a live cluster, without its nodes and pods."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal

from lightkube import Client

from modelyard.cluster.connection import AT_ONCE, ask_server, status, transport
from modelyard.cluster.live import identity, objects_of, read
from modelyard.cluster.requests import busy, patiently
from modelyard.kube.state import ObjectKey


def present(client: Client, keys: Iterable[ObjectKey]) -> tuple[str, dict[ObjectKey, dict[str, Any]]]:
    """The cluster's identity, and the objects that exist, by key.

    Raises:
        ClusterError: the API server does not answer, denies access, or modelyard does not read objects of a kind.
    """
    with ThreadPoolExecutor(max_workers=1) as beside:
        uid = beside.submit(identity, client)
        found = objects_of(client, keys)
        return uid.result(), found


# Whether objects that pods name exist, without reading their content.
NAMED_BY_PODS: Final = {
    "ConfigMap": "configmaps",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
}
"""Kinds of ``v1`` that pods refer to, each with its name in a path."""
_METADATA: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
"""A media type with which the answer does not contain the content of a Secret."""


def absent(client: Client, keys: Iterable[ObjectKey]) -> tuple[ObjectKey, ...]:
    """The objects that certainly do not exist; an object that these credentials may not read is not among them.

    Args:
        client: connection to the cluster.
        keys: objects of the kinds in ``NAMED_BY_PODS``.

    Raises:
        ClusterError: the API server does not answer.
    """
    wanted = tuple(keys)
    if not wanted:
        return ()
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        found = zip(wanted, pool.map(lambda key: _is_absent(client, key), wanted), strict=True)
        return tuple(key for key, gone in found if gone)


def _is_absent(client: Client, key: ObjectKey) -> bool:
    http = transport(client)
    path = f"/api/v1/namespaces/{key.namespace}/{NAMED_BY_PODS[key.kind]}/{key.name}"
    answer = ask_server(lambda: patiently(lambda: http.get(path, headers=_METADATA), busy), key.name)
    if answer.status_code in (403, 404):
        return bool(answer.status_code == 404 and status(answer).get("kind") == "Status")
    ask_server(answer.raise_for_status, key.name)
    return False


BuildState = Literal["built", "building", "failed", "none"]
"""State of a Python environment: that of its build Job, which stays in the cluster."""


def build_state(client: Client, namespace: str, job: str) -> BuildState:
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
