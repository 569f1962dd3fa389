"""Requests over HTTP, with credentials that belong to an address.

A stack file says whom to ask, and its author may write any address there. So a password or token is sent
only to an address that the operator named outside the project: on the command line, or in the variable beside the
credential. Nothing but the standard library; nothing is ever written to a server.
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

TIMEOUT: Final = 10.0
"""Seconds for one answer."""
ALLOW_HTTP: Final = "MODELYARD_ALLOW_HTTP"
"""Environment variable with which credentials may be sent without TLS; any text but an empty one."""
_MOST_WORDS: Final = 300
_MOST_BYTES: Final = 1024 * 1024
"""Of a file with a credential; the longest tokens have some thousand."""
_PORTS: Final = {"http": 80, "https": 443}


class Variables(NamedTuple):
    """The environment variables of one credential."""

    secret: str
    file: str
    """Names a file that holds the secret."""
    urls: str
    """Names the addresses that it belongs to, separated by spaces."""
    user: str = ""


class Unusable(Exception):
    """A credential cannot be used, or not for this address: the operator has to change something."""

    def __init__(self, summary: str, remedy: str) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy


class Unreachable(Exception):
    """A server gives no answer."""

    def __init__(self, summary: str, remedy: str, *, lasting: bool = False) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy
        self.lasting = lasting
        """Whether asking again is of no use."""


class Credential:
    """A secret text, or an empty one. No message, log or traceback shows it by accident: only ``reveal`` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the request that sends it."""
        return self._text

    def __repr__(self) -> str:
        return "(hidden)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Credential) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


NO_CREDENTIAL: Final = Credential()


class Reply(NamedTuple):
    """What a server answers."""

    status: int
    body: bytes
    """One byte more than was asked for where it is longer."""
    location: str
    """Where a redirect leads; nobody follows it."""


class _NoRedirect(HTTPRedirectHandler):
    """Credentials are for the address that was given, not for one that it leads to."""

    def redirect_request(self, *_: Any) -> None:
        return None


def get(url: str, authorization: Credential, most_bytes: int, shown: str = "") -> Reply:
    """The answer to one GET that asks for JSON, whatever its status.

    Args:
        url: without credentials.
        authorization: text of the header, empty for none.
        most_bytes: of the body.
        shown: the address in messages, where it is not the whole one.

    Raises:
        Unreachable: there is no answer.
    """
    headers = {"Accept": "application/json", "User-Agent": "modelyard"}
    if authorization:
        headers["Authorization"] = authorization.reveal()
    # What goes to this machine goes through no proxy, whatever http_proxy says: it would read the credentials.
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
        return Unreachable(f"{url} does not answer within {TIMEOUT:.0f} seconds", "check address and network")
    if isinstance(reason, ValueError | InvalidURL):
        # What cannot be sent, such as a token with a line break, is quoted in the client's words.
        what = "the address or the credentials contain characters that cannot be sent"
        return Unreachable(f"{url} cannot be asked: {what}", "check address and credentials", lasting=True)
    words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    words = " ".join("".join(one if one.isprintable() else " " for one in words).split())[:_MOST_WORDS]
    return Unreachable(f"{url} is out of reach: {words}", "check address and network")


def secret_for(url: str, variables: Variables, environment: Mapping[str, str], *, named: bool = False) -> Credential:
    """The secret to send to an address, empty where none is set.

    Args:
        url: whom to ask.
        variables: where the secret and its addresses stand.
        environment: the process's.
        named: whether the operator gave the address on the command line.

    Raises:
        Unusable: there is a credential, and it may not be sent there or cannot be read. Nothing of it is in the text.
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
    """Lets a credential be sent to an address.

    Args:
        url: the address.
        what: what the credential is called in messages.
        environment: where plain HTTP may be allowed.
        urls: the addresses that it belongs to.
        variable: where those stand.
        named: whether the operator named this very address beside the credential.

    Raises:
        Unusable: it belongs to another address, or would be sent without TLS.
    """
    origin = origin_of(url)
    if origin is None:
        raise Unusable(f"{what} is not sent: its address is not a URL such as https://host:1234", "correct the address")
    if not named and origin not in [origin_of(one) for one in urls]:
        says = f"{variable} has {' '.join(urls)}" if urls else f"{variable} is not set"
        raise Unusable(
            f"the stack file asks {origin}, and {what} is not known to belong there: {says}",
            f"if it does, set {variable}={' '.join((*urls, origin))}; otherwise correct the address or unset {what}",
        )
    host = urlsplit(origin).hostname or ""
    if origin.startswith("http:") and not _loopback(host) and not environment.get(ALLOW_HTTP, ""):
        raise Unusable(
            f"{origin} is asked without TLS, so {what} would be readable on the way",
            f"use https, or set {ALLOW_HTTP}=true where you trust the network in between",
        )


def origin_of(url: str) -> str | None:
    """Scheme, host and port of an address as one text, None where it is no plain address of HTTP."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    # Characters that two readers of addresses take for different hosts.
    if not url.isascii() or not url.isprintable() or set(parts.netloc) & set('@%\\ <>"`{}|^'):
        return None
    if not host or parts.scheme not in _PORTS:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{_PORTS[parts.scheme] if port is None else port}"


def _urls(variables: Variables, environment: Mapping[str, str]) -> tuple[str, ...]:
    urls = tuple(environment.get(variables.urls, "").split())
    if not all(map(origin_of, urls)):
        # Not shown: it may hold a password.
        raise Unusable(f"{variables.urls} has something other than addresses", f"write {variables.urls}=https://host:1")
    return tuple(filter(None, map(origin_of, urls)))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(variables: Variables, environment: Mapping[str, str]) -> Credential:
    text = environment.get(variables.secret, "").strip()
    if not text and (file := environment.get(variables.file)):
        try:
            text = read_text(Path(file), limit=_MOST_BYTES).strip()
        except ReadError as error:
            raise Unusable(f"{file} cannot be read: {error.reason}", f"correct {variables.file}") from None
    if not text.isprintable():
        raise Unusable(f"{variables.secret} is not one line of text", f"correct {variables.secret} or {variables.file}")
    return Credential(text)


def basic(user: str, password: Credential) -> Credential:
    """The header's text for user and password."""
    return Credential(f"Basic {b64encode(f'{user}:{password.reveal()}'.encode()).decode()}")


def bearer(token: Credential) -> Credential:
    """The header's text for a token; empty without one."""
    return Credential(f"Bearer {token.reveal()}") if token else NO_CREDENTIAL
