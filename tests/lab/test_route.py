"""An API server behind a proxy, under a name that its certificate lacks: modelyard connects as kubectl does."""

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from lab import Lab
from modelyard.cluster.connection import ClusterError, ask_server, connect, transport
from tests.support.web_servers import Quiet, listening

NOWHERE = "api.example.invalid:6443"


@pytest.fixture
def tunnel(lab: Lab) -> Iterator[tuple[str, list[str]]]:
    """A proxy whose tunnels all end at the lab's API server: its address, and the requested targets."""
    asked: list[str] = []
    place = urlsplit(lab.server)

    class Handler(Quiet):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            there = socket.create_connection((place.hostname or "", place.port or 0))
            # A client that aborts the handshake may reset the connection.
            with there, suppress(ConnectionError):
                self.send_response(200)
                self.end_headers()
                ends = {self.connection: there, there: self.connection}
                while True:
                    for end in select.select(list(ends), [], [])[0]:
                        data = end.recv(65536)
                        if not data:
                            self.close_connection = True
                            return
                        ends[end].sendall(data)

    with listening(Handler) as address:
        yield address, asked


def kubeconfig(lab: Lab, folder: Path, **cluster: str) -> Path:
    document = yaml.safe_load(lab.kubeconfig.read_text())
    for one in document["clusters"]:
        one["cluster"] |= {"server": f"https://{NOWHERE}", **cluster}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("by", ["the kubeconfig", "the environment"])
def test_a_proxy_and_tls_server_name_work_as_in_kubectl(
    lab: Lab, tunnel: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    address, asked = tunnel
    cluster = {"tls-server-name": "kubernetes.default.svc"}
    if by == "the kubeconfig":
        cluster["proxy-url"] = address
    else:
        monkeypatch.setenv("HTTPS_PROXY", address)
        monkeypatch.setenv("NO_PROXY", "example.com")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(lab, tmp_path, **cluster)))
    said = subprocess.run(
        [str(lab.tools.bin / "kubectl"), "get", "--raw", "/version"],
        env=dict(os.environ),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert asked == [NOWHERE]
    client = connect("lab")
    found = ask_server(lambda: transport(client).get("/version").raise_for_status(), "its version").json()
    assert found == yaml.safe_load(said.stdout)
    assert asked == [NOWHERE, NOWHERE]


def test_a_certificate_for_another_name_is_rejected(
    lab: Lab, tunnel: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in ({}, {"tls-server-name": "other.example.com"}):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(lab, tmp_path, **{"proxy-url": tunnel[0], **names})))
        client = connect("lab")
        with pytest.raises(ClusterError, match="certificate"):
            ask_server(lambda client=client: transport(client).get("/version"), "its version")
