"""Python environments: the build Job in a real API server; its container runs on this machine with the real pip."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import Lab
from tests.lab.support.environment import NAMESPACE, Environment
from tests.lab.support.notebook_files import cell, write_notebook
from tests.support.conda_channel import rattler, served
from tests.support.wheels import only_from, wheel

HERE = "{}.{}".format(*sys.version_info[:2])
CONFIG: dict[str, Any] = {
    "modelyard:environments": [
        {"name": "tabular", "python": HERE, "pip": ["frames", "tools<0.4"], "image": f"python:{HERE}"},
        {"name": "broken", "python": HERE, "pip": ["tools==0.4"], "image": f"python:{HERE}"},
    ],
    "modelyard:resources": [
        {"name": "deep", "type": "training", "workers": 1, "cpu": 1, "memory": "2Gi", "environment": "tabular"}
    ],
    "modelyard:jobs": [
        {"name": "train", "type": "training", "resource": "deep", "command": ["python", "-c", "import frames"]}
    ],
}


class Machine:
    """Runs containers in place of the cluster's nodes: the volume and the package index are folders."""

    def __init__(self, folder: Path) -> None:
        self.volume, self.wheels = folder / "volume", folder / "wheels"
        self.volume.mkdir()

    def start(self, job: dict[str, Any]) -> subprocess.Popen[str]:
        """Runs the container of a Job."""
        (container,) = job["spec"]["template"]["spec"]["containers"]
        mounted = container["volumeMounts"][-1]["mountPath"]
        words = [word.replace(mounted, str(self.volume)) for word in (*container["command"], *container["args"])]
        given = {one["name"]: one.get("value", "").replace(mounted, str(self.volume)) for one in container["env"]}
        python = str(Path(sys.prefix) / "bin" / "python")
        return subprocess.Popen(
            [python if word == "python3" and not at else word for at, word in enumerate(words)],
            env={**os.environ, **only_from(self.wheels), **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, job: dict[str, Any]) -> tuple[int, str]:
        """Runs the container of a Job to its end."""
        process = self.start(job)
        said, _ = process.communicate(timeout=180)
        return process.returncode, said

    @property
    def names(self) -> list[str]:
        """The names on the volume."""
        return sorted(one.name for one in self.volume.iterdir())


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A control plane without nodes: Jobs do not run; tests set how they ended."""
    folder = tmp_path_factory.mktemp("environments")
    with Lab.start(folder / "lab", context="dev") as lab:
        made = Environment("dev", lab, folder / "project")
        document = yaml.safe_load(made.stack_file.read_text())
        document["config"] |= CONFIG
        made.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        lab.kubectl("create", "namespace", NAMESPACE)
        yield made


@pytest.fixture(scope="module")
def machine(env: Environment) -> Machine:
    made = Machine(env.folder.parent)
    wheel(made.wheels, "frames", "2.1", ("arrays<2",))
    wheel(made.wheels, "arrays", "1.8")
    wheel(made.wheels, "tools", "0.3")
    wheel(made.wheels, "tools", "0.4")
    env.env |= only_from(made.wheels)
    for name in ("tabular", "broken"):
        env.modelyard("environment", "lock", "dev", name)
    return made


def build(env: Environment, name: str, *words: str) -> dict[str, Any]:
    """The JSON output of a build, with the live Job."""
    document: dict[str, Any] = json.loads(env.modelyard("environment", "build", "dev", name, "--json", *words).stdout)
    answer = env.lab.request("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{document['job']}")
    return {**document, "object": answer.body if answer.status == 200 else None}


def end(env: Environment, job: str, condition: str) -> None:
    """Ends a Job's pod as a kubelet would, and waits until the Job has the condition."""
    pods = env.lab.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").body["items"]
    (pod,) = [one["metadata"]["name"] for one in pods if one["metadata"]["labels"]["job-name"] == job]
    phase = json.dumps({"status": {"phase": {"Complete": "Succeeded", "Failed": "Failed"}[condition]}})
    options = (f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", f"--patch={phase}")
    env.lab.kubectl("patch", "pod", pod, *options)

    def over() -> bool:
        found = env.lab.request("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{job}").body
        return condition in [one["type"] for one in found.get("status", {}).get("conditions", ())]

    env.lab.wait("the end of the build", over)


@pytest.fixture
def built(env: Environment, machine: Machine) -> None:
    """A Python environment that is built: on the volume and by its Job's status."""
    made = build(env, "tabular")
    if made["state"] != "built":
        code, said = machine.run(made["object"])
        assert code == 0, said
        end(env, made["job"], "Complete")


def submit(env: Environment) -> subprocess.CompletedProcess[str]:
    return env.modelyard("job", "submit", "dev", "train", "--dry-run", check=False)


def test_a_run_without_its_python_environment_is_rejected(env: Environment, machine: Machine) -> None:
    done = submit(env)
    assert done.returncode == 1
    assert "environment tabular was not built in namespace ml-platform" in " ".join(done.stderr.split())
    assert "modelyard environment build dev tabular" in done.stderr


def test_two_builders_make_a_python_environment_once(env: Environment, machine: Machine) -> None:
    asked = build(env, "tabular", "--dry-run")
    assert (asked["state"], asked["object"]) == ("checked", None)
    made = build(env, "tabular")
    assert (made["state"], made["new"]) == ("building", True)
    assert (build(env, "tabular")["state"], build(env, "tabular")["new"]) == ("building", False)
    assert "is still being built" in " ".join(submit(env).stderr.split())

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(machine.run, [made["object"]] * 2))
    assert [code for code, _ in ended] == [0, 0], ended
    final = machine.volume / made["digest"]
    assert final.is_symlink()
    assert machine.names == sorted([made["digest"], final.readlink().name])
    program = subprocess.run([final / "bin/frames"], capture_output=True, text=True, check=True)
    assert program.stdout == "2.1\n"
    assert (final / "modelyard.lock").read_text().split() == ["arrays==1.8", "frames==2.1", "tools==0.3"]

    before = final.stat().st_mtime_ns
    code, said = machine.run(made["object"])
    assert (code, said) == (0, f"environment {made['digest']} is there already\n")
    assert final.stat().st_mtime_ns == before

    waiting = subprocess.Popen(
        [Path(sys.prefix) / "bin" / "modelyard", "environment", "build", "dev", "tabular", "--wait"],
        cwd=env.folder,
        env=env.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    said = waiting.stderr.readline() + waiting.stderr.readline()  # too wide for one line
    assert "has no node: no nodes available to schedule pods" in " ".join(said.split())
    end(env, made["job"], "Complete")
    said, rest = waiting.communicate(timeout=60)
    assert (waiting.returncode, rest) == (0, "")
    first, *_, last = said.splitlines()
    assert "is being built in ml-platform: job" in first
    assert last.endswith("is built in ml-platform")
    assert (build(env, "tabular")["state"], build(env, "tabular")["new"]) == ("built", False)
    assert f"{NAMESPACE}" in env.modelyard("environment", "list", "dev", "--live").stdout


@pytest.mark.usefixtures("built")
def test_a_run_has_the_packages_of_its_python_environment(env: Environment, machine: Machine) -> None:
    done = env.modelyard("job", "submit", "dev", "train", "--json")
    (found,) = json.loads(done.stdout)["objects"]
    job = env.lab.request("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{found['name']}").body
    assert machine.run(job) == (0, "")
    for path in machine.volume.iterdir():
        path.rename(path.with_name("gone." + path.name))
    code, said = machine.run(job)
    assert code == 78
    assert "environment tabular is not built on this volume" in said
    for path in machine.volume.iterdir():
        path.rename(path.with_name(path.name.removeprefix("gone.")))


def test_a_failed_build_shows_the_error_of_pip_and_leaves_nothing(env: Environment, machine: Machine) -> None:
    before = machine.names
    made = build(env, "broken")
    (machine.wheels / "tools-0.4-py3-none-any.whl").unlink()
    code, said = machine.run(made["object"])
    assert code == 1
    assert "No matching distribution found for tools==0.4" in said
    assert f"environment {made['digest']} is not built: pip ended with 1" in said
    assert machine.names == before

    end(env, made["job"], "Failed")
    again = build(env, "broken")
    assert (again["state"], again["new"]) == ("building", True)
    assert again["object"]["metadata"]["uid"] != made["object"]["metadata"]["uid"]


def test_a_build_rejects_wrong_hashes_and_clears_a_killed_build(env: Environment, machine: Machine) -> None:
    before = machine.names
    made = build(env, "broken")
    left = machine.volume / f"{made['digest']}.killed"
    (left / "bin").mkdir(parents=True)
    os.utime(left, (0, 0))
    wheel(machine.wheels, "tools", "0.4", ("arrays",))
    code, said = machine.run(made["object"])
    assert code == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in said
    assert machine.names == before


def test_a_stopped_build_leaves_nothing(env: Environment, machine: Machine) -> None:
    before = machine.names
    process = machine.start(build(env, "broken")["object"])
    env.lab.wait("the build's folder", lambda: machine.names != before)
    process.terminate()
    assert process.wait(timeout=60) == 128 + 15
    assert machine.names == before


def test_a_missing_volume_is_reported_in_one_line(env: Environment, machine: Machine) -> None:
    job = build(env, "broken")["object"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["args"][0] = str(machine.volume / "nowhere")
    code, said = machine.run(job)
    assert code == 1
    assert said.endswith("nowhere cannot be written: No such file or directory\n")


def test_the_build_job_installs_conda_packages(env: Environment, machine: Machine, tmp_path: Path) -> None:
    solver, modules = rattler()
    (machine.wheels / solver.name).symlink_to(solver)
    text = env.stack_file.read_text()
    with served(tmp_path / "channel") as channel:
        channel.add_python()
        channel.add_module("frames", "2.1")
        listed = {
            "name": "conda",
            "python": HERE,
            "channels": [channel.url],
            "conda": ["frames=2"],
            "pip": ["tools<0.4"],
        }
        document = yaml.safe_load(text)
        document["config"]["modelyard:environments"].append({**listed, "image": f"python:{HERE}"})
        env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        found = {"PYTHONPATH": str(modules), "RATTLER_CACHE_DIR": str(tmp_path / "cache")}
        try:
            env.modelyard("environment", "lock", "dev", "conda", env=found)
            made = build(env, "conda")
            code, said = machine.run(made["object"])
        finally:
            env.stack_file.write_text(text)
    assert code == 0, said
    there = (machine.volume / made["digest"] / "modelyard.lock").read_text().split()
    assert there == ["frames=2.1=0", "python={}.{}.{}=0".format(*sys.version_info[:3]), "frames==2.1", "tools==0.3"]


def test_a_notebook_without_its_python_environment_is_rejected(env: Environment, machine: Machine) -> None:
    work = env.folder.parent / "work"
    work.mkdir()
    notebook = write_notebook(work / "train.ipynb", cell("1"))
    document = yaml.safe_load(env.stack_file.read_text())
    listed = {"name": "notebooks", "python": HERE, "pip": ["papermill", "ipykernel"], "image": f"python:{HERE}"}
    document["config"]["modelyard:environments"].append(listed)
    document["config"]["modelyard:notebooks"] = {"environment": "notebooks", "path": str(work)}
    env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
    words = ("job", "submit", str(notebook), "--stack", "dev", "--dry-run")
    assert "ENV004" in env.modelyard(*words, check=False).stderr
    for name in ("papermill", "ipykernel"):
        wheel(machine.wheels, name, "1.0")
    env.modelyard("environment", "lock", "dev", "notebooks")
    done = env.modelyard(*words, check=False)
    assert done.returncode == 1
    assert "environment notebooks was not built in namespace ml-platform" in " ".join(done.stderr.split())
    made = build(env, "notebooks")
    end(env, made["job"], "Complete")
    env.modelyard(*words)
