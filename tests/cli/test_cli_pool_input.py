"""Wrong settings of jobs, flavors, remote resources and notebooks: each is a finding with its field and line."""

import json
from pathlib import Path
from typing import Any

import pytest

JOBS = """modelyard:runtime: {image: "images.example.com/jobs:1"}
modelyard:resources:
  - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1}
modelyard:jobs:
  - {name: train, type: training, resource: deep, command: [python, train.py]}
"""
REMOTE = """modelyard:providers:
  - {name: lam, kind: lambda, credentialsSecret: lambda}
modelyard:buckets:
  - {name: lake, url: "s3://acme-lake", reachedBy: [platform, lam]}
modelyard:resources:
  - name: far
    type: training
    gpus: 1
    remote:
      provider: lam
      instanceType: gpu_1x_a10
      timeLimit: 6h
      image: registry.example/trainer:3
      command: [train]
      data: {shared: {bucket: lake, prefix: datasets}}
      model: {bucket: lake, prefix: models}
modelyard:jobs:
  - {name: churn, type: training, resource: far}
"""


def found(project: Any, refused: Any) -> list[tuple[str, str, str]]:
    """Code, field and line of each error of a check."""
    findings = json.loads(refused("check", "dev", "--json", code=2).out)["findings"]
    lines = project.stack_file().read_text().splitlines()
    assert {(one["severity"], one["file"]) for one in findings} == {("error", "stacks/Pulumi.dev.yaml")}
    return [(one["code"], one["field"], lines[one["line"] - 1].strip()) for one in findings]


@pytest.mark.parametrize(
    ("keys", "code", "field"),
    [
        ("trials: 100000000", "CFG012", "trials"),
        ('trials: "1001"', "CFG012", "trials"),
        ("trials: 0", "CFG012", "trials"),
        ("keep: 99999h", "CFG012", "keep"),
        ("timeLimit: 99999h", "CFG012", "timeLimit"),
        ('spark: {version: "3.5.0", mostExecutors: 2, idle: 99999h}', "CFG012", "spark.idle"),
        ("rows: -5M", "CFG012", "rows"),
        ("requestTime: 0", "CFG012", "requestTime"),
        ('env: {A: "x\\0y"}', "CFG018", "env.A"),
        ('env: {A: "x\\u202ey"}', "CFG018", "env.A"),
        ('env: {A B: "1"}', "CFG018", "env.A B"),
        *((f'env: {{"{name}": "1"}}', "CFG018", f"env.{name}") for name in ("true", "Null", "FALSE", "1x", "a-b", "")),
        *(
            (f'together: "{label}"', "CFG018", "together")
            for label in ("a: b", "{a: b}", "*x", "123", "true", "rack/", "a b")
        ),
    ],
)
def test_wrong_settings_of_a_job(project: Any, refused: Any, keys: str, code: str, field: str) -> None:
    project.add(JOBS.replace("resource: deep, ", f"resource: deep, {keys}, "))
    ((found_code, found_field, line),) = found(project, refused)
    assert (found_code, found_field) == (code, f"jobs[0].{field}")
    assert line.startswith("- {name: train")


@pytest.mark.parametrize(
    ("command", "code", "field"),
    [
        ("[]", "CFG012", "command"),
        ('["a\\0b"]', "CFG018", "command[0]"),
        ('["\\e[31m"]', "CFG018", "command[0]"),
        (f"[{', '.join('a' * 257)}]", "CFG012", "command"),
    ],
)
def test_wrong_commands_of_a_job(project: Any, refused: Any, command: str, code: str, field: str) -> None:
    project.add(JOBS.replace("[python, train.py]", command))
    assert [one[:2] for one in found(project, refused)] == [(code, f"jobs[0].{field}")]


@pytest.mark.parametrize("name", ["123", "1e3", "1e-3", "0x1f", "0o17", "true", "null"])
def test_names_that_yaml_reads_as_another_type(project: Any, refused: Any, name: str) -> None:
    """As the name of an object, ``0x1f`` would become 31."""
    project.add(JOBS.replace("deep", f'"{name}"').replace("train,", f'"{name}",'))
    fields = ("resources[0].name", "jobs[0].name", "jobs[0].resource")
    assert {one[:2] for one in found(project, refused)} == {("CFG018", field) for field in fields}


def test_the_name_of_a_job_begins_with_a_letter(project: Any, refused: Any) -> None:
    """Its runs have a Service, whose name begins with a letter."""
    project.add(JOBS.replace("name: train", "name: 3d-train"))
    assert [one[:2] for one in found(project, refused)] == [("CFG018", "jobs[0].name")]


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("notebooks: {path: /home/../etc}", "notebooks.path"),
        ('environments: [{name: a, python: "2.7", pip: [x]}]', "environments[0].python"),
        *((f"runtime: {{image: '{image}'}}", "runtime.image") for image in ("123", "1e5", "true", "a:", "a/", "a b")),
    ],
)
def test_a_wrong_folder_python_or_image(project: Any, refused: Any, section: str, field: str) -> None:
    project.add(f"modelyard:{section}")
    assert [one[:2] for one in found(project, refused)] == [("CFG018", field)]


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ('labels: {"a b": x}', "labels.a b"),
        ("labels: {zone: x y}", "labels.zone"),
        (f"labels: {{zone: {'v' * 64}}}", "labels.zone"),
        ("tolerations: [{key: a, operator: Exists, value: b}]", "tolerations[0].value"),
        ("tolerations: [{operator: Equal, value: b}]", "tolerations[0]"),
        ("tolerations: [{effect: NoSchedule}]", "tolerations[0]"),
        ('tolerations: [{key: "a b"}]', "tolerations[0].key"),
        ("tolerations: [{key: a, value: b c}]", "tolerations[0].value"),
        ("topology: [../rack]", "topology[0]"),
    ],
)
def test_wrong_flavors(project: Any, refused: Any, keys: str, field: str) -> None:
    project.add(f"modelyard:flavors:\n  - {{name: a10, {keys}}}")
    ((code, found_field, line),) = found(project, refused)
    assert (code, found_field) == ("CFG018", f"flavors[0].{field}")
    assert line.startswith("- {name: a10")


