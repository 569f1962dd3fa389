"""Pulumi.yaml cannot choose the server that gets the operator's token: no verb runs Pulumi then."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_server import api_server

PLACE = re.compile(r"Pulumi\.yaml:\d+:\d+ .*backend\.url is https://example\.com/it, ")
VERBS = [
    ("ledger", "dev"),
    ("ledger", "dev", "--live"),
    ("plan", "dev", "--live"),
    ("check", "dev", "--live"),
    ("drift", "dev"),
    ("destroy", "dev", "--yes"),
    ("record", "dev"),
    ("apply", "dev", "--yes"),
]


@pytest.fixture
def started(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that this test's Pulumi writes when it runs, in a project that names a server."""
    file = project.root / "Pulumi.yaml"
    text = re.sub(r"(?m)^  url: .*$", "  url: https://example.com/it", file.read_text())
    assert "example.com" in text
    file.write_text(text)
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$PULUMI_BACKEND_URL" >> {tmp_path}/started\necho v3.259.0\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "pul-s3cret")
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    return tmp_path / "started"


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_no_verb_sends_the_token_to_a_server_that_only_the_project_names(
    words: tuple[str, ...], started: Path, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with api_server(tmp_path) as server:
        server.objects |= {"deployments": [], "resourcequotas": []}
        server.answers |= {"/version": {"gitVersion": "v1.31.0"}}
        server.answers |= {"/api/v1/namespaces/kube-system": {"metadata": {"uid": "it"}}}
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        result = refused(*words, code=2)
    assert PLACE.search(result.words)
    assert "PULUMI_BACKEND_URL=https://example.com/it" in result.words
    assert not started.exists()


def test_a_server_that_the_operator_names_is_used(started: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "https://example.com/it")
    assert run("ledger", "dev").code == 0
    assert started.read_text() == "https://example.com/it\n"


@pytest.mark.parametrize("words", [("check", "dev"), ("plan", "dev"), ("show", "dev"), ("fmt", "--check")])
def test_verbs_without_state_work(words: tuple[str, ...], started: Path, run: Any) -> None:
    assert run(*words).code in (0, 1)
    assert not started.exists()
