"""A proxy between clients and a lab's API server, which shows a test each request and lets it interfere."""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

from lab import Lab

_PER_CONNECTION = ("connection", "transfer-encoding", "content-length", "keep-alive")
_STREAMED = 65536


class Request(NamedTuple):
    """A request on its way to the API server."""

    method: str
    path: str
    dry_run: bool
    watch: bool
    asker: str
    """The client: ``modelyard``, or the name of another program."""
    body: bytes

    @property
    def name(self) -> str:
        """A short form of the request: ``PATCH deployment-ray-head (dry run)``."""
        marks = [words for words, on in (("dry run", self.dry_run), ("watch", self.watch)) if on]
        what = "/".join(self.path.rstrip("/").split("/")[-2:])
        return f"{self.method} {what}{''.join(f' ({mark})' for mark in marks)} by {self.asker}"


class Reply(NamedTuple):
    """An answer in place of the API server's."""

    status: int
    reason: str
    message: str
    headers: Mapping[str, str] = {}

    @property
    def body(self) -> bytes:
        words = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
        return json.dumps({**words, "reason": self.reason, "message": self.message, "code": self.status}).encode()


class Lost(Exception):
    """Raised by ``meddle`` to break the connection instead of answering."""


When = Literal["before", "after"]
Meddle = Callable[[Request, When], Reply | None]
"""Called before a request is passed on, and again before its answer is passed back.

Returns a reply to send instead of the server's, or None to continue; raises ``Lost`` to break the connection.
"""


class FaultProxy:
    """A running proxy. ``meddle`` can be replaced at any time."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self._lock = Lock()
        self.meddle: Meddle = lambda _request, _when: None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes: without this, the body waits 40 ms for the client to acknowledge the head.
            disable_nagle_algorithm = True
            upstream: HTTPSConnection | None = None

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (Lost, OSError, HTTPException):
                    self.close_connection = True

            def parse_request(self) -> bool:
                if super().parse_request():
                    proxy._pass(self)
                return False

            def finish(self) -> None:
                if self.upstream is not None:
                    self.upstream.close()
                try:
                    super().finish()
                except OSError:
                    return

            def log_message(self, *args: Any) -> None:
                """Logs nothing."""

        pki = lab.folder / "pki"
        # The proxy uses the API server's certificate, which is valid for this machine.
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        self._asking = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = serving.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.kubeconfig = folder / "kubeconfig-between"
        """The administrator's kubeconfig, through this proxy."""
        port = self._server.server_address[1]
        self.kubeconfig.write_text(lab.kubeconfig.read_text().replace(lab.server, f"https://127.0.0.1:{port}"))

    def close(self) -> None:
        """Stops taking requests."""
        self._server.shutdown()
        self._server.server_close()

    def _pass(self, handler: Any) -> None:
        request = _request(handler)
        reply = self.meddle(request, "before")
        if reply is not None:
            _answer(handler, reply)
            return
        if handler.upstream is None:
            address = urlsplit(self._lab.server)
            handler.upstream = HTTPSConnection(address.hostname or "", address.port, context=self._asking)
        headers = {name: text for name, text in handler.headers.items() if name.lower() not in _PER_CONNECTION}
        handler.upstream.request(request.method, handler.path, request.body or None, headers)
        response = handler.upstream.getresponse()
        whole = None if request.watch else response.read()
        reply = self.meddle(request, "after")
        if reply is not None:
            _answer(handler, reply)
        elif whole is None:
            _stream(handler, response)
        else:
            _send(handler, response.status, _headers(response), whole)


@contextmanager
def fault_proxy(lab: Lab, folder: Path) -> Iterator[FaultProxy]:
    """A proxy in front of a lab, until the context ends."""
    proxy = FaultProxy(lab, folder)
    try:
        yield proxy
    finally:
        proxy.close()


def _request(handler: BaseHTTPRequestHandler) -> Request:
    parts = urlsplit(handler.path)
    query = parse_qs(parts.query)
    program = handler.headers.get("User-Agent", "").partition("/")[0]
    return Request(
        handler.command,
        parts.path,
        "dryRun" in query,
        "watch" in query,
        "modelyard" if program in ("", "python-httpx2") else program,
        _body(handler),
    )


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    found = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        found += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return found


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name: text for name, text in response.getheaders() if name.lower() not in _PER_CONNECTION}


def _answer(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    _send(handler, reply.status, {"Content-Type": "application/json", **reply.headers}, reply.body)


def _send(handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    handler.send_response_only(status)
    for name, text in {**headers, "Content-Length": str(len(body))}.items():
        handler.send_header(name, text)
    handler.end_headers()
    handler.wfile.write(body)


def _stream(handler: BaseHTTPRequestHandler, response: HTTPResponse) -> None:
    """Passes the events of a watch on as they arrive."""
    handler.send_response_only(response.status)
    for name, text in {**_headers(response), "Transfer-Encoding": "chunked"}.items():
        handler.send_header(name, text)
    handler.end_headers()
    while piece := response.read1(_STREAMED):
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")
