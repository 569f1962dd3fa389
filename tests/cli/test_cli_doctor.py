"""What ``modelyard doctor`` finds on a machine: each line has its remedy."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import modelyard


def test_a_machine_without_pulumi_and_kubeconfig(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    result = run("doctor", "--json")
    assert result.code == 1
    checks = {check["name"]: check for check in json.loads(result.out)["checks"]}
    assert checks["git"]["remedy"] == "install git"
    assert (checks["Pulumi CLI"]["state"], checks["Pulumi CLI"]["remedy"]) == (
        "error",
        "install the Pulumi CLI (https://www.pulumi.com/docs/install)",
    )
    # One cause is said once.
    (cluster,) = [check for name, check in checks.items() if name.startswith("cluster")]
    assert cluster["name"] == "cluster dev, prod, staging"
    assert "set KUBECONFIG" in cluster["remedy"]
    assert [name for name, check in checks.items() if check["state"] == "ok"][-3:] == [
        "stack dev",
        "stack prod",
        "stack staging",
    ]


def test_an_older_pulumi_without_its_plugin(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pulumi"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in version) echo v3.1.0;; plugin) echo "[]";; *) echo "error: no login" >&2; exit 255;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    checks = {check["name"]: check for check in json.loads(run("doctor", "dev", "--json").out)["checks"]}
    cli, plugin, backend = checks["Pulumi CLI"], checks["plugin kubernetes"], checks["state backend"]
    assert (cli["state"], cli["found"].partition(";")[0]) == ("warning", "3.1.0")
    assert cli["remedy"].startswith("install Pulumi 3.")
    assert plugin["remedy"].startswith("pulumi plugin install resource kubernetes 4.")
    assert (backend["state"], backend["found"]) == ("error", "no login")
    assert "pulumi login" in backend["remedy"]


def test_a_backend_that_only_the_project_names(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "pul-0123456789")
    text = (project.root / "Pulumi.yaml").read_text()
    (project.root / "Pulumi.yaml").write_text(re.sub(r"url: \S+", "url: https://pulumi.example.com", text))
    checks = {check["name"]: check for check in json.loads(run("doctor", "dev", "--json").out)["checks"]}
    assert "Pulumi CLI" not in checks
    assert checks["state backend"]["state"] == "error"
    assert "PULUMI_BACKEND_URL" in checks["state backend"]["remedy"]
    assert not (tmp_path / "asked").exists()


def test_the_environment_in_which_pulumi_runs_the_program(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is looked at whether or not Pulumi is there."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def check() -> dict[str, str]:
        checks = {check["name"]: check for check in json.loads(run("doctor", "dev", "--json").out)["checks"]}
        return checks["program in .venv"]

    def found() -> tuple[str, str]:
        return check()["state"], check()["found"]

    assert found() == ("error", ".venv does not exist")
    assert check()["remedy"].startswith("run `python3 -m venv .venv` in the project's folder, then install modelyard ")
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
def test_a_pulumi_that_prints_something_else(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str
) -> None:
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\necho '{printed}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    checks = {check["name"]: check for check in json.loads(run("doctor", "dev", "--json").out)["checks"]}
    assert checks["plugin kubernetes"]["state"] == "warning"
    assert checks["state backend"]["found"] == "pulumi whoami printed unexpected output"


def test_a_stack_file_with_errors(project: Any, run: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"))
    result = run("doctor", "dev")
    assert result.code == 1
    assert "error stack dev 1 error in its file → modelyard check dev" in result.words


def test_outside_of_a_project(run: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    words = run("-C", str(empty), "doctor").words
    assert "warning project no Pulumi.yaml here or above → run inside a project, or give -C DIR;" in words
    assert "modelyard init writes a new one" in words
    assert run("-C", str(empty), "doctor", "dev").code == 2