def test_scaling_without_a_trigger_is_one_finding(project: Any, refused: Any) -> None:
    """A GPU is never scaled by CPU, so there is no trigger: the object without triggers is no second finding."""
    chat = "{name: chat, type: llm-serving, gpus: 1, scale: {most: 4}}\nmodelyard:jobs:\n"
    project.add(
        f'modelyard:runtime: {{image: "images.example.com/jobs:1"}}\nmodelyard:resources:\n  - {chat}'
        "  - {name: talk, type: llm-serving, resource: chat}"
    )
    assert "PAT008" not in refused("check", "dev", code=1).errors


def test_a_command_of_several_lines(project: Any, run: Any) -> None:
    project.add(JOBS.replace("[python, train.py]", '[sh, -c, "cd work\\n\\tpython x.py"]'))
    assert run("check", "dev").errors == []


def test_a_wrong_variable_with_a_wrong_value_is_two_findings(project: Any, refused: Any) -> None:
    project.add(JOBS.replace("resource: deep, ", "resource: deep, env: {A B: 1}, "))
    assert sorted(refused("check", "dev", code=2).errors) == ["CFG015", "CFG018"]


@pytest.mark.parametrize(
    ("before", "after", "code", "value"),
    [
        ("resource: deep, ", "resource: deep, team: visin, ", "RES210", "job train uses team visin"),
        ("resource: deep, ", "resource: deep, priority: high, ", "RES210", "priority high"),
        ("gpus: 1", "gpus: 1, team: visin", "RES210", "resource deep uses team visin"),
        ("gpus: 1", "gpus: 1, gpu: H1000", "RES208", "H1000"),
        ("resource: deep, ", "resource: deep, engine: ray, trials: 3, ", "RES211", "trials"),
        (
            "train.py]}\n",
            "train.py]}\n  - {name: train, type: training, resource: deep, command: [other]}\n",
            *("RES207", "train twice"),
        ),
    ],
)
def test_a_job_with_errors_is_not_submitted(
    project: Any, refused: Any, before: str, after: str, code: str, value: str
) -> None:
    """It would wait forever in a queue that does not exist, or run on any GPU."""
    assert before in JOBS
    project.add(JOBS.replace(before, after))
    result = refused("job", "submit", "dev", "train", "--json", code=1)
    findings = json.loads(result.out)["findings"]
    assert [one for one in findings if one["code"] == code and value in one["summary"] and one["line"]], findings


def test_a_waived_error_stops_no_submission(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    project.add(JOBS.replace("gpus: 1", "gpus: 1, gpu: H1000"))
    project.add("modelyard:waivers:\n  - {code: RES208, reason: a GPU of next year, expires: 2036-01-01}")
    assert run("job", "submit", "dev", "train").code == 3


def test_data_from_two_sources(project: Any, refused: Any) -> None:
    two = "{shared: {bucket: lake, prefix: a}, transfer: {bucket: lake, prefix: b}}"
    project.add(REMOTE.replace("{shared: {bucket: lake, prefix: datasets}}", two))
    assert [one[:2] for one in found(project, refused)] == [("CFG012", "resources[0].remote.data")]


@pytest.fixture
def workspace(project: Any, tmp_path: Path) -> Path:
    """The stack's workspace, with a good notebook in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    project.add(f'modelyard:notebooks: {{image: "i:1", path: {folder}}}\nmodelyard:flavors: [{{name: a10, gpu: A10}}]')
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    cell: dict[str, Any] = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}
    (folder / "good.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": kernel, "cells": [cell]}))
    return folder


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("number.ipynb", "has a number that is too long"),
        ("utf16.ipynb", "is not UTF-8 text"),
        ("mark.ipynb", "not valid JSON"),
        ("circle.ipynb", "leads to itself"),
        ("good.IPYNB", "does not end in .ipynb"),
    ],
)
def test_a_file_that_is_not_a_notebook(workspace: Path, refused: Any, name: str, reason: str) -> None:
    good = (workspace / "good.ipynb").read_bytes()
    (workspace / "number.ipynb").write_text('{"nbformat": ' + "9" * 5000 + "}")
    (workspace / "utf16.ipynb").write_bytes(good.decode().encode("utf-16"))
    (workspace / "mark.ipynb").write_bytes(b"\xef\xbb\xbf" + good)
    (workspace / "circle.ipynb").symlink_to(workspace / "circle.ipynb")
    (workspace / "good.IPYNB").write_bytes(good)
    assert reason in refused("job", "submit", str(workspace / name), "--stack", "dev", code=2).words


def test_a_workspace_that_is_a_file(workspace: Path, refused: Any) -> None:
    file = str(workspace / "good.ipynb")
    assert "not a folder" in refused("job", "submit", file, "--stack", "dev", "--workspace", file, code=2).words
