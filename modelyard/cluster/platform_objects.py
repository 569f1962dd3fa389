"""Reads the objects by which a platform is recognized in a cluster."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from lightkube import Client

from modelyard.cluster.connection import AT_ONCE, ClusterError
from modelyard.cluster.live import AUTOSCALERS, listed_if_allowed
from modelyard.cluster.pods import holds_resources, pod_of, ray_services, request_of
from modelyard.hiding import Confidential
from modelyard.kube.kinds import KINDS, WORKLOAD_KINDS
from modelyard.kube.state import Node, Pod, node_of

_LISTS: Final = (
    *((version, kind, KINDS[version, kind].plural) for kind, version in WORKLOAD_KINDS.items()),
    *AUTOSCALERS,
)


class PlatformObjects(NamedTuple):
    """What a cluster has that may belong to a platform."""

    objects: Confidential[tuple[Mapping[str, Any], ...]]
    """Workloads and their autoscalers; a kind that the cluster lacks has none."""
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    unread: tuple[str, ...]
    """Lists that these credentials may not read, such as ``nodes``."""


def platform_objects(client: Client, namespace: str | None) -> PlatformObjects:
    """Reads the workloads, autoscalers and pods of one namespace, or of all, and the nodes.

    Raises:
        ClusterError: the API server does not answer, or these credentials may not list Deployments.
    """
    place = f"namespaces/{namespace}/" if namespace else ""
    paths = {kind: f"/apis/{version}/{place}{plural}" for version, kind, plural in _LISTS}
    paths |= {"Pod": f"/api/v1/{place}pods", "Node": "/api/v1/nodes"}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = {kind: pool.submit(listed_if_allowed, client, path) for kind, path in paths.items()}
        found = {kind: job.result() for kind, job in asked.items()}
    if found["Deployment"] is None:
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        remedy = "ask for the right to list them there" if namespace else "name the platform's namespace: --namespace"
        raise ClusterError(f"these credentials may not list Deployments {where}", remedy)
    objects = tuple(
        {**body, "apiVersion": version, "kind": kind} for version, kind, _ in _LISTS for body in found[kind] or ()
    )
    services = ray_services(objects)
    return PlatformObjects(
        objects=Confidential(objects),
        nodes=tuple(map(node_of, found["Node"] or ())),
        pods=tuple(pod_of(request_of(pod, services)) for pod in found["Pod"] or () if holds_resources(pod)),
        unread=tuple(paths[kind].rpartition("/")[2] for kind, one in found.items() if one is None),
    )
