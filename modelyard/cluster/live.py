"""Reading a live cluster through its API server.

Loaded only by verbs that were asked to look at a cluster: the client costs more to import than a whole offline plan.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import NameValue
from lightkube.core.exceptions import ApiError, ConfigError
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from yaml import YAMLError

from modelyard.cluster.state import ClusterState, ObjectKey, Pod, amounts, key_of, node_of

_PLUGIN_INFO = "KUBERNETES_EXEC_INFO"
_PLUGIN_V1, _PLUGIN_V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
TIMEOUT = 10.0
"""Seconds to wait for one answer of the API server."""

_NODES = create_global_resource("", "v1", "Node", "nodes")
_NAMESPACES = create_global_resource("", "v1", "Namespace", "namespaces")
_PODS = create_namespaced_resource("", "v1", "Pod", "pods")
_SERVED: dict[tuple[str, str], Any] = {
    (f"{group}/{version}".removeprefix("/"), kind): create_namespaced_resource(group, version, kind, plural)
    for group, version, kind, plural in (
        ("apps", "v1", "Deployment", "deployments"),
        ("apps", "v1", "StatefulSet", "statefulsets"),
        ("apps", "v1", "DaemonSet", "daemonsets"),
        ("", "v1", "Service", "services"),
        ("", "v1", "ConfigMap", "configmaps"),
        ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    )
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
    return _ask(lambda: str(_plain(client.get(_NAMESPACES, "kube-system"))["metadata"]["uid"]), "namespaces")


def snapshot(client: Client, wanted: Iterable[ObjectKey]) -> Snapshot:
    """Reads the wanted objects, the nodes and what pods request, in parallel. Objects that are not there are left out.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    keys = tuple(dict.fromkeys(wanted))
    with ThreadPoolExecutor(max_workers=8) as pool:
        uid = pool.submit(identity, client)
        version = pool.submit(_ask, lambda: _version(client), "version")
        nodes = pool.submit(_ask, lambda: [_plain(node) for node in client.list(_NODES)], "nodes")
        pods = pool.submit(_ask, lambda: [_plain(pod) for pod in client.list(_PODS, namespace="*")], "pods")
        objects = [pool.submit(_ask, lambda key=key: _get(client, key), key.name) for key in keys]
        return Snapshot(
            uid.result(),
            version.result(),
            tuple(nodes.result()),
            tuple(_request(pod) for pod in pods.result() if _holds_resources(pod)),
            tuple(found for found in (job.result() for job in objects) if found is not None),
        )


def neighbours(client: Client, keys: Iterable[ObjectKey]) -> dict[ObjectKey, dict[str, Any]]:
    """The objects of the same kinds and namespaces as ``keys``: what somebody may have meant who named those.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    found = {}
    for api_version, kind, namespace in sorted({key[:3] for key in keys}):
        for each in _ask(partial(_list, client, _served(api_version, kind), namespace), kind):
            body = {**each, "apiVersion": api_version, "kind": kind}
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
    )


def _plain(body: Any) -> dict[str, Any]:
    value = body.to_dict() if hasattr(body, "to_dict") else dict(body)
    value.setdefault("apiVersion", "v1")
    return dict(value)


def _version(client: Client) -> str:
    response = client._client._client.get("/version")
    response.raise_for_status()
    return str(response.json()["gitVersion"])


def _served(api_version: str, kind: str) -> Any:
    served = _SERVED.get((api_version, kind))
    if served is None:
        kinds = ", ".join(kind for _, kind in _SERVED)
        raise ClusterError(f"{kind} {api_version} is not a kind that modelyard reads", f"it reads {kinds}")
    return served


def _get(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    served = _served(key.api_version, key.kind)
    try:
        return dict(client.get(served, key.name, namespace=key.namespace).to_dict())
    except ApiError as error:
        if error.status.code == 404:
            return None
        raise


def _list(client: Client, served: Any, namespace: str) -> list[dict[str, Any]]:
    return [body.to_dict() for body in client.list(served, namespace=namespace)]


def _holds_resources(pod: Mapping[str, Any]) -> bool:
    return bool(pod.get("spec", {}).get("nodeName")) and pod.get("status", {}).get("phase") not in (
        "Succeeded",
        "Failed",
    )


def _request(pod: Mapping[str, Any]) -> dict[str, Any]:
    from modelyard.quantity import parse

    total: dict[str, Any] = {}
    for container in pod["spec"]["containers"]:
        for name, value in (container.get("resources", {}).get("requests") or {}).items():
            total[name] = str(value) if name not in total else str(float(parse(total[name]) + parse(value)))
    return {"node": pod["spec"]["nodeName"], "owner": _owner(pod), "requests": dict(sorted(total.items()))}


def _owner(pod: Mapping[str, Any]) -> str:
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference["kind"] == "ReplicaSet":
            return str(reference["name"]).rpartition("-")[0]
        return str(reference["name"])
    return str(pod["metadata"]["name"])


def _ask(question: Callable[[], T], what: str) -> T:
    """The answer, with every way of not getting one told as a ClusterError."""
    try:
        return question()
    except ApiError as error:
        status = error.status
        if status.code == 401:
            raise ClusterError(
                "the cluster does not accept these credentials; they may have expired", "log in to the cluster again"
            ) from error
        if status.code == 403:
            raise ClusterError(
                f"these credentials may not read {what}: {status.message}", "ask for the right to get and list them"
            ) from error
        raise ClusterError(
            f"the API server refused to show {what}: {status.message}", "look at the API server"
        ) from error
    except httpx2.HTTPStatusError as error:
        code = error.response.status_code
        raise ClusterError(
            "the cluster does not accept these credentials; they may have expired"
            if code == 401
            else f"the API server answered {code} for {what}",
            "log in to the cluster again" if code == 401 else "look at the API server",
        ) from error
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        raise ClusterError(
            f"the API server cannot be reached: {error}", "check the context, the network and the cluster"
        ) from error
    except (ConfigError, OSError, AssertionError) as error:
        # Programs that fetch credentials are only run when the first question is asked.
        raise _no_credentials(error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"what answers for {what} is no API server of Kubernetes: {type(error).__name__} {error}",
            "check the server in the kubeconfig",
        ) from error
