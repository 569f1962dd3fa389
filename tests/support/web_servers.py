"""Web servers of tests, on a free port of this machine."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Writes no log."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Sends a whole answer; ``_`` in a header's name is a dash."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def listening(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server that answers so until the end; gives its address, such as ``http://127.0.0.1:12345``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # Nobody waits for a request that hangs.
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
