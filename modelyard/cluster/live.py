"""Reads a live cluster through its API server.

Loaded only by commands that read a cluster: importing the client takes longer than a whole offline plan.
"""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import httpx2
from lightkube import Client

from modelyard.cluster.connection import AT_ONCE, ClusterError, ask_server, message, transport
from modelyard.cluster.pods import holds_resources, pod_of, ray_services, request_of
from modelyard.cluster.requests import busy, patiently
from modelyard.files import parse_json
from modelyard.hiding import Confidential
from modelyard.kube.kinds import KEDA, KINDS, SPARK
from modelyard.kube.state import (
    PAUSED,
    PAUSED_REPLICAS,
    SCALED_OBJECT,
    ClusterState,
    ObjectKey,
    annotations_of,
    key_of,
    node_of,
    quotas_of,
    scalers_of,
)

Bodies = Confidential[tuple[Mapping[str, Any], ...]]
_NONE: Final[Bodies] = Confidential(())


class Snapshot(NamedTuple):
    """A cluster as the API server returned it, for recording."""

    identity: str
    version: str
    nodes: Bodies
    pods: Bodies
    """``{node, namespace, owner, requests}`` of every running pod; no other part of a pod is kept."""
    objects: Bodies
    quotas: Bodies
    scalers: Bodies = _NONE
    """What HorizontalPodAutoscalers and ScaledObjects scale; no other part of them is kept."""
    unread: tuple[str, ...] = ()
    """Quotas and autoscalers that these credentials may not list, as ``resourcequotas of ml-platform``."""

    def part(self, wanted: Collection[ObjectKey]) -> "Snapshot":
        """The snapshot without other objects than the wanted ones, and without unread lists of other namespaces."""
        kept = (body for body in self.objects.reveal() if key_of(body, "") in wanted)
        namespaces = {key.namespace for key in wanted}
        unread = (name for name in self.unread if name.rpartition(" ")[2] in namespaces)
        return self._replace(objects=Confidential(tuple(kept)), unread=tuple(unread))

    @property
    def object_count(self) -> int:
        """The number of objects."""
        return len(self.objects.reveal())

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.nodes.reveal())


def identity(client: Client) -> str:
    """The identity of a cluster: the UID of the namespace kube-system, which never changes.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    return ask_server(lambda: str(_got(client, "/api/v1/namespaces/kube-system")["metadata"]["uid"]), "namespaces")


def snapshot(client: Client, wanted: Iterable[ObjectKey]) -> Snapshot:
    """Reads the wanted objects, the quotas and autoscalers of their namespaces, the nodes and what pods request, in
    parallel.

    Leaves out objects that do not exist. Lists in ``unread`` the quotas and autoscalers that these credentials may not
    list.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    keys = tuple(dict.fromkeys(wanted))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        uid = pool.submit(identity, client)
        version = pool.submit(server_version, client)
        nodes = pool.submit(ask_server, lambda: list(_got(client, "/api/v1/nodes")["items"]), "nodes")
        pods = pool.submit(ask_server, lambda: list(_got(client, "/api/v1/pods")["items"]), "pods")
        objects = [pool.submit(read, client, key) for key in keys]
        namespaces = sorted({key.namespace for key in keys if key.namespace})
        paths = [("", f"/api/v1/namespaces/{each}/resourcequotas") for each in namespaces]
        paths += [
            (kind, f"/apis/{version}/namespaces/{namespace}/{plural}")
            for namespace in namespaces
            for version, kind, plural in AUTOSCALERS
        ]
        asked = [(kind, path, pool.submit(listed_if_allowed, client, path)) for kind, path in paths]
        # First: if the server does not answer at all, the error names this question.
        cluster = uid.result()
        extra = [(kind, path, job.result()) for kind, path, job in asked]
        bodies = tuple(found for found in (job.result() for job in objects) if found is not None)
        services = ray_services(bodies)
        return Snapshot(
            identity=cluster,
            version=version.result(),
            nodes=Confidential(tuple({"apiVersion": "v1", **node} for node in nodes.result())),
            pods=Confidential(tuple(request_of(pod, services) for pod in pods.result() if holds_resources(pod))),
            objects=Confidential(bodies),
            quotas=Confidential(tuple(quota for kind, _, found in extra for quota in found or () if not kind)),
            scalers=Confidential(
                tuple(reference(kind, body) for kind, _, found in extra for body in found or () if kind)
            ),
            unread=tuple(_list_name(path) for _, path, found in extra if found is None),
        )


def _list_name(path: str) -> str:
    """``resourcequotas of NAMESPACE`` for the path of a list in a namespace."""
    *_, namespace, plural = path.split("/")
    return f"{plural} of {namespace}"


def server_version(client: Client) -> str:
    """The version of the API server, such as ``v1.35.4``.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    return ask_server(lambda: str(_got(client, "/version")["gitVersion"]), "version")


def serves(client: Client, api_version: str) -> bool:
    """Whether the API server serves a group and version, such as ``apps/v1``.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """

    def get() -> bool:
        try:
            _got(client, f"/apis/{api_version}")
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404:
                return False
            raise
        return True

    return ask_server(get, api_version)


def objects_of(client: Client, keys: Iterable[ObjectKey]) -> dict[ObjectKey, dict[str, Any]]:
    """The objects that exist, by key.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    wanted = tuple(dict.fromkeys(keys))
    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        found = zip(wanted, pool.map(lambda key: read(client, key), wanted), strict=True)
        return {key: body for key, body in found if body is not None}


