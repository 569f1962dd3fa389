"""Requests over HTTP, with credentials that belong to an address.

A stack file names the servers to ask, and its author may write any address there. So a password or token goes only
to an address that the operator named outside the project: on the command line, or in the variable beside the
credential. Uses only the standard library; never writes to a server.
"""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPException, InvalidURL
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from modelyard.files import ReadError, read_text
from modelyard.findings import Failure
from modelyard.hiding import Confidential

TIMEOUT: Final = 10.0
"""Timeout in seconds for one answer."""
ALLOW_HTTP: Final = "MODELYARD_ALLOW_HTTP"
"""Environment variable that allows sending credentials without TLS; any non-empty text."""
_MOST_WORDS: Final = 300
_MOST_BYTES: Final = 1024 * 1024
"""Size limit of a credential file; the longest tokens have some thousand bytes."""
_PORTS: Final = {"http": 80, "https": 443}


class Variables(NamedTuple):
    """The environment variables of one credential."""

    secret: str
    file: str
    """Variable with the path of a file that holds the secret."""
    urls: str
    """Variable with the addresses that the secret belongs to, separated by spaces."""
    user: str = ""


class Unusable(Failure):
    """A credential that cannot be used, or not for this address; the operator has to change something."""


class Unreachable(Failure):
    """A server that does not answer."""


NO_CREDENTIAL: Final = Confidential("")


class Reply(NamedTuple):
    """A server's answer."""

    status: int
    body: bytes
    """At most one byte more than requested, which marks a longer body."""
    location: str
    """Target of a redirect; never followed."""


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirects: credentials are for the given address, not for the redirect's target."""

    def redirect_request(self, *_: Any) -> None:
        return None


def get(url: str, authorization: Confidential[str], most_bytes: int, shown: str = "") -> Reply:
    """The answer to one GET that asks for JSON, whatever its status.

    Args:
        url: the address, without credentials.
        authorization: text of the header, empty for none.
        most_bytes: size limit of the body.
        shown: the address to show in messages, if not the whole one.

    Raises:
        Unreachable: the server does not answer.
    """
    headers = {"Accept": "application/json", "User-Agent": "modelyard"}
    if authorization:
        headers["Authorization"] = authorization.reveal()
    # Requests to this machine use no proxy, whatever http_proxy says: it would read the credentials.
    direct = [ProxyHandler({})] if _loopback(urlsplit(url).hostname or "") else []
    try:
        with build_opener(_NoRedirect, *direct).open(Request(url, headers=headers), timeout=TIMEOUT) as response:
            return Reply(response.status, response.read(most_bytes + 1), "")
    except HTTPError as error:
        with error:
            return Reply(error.code, _body(error, most_bytes), error.headers.get("Location", ""))
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise _unreachable(error, shown or url) from None


def _body(error: HTTPError, most_bytes: int) -> bytes:
    try:
        return error.read(most_bytes + 1)
    except (HTTPException, OSError, ValueError):
        return b""


def _unreachable(error: Exception, url: str) -> Unreachable:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = f"{url}: its certificate is not trusted: {reason.verify_message}"
        return Unreachable(why, "add its authority to the system's, or name it in SSL_CERT_FILE", lasting=True)
    if isinstance(reason, TimeoutError):
        return Unreachable(f"{url} does not answer within {TIMEOUT:.0f} seconds", "check the address and the network")
    if isinstance(reason, ValueError | InvalidURL):
        # The client's error message quotes what it cannot send, such as a token with a line break: do not show it.
        what = "the address or the credentials contain characters that cannot be sent"
        return Unreachable(f"{url} cannot be asked: {what}", "check address and credentials", lasting=True)
    words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    words = " ".join("".join(one if one.isprintable() else " " for one in words).split())[:_MOST_WORDS]
    return Unreachable(f"{url} cannot be reached: {words}", "check the address and the network")


