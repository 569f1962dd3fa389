"""Wrong input for jobs, remote resources and notebooks: told with its place and what to do, all at once."""

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


def line_of(project: Any, text: str) -> int:
    """The line of the stack file with a text, which is there once."""
    (found,) = [at for at, line in enumerate(project.stack_file().read_text().splitlines(), 1) if text in line]
    return found


@pytest.mark.parametrize(
    ("keys", "code", "said", "remedy"),
    [
        ("trials: 100000000", "CFG012", "jobs[0].trials is 100000000; it is too large", "a whole number, 1 to 1000"),
        ('trials: "1001"', "CFG012", "jobs[0].trials", "a whole number, 1 to 1000"),
        ("trials: 0", "CFG012", "jobs[0].trials is 0; it must be 1 or more", "1 or more"),
        ("keep: 99999h", "CFG012", 'jobs[0].keep is "99999h": more than 31 days', "6h5m"),
        ("timeLimit: 99999h", "CFG012", 'jobs[0].timeLimit is "99999h": more than 31 days', "6h5m"),
        ("rows: -5M", "CFG012", 'jobs[0].rows is "-5M"; it cannot be negative', "50M, which is 50 million"),
        ("requestTime: 0", "CFG012", "jobs[0].requestTime is 0", "50 milliseconds"),
        ('env: {A: "x\\0y"}', "CFG018", "jobs[0].env.A is", "remove control characters"),
        ('env: {A: "x\\u202ey"}', "CFG018", "jobs[0].env.A is", "remove control characters"),
        ('env: {A B: "1"}', "CFG018", "A B is not a valid key of jobs[0].env", "NUM_EPOCHS"),
    ],
)
def test_settings_of_a_job(project: Any, refused: Any, keys: str, code: str, said: str, remedy: str) -> None:
    project.add(JOBS.replace("resource: deep, ", f"resource: deep, {keys}, "))
    result = refused("check", "dev", code=2)
    assert result.errors == [code]
    assert said in result.words
    assert remedy in result.words
    assert f"stacks/Pulumi.dev.yaml:{line_of(project, 'name: train')}:" in result.text


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("[]", "CFG012", "jobs[0].command is an empty list"),
        ('["a\\0b"]', "CFG018", "jobs[0].command[0] is"),
        ('["\\e[31m"]', "CFG018", "jobs[0].command[0] is"),
        (f"[{', '.join('a' * 257)}]", "CFG012", "jobs[0].command has 257 entries; it can have 256"),
    ],
)
def test_commands_of_a_job(project: Any, refused: Any, command: str, code: str, said: str) -> None:
    project.add(JOBS.replace("[python, train.py]", command))
    result = refused("check", "dev", code=2)
    assert result.errors == [code]
    assert said in result.words


@pytest.mark.parametrize("name", ["123", "1e3", "1e-3", "0x1f", "0o17", "true", "null"])
def test_names_that_yaml_would_take_for_something_else(project: Any, refused: Any, name: str) -> None:
    """As the name of an object ``0x1f`` would become 31."""
    project.add(JOBS.replace("deep", f'"{name}"').replace("train,", f'"{name}",'))
    result = refused("check", "dev", code=2)
    assert set(result.errors) == {"CFG018"}
    for place in ("resources[0].name", "jobs[0].name", "jobs[0].resource"):
        assert f'{place} is "{name}", not a Kubernetes name' in result.words
    assert "YAML reads it as" in result.words


def test_a_job_whose_workers_could_not_find_each_other(project: Any, refused: Any) -> None:
    """Its runs have a Service, whose name begins with a letter."""
    project.add(JOBS.replace("name: train", "name: 3d-train"))
    assert "begin with a letter" in refused("check", "dev", code=2).words


@pytest.mark.parametrize("label", ["a: b", "{a: b}", "*x", "123", "true", "rack/", "a b"])
def test_a_label_that_is_none(project: Any, refused: Any, label: str) -> None:
    project.add(JOBS.replace("resource: deep, ", f'resource: deep, together: "{label}", '))
    result = refused("check", "dev", code=2)
    assert "not the key of a label" in result.words