def neighbours(client: Client, keys: Iterable[ObjectKey]) -> dict[ObjectKey, dict[str, Any]]:
    """The objects with the kinds and namespaces of ``keys``, to suggest instead of a mistyped name.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    found = {}
    for api_version, kind, namespace in sorted({key[:3] for key in keys}):
        for body in listed(client, api_version, kind, namespace):
            found[key_of(body, namespace)] = body
    return found


def in_other_namespaces(client: Client, keys: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
    """The objects in other namespaces with the kinds and names of ``keys``, as far as these credentials may list them.

    Raises:
        ClusterError: the API server does not answer.
    """
    found = set()
    for key in keys:
        path = path_of(key._replace(namespace="", name="")).rstrip("/")
        for body in listed_if_allowed(client, f"{path}?fieldSelector=metadata.name%3D{key.name}") or ():
            found.add(key._replace(namespace=body["metadata"]["namespace"]))
    return frozenset(found)


def state_of(taken: Snapshot) -> ClusterState:
    """The snapshot as a plan's starting state."""
    return ClusterState(
        source="live",
        identity=taken.identity,
        version=taken.version,
        objects=Confidential({key_of(body, ""): dict(body) for body in taken.objects.reveal()}),
        nodes=tuple(node_of(body) for body in taken.nodes.reveal()),
        pods=tuple(map(pod_of, taken.pods.reveal())),
        quotas=quotas_of(taken.quotas.reveal()),
        scalers=scalers_of(taken.scalers.reveal()),
    )


def read(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    """An object as the API server has it; None if it does not exist.

    Raises:
        ClusterError: the API server does not answer, denies access, or modelyard does not read objects of this kind.
    """
    path = path_of(key)

    def get() -> dict[str, Any] | None:
        try:
            return {**_got(client, path), "apiVersion": key.api_version, "kind": key.kind}
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404 and (message(error.response) or unknown_kind(error.response, key)):
                return None
            raise

    return ask_server(get, key.name)


def unknown_kind(answer: httpx2.Response, key: ObjectKey) -> bool:
    """Whether an answer shows that the cluster lacks an operator's kind: it is then plain text instead of a Status."""
    group, _, version = key.api_version.partition("/")
    # One operator has a group that is named like the groups of Kubernetes itself.
    own = group.endswith(".k8s.io") and key.api_version != SPARK
    brought = bool(version) and "." in group and not own
    return brought and answer.status_code == 404 and answer.text.strip() == "404 page not found"


def listed(client: Client, api_version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
    """The objects of a kind in a namespace; none if the operator that installs the kind is missing.

    Raises:
        ClusterError: as for :func:`read`.
    """
    key = ObjectKey(api_version, kind, namespace, "")
    path = path_of(key).rstrip("/")

    def get() -> list[dict[str, Any]]:
        try:
            return list(_got(client, path)["items"])
        except httpx2.HTTPStatusError as error:
            if unknown_kind(error.response, key):
                return []
            raise

    found = ask_server(get, kind)
    return [{**body, "apiVersion": api_version, "kind": kind} for body in found]


def listed_if_allowed(client: Client, path: str) -> list[dict[str, Any]] | None:
    """The objects of a list; none if the cluster lacks the kind; None if these credentials may not list it."""

    def get() -> list[dict[str, Any]] | None:
        try:
            return list(_got(client, path)["items"])
        except httpx2.HTTPStatusError as error:
            code = error.response.status_code
            # For an unknown kind, the API server answers in plain text, not with a Status.
            if code == 404:
                return []
            if code == 403 and message(error.response):
                return None
            raise

    found = ask_server(get, path.rpartition("/")[2])
    if found is None and path.startswith("/apis/"):
        # The API server denies access before it looks for the kind. Every user may ask which kinds it has.
        group, version = path.split("/")[2:4]
        return None if serves(client, f"{group}/{version}") else []
    return found


def path_of(key: ObjectKey) -> str:
    """The path of an object on the API server; without a namespace, the path of a list has those of all namespaces.

    Raises:
        ClusterError: modelyard does not read objects of this kind.
    """
    known = KINDS.get(key[:2])
    if known is None:
        kinds = ", ".join(kind for _, kind in KINDS)
        raise ClusterError(f"modelyard does not read {key.kind} {key.api_version}", f"it reads {kinds}")
    root = "apis" if "/" in key.api_version else "api"
    place = f"/namespaces/{key.namespace}" if known.namespaced and key.namespace else ""
    return f"/{root}/{key.api_version}{place}/{known.plural}/{key.name}"


def _got(client: Client, path: str) -> dict[str, Any]:
    answer = patiently(lambda: transport(client).get(path), busy)
    answer.raise_for_status()
    return dict(parse_json(answer.content))


AUTOSCALERS: Final = (
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    (KEDA, SCALED_OBJECT, "scaledobjects"),
)
"""The objects that say what autoscalers scale: API version, kind and plural name."""


def reference(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """An autoscaler, reduced to what it scales, whether it is paused, and the KEDA object that it was created for."""
    metadata = body["metadata"]
    kept = {"name": metadata["name"], "namespace": metadata["namespace"]}
    paused = {name: value for name, value in annotations_of(body).items() if name in (PAUSED, PAUSED_REPLICAS)}
    made_for = [
        {"kind": owner["kind"], "name": owner["name"]}
        for owner in metadata.get("ownerReferences") or ()
        if owner.get("kind") == SCALED_OBJECT
    ]
    return {
        "kind": kind,
        "metadata": {
            **kept,
            **({"annotations": paused} if paused else {}),
            **({"ownerReferences": made_for} if made_for else {}),
        },
        "spec": {"scaleTargetRef": (body.get("spec") or {}).get("scaleTargetRef") or {}},
    }
