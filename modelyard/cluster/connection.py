"""A connection to a cluster's API server: its address, its credentials, and an error for each reason to get no answer.

Uses only the client's credentials and HTTP, not its typed answers: the client creates a type when the first answer of
that type arrives, without a lock, so two first answers at once can end the process.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import NameValue
from lightkube.core.exceptions import ConfigError
from yaml import MarkedYAMLError, YAMLError

from modelyard.cluster.kubeconfig import MAX_BYTES, kubeconfig_paths, read_kubeconfig, route
from modelyard.files import ReadError, parse_json, read_file
from modelyard.findings import Failure
from modelyard.hiding import hidden_text
from modelyard.servers import Unusable, permit
from modelyard.stack import Stack

_PLUGIN_INFO = "KUBERNETES_EXEC_INFO"
_PLUGIN_V1, _PLUGIN_V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
_ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")
_PLUGIN_ENDED = re.compile(r"Exec (.+?) returned (-?\d+):")
_FILES = ("certificate_auth", "client_cert", "client_key", "token_file")
"""The client's names for the settings of a kubeconfig's cluster or user that name a file."""
AT_ONCE = 8
"""The most requests at a time when many objects or lists are read."""
TIMEOUT = 10.0
"""Seconds to wait for one answer of the API server."""
CONTEXT_KEY = "kubernetes:context in the stack file"
"""What sets the context of a stack's cluster."""
T = TypeVar("T")
_READING: Final = Lock()
"""Held while a kubeconfig is read: the client creates its types on the first read, without a lock of its own, and two
threads that do so at once can end the process. Pulumi reads several resources of a program at once.
"""


class ClusterError(Failure):
    """The cluster cannot be reached or used: why, and what to do about it."""


def connect(context: str | None, named: str = CONTEXT_KEY) -> Client:
    """A client for a context of the kubeconfig, or for its current context.

    ``KUBECONFIG`` may list several files, as for kubectl; the first file that has the context counts. Proxies and
    certificate names follow kubectl too (``route``).

    Args:
        context: name of the context.
        named: what sets the context: a key and its file, or an option.

    Raises:
        ClusterError: there is no kubeconfig, it cannot be used, or it lacks the context.
    """
    return connected(kubeconfigs(), context, named)


def connected(configs: Sequence[KubeConfig], context: str | None, named: str = CONTEXT_KEY) -> Client:
    """A client for a context of kubeconfigs that were read before, as ``connect``.

    Raises:
        ClusterError: the kubeconfigs lack the context, or it cannot be used.
    """
    wanted = context or _current(configs)
    if wanted is None:
        raise ClusterError("the kubeconfig has no current context", f"set {named}", lasting=True)
    found = next((config for config in configs if wanted in config.contexts), None)
    if found is None:
        have = ", ".join(sorted(str(name) for config in configs for name in config.contexts)) or "none"
        raise ClusterError(
            f"the kubeconfig has no context {wanted!r}; it has {have}",
            f"set {named}, or point KUBECONFIG at the right file",
            lasting=True,
        )
    try:
        return _client(found, wanted)
    except KeyError as error:
        raise ClusterError(
            f"context {wanted!r} of the kubeconfig names {error}, which is not in it",
            "correct the kubeconfig",
            lasting=True,
        ) from error
    except (OSError, ValueError, ConfigError, AssertionError, httpx2.InvalidURL) as error:
        raise _no_credentials(error) from error


def check_context(stack: Stack) -> None:
    """Refuses a stack whose cluster only the kubeconfig's current context names, before anything is changed there.

    Without a kubeconfig, the service account of the pod leads to one cluster, so no name is needed.

    Raises:
        ClusterError: the stack names no context, and there is a kubeconfig.
    """
    if stack.context is None and any(path.exists() for path in kubeconfig_paths()):
        raise ClusterError(
            f"{stack.name} does not name its cluster: kubernetes:context is not set; nothing was changed",
            f"set it in {stack.file}: the current context of the kubeconfig may lead to another cluster",
        )


def current_context() -> str | None:
    """The context that ``connect`` uses if it is given none.

    Raises:
        ClusterError: there is no kubeconfig, or it cannot be used.
    """
    return _current(kubeconfigs())


def _current(configs: Iterable[KubeConfig]) -> str | None:
    return next((config.current_context for config in configs if config.current_context), None)