@pytest.mark.parametrize("variable", ["true", "Null", "FALSE", "1x", "a-b", ""])
def test_a_variable_whose_name_is_none(project: Any, refused: Any, variable: str) -> None:
    project.add(JOBS.replace("resource: deep, ", f'resource: deep, env: {{"{variable}": "1"}}, '))
    assert refused("check", "dev", code=2).errors == ["CFG018"]


@pytest.mark.parametrize(
    ("section", "said", "remedy"),
    [
        ("notebooks: {path: /home/../etc}", '"/home/../etc", not an absolute path of a folder', "/home/jovyan/work"),
        ('environments: [{name: a, python: "2.7", pip: [x]}]', '"2.7", not a Python version, 3.8 or newer', '"3.11"'),
    ],
)
def test_a_folder_and_a_python_that_are_none(project: Any, refused: Any, section: str, said: str, remedy: str) -> None:
    project.add(f"modelyard:{section}")
    result = refused("check", "dev", code=2)
    assert said in result.words
    assert remedy in result.words


@pytest.mark.parametrize("image", ["123", "1e5", "true", "a:", "a/", "a b"])
def test_an_image_that_is_none(project: Any, refused: Any, image: str) -> None:
    project.add(JOBS.replace("images.example.com/jobs:1", image))
    assert "not the name of an image" in refused("check", "dev", code=2).words


@pytest.mark.parametrize(
    ("keys", "said", "remedy"),
    [
        ('labels: {"a b": x}', "a b is not a valid key of flavors[0].labels", "topology.kubernetes.io/zone"),
        ("labels: {zone: x y}", 'flavors[0].labels.zone is "x y", not the value of a label', "at most 63"),
        (f"labels: {{zone: {'v' * 64}}}", "flavors[0].labels.zone is longer than 63 characters", "shorter"),
        ("tolerations: [{key: a, operator: Exists, value: b}]", "tolerations[0]", "drop the value"),
        ("tolerations: [{operator: Equal, value: b}]", "has no key", "set the key"),
        ("tolerations: [{effect: NoSchedule}]", "has no key", "operator: Exists"),
        ('tolerations: [{key: "a b"}]', 'tolerations[0].key is "a b", not the key of a label', "kubernetes.io/"),
        (
            "tolerations: [{key: a, value: b c}]",
            'tolerations[0].value is "b c", not the value of a label',
            "at most 63",
        ),
        ("topology: [../rack]", 'topology[0] is "../rack", not the key of a label', "kubernetes.io/hostname"),
    ],
)
def test_flavors(project: Any, refused: Any, keys: str, said: str, remedy: str) -> None:
    project.add(f"modelyard:flavors:\n  - {{name: a10, {keys}}}")
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG018"]
    assert said in result.words
    assert remedy in result.words
    assert f"stacks/Pulumi.dev.yaml:{line_of(project, 'name: a10')}:" in result.text


def test_pods_that_nothing_scales_are_told_once(project: Any, refused: Any) -> None:
    """A GPU is never scaled by CPU, so there is no trigger: no broken object is told beside what is to be done."""
    chat = "{name: chat, type: llm-serving, gpus: 1, scale: {most: 4}}\nmodelyard:jobs:\n"
    project.add(
        f'modelyard:runtime: {{image: "images.example.com/jobs:1"}}\nmodelyard:resources:\n  - {chat}'
        "  - {name: talk, type: llm-serving, resource: chat}"
    )
    assert "PAT008" not in refused("check", "dev", code=1).errors


def test_a_command_may_have_lines(project: Any, run: Any) -> None:
    project.add(JOBS.replace("[python, train.py]", '[sh, -c, "cd work\\n\\tpython x.py"]'))
    assert run("check", "dev").errors == []


def test_the_name_of_a_variable_and_its_value_are_told_both(project: Any, refused: Any) -> None:
    project.add(JOBS.replace("resource: deep, ", "resource: deep, env: {A B: 1}, "))
    result = refused("check", "dev", code=2)
    assert sorted(result.errors) == ["CFG015", "CFG018"]


