"""Credentials of remote clusters from the stack file: what is used, where it goes, and that it is never shown."""

import json
import os
from pathlib import Path

import pytest
import yaml

from modelyard.cluster import remote_credentials as handed
from modelyard.cluster.connection import ClusterError, connect
from modelyard.hiding import Confidential
from modelyard.stack import Stack, load_text

STACK = """config:
  modelyard:platform: {release: "23.10", namespace: ml}
  modelyard:gpu: {model: A10}
  modelyard:resources:
    - name: far
      type: runtime
      remote:
        cluster:
          controller: https://10.8.0.5:6443
          credentials: {secure: AAAA}
"""
KUBECONFIG = {
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://10.8.0.5:6443/"}}],
    "users": [{"name": "u", "user": {"token": "very-secret"}}],
}


def stack(name: str) -> Stack:
    loaded, findings = load_text(STACK, name, f"stacks/Pulumi.{name}.yaml")
    assert loaded is not None, findings
    return loaded._replace(sha256=name)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``pulumi`` that decrypts to what stands in a file, and a kubeconfig of the user's."""
    own = tmp_path / "own"
    own.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}))
    tool = tmp_path / "bin" / "pulumi"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nprintf "%s " "$@" >"{tmp_path}/asked"\ncat "{tmp_path}/value"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(own))
    return tmp_path


def test_the_engine_decrypts_and_the_process_alone_can_read(engine: Path) -> None:
    (engine / "value").write_text(yaml.safe_dump(KUBECONFIG))
    handed.write_remote_credentials(engine, stack("one"))
    assert "--path modelyard:resources[0].remote.cluster.credentials " in (engine / "asked").read_text()
    own, added = os.environ["KUBECONFIG"].split(os.pathsep)
    assert own == str(engine / "own")
    assert (Path(added).stat().st_mode & 0o777, Path(added).parent.stat().st_mode & 0o777) == (0o600, 0o700)
    client = connect("modelyard-remote-far")
    assert client.config.cluster.server == "https://10.8.0.5:6443"
    assert client.config.user is not None
    assert client.config.user.token == "very-secret"
    before = os.environ["KUBECONFIG"]
    handed.write_remote_credentials(engine, stack("one"))
    assert os.environ["KUBECONFIG"] == before


def test_connection_settings_are_taken_and_insecure_ones_are_not(engine: Path) -> None:
    way = {"proxy-url": "http://proxy.example.com:3128", "tls-server-name": "farm"}
    weak = {"server": "https://10.8.0.5:6443", "insecure-skip-tls-verify": True, "certificate-authority": "/etc/ca.pem"}
    (engine / "value").write_text(
        yaml.safe_dump({**KUBECONFIG, "clusters": [{"name": "c", "cluster": {**weak, **way}}]})
    )
    handed.write_remote_credentials(engine, stack("way"))
    added = os.environ["KUBECONFIG"].split(os.pathsep)[1]
    (made,) = yaml.safe_load(Path(added).read_text())["clusters"]
    assert made["cluster"] == {"server": "https://10.8.0.5:6443", **way}


@pytest.mark.parametrize(
    "user",
    [
        {"exec": {"command": "very-secret"}},
        {"client-key": "/very-secret", "client-certificate": "/very-secret"},
        {"password": "very-secret", "username": "me"},
    ],
)
def test_programs_and_paths_are_not_taken(engine: Path, user: dict[str, object]) -> None:
    (engine / "value").write_text(yaml.safe_dump({**KUBECONFIG, "users": [{"name": "u", "user": user}]}))
    with pytest.raises(ClusterError, match="neither a token nor a certificate") as failed:
        handed.write_remote_credentials(engine, stack("two"))
    assert "very-secret" not in f"{failed.value} {failed.value.remedy}"


@pytest.mark.parametrize(
    "text", ["", "very-secret", "a: [very-secret", "contexts: 7", "contexts: [{name: very-secret}]"]
)
def test_an_invalid_kubeconfig_is_refused_without_its_content(engine: Path, text: str) -> None:
    (engine / "value").write_text(text)
    with pytest.raises(ClusterError, match="remote cluster far: its credentials cannot be used") as failed:
        handed.write_remote_credentials(engine, stack("three"))
    assert "very-secret" not in f"{failed.value} {failed.value.remedy}"
    assert failed.value.__cause__ is None


def test_an_undecrypted_value_is_an_error(engine: Path) -> None:
    (engine / "bin" / "pulumi").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(ClusterError, match="cannot decrypt them"):
        handed.write_remote_credentials(engine, stack("four"))


def test_without_a_user_kubeconfig_none_is_written(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(engine / "none"))
    with pytest.raises(ClusterError, match="needs a kubeconfig"):
        handed.write_remote_credentials(engine, stack("five"))
    assert os.environ["KUBECONFIG"] == str(engine / "none")


def test_a_secret_is_a_kubeconfig_or_a_service_accounts_token() -> None:
    server, authority, user = handed._of_secret(Confidential({"token": "t\n", "ca.crt": "CA"}))
    assert (server, authority, user) == ("", {"certificate-authority-data": "Q0E="}, Confidential({"token": "t"}))
    assert handed._of_secret(Confidential({"kubeconfig": yaml.safe_dump(KUBECONFIG)}))[2].reveal() == {
        "token": "very-secret"
    }
    with pytest.raises(ValueError, match="neither the key kubeconfig nor the key token"):
        handed._of_secret(Confidential({"password": "x"}))


@pytest.mark.parametrize(
    ("cluster", "sent"),
    [
        ({"server": "https://10.8.0.5:6443"}, True),
        ({"server": "https://elsewhere", "certificate-authority-data": "Q0E="}, True),
        ({"certificate-authority-data": "Q0E="}, True),
        ({"server": "https://elsewhere"}, False),
        ({"server": "https://10.8.0.5"}, False),
        ({"server": "http://10.8.0.5:6443"}, False),
        ({"server": "https://10.8.0.5:6443@evil.example.com", "certificate-authority": "/etc/ca.pem"}, False),
        ({}, False),
    ],
)
def test_credentials_go_only_where_they_belong(engine: Path, cluster: dict[str, str], sent: bool) -> None:
    """Whoever writes the stack file writes the controller; the credentials are somebody else's."""
    (engine / "value").write_text(yaml.safe_dump({**KUBECONFIG, "clusters": [{"name": "c", "cluster": cluster}]}))
    before = os.environ["KUBECONFIG"]
    if sent:
        handed.write_remote_credentials(engine, stack(f"belongs {cluster}"))
        return
    with pytest.raises(ClusterError, match="belong to its controller") as refused:
        handed.write_remote_credentials(engine, stack(f"belongs {cluster}"))
    assert "very-secret" not in f"{refused.value} {refused.value.remedy}"
    assert os.environ["KUBECONFIG"] == before
