"""The way to an API server as kubectl and the engine take it: what the Kubernetes client here does not read itself.

Of a kubeconfig's cluster that is ``proxy-url`` and ``tls-server-name``, of the environment ``HTTPS_PROXY`` (of a server
without TLS: ``HTTP_PROXY``) and ``NO_PROXY``, with the rules of golang.org/x/net/http/httpproxy.
"""

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lightkube import KubeConfig

from modelyard.cluster.context_aliases import MAX_BYTES, named, read_kubeconfig
from modelyard.files import read_text

_PROXY_URL, _SERVER_NAME = "proxy-url", "tls-server-name"


class Route(NamedTuple):
    """How requests get to an API server."""

    proxy: str | None = None
    """URL of the proxy that they go through."""
    server_name: str | None = None
    """The name for which the server's certificate counts, where it is not the one in its address."""


def route(config: KubeConfig, context: str, environment: Mapping[str, str]) -> Route:
    """The route to the cluster of a context.

    Args:
        config: has the context; its file is read again where it says more than the client keeps.
        context: whose cluster it is.
        environment: variables as of a process.

    Raises:
        KeyError: the context names a cluster that the kubeconfig has not.
        OSError: the file has gone meanwhile.
    """
    name = config.contexts[context].cluster
    server = config.clusters[name].server
    said = _said(config, name)
    proxy, server_name = (str(said[key]) if said.get(key) else None for key in (_PROXY_URL, _SERVER_NAME))
    return Route(proxy or _proxy_for(server, environment), server_name)


def _said(config: KubeConfig, name: str) -> Mapping[str, Any]:
    """What the file says of a cluster; empty where it says nothing that the client does not read."""
    text = read_text(config.fname, limit=MAX_BYTES) if config.fname is not None else ""
    if config.fname is None or (_PROXY_URL not in text and _SERVER_NAME not in text):
        return {}
    return named(read_kubeconfig(config.fname), "clusters")[name]


def _proxy_for(server: str, environment: Mapping[str, str]) -> str | None:
    """The environment's proxy for a server; none for this machine itself."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name)
    if not proxy or _without_proxy(parts.hostname or "", parts.port, environment):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _without_proxy(host: str, port: int | None, environment: Mapping[str, str]) -> bool:
    """Whether a server is asked without the environment's proxy."""
    address = None
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in (environment.get("NO_PROXY") or environment.get("no_proxy") or "").lower().split(","):
        entry = entry.strip()
        if entry == "*":
            return True
        if address is not None:
            with suppress(ValueError):
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
        name, _, only = entry.partition(":")
        if not name or (only and only != str(port)):
            continue
        # ".example.com" is its subdomains, "example.com" is itself too.
        name = name.removeprefix("*")
        if host.endswith(name if name.startswith(".") else f".{name}") or host == name:
            return True
    return False
