"""Unreadable kubeconfigs and credential files: one clear error, no crash and no waiting."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.connection import ClusterError, connect
from modelyard.cluster.kubeconfig import known_contexts
from modelyard.servers import Unusable, Variables, secret_for

WAYS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "folder": (Path.mkdir, "it is a folder"),
    "pipe": (os.mkfifo, "it is a named pipe"),
    "endless": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "nothing": (lambda path: path.symlink_to("gone"), "it is a link to nothing"),
    "huge": (lambda path: path.touch() or os.truncate(path, 3 * 1024**3), "3,221,225,472 bytes"),
}
TEXTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "binary": (lambda path: path.write_bytes(b"\xff" * 9), "it is not UTF-8"),
    "deep": (lambda path: path.write_text("[" * 5_000 + "]" * 5_000), ""),
    "deeper than C can recurse": (lambda path: path.write_text("- " * 1_000_000), ""),
    "wrong kinds": (lambda path: path.write_text("contexts: 5\nclusters: [1]\nusers: {a: b}"), ""),
    "no names": (lambda path: path.write_text("contexts: [{context: 1}]\nclusters: []"), ""),
}


@pytest.mark.parametrize(("make", "words"), (WAYS | TEXTS).values(), ids=WAYS | TEXTS)
def test_an_unreadable_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Any], words: str
) -> None:
    file = tmp_path / "kubeconfig"
    make(file)
    monkeypatch.setenv("KUBECONFIG", str(file))
    with pytest.raises(ClusterError) as error:
        connect("dev")
    assert words in error.value.summary
    assert error.value.summary.count(str(file)) == 1
    assert not known_contexts()


@pytest.mark.parametrize("key", ["certificate-authority", "client-certificate", "client-key", "tokenFile"])
@pytest.mark.parametrize(("make", "words"), WAYS.values(), ids=WAYS)
def test_an_unreadable_file_named_by_a_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Any], words: str, key: str
) -> None:
    make(tmp_path / "named")
    cluster, user = {"server": "https://127.0.0.1:1"}, {}
    (cluster if key == "certificate-authority" else user)[key] = "named"
    document = {
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(document))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    with pytest.raises(ClusterError) as error:
        connect("dev")
    assert f"{tmp_path / 'named'}: {words}" in error.value.summary or words in error.value.summary


@pytest.mark.parametrize(("make", "words"), WAYS.values(), ids=WAYS)
def test_an_unreadable_credential_file(tmp_path: Path, make: Callable[[Path], Any], words: str) -> None:
    make(tmp_path / "token")
    variables = Variables("TOKEN", "TOKEN_FILE", "TOKEN_URLS")
    with pytest.raises(Unusable) as error:
        secret_for("https://a:1", variables, {"TOKEN_FILE": str(tmp_path / "token")}, named=True)
    assert str(tmp_path / "token") in error.value.summary
    assert words in error.value.summary


def test_context_names_that_are_not_text_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = [{"name": name, "context": {"cluster": "c"}} for name in (31, "b", None)]
    document = {"contexts": contexts, "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps({**document, "users": []}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    with pytest.raises(ClusterError, match="no context 'dev'; it has 31, None, b"):
        connect("dev")