def _client(config: KubeConfig, context: str) -> Client:
    _check_server(config, context)
    way = route(config, context, os.environ)
    proxy = None if way.proxy is None else way.proxy.reveal()
    if proxy is not None:
        _check_proxy(proxy)
    single = config.get(context)
    assert single is not None
    if _has_secret(single) and urlsplit(single.cluster.server).scheme == "http":
        # kubectl then omits the credentials silently.
        try:
            permit(single.cluster.server, f"the login of context {context!r}", os.environ, named=True)
        except Unusable as error:
            raise ClusterError(error.summary, error.remedy) from None
    # The client would also read CA bundles and the passwords of .netrc from the environment; kubectl does not.
    made = Client(
        config=_with_plugin_info(_with_files(single)),
        timeout=httpx2.Timeout(TIMEOUT),
        trust_env=False,
        proxy=proxy,
    )
    if way.server_name is not None:
        named = {"sni_hostname": way.server_name}
        transport(made).event_hooks = {"request": [lambda request: request.extensions.update(named)]}
    return made


def _has_secret(config: SingleConfig) -> bool:
    """Whether requests carry a password or a token; certificates apply under TLS only."""
    if "@" in config.cluster.server:
        return True
    user = config.user
    return user is not None and any((user.token, user.token_file, user.username, user.password, user.exec))


def _with_files(config: SingleConfig) -> SingleConfig:
    """The config, after a check that the files that it names can be read: the client would wait for a pipe.

    Makes paths absolute from the kubeconfig's folder, because the client does not do so for all of them.

    Raises:
        ReadError: a file cannot be read.
    """
    for part, name in product((config.cluster, config.user), _FILES):
        file = getattr(part, name, None)
        if not file or getattr(part, f"{name}_data", None):
            continue
        path = Path(config.abs_file(file))
        read_file(path, limit=MAX_BYTES)
        setattr(part, name, str(path))
    return config


def _check_server(config: KubeConfig, context: str) -> None:
    """Rejects an address of the API server that is not a URL; the error would not name it."""
    server = config.clusters[config.contexts[context].cluster].server
    try:
        urlsplit(server)
        httpx2.URL(server)
    except (ValueError, httpx2.InvalidURL):
        summary = "the address of the API server is not a URL"
        remedy = "correct server of the cluster in the kubeconfig: kubectl config view shows it"
        raise ClusterError(summary, remedy, lasting=True) from None


def _check_proxy(url: str) -> None:
    """Rejects a proxy that the client cannot use; the client's message is not for users and may quote a password."""
    try:
        httpx2.Proxy(url)
    except (ValueError, httpx2.InvalidURL):
        raise ClusterError(
            "the proxy to the API server cannot be used: its address is not a proxy URL",
            "write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT as proxy-url of the kubeconfig, "
            "or in HTTPS_PROXY",
        ) from None
    if url.startswith("socks") and find_spec("socksio") is None:
        raise ClusterError(
            "the proxy to the API server needs SOCKS support, which is not installed",
            "run pip install socksio in the virtual environment of modelyard",
        )


def _with_plugin_info(config: SingleConfig) -> SingleConfig:
    """The config, with the environment variable that its credential plugin needs.

    Plugins of ``client.authentication.k8s.io/v1`` read the form of their answer from ``KUBERNETES_EXEC_INFO``. The
    client does not set this variable and accepts only plugins of earlier versions; both forms have the token in the
    same place.
    """
    user = config.user
    if user is None or user.exec is None:
        return config
    plugin = user.exec
    asked = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
    changed = copy(user)
    changed.exec = copy(plugin)
    changed.exec.env = [*(plugin.env or ()), NameValue(_PLUGIN_INFO, json.dumps(asked))]
    if plugin.apiVersion == _PLUGIN_V1:
        changed.exec.apiVersion = _PLUGIN_V1BETA1
    return config._replace(user=changed)


def _no_credentials(error: Exception) -> ClusterError:
    if isinstance(error, ReadError):
        remedy = "correct the file or its path in the kubeconfig"
    elif isinstance(error, FileNotFoundError) and error.filename:
        remedy = "install this credential plugin, or correct its command in the kubeconfig"
    else:
        remedy = "log in to the cluster again"
    return ClusterError(f"the kubeconfig's credentials cannot be used: {_why(error)}", remedy)


