"""A small HTTPS client for the lab's API server: JSON in, JSON out, one persistent connection per thread."""

import http.client
import json
import ssl
import threading
from pathlib import Path
from typing import Any, NamedTuple

_CLOSED = (
    http.client.RemoteDisconnected,
    http.client.CannotSendRequest,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)
"""How a connection fails that the server has closed, depending on how much of that has arrived."""


JSON = "application/json"


class Answer(NamedTuple):
    """An answer of the API server, errors included: a status of 400 or more raises nothing."""

    status: int
    body: Any
    """Parsed JSON; text if it is not JSON."""


class Client:
    """Requests to one API server as one user."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        """Make a client; sends nothing before the first request."""
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._token = token
        self._local = threading.local()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = JSON,
        timeout: float = 60,
        accept: str = JSON,
    ) -> Answer:
        """Send one request; sends a ``str`` or ``bytes`` body unchanged, anything else as JSON.

        Raises:
            OSError: the server is unreachable.
        """
        payload = None if body is None else body if isinstance(body, (str, bytes)) else json.dumps(body)
        data = payload.encode() if isinstance(payload, str) else payload
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        if data is not None:
            headers["Content-Type"] = content_type
        kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            try:
                return self._send(kept, method, path, data=data, headers=headers, timeout=timeout)
            except _CLOSED:
                # The server closed the idle connection before it took the request: retrying on a new one is safe.
                kept.close()
                self._local.connection = None
        fresh = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._tls, timeout=timeout)
        return self._send(fresh, method, path, data=data, headers=headers, timeout=timeout)

    def _send(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        *,
        data: bytes | None,
        headers: dict[str, str],
        timeout: float,
    ) -> Answer:
        self._local.connection = None
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            raw = response.read()
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        text = raw.decode()
        if "json" in (response.headers.get("Content-Type") or ""):
            return Answer(response.status, json.loads(text))
        return Answer(response.status, text)
