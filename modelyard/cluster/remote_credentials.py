"""Credentials of remote clusters that the kubeconfig does not have: from a Secret, or from the stack file.

Writes the credentials to a private kubeconfig in a folder that only this user can read and that is deleted with the
process. ``KUBECONFIG`` names it after the user's files, for this process and those that it starts, such as the engine.
So no plan, state, log or argument contains credentials.
"""

import atexit
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
from yaml import YAMLError, safe_load

from modelyard.cluster.connection import ClusterError, ask_server, connect, transport
from modelyard.cluster.engine_state import PulumiError, ask_engine
from modelyard.cluster.kubeconfig import kubeconfig_paths
from modelyard.files import parse_json
from modelyard.hiding import Confidential
from modelyard.servers import origin_of
from modelyard.stack.config import Stack, dotted
from modelyard.temporary import temporary_folder, write_private
from modelyard.workloads.facts.remote import ReachedCluster, own_context, remote_clusters

_PLAIN = ("token", "client-certificate-data", "client-key-data")
"""The keys that are read from a kubeconfig's user. Programs and paths would let the author of a Secret choose what runs
here."""
_REACHED = ("certificate-authority-data", "tls-server-name", "proxy-url")
"""The keys that are read from a kubeconfig's cluster. The address comes from the stack file."""
_Login = tuple[str, dict[str, str], Confidential[dict[str, str]]]
"""The server's address, how it is reached, and the user's credentials."""
_done: set[tuple[str, str]] = set()


def write_remote_credentials(root: Path, stack: Stack) -> None:
    """Makes a stack's remote clusters that have credentials reachable, once per process.

    Args:
        root: the project's folder, where the engine decrypts.
        stack: the stack of the clusters.

    Raises:
        ClusterError: the credentials are missing or unusable.
    """
    wanted = [one for one in remote_clusters(stack.config) if one.cluster.context is None]
    known = (str(root), stack.sha256 or stack.name)
    if not wanted or known in _done:
        return
    own = kubeconfig_paths()
    if not any(path.is_file() for path in own):
        # With one more file, the client would no longer use the service account of its pod.
        raise ClusterError(
            f"remote cluster {wanted[0].name} needs a kubeconfig, which does not exist",
            "create one with the context of the remote cluster, or set KUBECONFIG to one that has it",
        )
    texts = [_config(root, stack, one) for one in wanted]
    kept = ExitStack()
    atexit.register(kept.close)
    folder = kept.enter_context(temporary_folder())
    added = []
    for number, text in enumerate(texts):
        file = folder / f"kubeconfig-{number}"
        write_private(file, text.reveal())
        added.append(str(file))
    os.environ["KUBECONFIG"] = os.pathsep.join(map(str, (*own, *added)))
    _done.add(known)


