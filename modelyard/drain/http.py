"""One GET of a JSON document. Nothing but the standard library; nothing is ever written there."""

import json
import ssl
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from modelyard.drain.values import Unanswered

TIMEOUT: Final = 10.0
"""Seconds for one answer."""
MOST_BYTES: Final = 16 * 2**20


class _NoRedirect(HTTPRedirectHandler):
    """Credentials are for the address that was given, not for one that it leads to."""

    def redirect_request(self, *_: Any) -> None:
        return None


def get_json(url: str, authorization: str, what: str, let_in: str) -> Any:
    """The document at an address.

    Args:
        url: without credentials.
        authorization: text of the header, empty for none.
        what: who answers there, for messages.
        let_in: what to do when it does not let us in.

    Raises:
        Unanswered: there is none.
    """
    headers = {"Accept": "application/json", "User-Agent": "modelyard"}
    if authorization:
        headers["Authorization"] = authorization
    try:
        with build_opener(_NoRedirect).open(Request(url, headers=headers), timeout=TIMEOUT) as response:
            body = response.read(MOST_BYTES + 1)
    except HTTPError as error:
        with error:
            raise _refused(error.code, url, what, let_in) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise _unreachable(error, url) from None
    if len(body) > MOST_BYTES:
        raise Unanswered(f"{url} answers more than {MOST_BYTES >> 20} MiB")
    return parsed(body, url, what)


def parsed(body: bytes, url: str, what: str) -> Any:
    """A body as JSON.

    Raises:
        Unanswered: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Unanswered(f"{url} does not answer as {what} does", "check the address and its path") from None


def _refused(code: int, url: str, what: str, let_in: str) -> Unanswered:
    if code in (401, 403):
        return Unanswered(f"{url} does not let us in (HTTP {code})", let_in, lasting=True)
    lasting = 300 <= code < 500 and code not in (408, 425, 429)
    return Unanswered(f"{url} answers HTTP {code}, not as {what}", "check the address and its path", lasting=lasting)


def _unreachable(error: Exception, url: str) -> Unanswered:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = f"{url}: its certificate is not trusted: {reason.verify_message}"
        return Unanswered(why, "add its authority to the system's, or name it in SSL_CERT_FILE", lasting=True)
    if isinstance(reason, TimeoutError):
        return Unanswered(f"{url} does not answer within {TIMEOUT:.0f} seconds", "check address and network")
    words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return Unanswered(f"{url} is out of reach: {words}", "check address and network")


def secret(environment: Mapping[str, str], name: str, file_name: str) -> str:
    """A secret from a variable, or from the file that another one names; empty where there is none.

    Raises:
        Unanswered: the file cannot be read, or what stands there cannot be sent.
    """
    text = environment.get(name, "").strip()
    if not text and (file := environment.get(file_name)):
        try:
            text = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise Unanswered(f"{file} cannot be read: {why}", f"correct {file_name}", lasting=True) from None
    if not text.isprintable():
        raise Unanswered(f"{name} is not one line of text", f"correct {name} or {file_name}", lasting=True)
    return text


def basic(user: str, password: str) -> str:
    """The header's text for user and password."""
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