def _why(error: Exception) -> str:
    """What is wrong with credentials, without quoting them or the output of a plugin."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1} is not YAML"
    if isinstance(error, ReadError):
        return f"{error.filename}: {error.reason}"
    if isinstance(error, OSError):
        reason = (error.strerror or type(error).__name__).lower()
        return f"{reason}: {error.filename}" if error.filename else reason
    if isinstance(error, LookupError):
        return f"it lacks {error}"
    if isinstance(error, ConfigError):
        words = str(error)
        if _missing(error):
            return "it does not exist"
        plugin = _PLUGIN_ENDED.match(words)
        if plugin is None:
            return hidden_text(words)
        return f"the credential plugin {plugin[1]} ended with {plugin[2]}; run it by hand to see why"
    return "the content is not that of a kubeconfig"


def _missing(error: Exception) -> bool:
    """Whether the client found no kubeconfig; its error has no type of its own."""
    words = str(error)
    return isinstance(error, ConfigError) and words.startswith("Configuration file ") and words.endswith(" not found")


def kubeconfigs() -> list[KubeConfig]:
    """The kubeconfig files that exist, or else the service account of the pod in which this process runs.

    Raises:
        ClusterError: there is none, or one cannot be read.
    """
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    found = []
    try:
        for path in kubeconfig_paths():
            try:
                content = read_kubeconfig(path).reveal()
                with _READING:
                    found.append(KubeConfig.from_dict(content, path))
            except ReadError as error:
                if not error.missing:
                    raise
        with _READING:
            return found or [KubeConfig.from_env()]
    except (ConfigError, OSError, YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The client does not validate a file that is no kubeconfig, so it fails at whatever it reads first.
        why = _why(error).removeprefix(f"{os.path.expanduser(named)}: ")  # noqa: PTH111 (no home)
        remedy = f"set KUBECONFIG to your kubeconfig, or {'create' if _missing(error) else 'correct'} the file"
        raise ClusterError(f"cannot read the kubeconfig {named}: {why}", remedy, lasting=True) from error


def transport(client: Client) -> httpx2.Client:
    """The client's HTTP transport. Paths are relative to the API server's root."""
    found: httpx2.Client = client._client._client
    return found


def sent(send: Callable[[], httpx2.Response]) -> httpx2.Response:
    """Sends a request, and again if the connection fails: among many handshakes at once, one may fail by chance."""
    try:
        return send()
    except httpx2.ConnectError:
        return send()


def ask_server(question: Callable[[], T], what: str) -> T:
    """The API server's answer to a request about ``what``; if there is none, a ClusterError shows why."""
    try:
        return question()
    except httpx2.HTTPStatusError as error:
        raise _refused(error.response, what) from error
    except httpx2.UnsupportedProtocol as error:
        summary = "the address of the API server does not start with https:// or http://"
        remedy = "correct server of the cluster in the kubeconfig: kubectl config view shows it"
        raise ClusterError(summary, remedy, lasting=True) from error
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        raise ClusterError(
            f"the API server cannot be reached: {_transport_words(error)}{_place(error)}",
            "check the context, the network and the cluster",
        ) from error
    except (ConfigError, OSError, AssertionError) as error:
        # The client runs programs that fetch credentials only when it asks the first question.
        raise _no_credentials(error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"the answer for {what} is not from a Kubernetes API server ({type(error).__name__})",
            "check the server in the kubeconfig",
        ) from error


def _transport_words(error: Exception) -> str:
    """The client's message, unless it quotes a text that cannot be sent, such as a token with a line break."""
    if isinstance(error, httpx2.LocalProtocolError | httpx2.InvalidURL):
        return "the address or the credentials contain characters that cannot be sent"
    return hidden_text(_ERROR_NUMBER.sub("", str(error)))


def _place(error: Exception) -> str:
    """The address of a request without credentials; empty if no request was sent."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return ""
    return f" ({url.scheme}://{url.netloc.decode()})"


def _refused(answer: httpx2.Response, what: str) -> ClusterError:
    code, reason = answer.status_code, message(answer)
    if code == 401:
        summary = "the cluster does not accept these credentials; they may have expired"
        return ClusterError(summary, "log in to the cluster again", lasting=True)
    if code == 403 and reason:
        summary = f"these credentials may not read {what}: {reason}"
        remedy = "ask for the right to get and list them; modelyard doctor shows missing rights"
        return ClusterError(summary, remedy, lasting=True)
    words = f"did not return {what}: {reason}" if reason else f"answered {code} for {what}"
    return ClusterError(f"the API server {words}", "check the API server", lasting=code == 403)


def status(answer: httpx2.Response) -> dict[str, Any]:
    """The answer's JSON object, a ``Status`` after an error; empty if the answer is not a JSON object."""
    try:
        found = parse_json(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def message(answer: httpx2.Response) -> str:
    """The API server's message; empty if another server answered."""
    found = status(answer)
    return str(found.get("message", "")) if found.get("kind") == "Status" else ""


def error_words(answer: httpx2.Response) -> str:
    """The message of an error, or its number if it has none."""
    return str(status(answer).get("message") or f"the API server answered {answer.status_code}")