def _config(root: Path, stack: Stack, remote: ReachedCluster) -> Confidential[str]:
    """A kubeconfig with one context, that of a remote cluster."""
    cluster = remote.cluster
    try:
        if cluster.credentials_secret is not None:
            given = _of_secret(_secret(stack, cluster.credentials_secret))
        elif cluster.credentials is not None:
            given = _of_kubeconfig(_decrypted(root, stack, (*remote.path, "credentials")))
        else:
            raise ValueError("the stack file names none")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, YAMLError) as error:
        # The parser's message may quote a part of a key.
        why = str(error) if type(error) is ValueError else "they are not a kubeconfig with a token or a certificate"
        raise ClusterError(
            f"remote cluster {remote.name}: its credentials cannot be used: {why}",
            "give a kubeconfig with a token or certificate in it, or name a context instead (modelyard explain REM012)",
        ) from None
    server, authority, user = given
    _belongs(remote, server, authority)
    name = own_context(remote.name)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": cluster.controller, **authority}}],
        "users": [{"name": name, "user": user.reveal()}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return Confidential(json.dumps(document))


def _belongs(remote: ReachedCluster, server: str, authority: Mapping[str, str]) -> None:
    """Allows credentials to go to the address in the stack file.

    The author of the stack file may write any address. So the address must be the one in the kubeconfig that contains
    the credentials, or the certificate authority that comes with the credentials must have signed the server's
    certificate.

    Raises:
        ClusterError: the credentials are not known to belong to the address.
    """
    there = origin_of(remote.cluster.controller)
    if there is not None and there == origin_of(server):
        return
    if "certificate-authority-data" in authority and there is not None and there.startswith("https:"):
        return
    raise ClusterError(
        f"remote cluster {remote.name}: credentials not sent, because nothing proves that they belong to its "
        f"controller",
        "add the cluster's certificate authority to them (certificate-authority-data of the kubeconfig, ca.crt of the "
        "Secret), or use a kubeconfig whose server is the controller",
    )


def _secret(stack: Stack, name: str) -> Confidential[dict[str, str]]:
    """The data of a Secret in the platform's namespace."""
    client, namespace = connect(stack.context), stack.config.platform.namespace
    path = f"/api/v1/namespaces/{namespace}/secrets/{name}"

    def get() -> Mapping[str, Any]:
        answer = transport(client).get(path)
        if answer.status_code == 404:
            raise ClusterError(f"namespace {namespace} has no Secret {name}", "create it, or correct credentialsSecret")
        answer.raise_for_status()
        return dict(parse_json(answer.content).get("data") or {})

    try:
        data = ask_server(get, f"Secret {name}")
        return Confidential({key: b64decode(value).decode() for key, value in data.items()})
    except UnicodeDecodeError:
        raise ValueError(f"Secret {name} holds no text") from None
    except httpx2.HTTPError as error:
        raise ClusterError(f"Secret {name} cannot be read", "check the API server") from error


def _of_secret(secret: Confidential[dict[str, str]]) -> _Login:
    """Server, cluster and user from a Secret.

    The Secret's keys are ``kubeconfig``, or ``token`` and ``ca.crt`` of a service account, which name no server.
    """
    data = secret.reveal()
    if "kubeconfig" in data:
        return _of_kubeconfig(Confidential(data["kubeconfig"]))
    if "token" not in data:
        raise ValueError("the Secret has neither the key kubeconfig nor the key token")
    authority = data.get("ca.crt", "")
    found = {"certificate-authority-data": b64encode(authority.encode()).decode()} if authority else {}
    return "", found, Confidential({"token": data["token"].strip()})


def _of_kubeconfig(text: Confidential[str]) -> _Login:
    """Server, cluster and user of a kubeconfig's current context, or of its only one."""
    document = safe_load(text.reveal())
    contexts = {one["name"]: one["context"] for one in document["contexts"]}
    current = document.get("current-context") or (next(iter(contexts)) if len(contexts) == 1 else "")
    chosen = contexts[current]
    (cluster,) = [one["cluster"] for one in document["clusters"] if one["name"] == chosen["cluster"]]
    (user,) = [one["user"] for one in document["users"] if one["name"] == chosen["user"]]
    kept = {key: str(user[key]) for key in _PLAIN if user.get(key)}
    if not kept:
        raise ValueError("the kubeconfig has neither a token nor a certificate in it")
    reached = {key: str(cluster[key]) for key in _REACHED if cluster.get(key)}
    return str(cluster.get("server", "")), reached, Confidential(kept)


def _decrypted(root: Path, stack: Stack, path: Iterable[str | int]) -> Confidential[str]:
    """An encrypted value of the stack file, decrypted by the engine."""
    key = f"modelyard:{dotted(tuple(path))}"
    try:
        done = ask_engine(root, "config", "get", "--non-interactive", "--stack", stack.name, "--path", key)
    except PulumiError:
        raise ValueError("the Pulumi CLI (pulumi), which decrypts them, does not run") from None
    if done.returncode != 0:
        raise ValueError("Pulumi cannot decrypt them: check PULUMI_CONFIG_PASSPHRASE")
    return Confidential(done.stdout.decode("utf-8", "replace"))
