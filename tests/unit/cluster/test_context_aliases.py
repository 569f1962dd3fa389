"""Context aliases, and the parts of a kubeconfig that they copy."""

import json
import os
from pathlib import Path

import pytest

from modelyard.cluster.kubeconfig import known_contexts, with_aliases


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files: the first has no contexts, the second names files and a program beside it."""
    path = tmp_path / "own" / "config"
    path.parent.mkdir()
    user = {"client-key": "my.key", "exec": {"command": "./login", "args": ["farm"]}}
    document = {
        "contexts": [
            {"name": "farm", "context": {"cluster": "c", "user": "u", "namespace": "n"}},
            {"name": "broken", "context": {"cluster": "nowhere", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://c", "certificate-authority": "/etc/ca.pem"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    first = tmp_path / "first"
    first.write_text("apiVersion: v1\nkind: Config\ncontexts: null\n")
    monkeypatch.setenv("KUBECONFIG", f"{first}{os.pathsep}{path}{os.pathsep}{tmp_path / 'none'}")
    return path


def test_files_of_a_context_are_found_from_another_folder(kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    given = with_aliases({"barn": "farm"}, tmp_path / "run").split(os.pathsep)
    assert given[1:] == os.environ["KUBECONFIG"].split(os.pathsep)
    assert Path(given[0]).stat().st_mode & 0o777 == 0o600
    made = json.loads(Path(given[0]).read_text())
    (context,), (cluster,), (user,) = made["contexts"], made["clusters"], made["users"]
    assert context["name"] == "barn"
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"], "namespace": "n"}
    assert cluster["cluster"] == {"server": "https://c", "certificate-authority": "/etc/ca.pem"}
    folder = kubeconfig.parent
    assert user["user"] == {
        "client-key": str(folder / "my.key"),
        "exec": {"command": str(folder / "login"), "args": ["farm"]},
    }
    # Kubectl and the engine take the first entry of a name: none of the user's may be meant by it.
    assert {cluster["name"], user["name"]} & {"c", "u"} == set()


def test_a_missing_context_gets_no_alias(kubeconfig: Path, tmp_path: Path) -> None:
    assert with_aliases({"a": "gone", "b": "broken", "c": None}, tmp_path) == ""
    assert not (tmp_path / "kubeconfig").exists()
    assert known_contexts() == {"farm", "broken"}


def test_in_a_pod_there_are_no_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert known_contexts() is None
