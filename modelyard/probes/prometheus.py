"""Asks a Prometheus server over its HTTP API.

Credentials come from the address (``https://user:password@host``), from the variable ``MODELYARD_PROMETHEUS_TOKEN`` or
from the file that ``MODELYARD_PROMETHEUS_TOKEN_FILE`` names. Credentials go into one header and into no message, and
only to an address from the command line or from ``MODELYARD_PROMETHEUS_URL``.
"""

import math
import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from modelyard.files import parse_json
from modelyard.findings import Failure
from modelyard.hiding import Confidential
from modelyard.probes.values import Busy, JobSourceError
from modelyard.servers import (
    NO_CREDENTIAL,
    TIMEOUT,
    Reply,
    Unreachable,
    Unusable,
    Variables,
    basic,
    bearer,
    get,
    permit,
    secret_for,
)
from modelyard.stack.words import cut
from modelyard.workloads.training.backend import Numbers

TOKEN: Final = "MODELYARD_PROMETHEUS_TOKEN"
TOKEN_FILE: Final = "MODELYARD_PROMETHEUS_TOKEN_FILE"
URL: Final = "MODELYARD_PROMETHEUS_URL"
MOST_BYTES: Final = 8 * 2**20
_MOST_WORDS: Final = 300


class BadAddress(Failure):
    """An address, or the credentials for it, that cannot be used."""


class ServerError(Failure):
    """A server that is unreachable, or does not answer as Prometheus does."""


class Server(NamedTuple):
    """A server and its credentials."""

    url: str
    """The address without credentials and without a slash at the end."""
    authorization: Confidential[str] = NO_CREDENTIAL
    """Text of the header, empty for none."""


class QueryAnswer(NamedTuple):
    """The server's answer to a query."""

    kind: str
    """``scalar``, ``vector``, ``matrix`` or ``string``."""
    series: int | None
    """The number of series; None if there are too many to read."""
    values: tuple[float, ...] = ()
    labels: tuple[Mapping[str, str], ...] = ()


class Refused(NamedTuple):
    """A query that the server rejects."""

    words: str
    """The server's message, on one line and shortened."""


