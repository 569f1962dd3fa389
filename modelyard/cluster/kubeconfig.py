"""Kubeconfigs: reads their files, adds context aliases, and finds the route to an API server.

Reads what the Kubernetes client does not: ``proxy-url`` and ``tls-server-name`` of a cluster, and ``HTTPS_PROXY`` (for
a server without TLS: ``HTTP_PROXY``) and ``NO_PROXY`` of the environment, by the rules of
golang.org/x/net/http/httpproxy, as kubectl and the engine do.
"""

import ipaddress
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import yaml
from yaml import CSafeLoader, YAMLError
from yaml.events import CollectionEndEvent, CollectionStartEvent

from modelyard.files import MAX_DEPTH, read_text
from modelyard.hiding import Confidential
from modelyard.temporary import write_private

if TYPE_CHECKING:
    from lightkube import KubeConfig

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Keys of a cluster or a user that name a file, relative to the kubeconfig's folder."""
MAX_BYTES = 4 * 1024 * 1024
"""The most bytes of a kubeconfig, and of each file that it names. A kubeconfig of 100 clusters has about 500,000."""


def known_contexts() -> frozenset[str] | None:
    """Names of the contexts in the kubeconfig; None without a kubeconfig, as in a pod with a service account."""
    found = [set(named(document, "contexts")) for _, document in _documents()]
    return frozenset().union(*found) if found else None


def with_aliases(names: Mapping[str, str | None], folder: Path) -> str:
    """Writes context aliases into a private kubeconfig that precedes the existing files.

    Args:
        names: the context of each alias; None: the current one. Unknown contexts are left out.
        folder: a folder that only the caller uses and removes: the file may hold credentials.

    Returns:
        The value of ``KUBECONFIG`` with which the aliases work too; empty if there are no aliases.
    """
    made: dict[str, list[dict[str, Any]]] = {"clusters": [], "users": [], "contexts": []}
    for new, old in names.items():
        if (found := _parts(old)) is None:
            continue
        context, cluster, user = found
        own = f"modelyard-way-{new}"
        made["contexts"].append({"name": new, "context": {**context, "cluster": own, "user": own}})
        made["clusters"].append({"name": own, "cluster": cluster})
        made["users"].append({"name": own, "user": user.reveal()})
    if not made["contexts"]:
        return ""
    file = folder / "kubeconfig"
    write_private(file, json.dumps({"apiVersion": "v1", "kind": "Config", **made}))
    # For each name, the first file that has it counts.
    return os.pathsep.join((str(file), *map(str, kubeconfig_paths())))


def _parts(name: str | None) -> tuple[dict[str, Any], dict[str, Any], Confidential[dict[str, Any]]] | None:
    """The entries of a context, its cluster and its user, with absolute paths; None if the context does not exist."""
    documents = tuple(_documents())
    wanted = name or next((str(one["current-context"]) for _, one in documents if one.get("current-context")), "")
    for folder, document in documents:
        context = named(document, "contexts").get(wanted)
        if context is None:
            continue
        cluster = named(document, "clusters").get(str(context.get("cluster")))
        user = named(document, "users").get(str(context.get("user")), {})
        if cluster is None:
            return None
        return context, _absolute(cluster, folder), Confidential(_absolute(user, folder))
    return None


def _absolute(part: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = {key: str(folder / value) if key in _FILES else value for key, value in part.items()}
    program = made.get("exec")
    if isinstance(program, dict) and os.sep in str(program.get("command", "")):
        # A bare name is looked up on PATH.
        made["exec"] = {**program, "command": str(folder / program["command"])}
    return made


def named(document: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The clusters, users or contexts of a kubeconfig by name, without malformed entries."""
    entries = document.get(kind)
    pairs = [
        (one.get("name"), one.get(kind.removesuffix("s")) or {})
        for one in (entries if isinstance(entries, list) else ())
        if isinstance(one, dict)
    ]
    return {name: part for name, part in pairs if isinstance(name, str) and isinstance(part, dict)}


def read_kubeconfig(path: Path) -> Confidential[Any]:
    """The content of a kubeconfig, which may have any form.

    Raises:
        ReadError: the file cannot be read.
        ValueError: it is nested too deeply.
        YAMLError: it is not YAML.
    """
    text = read_text(path, limit=MAX_BYTES)
    depth = 0
    # The loader builds values recursively in C, so a deep document would end the process.
    for event in yaml.parse(text, CSafeLoader):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
    return Confidential(yaml.load(text, CSafeLoader))


def _documents() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The kubeconfig files that exist, each with its folder. Skips damaged files, which ``connect`` reports."""
    for path in kubeconfig_paths():
        try:
            document = read_kubeconfig(path).reveal()
        except (OSError, YAMLError, ValueError):
            continue
        if isinstance(document, dict):
            yield path.parent.absolute(), document


def kubeconfig_paths() -> list[Path]:
    """The paths of the kubeconfig files, whether they exist or not."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return [Path(name).expanduser() for name in named.split(os.pathsep) if name]


# The route to an API server that kubectl and the engine take, as far as the Kubernetes client does not read it itself.
_PROXY_URL, _SERVER_NAME = "proxy-url", "tls-server-name"


class Route(NamedTuple):
    """How requests reach an API server."""

    proxy: Confidential[str] | None = None
    """URL of the proxy for the requests; may contain a password."""
    server_name: str | None = None
    """The name in the server's certificate, if it differs from the one in the server's address."""


def route(config: "KubeConfig", context: str, environment: Mapping[str, str]) -> Route:
    """The route to the cluster of a context.

    Args:
        config: the kubeconfig with the context; its file is read again for settings that the client does not keep.
        context: name of the cluster's context.
        environment: environment variables.

    Raises:
        KeyError: the context names a cluster that the kubeconfig lacks.
        OSError: the file has been deleted meanwhile.
    """
    name = config.contexts[context].cluster
    server = config.clusters[name].server
    entry = _entry(config, name)
    own, server_name = (str(entry[key]) if entry.get(key) else None for key in (_PROXY_URL, _SERVER_NAME))
    proxy = own or _proxy_for(server, environment)
    return Route(None if proxy is None else Confidential(proxy), server_name)


def _entry(config: "KubeConfig", name: str) -> Mapping[str, Any]:
    """The kubeconfig's entry for a cluster; empty if the client reads all of its settings."""
    text = read_text(config.fname, limit=MAX_BYTES) if config.fname is not None else ""
    if config.fname is None or (_PROXY_URL not in text and _SERVER_NAME not in text):
        return {}
    return named(read_kubeconfig(config.fname).reveal(), "clusters")[name]


def _proxy_for(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that the environment sets for a server; None for this machine itself."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name)
    if not proxy or _without_proxy(parts.hostname or "", parts.port, environment):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _without_proxy(host: str, port: int | None, environment: Mapping[str, str]) -> bool:
    """Whether requests to a server bypass the environment's proxy."""
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
        # ".example.com" matches its subdomains, "example.com" matches itself too.
        name = name.removeprefix("*")
        if host.endswith(name if name.startswith(".") else f".{name}") or host == name:
            return True
    return False
