"""A small HTTP server that speaks as much of the API server's language as reading a pool or a platform needs: lists in
pages, label selectors, single objects, logs of pods, deletes, and what an apply would do.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.support.web_servers import Quiet, listening

_LOG = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/log")
_LIST = re.compile(r"/apis?/(?:[^/]+/)?v[0-9a-z]+(?:/namespaces/([^/]+))?/([a-z]+)")
_OBJECT = re.compile(r"/apis?/(?:[^/]+/)?v[0-9a-z]+(?:/namespaces/([^/]+))?/([a-z]+)/([^/]+)")


class ApiServer:
    """What it has, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.objects: dict[str, list[Any]] = {"nodes": [], "pods": [], "jobs": []}
        """By plural. A kind that is not there is not known."""
        self.logs: dict[str, list[bytes | None] | list[bytes] | Iterator[bytes] | str] = {}
        """By pod: chunks, perhaps as they come, or why there is none. At None, the connection ends."""
        self.answers: dict[str, Any] = {}
        """By path: what is neither a list nor an object of one."""
        self.applied: Callable[[Any, Any, bool], tuple[int, Any]] | None = None
        """What an apply would do, by the object that is there, the one that is sent, and whether it takes fields."""
        self.created: Callable[[str, Any, bool], tuple[int, Any]] | None = None
        """What a create does, by the plural, the object, and whether it is a dry run."""
        self.forbidden: set[str] = set()
        """Plurals that may not be listed; ``jobs@vision`` in one namespace, ``jobs@`` in all together."""
        self.asked: list[str] = []
        self.deleted: list[tuple[str, str, Any]] = []
        self.page = 2
        self.kubeconfig = folder / "kubeconfig"

    def one(self, namespace: str | None, plural: str, name: str) -> Any:
        """An object; None where there is none."""
        places = ({"name": name, "namespace": namespace}, {"name": name})
        return next(
            (
                body
                for body in self.objects.get(plural, [])
                if {key: body["metadata"].get(key) for key in ("name", "namespace") if key in body["metadata"]}
                in places
            ),
            None,
        )

    def listed(self, namespace: str | None, plural: str, query: dict[str, str]) -> tuple[int, Any]:
        if plural in self.forbidden or f"{plural}@{namespace or ''}" in self.forbidden:
            return 403, status(f'{plural} is forbidden: User "ada" cannot list resource "{plural}"', 403)
        if plural not in self.objects:
            return 404, "404 page not found"
        found = [
            body
            for body in self.objects[plural]
            if namespace in (None, body["metadata"].get("namespace"))
            and selected(body["metadata"].get("labels") or {}, query.get("labelSelector", ""))
            and not ("fieldSelector" in query and body["status"]["phase"] in ("Succeeded", "Failed"))
        ]
        start = int(query.get("continue", "0"))
        end = start + min(self.page, int(query.get("limit", len(found) + 1)))
        more = {"continue": str(end)} if end < len(found) else {}
        return 200, {"metadata": more, "items": found[start:end]}


def selected(labels: dict[str, str], selector: str) -> bool:
    """Whether labels fit a selector of one requirement."""
    if found := re.fullmatch(r"(\S+) in \((.*)\)", selector):
        return labels.get(found[1]) in found[2].split(",")
    name, equals, value = selector.partition("=")
    return not selector or (labels.get(name) == value if equals else name in labels)


def status(message: str, code: int) -> dict[str, Any]:
    """The API server's own form of an error."""
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


def _timed(chunks: Iterable[bytes | None], since: str) -> Iterator[bytes | None]:
    """The whole lines of a log with their times, from ``since`` on."""
    left, number = b"", 0
    for chunk in chunks:
        if chunk is None:
            yield None
            return
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            time = f"2026-11-23T06:00:00.{number:09}Z"
            number += 1
            if time >= since:
                yield f"{time} ".encode() + line + b"\n"


@contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Starts one; its kubeconfig has the context ``dev``."""
    made = ApiServer(folder)

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"
        # Head and body are two writes: else the second waits 40 ms for the client's acknowledgement of the first.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            made.asked.append(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if found := _LOG.fullmatch(parts.path):
                self._log(found[2], query)
            elif found := _LIST.fullmatch(parts.path):
                self._answer(*made.listed(found[1], found[2], query))
            elif parts.path in made.answers:
                self._answer(200, made.answers[parts.path])
            elif (found := _OBJECT.fullmatch(parts.path)) and (body := made.one(*found.groups())) is not None:
                self._answer(200, body)
            else:
                self._answer(404, status(f"{parts.path} not found", 404))

        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = _LIST.fullmatch(parts.path)
            if made.created is None or found is None:
                self.send_error(501)
            else:
                self._answer(*made.created(found[2], sent, "dryRun" in parse_qs(parts.query)))

        def do_PATCH(self) -> None:  # noqa: N802
            parts = urlsplit(self.path)
            made.asked.append(self.path)
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = _OBJECT.fullmatch(parts.path)
            assert found is not None, self.path
            assert made.applied is not None
            query = parse_qs(parts.query)
            assert query["dryRun"] == ["All"], self.path
            self._answer(*made.applied(made.one(*found.groups()), sent, query["force"] == ["true"]))

        def do_DELETE(self) -> None:
            options = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = _OBJECT.fullmatch(urlsplit(self.path).path)
            assert found is not None, self.path
            made.deleted.append((found[2], found[3], options))
            self._answer(200, status("", 200))

        def _log(self, pod: str, query: dict[str, str]) -> None:
            log = made.logs.get(pod, f'pods "{pod}" not found')
            if isinstance(log, str):
                return self._answer(400, status(log, 400))
            chunks = log[-int(query["tailLines"]) :] if "tailLines" in query and isinstance(log, list) else log
            if "timestamps" in query:
                chunks = _timed(chunks, query.get("sinceTime", ""))
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in chain(chunks, (b"",)):
                if chunk is None:
                    self.close_connection = True
                    break
                self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                self.wfile.flush()
            return None

        def _answer(self, code: int, document: Any) -> None:
            body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
            self.answer(body, code, Content_Type="application/json")

    with listening(Handler) as url:
        # Plain HTTP has no certificate: a client that verified one would read the machine's whole bundle for nothing.
        server = {"server": url, "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": server}],
            "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "current-context": "dev",
        }
        made.kubeconfig.write_text(yaml.safe_dump(config))
        yield made
