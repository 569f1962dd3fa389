"""The pipelines that ``modelyard init`` writes, run step by step: installation with hashes, checks and a comment."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import modelyard
from lab.build import ready_toolset
from tests.ci.support.github_runner import WORKFLOWS, Job, Runner
from tests.ci.support.gitlab_pipeline import jobs, run
from tests.ci.support.machine import ROOT, GitFolder, machine
from tests.lab.support.environment import ci_machine, environment
from tests.lab.support.program_environments import bare_python, own_wheel, wheels
from tests.support.wheels import only_from

CHANGE = ("dev", "modelyard:rayWorker:\n    replicas: 1", "modelyard:rayWorker:\n    replicas: 2")
BAD = ("dev", "model: A10", "model: L4")
MODELYARD = str(Path(sys.prefix) / "bin" / "modelyard")
LISTED = f"modelyard=={modelyard.__version__}"


class Index(NamedTuple):
    """The package index of the pipelines."""

    env: dict[str, str]
    """Variables of pip."""
    sha256: str
    """Digest of modelyard's wheel."""


INSTALL = re.compile(r"^python -m venv .*--require-hashes .*$", re.MULTILINE)
"""The installation line of the CI guide for jobs that apply."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    wheel = own_wheel(tmp_path_factory.mktemp("wheel"))
    found = only_from(wheels())
    found["PIP_FIND_LINKS"] += f" {wheel.parent}"
    # Each job creates a Python environment for a few commands.
    found["PIP_NO_COMPILE"] = "1"
    return Index(found, hashlib.sha256(wheel.read_bytes()).hexdigest())


def project(tmp_path: Path, ci: str, index: Index) -> GitFolder:
    """A new project with its platform recorded, under git."""
    made = GitFolder(tmp_path / "my-platform")
    made.folder.mkdir()
    subprocess.run([MODELYARD, "-C", str(made.folder), "init", "--ci", ci], check=True, capture_output=True)
    shutil.copytree(ROOT / "stacks" / "recorded" / "dev", made.folder / "stacks" / "recorded" / "dev")
    assert LISTED in (made.folder / "requirements.in").read_text().splitlines()
    # The resolved requirements.in, at the tested versions.
    tested = (ROOT / "requirements" / "runtime.txt").read_text()
    (made.folder / "requirements.txt").write_text(f"{tested}{LISTED} --hash=sha256:{index.sha256}\n")
    made.begin()
    return made


def runner_of(tmp_path: Path, index: Index) -> dict[str, str]:
    """The variables of a machine that has Python, without any package, and git."""
    found = machine(tmp_path) | index.env
    bare_python(tmp_path / "machine" / "bin", "python")
    return found | {"PATH": os.pathsep.join((str(tmp_path / "machine" / "bin"), os.defpath))}


def pull_request(tmp_path: Path, repository: GitFolder, index: Index, change: tuple[str, str, str]) -> dict[str, Job]:
    """Runs the workflow for a pull request; returns its jobs."""
    event = {
        "event_name": "pull_request",
        "base_ref": "main",
        "event": {"pull_request": {"number": 7, "head": {"repo": {"fork": False}}}},
    }
    runner = Runner(
        repository.folder,
        tmp_path / "run",
        event,
        ref=repository.pull_request(*change),
        env=runner_of(tmp_path, index),
        workflows=repository.folder / ".github" / "workflows",
    )
    return runner.run("modelyard.yml")


def results(done: dict[str, Job]) -> dict[str, str]:
    return {name: job.result for name, job in done.items()}


def comment(tmp_path: Path) -> str:
    (found,) = json.loads((tmp_path / "server.json").read_text())["comments"]
    body: str = found["body"]
    return body


def test_github_checks_and_comments_on_a_pull_request(tmp_path: Path, index: Index) -> None:
    done = pull_request(tmp_path, project(tmp_path, "github", index), index, CHANGE)
    assert results(done) == {"check": "success", "comment": "success"}, done["check"].log
    assert "<code>modelyard apply dev</code>" in comment(tmp_path)
    assert "| replicas | <code>1</code> | <code>2</code> |" in comment(tmp_path)
    installed = tmp_path / "run" / "check" / "temporary" / "venv"
    assert list(installed.glob(f"lib/*/site-packages/modelyard-{modelyard.__version__}.dist-info"))


def test_github_comments_on_a_pull_request_with_an_error(tmp_path: Path, index: Index) -> None:
    done = pull_request(tmp_path, project(tmp_path, "github", index), index, BAD)
    assert results(done) == {"check": "failure", "comment": "success"}, done["check"].log
    assert "title=GPU001 dev::" in done["check"].log
    assert "GPU001" in comment(tmp_path)


def test_a_wheel_with_another_hash_is_not_installed(tmp_path: Path, index: Index) -> None:
    other = index._replace(sha256="0" * 64)
    done = pull_request(tmp_path, project(tmp_path, "github", other), other, CHANGE)
    assert results(done) == {"check": "failure", "comment": "skipped"}
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done["check"].log
    assert not (tmp_path / "server.json").exists()


def test_the_workflow_that_applies_installs_as_in_the_guide(tmp_path: Path, index: Index) -> None:
    (line,) = INSTALL.findall((ROOT / "docs" / "guides" / "ci.md").read_text())
    with environment("dev", tmp_path / "lab") as dev:
        repository = project(tmp_path, "github", index)
        workflows = repository.folder / ".github" / "workflows"
        text = (WORKFLOWS / "apply-stack.yml").read_text()
        assert text.count("make setup LOCK=runtime") == 2
        (workflows / "apply-stack.yml").write_text(text.replace("make setup LOCK=runtime", line))
        subprocess.run([MODELYARD, "-C", str(repository.folder), "record", "dev"], check=True, env=dev.env)
        repository.commit("Record, and apply from CI")
        lab = ci_machine(dev, tmp_path / "lab")
        env = {name: lab[name] for name in lab if name.startswith(("PULUMI_", "MODELYARD_"))}
        env |= runner_of(tmp_path, index)
        env["PATH"] += f"{os.pathsep}{dev.lab.tools.bin}"
        backend, login = env.pop("PULUMI_BACKEND_URL"), {"KUBECONFIG": Path(dev.env["KUBECONFIG"]).read_text()}
        runner = Runner(
            repository.folder,
            tmp_path / "run",
            {},
            env=env,
            secrets={"dev-plan": login, "dev": login},
            variables={name: {"PULUMI_BACKEND_URL": backend} for name in ("dev-plan", "dev")},
            workflows=workflows,
        )
        done = runner.run("apply-stack.yml", {"stack": "dev"})
        assert results(done) == {"plan": "success", "apply": "success"}, "".join(job.log for job in done.values())
        dev.settle()
        live = [MODELYARD, "-C", str(repository.folder), "plan", "dev", "--live", "--detailed-exitcode"]
        subprocess.run(live, check=True, env=dev.env | {"PULUMI_BACKEND_URL": backend})


def test_the_workflow_passes_its_linter(tmp_path: Path, index: Index) -> None:
    repository = project(tmp_path, "github", index)
    command = [str(ready_toolset().bin / "actionlint"), "-no-color"]
    done = subprocess.run(command, cwd=repository.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_gitlab_checks_and_previews_a_merge_request(tmp_path: Path, index: Index) -> None:
    repository = project(tmp_path, "gitlab", index)
    pipeline = repository.folder / ".gitlab-ci.yml"
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    env = runner_of(tmp_path, index) | {
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_JOB_URL": "https://gitlab.example.com/jobs/1",
    }
    listed = jobs(pipeline)

    def failures() -> str | None:
        report = repository.folder / listed["check"]["artifacts"]["reports"]["junit"]
        return ElementTree.parse(report).getroot().get("failures")

    repository.edit(*CHANGE)
    repository.commit("Change")
    for name in ("check", "preview"):
        done = run(name, repository.folder, env, pipeline)
        assert done.returncode == 0, done.stdout
    assert failures() == "0"
    for path in listed["preview"]["artifacts"]["paths"]:
        assert (repository.folder / path).stat().st_size
    assert "<code>modelyard apply dev</code>" in (repository.folder / "preview.md").read_text()

    repository.edit(*BAD)
    repository.commit("Error")
    assert run("check", repository.folder, env, pipeline).returncode == 1
    assert failures() == "1"