def secret_for(
    url: str, variables: Variables, environment: Mapping[str, str], *, named: bool = False
) -> Confidential[str]:
    """The secret to send to an address, empty where none is set.

    Args:
        url: the server to ask.
        variables: the variables for the secret and its addresses.
        environment: the process's environment.
        named: whether the operator gave the address on the command line.

    Raises:
        Unusable: a credential is set but must not be sent there or cannot be read. The message never quotes it.
    """
    given = [name for name in (variables.secret, variables.file, variables.user) if environment.get(name, "").strip()]
    if not given:
        return NO_CREDENTIAL
    permit(url, given[0], environment, () if named else _urls(variables, environment), variables.urls, named=named)
    return _secret(variables, environment)


def permit(
    url: str,
    what: str,
    environment: Mapping[str, str],
    urls: tuple[str, ...] = (),
    variable: str = "",
    *,
    named: bool = False,
) -> None:
    """Checks that a credential may be sent to an address.

    Args:
        url: the address.
        what: the credential's name in messages.
        environment: the environment, which may allow plain HTTP.
        urls: the addresses that the credential belongs to.
        variable: the variable with those addresses.
        named: whether the operator named this very address beside the credential.

    Raises:
        Unusable: the credential belongs to another address, or would be sent without TLS.
    """
    origin = origin_of(url)
    if origin is None:
        raise Unusable(f"{what} is not sent: its address is not a URL such as https://host:1234", "correct the address")
    if not named and origin not in [origin_of(one) for one in urls]:
        says = f"{variable} has {' '.join(urls)}" if urls else f"{variable} is not set"
        raise Unusable(
            f"{what} is not sent to {origin}, the address in the stack file: {says}",
            f"if it belongs there, set {variable}={' '.join((*urls, origin))}; otherwise correct the address or unset "
            f"{what}",
        )
    host = urlsplit(origin).hostname or ""
    if origin.startswith("http:") and not _loopback(host) and not environment.get(ALLOW_HTTP, ""):
        raise Unusable(
            f"{origin} has no TLS, so others on the network could read {what}",
            f"use https, or set {ALLOW_HTTP}=true where you trust the network in between",
        )


def origin_of(url: str) -> str | None:
    """Scheme, host and port of an address as one text; None unless it is a plain HTTP address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    # Parsers disagree about the host in addresses with these characters.
    if not url.isascii() or not url.isprintable() or set(parts.netloc) & set('@%\\ <>"`{}|^'):
        return None
    if not host or parts.scheme not in _PORTS:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{_PORTS[parts.scheme] if port is None else port}"


def _urls(variables: Variables, environment: Mapping[str, str]) -> tuple[str, ...]:
    urls = tuple(environment.get(variables.urls, "").split())
    if not all(map(origin_of, urls)):
        # Do not show the value: it may hold a password.
        raise Unusable(f"{variables.urls} has something other than addresses", f"write {variables.urls}=https://host:1")
    return tuple(filter(None, map(origin_of, urls)))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(variables: Variables, environment: Mapping[str, str]) -> Confidential[str]:
    text = environment.get(variables.secret, "").strip()
    if not text and (file := environment.get(variables.file)):
        try:
            text = read_text(Path(file), limit=_MOST_BYTES).strip()
        except ReadError as error:
            raise Unusable(f"{file} cannot be read: {error.reason}", f"correct {variables.file}") from None
    if not text.isprintable():
        raise Unusable(f"{variables.secret} is not one line of text", f"correct {variables.secret} or {variables.file}")
    return Confidential(text)


def basic(user: str, password: Confidential[str]) -> Confidential[str]:
    """The Authorization header for a user and password."""
    return Confidential(f"Basic {b64encode(f'{user}:{password.reveal()}'.encode()).decode()}")


def bearer(token: Confidential[str]) -> Confidential[str]:
    """The Authorization header for a token; empty without a token."""
    return Confidential(f"Bearer {token.reveal()}") if token else NO_CREDENTIAL
