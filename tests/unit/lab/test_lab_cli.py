"""The command line of the lab, without a control plane."""

import json
import subprocess
from pathlib import Path

import pytest

from lab import cli

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def no_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "HOME", tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"], ["install"], ["install", "nowhere"], ["status", "--lab", "../up"], ["logs", "kubelet"], ["up", "x"]],
)
def test_a_usage_error_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize("verb", [["env"], ["kubectl", "--", "get", "pods"], ["install", "dev"]])
def test_a_missing_lab_exits_with_3_and_the_next_step(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(verb) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "start one with: modelyard-lab up" in told.err


def test_status_without_labs_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status"]) == 0
    assert capsys.readouterr().out == "there are no labs; start one with: modelyard-lab up\n"
    assert cli.main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"formatVersion": 1, "labs": []}
    assert cli.main(["status", "--lab", "dev"]) == 3
    assert capsys.readouterr().out == "dev: down\n"


def test_down_without_a_lab_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["down"]) == 0
    assert cli.main(["down", "--all"]) == 0
    assert capsys.readouterr().out == "there is no lab dev\nthere are no labs\n"


def test_a_lab_with_a_damaged_record_is_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "lab.json").write_text('{"context": "dev"')
    assert cli.main(["status"]) == 0
    assert capsys.readouterr().out == "dev: down\n"


def test_a_folder_that_cannot_be_created_exits_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "bin" / "kubectl").touch()
    (tmp_path / "file").touch()
    monkeypatch.setenv("MODELYARD_LAB_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setattr(cli, "HOME", tmp_path / "file")
    assert cli.main(["up"]) == 3
    assert "Not a directory" in capsys.readouterr().err


def test_missing_tools_exit_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MODELYARD_LAB_TOOLS", str(tmp_path))
    assert cli.main(["up"]) == 3
    assert "has no bin/kubectl; unset it to have the tools built" in capsys.readouterr().err


def test_the_script_runs_through_a_link_without_a_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / "modelyard-lab").symlink_to(ROOT / "lab" / "modelyard-lab")
    done = subprocess.run([tmp_path / "modelyard-lab", "--help"], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.startswith("usage: modelyard-lab")
    assert "exit codes:" in done.stdout
