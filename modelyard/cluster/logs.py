"""Reads the log of a container through the API server."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import httpx2
from lightkube import Client

from modelyard.cluster.connection import TIMEOUT, ClusterError, ask_server, status, transport

_NONE: Final = (400, 404, 500, 502, 503, 504)
_QUIET: Final = httpx2.Timeout(TIMEOUT, read=None)
"""Following a log has no read timeout: the next line may take hours."""


class LogRequest(NamedTuple):
    """Selects lines of the log of a container."""

    namespace: str
    pod: str
    container: str
    tail: int | None = None
    """The number of last lines; None: all lines."""
    previous: bool = False
    """Whether to read the log of the container before its last restart."""
    follow: bool = False
    timestamps: bool = False
    """Whether each line starts with the time at which it was written, in RFC 3339 with nanoseconds, and a space."""
    since: str = ""
    """Only lines of this time and later; empty: all."""


class NoLogError(Exception):
    """A container without a log, with the API server's message."""


def log_lines(client: Client, wanted: LogRequest) -> Iterator[str]:
    """The lines of a log, without line ends, as they arrive.

    Raises:
        ClusterError: the API server does not answer or denies access.
        NoLogError: the container has not started or is gone, or its node does not answer.
    """
    path = f"/api/v1/namespaces/{wanted.namespace}/pods/{wanted.pod}/log"
    params = {"container": wanted.container}
    if wanted.tail is not None:
        params["tailLines"] = str(wanted.tail)
    params |= {name: "true" for name in ("previous", "follow", "timestamps") if getattr(wanted, name)}
    if wanted.since:
        params["sinceTime"] = wanted.since
    timeout = _QUIET if wanted.follow else httpx2.Timeout(TIMEOUT)
    request = transport(client).build_request("GET", path, params=params, timeout=timeout)
    answer = ask_server(lambda: transport(client).send(request, stream=True), "pods/log")
    try:
        if not answer.is_success:
            answer.read()
            # The API server asks the node; a node that does not answer is not a failure of the API server.
            if answer.status_code in _NONE and (words := status(answer).get("message")):
                raise NoLogError(str(words))
            ask_server(answer.raise_for_status, f"pods/log of {wanted.pod}")
        yield from _lines(answer.iter_bytes())
    except httpx2.TransportError as error:
        raise ClusterError(f"the log of {wanted.pod} broke off: {error}", "run the command again") from error
    finally:
        answer.close()


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Text line by line; the last line may lack a line end."""
    left = b""
    for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if left:
        yield left.decode("utf-8", "replace")
