"""Credential plugins, as the API server's clients must call them."""

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import certifi
import pytest
import yaml
from lightkube import KubeConfig

from modelyard.cluster.connection import ClusterError, connect, transport
from tests.support.web_servers import Quiet, listening

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


class Server(Quiet):
    """Answers with the credentials that it was sent."""

    def do_GET(self) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.headers.get("Authorization", "none")},
        }
        self.answer(json.dumps(body).encode(), Content_Type="application/json")


@pytest.fixture
def address() -> Iterator[str]:
    with listening(Server) as url:
        yield url


def test_a_pod_without_a_kubeconfig_is_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("of-the-pod")
    (account / "namespace").write_text("vision")
    copyfile(certifi.where(), account / "ca.crt")
    # Where pods have it nothing else may write.
    monkeypatch.setattr(KubeConfig.from_env.__func__, "__defaults__", (str(account), "~/.kube/config"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    http = transport(connect(None))
    request = next(http.auth.sync_auth_flow(http.build_request("GET", "/api")))
    assert (request.url.host, request.headers["Authorization"]) == ("10.0.0.1", "Bearer of-the-pod")
    # A name says which cluster is meant, and nobody can tell whether it is this one.
    with pytest.raises(ClusterError, match="no context 'prod'"):
        connect("prod")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_credential_plugin_gets_its_request(
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


USERS = {
    "token": {"token": "very-secret"},
    "token file": {"tokenFile": "/dev/null"},
    "password": {"username": "ada", "password": "very-secret"},
    "plugin": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "very-secret"}},
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_no_login_leaves_this_machine_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: dict[str, object]
) -> None:
    def client(server: str, user: dict[str, object]) -> None:
        config = {
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": user}],
        }
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        connect("x")

    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("MODELYARD_ALLOW_HTTP", raising=False)
    for server in ("http://api.example.com", "HTTP://10.0.0.1:8080", "http://127.0.0.1.example.com"):
        with pytest.raises(ClusterError, match="has no TLS") as refused:
            client(server, user)
        assert "MODELYARD_ALLOW_HTTP" in refused.value.remedy
        client(server, {})
    with pytest.raises(ClusterError, match="is not sent"):
        client("http://ada:very-secret@api.example.com", {})
    monkeypatch.setenv("MODELYARD_ALLOW_HTTP", "true")
    if "tokenFile" not in user:
        client("http://api.example.com", user)
        monkeypatch.delenv("MODELYARD_ALLOW_HTTP")
        client("http://127.0.0.1:1", user)