@pytest.mark.parametrize(
    ("before", "after", "code", "said"),
    [
        ("resource: deep, ", "resource: deep, team: visin, ", "RES210", "uses team visin, which is not defined"),
        ("resource: deep, ", "resource: deep, priority: high, ", "RES210", "uses priority high"),
        ("gpus: 1", "gpus: 1, team: visin", "RES210", "resource deep uses team visin"),
        ("gpus: 1", "gpus: 1, gpu: H1000", "RES208", "H1000"),
        ("resource: deep, ", "resource: deep, engine: ray, trials: 3, ", "RES211", "cannot have trials"),
        (
            "train.py]}\n",
            "train.py]}\n  - {name: train, type: training, resource: deep, command: [other]}\n",
            *("RES207", "jobs contains train twice"),
        ),
    ],
)
def test_what_a_check_refuses_is_not_submitted(
    project: Any, refused: Any, before: str, after: str, code: str, said: str
) -> None:
    """It would wait for ever in a queue that there is not, or run on any GPU."""
    assert before in JOBS
    project.add(JOBS.replace(before, after))
    result = refused("job", "submit", "dev", "train", code=1)
    assert code in result.errors
    assert said in result.words
    assert "nothing was submitted" in result.words
    assert "stacks/Pulumi.dev.yaml:" in result.text


def test_an_error_that_is_waived_does_not_stop_a_submission(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    project.add(JOBS.replace("gpus: 1", "gpus: 1, gpu: H1000"))
    project.add("modelyard:waivers:\n  - {code: RES208, reason: a card of next year, expires: 2036-01-01}")
    assert run("job", "submit", "dev", "train").code == 3


def test_two_ways_to_the_data(project: Any, refused: Any) -> None:
    two = "{shared: {bucket: lake, prefix: a}, transfer: {bucket: lake, prefix: b}}"
    project.add(REMOTE.replace("{shared: {bucket: lake, prefix: datasets}}", two))
    result = refused("check", "dev", code=2)
    assert "resources[0].remote.data has 2 entries; it can have 1" in result.words


@pytest.fixture
def workspace(project: Any, tmp_path: Path) -> Path:
    """The stack's workspace, with a good notebook in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    project.add(f'modelyard:notebooks: {{image: "i:1", path: {folder}}}\nmodelyard:flavors: [{{name: a10, gpu: A10}}]')
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    cell = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}
    (folder / "good.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": kernel, "cells": [cell]}))
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("number.ipynb", "has a number that is too long"),
        ("utf16.ipynb", "is not UTF-8 text"),
        ("mark.ipynb", "not valid JSON"),
        ("circle.ipynb", "leads to itself"),
        ("good.IPYNB", "does not end in .ipynb"),
    ],
)
def test_files_that_are_no_notebooks(workspace: Path, refused: Any, name: str, said: str) -> None:
    good = (workspace / "good.ipynb").read_bytes()
    (workspace / "number.ipynb").write_text('{"nbformat": ' + "9" * 5000 + "}")
    (workspace / "utf16.ipynb").write_bytes(good.decode().encode("utf-16"))
    (workspace / "mark.ipynb").write_bytes(b"\xef\xbb\xbf" + good)
    (workspace / "circle.ipynb").symlink_to(workspace / "circle.ipynb")
    (workspace / "good.IPYNB").write_bytes(good)
    assert said in refused("job", "submit", str(workspace / name), "--stack", "dev", code=2).words


def test_a_workspace_that_is_a_file(workspace: Path, refused: Any) -> None:
    file = str(workspace / "good.ipynb")
    result = refused("job", "submit", file, "--stack", "dev", "--workspace", file, code=2)
    assert "is not a folder" in result.words


def test_every_wrong_choice_is_told(workspace: Path, refused: Any) -> None:
    words = ("--flavor", "a11", "--device", "A99", "--team", "x", "--priority", "y", "--allocation", "partial")
    result = refused("job", "submit", str(workspace / "good.ipynb"), "--stack", "dev", *words, code=2)
    for said in ("flavor a11", "A99 does not name", "team x", "priority y", "partial needs half a GPU"):
        assert said in result.words
