"""Reads one JSON document from a server that reports jobs."""

from typing import Any, Final

from modelyard import servers
from modelyard.files import parse_json
from modelyard.hiding import Confidential
from modelyard.probes.values import JobSourceError

MOST_BYTES: Final = 16 * 2**20


def get_json(url: str, authorization: Confidential[str], what: str, let_in: str) -> Any:
    """The document at an address.

    Args:
        url: without credentials.
        authorization: text of the header, empty for none.
        what: name of the server, for messages.
        let_in: what the user can do if the server denies access.

    Raises:
        JobSourceError: there is no document.
    """
    try:
        reply = servers.get(url, authorization, MOST_BYTES)
    except servers.Unreachable as error:
        raise JobSourceError(error.summary, error.remedy, lasting=error.lasting) from None
    if reply.status >= 300:
        raise _refused(reply.status, url, what, let_in)
    if len(reply.body) > MOST_BYTES:
        raise JobSourceError(f"the answer of {url} is larger than {MOST_BYTES >> 20} MiB")
    return parsed(reply.body, url, what)


def parsed(body: bytes, url: str, what: str) -> Any:
    """A body as JSON.

    Raises:
        JobSourceError: the body is not JSON.
    """
    try:
        return parse_json(body)
    except ValueError:
        raise JobSourceError(f"{url} is not {what}", "check the address and its path") from None


def _refused(code: int, url: str, what: str, let_in: str) -> JobSourceError:
    if code in (401, 403):
        return JobSourceError(f"{url} rejects the credentials (HTTP {code})", let_in, lasting=True)
    lasting = 300 <= code < 500 and code not in (408, 425, 429)
    return JobSourceError(f"{url} is not {what} (HTTP {code})", "check the address and its path", lasting=lasting)
