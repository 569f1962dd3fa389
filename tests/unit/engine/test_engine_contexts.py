"""The contexts by which an engine reads the last apply's objects after the stack file changed them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.connection import connect
from modelyard.engine.automation import redirected_contexts
from modelyard.engine.failure import EngineError

ROOT = "urn:pulumi:dev::modelyard::"
FAR = f"{ROOT}modelyard:index:Platform$modelyard:index:RemoteCluster::far"
STATE: tuple[Mapping[str, Any], ...] = (
    {"type": "pulumi:pulumi:Stack", "urn": f"{ROOT}pulumi:pulumi:Stack::modelyard-dev"},
    {
        "type": "pulumi:providers:kubernetes",
        "urn": f"{ROOT}pulumi:providers:kubernetes::default_4_24_0",
        "inputs": {"context": "main"},
    },
    {
        "type": "pulumi-python:dynamic/modelyard:Cluster",
        "urn": f"{FAR.removesuffix('::far')}$pulumi-python:dynamic/modelyard:Cluster::far/cluster",
        "parent": FAR,
        "outputs": {"context": "farm"},
    },
    {
        "type": "pulumi:providers:kubernetes",
        "urn": f"{FAR.removesuffix('::far')}$pulumi:providers:kubernetes::far",
        "parent": FAR,
        "inputs": {"context": "farm"},
    },
)


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with the contexts main, barn and modelyard-remote-far, each of a server of that name."""
    names = ("main", "barn", "modelyard-remote-far")
    path = tmp_path / "own" / "config"
    path.parent.mkdir()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": one, "context": {"cluster": one, "user": one}} for one in names],
        "clusters": [{"name": one, "cluster": {"server": f"https://{one}"}} for one in names],
        "users": [{"name": one, "user": {"token": f"token-of-{one}"}} for one in names],
    }
    path.write_text(json.dumps(document))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def server_of(context: str) -> str:
    return str(connect(context).config.cluster.server)


def test_the_old_context_leads_to_the_new_cluster(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = redirected_contexts(STATE, {"": "main", "far": "modelyard-remote-far"}, tmp_path)
    added, own = given["KUBECONFIG"].split(os.pathsep)
    assert (own, Path(added).stat().st_mode & 0o777) == (str(kubeconfig), 0o600)
    monkeypatch.setenv("KUBECONFIG", given["KUBECONFIG"])
    assert server_of("farm") == "https://modelyard-remote-far"
    user = connect("farm").config.user
    assert user is not None
    assert user.token == "token-of-modelyard-remote-far"
    assert [server_of(one) for one in ("main", "barn")] == ["https://main", "https://barn"]


def test_a_new_way_to_the_platform_s_cluster_may_be_the_current_context(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = [{**STATE[1], "inputs": {"context": "old"}}]
    monkeypatch.setenv("KUBECONFIG", redirected_contexts(state, {"": None}, tmp_path)["KUBECONFIG"])
    assert server_of("old") == "https://main"


@pytest.mark.parametrize("ways", [{"": "main", "far": "farm"}, {"": "farm", "far": "barn"}])
def test_a_name_that_is_in_use_keeps_its_meaning(kubeconfig: Path, tmp_path: Path, ways: dict[str, str | None]) -> None:
    """The second: what was the remote cluster's context is the platform's now, and the engine goes there by it."""
    given = redirected_contexts([one for one in STATE if one["type"] != "pulumi:providers:kubernetes"], ways, tmp_path)
    assert given == {}


def test_a_cluster_that_the_stack_has_left_needs_its_old_way(kubeconfig: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="remote cluster far") as failed:
        redirected_contexts(STATE, {"": "main"}, tmp_path)
    assert "context farm" in failed.value.remedy
    kubeconfig.write_text(kubeconfig.read_text().replace('"barn"', '"farm"'))
    assert redirected_contexts(STATE, {"": "main"}, tmp_path) == {}
