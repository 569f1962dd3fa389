"""Kubeconfigs: reading their files, contexts under other names, and the route to an API server.

Of a cluster this reads what the Kubernetes client does not: ``proxy-url`` and ``tls-server-name``, and of the
environment ``HTTPS_PROXY`` (of a server without TLS: ``HTTP_PROXY``) and ``NO_PROXY``, by the rules of
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

from yaml import YAMLError, safe_load

from modelyard.files import read_text
from modelyard.temporary import write_private

if TYPE_CHECKING:
    from lightkube import KubeConfig

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Keys of a cluster or a user that name a file, as seen from the folder of the kubeconfig."""
MAX_BYTES = 4 * 1024 * 1024
"""Of the largest kubeconfig, and of the largest file that one names. One of 100 clusters has about 500,000."""


def known_contexts() -> frozenset[str] | None:
    """Names of the kubeconfig's contexts; None where there is none, as in a pod with a service account."""
    found = [set(named(document, "contexts")) for _, document in _documents()]
    return frozenset().union(*found) if found else None


def with_aliases(names: Mapping[str, str | None], folder: Path) -> str:
    """Gives contexts another name in front of their own, in a kubeconfig that nobody else may read.

    Args:
        names: by new name the context that it stands for; None: the current one. Unknown contexts are left out.
        folder: for the file, the caller's alone, who also removes it: it may hold credentials.

    Returns:
        What ``KUBECONFIG`` is to be for who asks by the new names too; empty where there is nothing to name.
    """
    made: dict[str, list[dict[str, Any]]] = {"clusters": [], "users": [], "contexts": []}
    for new, old in names.items():
        if (found := _parts(old)) is None:
            continue
        context, cluster, user = found
        own = f"modelyard-way-{new}"
        made["contexts"].append({"name": new, "context": {**context, "cluster": own, "user": own}})
        made["clusters"].append({"name": own, "cluster": cluster})
        made["users"].append({"name": own, "user": user})
    if not made["contexts"]:
        return ""
    file = folder / "kubeconfig"
    write_private(file, json.dumps({"apiVersion": "v1", "kind": "Config", **made}))
    # The first that has a name counts.
    return os.pathsep.join((str(file), *map(str, kubeconfig_paths())))


def _parts(name: str | None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]] | None:
    """Context, cluster and user of a context, with paths that hold anywhere; None where there is no such context."""
    documents = tuple(_documents())
    wanted = name or next((str(one["current-context"]) for _, one in documents if one.get("current-context")), "")
    for folder, document in documents:
        context = named(document, "contexts").get(wanted)
        if context is None:
            continue
        cluster = named(document, "clusters").get(str(context.get("cluster")))
        user = named(document, "users").get(str(context.get("user")), {})
        return None if cluster is None else (context, _absolute(cluster, folder), _absolute(user, folder))
    return None


def _absolute(part: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = {key: str(folder / value) if key in _FILES else value for key, value in part.items()}
    program = made.get("exec")
    if isinstance(program, dict) and os.sep in str(program.get("command", "")):
        # A bare name is looked for on PATH.
        made["exec"] = {**program, "command": str(folder / program["command"])}
    return made


def named(document: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The clusters, users or contexts of a kubeconfig by their names, without what is none."""
    entries = document.get(kind)
    pairs = [
        (one.get("name"), one.get(kind.removesuffix("s")) or {})
        for one in (entries if isinstance(entries, list) else ())
        if isinstance(one, dict)
    ]
    return {name: part for name, part in pairs if isinstance(name, str) and isinstance(part, dict)}


def read_kubeconfig(path: Path) -> Any:
    """What a kubeconfig holds, of whatever form.

    Raises:
        ReadError: the file cannot be read.
        ValueError: it is nested too deeply.
        YAMLError: it is no YAML.
    """
    try:
        return safe_load(read_text(path, limit=MAX_BYTES))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _documents() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The existing kubeconfig files, each with its folder. The connection reports what is wrong with one."""
    for path in kubeconfig_paths():
        try:
            document = read_kubeconfig(path)
        except (OSError, YAMLError, ValueError):
            continue
        if isinstance(document, dict):
            yield path.parent.absolute(), document


def kubeconfig_paths() -> list[Path]:
    """The kubeconfig files that count, whether they are there or not."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return [Path(name).expanduser() for name in named.split(os.pathsep) if name]


# The way to an API server as kubectl and the engine take it: what the Kubernetes client here does not read itself.
_PROXY_URL, _SERVER_NAME = "proxy-url", "tls-server-name"


class Route(NamedTuple):
    """How requests get to an API server."""

    proxy: str | None = None
    """URL of the proxy that they go through."""
    server_name: str | None = None
    """The name for which the server's certificate counts, where it is not the one in its address."""


def route(config: "KubeConfig", context: str, environment: Mapping[str, str]) -> Route:
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


def _said(config: "KubeConfig", name: str) -> Mapping[str, Any]:
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
