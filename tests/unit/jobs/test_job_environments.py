"""Runs in an environment, and the Job that builds one, as the templates make them."""

import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import Library, load_library
from modelyard.plan.notebook import notebook_job
from modelyard.runs.jobs import environment_build, job_submission
from modelyard.runs.notebooks import Choice, Chosen, NotebookPaths, choose
from modelyard.stack import Stack, load_text
from modelyard.workloads.environments import with_files
from modelyard.workloads.environments.conda import SOLVER_SHA256, SOLVER_VERSION, Solved
from modelyard.workloads.environments.locks import locked, made_of

ROOT = Path(__file__).parents[3]
STACK = """config:
  modelyard:platform: {release: "23.10", namespace: ml-platform}
  modelyard:gpu: {model: A10}
  modelyard:runtime: {image: "jobs:1"}
  modelyard:environments:
    - {name: tabular, python: "3.11", pip: [six], image: "python:3.11", indexSecret: pypi, claim: shared}
  modelyard:resources:
    - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1, environment: tabular}
  modelyard:jobs:
    - {name: train, type: training, resource: deep, command: [python, x.py, "it's $HOME"]}
"""


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(ROOT)


def stack(root: Path, text: str = STACK) -> Stack:
    (root / "environments").mkdir(exist_ok=True)
    pins = {"six": ("1.17.0", "0" * 64)}
    (root / "environments/tabular.lock").write_text(locked("3.11", made_of("3.11", ("six",)), pins))
    made, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert made is not None, findings
    return with_files(root, made)


