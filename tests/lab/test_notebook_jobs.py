"""Notebooks submitted to a real API server; the containers of their Jobs run on this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.support.environment import Environment
from tests.lab.support.notebook_files import cell, container, outputs, text_of, write_notebook
from tests.lab.support.notebook_project import notebook_project


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A project with a pool, and a control plane; the workspace is the folder ``work`` next to the project."""
    with notebook_project(tmp_path_factory.mktemp("notebooks")) as made:
        yield made


def submitted(env: Environment, notebook: Path, *words: str) -> dict[str, Any]:
    done = env.modelyard("job", "submit", str(notebook), "--stack", "dev", "--flavor", "a30", "--json", *words)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def jobs(env: Environment) -> dict[str, Any]:
    items = env.lab.request("GET", "/apis/batch/v1/namespaces/vision/jobs").body["items"]
    return {job["metadata"]["name"]: job for job in items}


def run(job: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    command, variables = container(job)
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=180
    )


def test_a_dry_run_creates_nothing(env: Environment) -> None:
    notebook = write_notebook(env.folder.parent / "work" / "dry.ipynb", cell("print(1)"))
    assert submitted(env, notebook, "--dry-run")["state"] == "checked"
    assert jobs(env) == {}


def test_the_output_of_a_submitted_notebook_appears_next_to_it(env: Environment) -> None:
    work = env.folder.parent / "work"
    notebook = write_notebook(
        work / "train.ipynb", cell("steps = 1", tags=["parameters"]), cell("print(steps * 21)"), cell("1 / 0")
    )
    answer = submitted(env, notebook, "--priority", "urgent", "-p", "steps=2")
    job = jobs(env)[answer["job"]]
    assert answer["state"] == "submitted"
    assert (answer["team"], answer["gpus"], answer["card"]) == ("vision", 1, "A30")
    labels, pod = job["metadata"]["labels"], job["spec"]["template"]["spec"]
    assert labels["kueue.x-k8s.io/queue-name"] == "vision"
    assert labels["kueue.x-k8s.io/priority-class"] == "urgent"
    assert labels["modelyard.dev/stack"] == "dev"
    # While it waits, the Job is suspended and has no pod.
    assert job["spec"]["suspend"] is True
    assert env.lab.request("GET", "/api/v1/namespaces/vision/pods").body["items"] == []
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-A30"}
    (made,) = pod["containers"]
    assert made["resources"]["limits"] == made["resources"]["requests"]
    assert made["resources"]["limits"] == {"nvidia.com/gpu": "1", "cpu": "4", "memory": "24Gi"}
    result = Path(answer["result"])
    assert result.parent == work
    assert not result.exists()
    done = run(job)
    assert done.returncode == 1, done.stderr
    assert text_of(result) == "42\n"
    assert [one["ename"] for one in outputs(result) if one["output_type"] == "error"] == ["ZeroDivisionError"]


def test_each_submission_creates_a_job(env: Environment) -> None:
    notebook = write_notebook(env.folder.parent / "work" / "twice.ipynb", cell("print(1)"))
    first, second = submitted(env, notebook), submitted(env, notebook)
    assert first["job"] != second["job"]
    assert first["result"] != second["result"]
    assert {first["job"], second["job"]} <= set(jobs(env))


def test_submit_with_wait_ends_when_the_job_ends(env: Environment) -> None:
    notebook = write_notebook(env.folder.parent / "work" / "wait.ipynb", cell("print(1)"))
    before = set(jobs(env))
    words = ["job", "submit", str(notebook), "--stack", "dev", "--flavor", "a10", "--wait"]
    command = [str(Path(sys.prefix) / "bin" / "modelyard"), *words]
    waiting = subprocess.Popen(
        command, cwd=env.folder, env=env.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    env.lab.wait("the job", lambda: set(jobs(env)) > before)
    (name,) = set(jobs(env)) - before
    assert waiting.stderr is not None
    said = waiting.stderr.readline()
    assert said == f"it waits: {name} is in its queue; modelyard job why dev {name} shows why\n"
    assert waiting.poll() is None
    env.lab.kubectl("delete", "job", name, "--namespace=vision")
    waiting.communicate(timeout=60)
    assert waiting.returncode == 1


def test_a_rejected_submission_is_reported_and_creates_nothing(env: Environment) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "vision"},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    }
    before = set(jobs(env))
    env.lab.request("POST", "/api/v1/namespaces/vision/resourcequotas", quota)
    notebook = write_notebook(env.folder.parent / "work" / "no.ipynb", cell("print(1)"))
    words = ("job", "submit", str(notebook), "--stack", "dev", "--flavor", "a10")
    env.lab.wait("the quota", lambda: env.modelyard(*words, "--dry-run", check=False).returncode == 1)
    done = env.modelyard(*words, check=False)
    assert done.returncode == 1
    assert "exceeded quota" in " ".join(done.stderr.split())
    assert set(jobs(env)) == before