def server(url: str, environment: Mapping[str, str], *, named: bool = False) -> Server:
    """The server at an address.

    Args:
        url: ``http://host:9090``, a path before the API allowed.
        environment: variables that may contain a token.
        named: whether the operator gave the address on the command line, not the stack file.

    Raises:
        BadAddress: the address or the credentials cannot be used. The message holds no credentials.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadAddress("the address of the Prometheus server is not a URL", _FORM) from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadAddress("the address of the Prometheus server is not an http or https URL", _FORM)
    if parts.query or parts.fragment or not _printable(f"{host}{parts.path}"):
        raise BadAddress("the address of the Prometheus server has more than a host and a path", _FORM)
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    plain = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    try:
        return Server(plain, _authorization(parts, plain, environment, named))
    except Unusable as error:
        raise BadAddress(error.summary, error.remedy) from None


_FORM: Final = "write it as http://prometheus.example.com:9090"


def _authorization(parts: SplitResult, plain: str, environment: Mapping[str, str], named: bool) -> Confidential[str]:
    token = secret_for(plain, Variables(TOKEN, TOKEN_FILE, URL), environment, named=named)
    if token and parts.username is not None:
        raise BadAddress(f"both the address and {TOKEN} have credentials", f"drop one of them, or unset {TOKEN}")
    if token:
        if not _printable(token.reveal()) or " " in token.reveal():
            raise BadAddress("the token has spaces or characters other than printable ASCII", f"correct {TOKEN}")
        return bearer(token)
    if parts.username is None:
        return NO_CREDENTIAL
    permit(plain, "the password of the address", environment, named=True)
    return basic(unquote(parts.username), Confidential(unquote(parts.password or "")))


def _printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def ask(server: Server, query: str) -> QueryAnswer | Refused:
    """Runs a query at the server's current time.

    Raises:
        ServerError: the server gives no usable answer.
    """
    try:
        data = _fetch(server, "query", {"query": query, "timeout": f"{TIMEOUT:.0f}s"})
    except _TooMuch:
        return QueryAnswer("vector", None)
    if isinstance(data, Refused):
        return data
    try:
        kind, result = str(data["resultType"]), data["result"]
        if kind in ("scalar", "string"):
            return QueryAnswer(kind, 1, (float(result[1]),) if kind == "scalar" else ())
        labels = tuple({str(name): str(value) for name, value in one["metric"].items()} for one in result)
        values = tuple(float(one["value"][1]) if "value" in one else float("nan") for one in result)
        return QueryAnswer(kind, len(result), values if kind == "vector" else (), labels)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise _strange(server) from None


def ask_jobs(source: Numbers) -> Busy:
    """The jobs of a training backend, from a query whose one value is their number.

    Raises:
        JobSourceError: there is no answer.
    """
    try:
        return jobs_of(ask(server(source.server, os.environ), source.query))
    except (ServerError, BadAddress) as error:
        raise JobSourceError(error.summary, error.remedy, lasting=isinstance(error, BadAddress)) from error


def jobs_of(answer: QueryAnswer | Refused) -> Busy:
    """The jobs in an answer. An answer without series does not count: a missing metric looks like an idle backend.

    Raises:
        JobSourceError: the answer is not one number of 0 or more.
    """
    if isinstance(answer, Refused):
        raise JobSourceError(f"the server rejects the query: {answer.words}", "correct the query", lasting=True)
    if answer.kind not in ("scalar", "vector") or answer.series != 1:
        number = "many" if answer.series is None else "no" if not answer.series else str(answer.series)
        raise JobSourceError(f"the query returns {number} series, not one number", "aggregate it: sum(…) or vector(0)")
    (value,) = answer.values
    if math.isnan(value) or value < 0:
        raise JobSourceError(f"the query returns {value:g}, not a number of jobs", "correct the query")
    return Busy(math.ceil(value), 0)


def fetch(server: Server, path: str, parameters: Mapping[str, str]) -> Any:
    """The data of a GET of the API; None if the server denies it or returns too much.

    Raises:
        ServerError: the server is out of reach.
    """
    try:
        data = _fetch(server, path, parameters, optional=True)
    except _TooMuch:
        return None
    return None if isinstance(data, Refused) else data


class _TooMuch(Exception):
    """An answer with too many bytes to read."""


def _fetch(server: Server, path: str, parameters: Mapping[str, str], optional: bool = False) -> Any:
    try:
        url = f"{server.url}/api/v1/{path}?{urlencode(parameters)}"
        reply = get(url, server.authorization, MOST_BYTES, server.url)
    except Unreachable as error:
        raise ServerError(error.summary, error.remedy) from None
    if reply.status >= 300:
        refused = _refused(reply)
        if refused is None and optional:
            return Refused(f"HTTP {reply.status}")
        if refused is None:
            raise _no_api(server, reply)
        return refused
    if len(reply.body) > MOST_BYTES:
        raise _TooMuch
    try:
        return parse_json(reply.body)["data"]
    except (ValueError, KeyError, TypeError):
        raise _strange(server) from None


def _refused(reply: Reply) -> Refused | None:
    """The server's objection to a query; None if the answer is not from the API."""
    try:
        document = parse_json(reply.body)
        words = document["error"] if document["status"] == "error" else None
    except (ValueError, KeyError, TypeError):
        return None
    return Refused(clean(words)) if isinstance(words, str) and reply.status in (400, 422, 500, 503) else None


def _no_api(server: Server, reply: Reply) -> ServerError:
    if reply.status in (401, 403):
        return ServerError(
            f"{server.url} rejects the credentials (HTTP {reply.status})",
            f"set {TOKEN} or {TOKEN_FILE}, and {URL} (the server's address), or put user and password into the address",
        )
    if reply.status in (301, 302, 303, 307, 308):
        place = urlsplit(reply.location)
        there = clean(f"{place.scheme}://{place.netloc.rpartition('@')[2]}") if place.netloc else "another address"
        return ServerError(f"{server.url} redirects to {there}", "use the address that it redirects to")
    return ServerError(f"{server.url} has no Prometheus API (HTTP {reply.status})", "check the address and its path")


def _strange(server: Server) -> ServerError:
    return ServerError(f"{server.url} is not a Prometheus server", "check the address and its path")


def clean(text: str) -> str:
    """A server's text as one line without control characters, shortened if it is long."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return cut(line, _MOST_WORDS)
