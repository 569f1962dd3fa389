"""Reading a live cluster through its API server.

Loaded only by verbs that were asked to look at a cluster: the client costs more to import than a whole offline plan.
Of the client only the credentials and the HTTP are used. Its typed answers are not: it makes a type when the first
answer of it arrives and takes no lock for that, so that two first answers at once can end the process.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import NameValue
from lightkube.core.exceptions import ConfigError
from yaml import YAMLError

from modelyard.cluster.pods import holds_resources, request_of
from modelyard.cluster.scaling import lists, reference
from modelyard.cluster.state import ClusterState, ObjectKey, Pod, amounts, key_of, node_of, quotas_of, scalers_of

_PLUGIN_INFO = "KUBERNETES_EXEC_INFO"
_PLUGIN_V1, _PLUGIN_V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
TIMEOUT = 10.0
"""Seconds to wait for one answer of the API server."""

_PLURALS = {
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "DaemonSet"): "daemonsets",
    ("v1", "Service"): "services",
    ("v1", "ConfigMap"): "configmaps",
    ("policy/v1", "PodDisruptionBudget"): "poddisruptionbudgets",
}
T = TypeVar("T")


class ClusterError(Exception):
    """The cluster is out of reach: why, and what to do about it."""

    def __init__(self, summary: str, remedy: str) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy


class Snapshot(NamedTuple):
    """A cluster as the API server returned it, for recording."""

    identity: str
    version: str
    nodes: tuple[Mapping[str, Any], ...]
    pods: tuple[Mapping[str, Any], ...]
    """``{node, owner, requests}`` of every running pod; nothing else of a pod is kept."""
    objects: tuple[Mapping[str, Any], ...]
    quotas: tuple[Mapping[str, Any], ...]
    scalers: tuple[Mapping[str, Any], ...] = ()
    """What HorizontalPodAutoscalers and ScaledObjects scale; nothing else of them is kept."""


def connect(context: str | None) -> Client:
    """A client for the kubeconfig's context, or its current one.

    ``KUBECONFIG`` may list several files, as for kubectl; the first that has the context counts.

    Raises:
        ClusterError: there is no kubeconfig, it cannot be used, or it has no such context.
    """
    configs = _kubeconfigs()
    wanted = context or next((config.current_context for config in configs if config.current_context), None)
    if wanted is None:
        raise ClusterError(
            "the kubeconfig has no current context", "name one under kubernetes:context in the stack file"
        )
    found = next((config for config in configs if wanted in config.contexts), None)
    if found is None:
        have = ", ".join(sorted(name for config in configs for name in config.contexts)) or "none"
        raise ClusterError(
            f"the kubeconfig has no context {wanted!r}; it has {have}",
            "set kubernetes:context in the stack file, or point KUBECONFIG at the right file",
        )
    try:
        return Client(config=with_plugin_info(found.get(wanted)), timeout=httpx2.Timeout(TIMEOUT), trust_env=False)
    except KeyError as error:
        raise ClusterError(
            f"context {wanted!r} of the kubeconfig names {error}, which is not in it", "correct the kubeconfig"
        ) from error
    except (OSError, ValueError, ConfigError, AssertionError, httpx2.InvalidURL) as error:
        raise _no_credentials(error) from error


def with_plugin_info(config: SingleConfig | None) -> SingleConfig | None:
    """The same config with its credential plugin told what it needs to know.

    Plugins of ``client.authentication.k8s.io/v1`` must be told in ``KUBERNETES_EXEC_INFO`` which form to answer in. The
    client does not tell them, and takes only plugins of earlier versions; the token stands in the same place.
    """
    user = config.user if config is not None else None
    plugin = user.exec if user is not None else None
    if config is None or user is None or plugin is None:
        return config
    asked = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
    variables = [*(plugin.env or ()), NameValue(_PLUGIN_INFO, json.dumps(asked))]
    told = copy(user)
    told.exec = copy(plugin)
    told.exec.env = variables
    if plugin.apiVersion == _PLUGIN_V1:
        told.exec.apiVersion = _PLUGIN_V1BETA1
    return config._replace(user=told)


def _no_credentials(error: Exception) -> ClusterError:
    return ClusterError(f"the kubeconfig's credentials cannot be used: {error}", "log in to the cluster again")


def _kubeconfigs() -> list[KubeConfig]:
    """The kubeconfig files that there are, else the service account of the pod that this runs in."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(name).expanduser() for name in named.split(os.pathsep) if name]
    try:
        return [KubeConfig.from_file(path) for path in paths if path.is_file()] or [KubeConfig.from_env()]
    except (ConfigError, OSError, YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The client checks nothing of a file that is no kubeconfig, so it fails wherever it happens to look first.
        words = f"it lacks {error}" if isinstance(error, LookupError) else " ".join(str(error).split())
        raise ClusterError(
            f"no kubeconfig could be read from {named}: {words}",
            "set KUBECONFIG, or plan offline against the recorded platform",
        ) from error


def identity(client: Client) -> str:
    """The UID of the namespace kube-system, which a cluster keeps for life.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    return ask_server(lambda: str(_got(client, "/api/v1/namespaces/kube-system")["metadata"]["uid"]), "namespaces")


def snapshot(client: Client, wanted: Iterable[ObjectKey]) -> Snapshot:
    """Reads the wanted objects, their namespaces' quotas and autoscalers, the nodes and what pods request, in parallel.

    Objects that are not there are left out, and so are quotas and autoscalers that these credentials may not read.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    keys = tuple(dict.fromkeys(wanted))
    with ThreadPoolExecutor(max_workers=8) as pool:
        uid = pool.submit(identity, client)
        version = pool.submit(ask_server, lambda: str(_got(client, "/version")["gitVersion"]), "version")
        nodes = pool.submit(ask_server, lambda: list(_got(client, "/api/v1/nodes")["items"]), "nodes")
        pods = pool.submit(ask_server, lambda: list(_got(client, "/api/v1/pods")["items"]), "pods")
        objects = [pool.submit(read, client, key) for key in keys]
        namespaces = sorted({key.namespace for key in keys})
        quotas = [pool.submit(_may_be, client, f"/api/v1/namespaces/{each}/resourcequotas") for each in namespaces]
        scalers = [
            (kind, pool.submit(_may_be, client, path)) for namespace in namespaces for kind, path in lists(namespace)
        ]
        return Snapshot(
            uid.result(),
            version.result(),
            tuple({"apiVersion": "v1", **node} for node in nodes.result()),
            tuple(request_of(pod) for pod in pods.result() if holds_resources(pod)),
            tuple(found for found in (job.result() for job in objects) if found is not None),
            tuple(quota for job in quotas for quota in job.result()),
            tuple(reference(kind, body) for kind, job in scalers for body in job.result()),
        )


def objects_of(client: Client, keys: Iterable[ObjectKey]) -> dict[ObjectKey, dict[str, Any]]:
    """Those of the objects that are there.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    wanted = tuple(keys)
    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = zip(wanted, pool.map(lambda key: read(client, key), wanted), strict=True)
        return {key: body for key, body in found if body is not None}


def neighbours(client: Client, keys: Iterable[ObjectKey]) -> dict[ObjectKey, dict[str, Any]]:
    """The objects of the same kinds and namespaces as ``keys``: what somebody may have meant who named those.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    found = {}
    for api_version, kind, namespace in sorted({key[:3] for key in keys}):
        for body in listed(client, api_version, kind, namespace):
            found[key_of(body, namespace)] = body
    return found


def state_of(taken: Snapshot) -> ClusterState:
    """The snapshot as a plan's starting state."""
    return ClusterState(
        "live",
        taken.identity,
        taken.version,
        {key_of(body, ""): dict(body) for body in taken.objects},
        tuple(node_of(body) for body in taken.nodes),
        tuple(Pod(pod["node"], pod["owner"], amounts(pod["requests"])) for pod in taken.pods),
        quotas_of(taken.quotas),
        scalers_of(taken.scalers),
    )


def read(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    """An object as the API server has it; None where there is none.

    Raises:
        ClusterError: the API server does not answer, or not to us, or nobody reads objects of this kind.
    """
    path = path_of(key)

    def get() -> dict[str, Any] | None:
        try:
            return {**_got(client, path), "apiVersion": key.api_version, "kind": key.kind}
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404 and _message(error.response):
                return None
            raise

    return ask_server(get, key.name)


def listed(client: Client, api_version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
    """The objects of a kind in a namespace.

    Raises:
        ClusterError: as for :func:`read`.
    """
    path = path_of(ObjectKey(api_version, kind, namespace, "")).rstrip("/")
    found = ask_server(lambda: list(_got(client, path)["items"]), kind)
    return [{**body, "apiVersion": api_version, "kind": kind} for body in found]


def _may_be(client: Client, path: str) -> list[dict[str, Any]]:
    """The objects of a list; none where these credentials may not read it, or the cluster has no such kind."""

    def get() -> list[dict[str, Any]]:
        try:
            return list(_got(client, path)["items"])
        except httpx2.HTTPStatusError as error:
            code = error.response.status_code
            # Of a kind that it does not know the API server says so in no form of its own.
            if code == 404 or (code == 403 and _message(error.response)):
                return []
            raise

    return ask_server(get, path.rpartition("/")[2])


def path_of(key: ObjectKey) -> str:
    """Where the API server has an object.

    Raises:
        ClusterError: nobody reads objects of this kind.
    """
    plural = _PLURALS.get(key[:2])
    if plural is None:
        kinds = ", ".join(kind for _, kind in _PLURALS)
        raise ClusterError(f"{key.kind} {key.api_version} is not a kind that modelyard reads", f"it reads {kinds}")
    root = "apis" if "/" in key.api_version else "api"
    return f"/{root}/{key.api_version}/namespaces/{key.namespace}/{plural}/{key.name}"


def transport(client: Client) -> httpx2.Client:
    """The client's HTTP. Paths count from the API server's root."""
    found: httpx2.Client = client._client._client
    return found


def _got(client: Client, path: str) -> dict[str, Any]:
    answer = sent(lambda: transport(client).get(path))
    answer.raise_for_status()
    return dict(answer.json())


def sent(send: Callable[[], httpx2.Response]) -> httpx2.Response:
    """The answer to a request that was on no connection yet; of many handshakes at once, one may fail by accident."""
    try:
        return send()
    except httpx2.ConnectError:
        return send()


def ask_server(question: Callable[[], T], what: str) -> T:
    """The answer to a question, with every way of not getting one told as a ClusterError; ``what`` is asked for."""
    try:
        return question()
    except httpx2.HTTPStatusError as error:
        raise _refused(error.response, what) from error
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        raise ClusterError(
            f"the API server cannot be reached: {error}{_place(error)}",
            "check the context, the network and the cluster",
        ) from error
    except (ConfigError, OSError, AssertionError) as error:
        # Programs that fetch credentials are only run when the first question is asked.
        raise _no_credentials(error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"what answers for {what} is no API server of Kubernetes: {type(error).__name__} {error}",
            "check the server in the kubeconfig",
        ) from error


def _place(error: Exception) -> str:
    """Where it was asked, without the credentials that an address may hold; empty where it was not asked yet."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return ""
    return f" ({url.scheme}://{url.netloc.decode()})"


def _refused(answer: httpx2.Response, what: str) -> ClusterError:
    code, message = answer.status_code, _message(answer)
    if code == 401:
        summary = "the cluster does not accept these credentials; they may have expired"
        return ClusterError(summary, "log in to the cluster again")
    if code == 403 and message:
        summary = f"these credentials may not read {what}: {message}"
        return ClusterError(summary, "ask for the right to get and list them")
    words = f"refused to show {what}: {message}" if message else f"answered {code} for {what}"
    return ClusterError(f"the API server {words}", "look at the API server")


def _message(answer: httpx2.Response) -> str:
    """The API server's own words; empty where they are somebody else's."""
    try:
        found = answer.json()
    except ValueError:
        return ""
    return str(found.get("message", "")) if isinstance(found, dict) and found.get("kind") == "Status" else ""