def pod(job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The container and the volumes by name."""
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return container, {one["name"]: one for one in spec["volumes"]}


def test_a_run_sees_its_environment_and_cannot_change_it(library: Library, tmp_path: Path) -> None:
    made = job_submission(stack(tmp_path), library, "train", "train-x7k2p")
    (environment,) = made.environments
    container, volumes = pod(made.objects.reveal()[0])
    assert container["image"] == "python:3.11"
    assert container["args"] == ["python", "x.py", "it's $HOME"]
    claim = volumes["environments"]["persistentVolumeClaim"]
    assert claim == {"claimName": "shared", "readOnly": True}
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "environments"]
    assert mount == {"name": "environments", "mountPath": "/opt/environments", "readOnly": True}
    env = {one["name"]: one.get("value") for one in container["env"]}
    files = environment.files
    assert files is not None
    assert env["VIRTUAL_ENV"] == f"/opt/environments/{files.digest}"


@pytest.mark.parametrize("built", [True, False])
def test_the_shell_of_a_run_finds_the_environment_or_fails(library: Library, tmp_path: Path, built: bool) -> None:
    container, _ = pod(job_submission(stack(tmp_path), library, "train", "train-x7k2p").objects.reveal()[0])
    environment = tmp_path / "built"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\n')
    (environment / "bin/python").chmod(0o755)
    if built:
        (environment / "modelyard.lock").touch()
    done = subprocess.run(
        [*container["command"], *container["args"]],
        env={"VIRTUAL_ENV": str(environment), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built:
        assert (done.returncode, done.stdout) == (0, "<x.py>\n<it's $HOME>\n")
    else:
        assert (done.returncode, done.stdout) == (78, "")
        assert "environment tabular" in done.stderr


def test_a_run_without_an_environment_is_as_before(library: Library, tmp_path: Path) -> None:
    made = job_submission(stack(tmp_path, STACK.replace(", environment: tabular", "")), library, "train", "train-x7k2p")
    container, volumes = pod(made.objects.reveal()[0])
    assert made.environments == ()
    assert (container["image"], container["command"]) == ("jobs:1", ["python", "x.py", "it's $HOME"])
    assert "environments" not in volumes


def test_a_build_is_named_by_what_it_builds(library: Library, tmp_path: Path) -> None:
    asked = stack(tmp_path)
    (environment,) = asked.config.environments
    made = environment_build(asked, library, environment, "vision")
    assert made.template == "environment-build@v1"
    (job,) = made.objects.reveal()
    files = environment.files
    assert files is not None
    assert job["metadata"]["name"] == f"environment-tabular-{files.digest[:16]}"
    assert job["metadata"]["namespace"] == "vision"
    assert "ttlSecondsAfterFinished" not in job["spec"]
    container, volumes = pod(job)
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert container["args"][1:4] == [files.digest, "3.11", "3600"]
    assert files.lock is not None
    assert container["args"][4:6] == [files.lock.text, ""]
    assert volumes["index"] == {"name": "index", "secret": {"secretName": "pypi"}}
    assert {one["name"]: one["value"] for one in container["env"]}["PIP_CONFIG_FILE"] == "/etc/modelyard/pip/pip.conf"
    other = stack(tmp_path, STACK.replace("python:3.11", "python:3.11.9"))
    (second,) = environment_build(other, library, other.config.environments[0], "vision").objects.reveal()
    assert second["metadata"]["name"] != job["metadata"]["name"]


def test_a_build_gets_conda_s_files_and_pip_s_apart_and_what_installs_conda_s(library: Library, tmp_path: Path) -> None:
    asked = stack(tmp_path, STACK.replace("pip: [six]", "conda: [numpy], pip: [six]"))
    url = "https://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py311_0.conda"
    made = made_of("3.11", ("six",), ("numpy",), ("conda-forge",), asked.config.platform.cuda)
    text = locked("3.11", made, {"six": ("1.17.0", "0" * 64)}, (Solved(url, "1" * 64, python=True),))
    (tmp_path / "environments/tabular.lock").write_text(text)
    asked = with_files(tmp_path, asked)
    (job,) = environment_build(asked, library, asked.config.environments[0], "vision").objects.reveal()
    lock, conda, solver = pod(job)[0]["args"][4:]
    assert lock == f"six==1.17.0 \\\n    --hash=sha256:{'0' * 64}\n"
    assert conda == f"{url}#sha256:{'1' * 64}\n"
    assert solver == f"py-rattler=={SOLVER_VERSION} --hash=sha256:{SOLVER_SHA256}"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([("pip: [six]", "pip: [six, pandas]")], "ENV005"),
        ([("name: tabular", "name: other"), ("environment: tabular", "environment: other")], "ENV004"),
        ([("environment: tabular", "environment: tabula")], "ENV003"),
        ([("command:", "engine: ray, command:")], "ENV006"),
    ],
)
def test_a_job_that_could_not_run_is_not_submitted(
    library: Library, tmp_path: Path, changes: list[tuple[str, str]], code: str
) -> None:
    text = STACK
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    made = job_submission(stack(tmp_path, text), library, "train", "train-x7k2p")
    assert made.objects.reveal() == ()
    assert [one.code for one in made.findings] == [code]


@pytest.mark.parametrize("after", ["pip: [six, pandas]", "pip: [six], requirements: a.txt"])
def test_an_unlocked_environment_is_not_built(library: Library, tmp_path: Path, after: str) -> None:
    asked = stack(tmp_path, STACK.replace("pip: [six]", after))
    made = environment_build(asked, library, asked.config.environments[0], "vision")
    assert made.objects.reveal() == ()
    assert all(one.blocks for one in made.findings)
    assert made.findings


def test_a_notebook_runs_by_the_python_of_its_environment(library: Library, tmp_path: Path) -> None:
    text = STACK.replace("  modelyard:jobs:", "  modelyard:notebooks: {environment: tabular}\n  modelyard:jobs:")
    asked = stack(tmp_path, text.replace("pip: [six]", "pip: [papermill, ipykernel]"))
    pins = {"papermill": ("2.6", "0" * 64), "ipykernel": ("6.29", "1" * 64)}
    lock = locked("3.11", made_of("3.11", ("papermill", "ipykernel")), pins)
    (tmp_path / "environments/tabular.lock").write_text(lock)
    asked = with_files(tmp_path, asked)
    place = NotebookPaths("/home/jovyan/work/a.ipynb", "/home/jovyan/work/a.x.ipynb", Path("a.x.ipynb"))
    chosen = choose(asked.config, Choice(None, None, None, None, None))
    assert isinstance(chosen, Chosen)
    made = notebook_job(library, asked, "a-x7k2p", place=place, chosen=chosen, parameters={}, today=date(2026, 11, 22))
    assert made.objects, made.findings
    container, volumes = pod(made.first.reveal())
    files = asked.config.environments[0].files
    assert files is not None
    assert container["command"][0] == f"/opt/environments/{files.digest}/bin/python"
    assert container["image"] == "python:3.11"
    assert volumes["environments"]["persistentVolumeClaim"] == {"claimName": "shared", "readOnly": True}
