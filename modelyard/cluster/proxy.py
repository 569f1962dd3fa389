"""Reads from a Service through the API server, which reaches Services that this machine cannot."""

from typing import TYPE_CHECKING

from modelyard.cluster.connection import ask_server, transport
from modelyard.cluster.live import listed, read
from modelyard.kube.scheduling.pods import RAY_CLUSTERS
from modelyard.kube.state import ObjectKey

if TYPE_CHECKING:
    from lightkube import Client


def service_of(client: "Client", key: ObjectKey, port: int) -> str | None:
    """The Service that leads to a port of an object's pods, the first by name; None if there is none.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    body = read(client, key)
    if key.kind == "RayService":
        # The Service that has its name leads to the new RayCluster during an upgrade; jobs run in the active one.
        active = ((body or {}).get("status") or {}).get("activeServiceStatus") or {}
        name = active.get("rayClusterName")
        body = read(client, key._replace(kind="RayCluster", name=name)) if name else None
    if body is None:
        return None
    if key.kind in RAY_CLUSTERS:
        # KubeRay names the Service of the head; its ports are those of the head's container.
        return ((body.get("status") or {}).get("head") or {}).get("serviceName") or None
    labels = body["spec"]["template"]["metadata"].get("labels") or {}
    found = listed(client, "v1", "Service", key.namespace)
    return min(
        (
            str(one["metadata"]["name"])
            for one in found
            if (selector := one["spec"].get("selector"))
            and selector.items() <= labels.items()
            and any(each["port"] == port for each in one["spec"].get("ports") or ())
        ),
        default=None,
    )


def fetch(client: "Client", namespace: str, service: str, port: int, path: str) -> bytes:
    """A Service's answer to a GET over plain HTTP.

    Raises:
        ClusterError: the API server or the Service does not answer or denies access.
    """
    place = f"/api/v1/namespaces/{namespace}/services/http:{service}:{port}/proxy{path}"
    answer = ask_server(lambda: transport(client).get(place).raise_for_status(), f"services/proxy of {service}")
    return bytes(answer.content)
