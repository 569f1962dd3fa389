"""Credential plugins, as the API server's clients must call them."""

import json
import stat
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from modelyard.cluster.connection import connect

PLUGIN = """\
#!{python}
import json, os
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
print(json.dumps({{
    "apiVersion": asked["apiVersion"],
    "kind": "ExecCredential",
    "status": {{"token": asked["apiVersion"].rpartition("/")[2] + "-" + os.environ["WHO"]}},
}}))
"""


class Server(BaseHTTPRequestHandler):
    """Answers with the credentials that it was sent."""

    def do_GET(self) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.headers.get("Authorization", "none")},
        }
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_is_told_what_to_answer(
    version: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN.format(python=sys.executable))
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    execution = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "command": str(plugin),
        "env": [{"name": "WHO", "value": "me"}],
        "interactiveMode": "Never",
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"exec": execution}}],
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    from lightkube.resources.core_v1 import Namespace

    assert connect("dev").get(Namespace, "default").metadata.name == f"Bearer {version}-me"
