"""What ``modelyard doctor`` finds on a machine: each problem has its remedy.

Reports are in ``tests/golden/test_cli_doctor.txt``, without the versions and the packages of this machine.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modelyard

Golden = Callable[..., None]
Pulumi = Callable[[str], None]
VERSION = re.compile(r"\d+(?:\.\w+)+")


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "nowhere")


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pulumi:
    """Puts a script on PATH as the Pulumi CLI."""

    def install(script: str) -> None:
        program = tmp_path / "pulumi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    return install


def checks(result: Any) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(result.out)["checks"]}


def report(result: Any) -> str:
    """The checks after those of Python packages, and the exit code."""
    found = list(checks(result).values())
    first = next(at for at, check in enumerate(found) if check["name"] == "git")
    lines = []
    for check in found[first:]:
        lines.append(f"{check['state']:7}  {check['name']}: {check['found']}\n")
        lines += [f"         → {check['remedy']}\n"] if check["remedy"] else []
    return VERSION.sub("VERSION", f"$ modelyard {result.command}\n{''.join(lines)}exit {result.code}\n")


def test_a_machine_without_programs_and_kubeconfig(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden: Golden
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("doctor", "--json")
    # Clusters with the same error are one check.
    golden(report(result))


def test_an_older_pulumi_without_its_plugin(run: Any, pulumi: Pulumi, golden: Golden) -> None:
    pulumi('case "$1" in version) echo v3.1.0;; plugin) echo "[]";; *) echo "error: no login" >&2; exit 255;; esac')
    golden(report(run("doctor", "dev", "--json")))


def test_a_backend_that_only_the_project_names(
    project: Any, run: Any, pulumi: Pulumi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden: Golden
) -> None:
    pulumi(f"touch {tmp_path}/asked")
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "pul-0123456789")
    text = (project.root / "Pulumi.yaml").read_text()
    (project.root / "Pulumi.yaml").write_text(re.sub(r"url: \S+", "url: https://pulumi.example.com", text))
    golden(report(run("doctor", "dev", "--json")))
    assert not (tmp_path / "asked").exists()


def test_the_virtual_environment_in_which_pulumi_runs_the_program(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is checked even if Pulumi is not installed."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def found() -> tuple[str, str]:
        check = checks(run("doctor", "dev", "--json"))["program in .venv"]
        return check["state"], check["found"]

    (project.root / ".venv").mkdir()
    assert found() == ("error", "no modelyard")
    for version, state in (("0.0.1", "error"), (modelyard.__version__, "ok")):
        info = project.root / f".venv/lib/python3.11/site-packages/modelyard-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: modelyard\nVersion: {version}\n")
        assert found() == (state, f"modelyard {version}")
        shutil.rmtree(project.root / ".venv")
    text = (project.root / "Pulumi.yaml").read_text()
    (project.root / "Pulumi.yaml").write_text(text.replace("    virtualenv: .venv\n", ""))
    assert "program in" not in run("doctor", "dev").out


@pytest.mark.parametrize("printed", ["nonsense", "[1]", "null"])
def test_unexpected_output_of_pulumi(run: Any, pulumi: Pulumi, printed: str) -> None:
    pulumi(f"echo '{printed}'")
    found = checks(run("doctor", "dev", "--json"))
    assert found["plugin kubernetes"]["state"] == "warning"
    assert found["state backend"]["state"] == "error"
    assert found["state backend"]["found"].startswith("pulumi whoami ")


def test_a_stack_file_with_errors(project: Any, run: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"))
    result = run("doctor", "dev")
    assert result.code == 1
    assert "error stack dev 1 error " in result.words


def test_outside_of_a_project(run: Any, tmp_path: Path, pulumi: Pulumi, golden: Golden) -> None:
    pulumi("exit 1")
    (tmp_path / "empty").mkdir()
    golden(report(run("-C", "../empty", "doctor", "--json")))
    assert run("-C", "../empty", "doctor", "dev").code == 2
