"""The examples of the CI guide: linted, applied to a real cluster, and run by a real pre-commit."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.build import ready_toolset
from modelyard.cli import main
from tests.ci.support.github_runner import WORKFLOWS, Runner
from tests.ci.support.gitlab_pipeline import run as run_gitlab
from tests.ci.support.machine import ROOT, Repository, machine
from tests.lab.support.environment import Environment, ci_machine, environment

PRE_COMMIT = "4.7.0"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("ci")) as env:
        yield env


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    command = [str(ready_toolset().bin / "actionlint"), "-no-color"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_workflows_pass_their_linter(tmp_path: Path) -> None:
    shutil.copytree(WORKFLOWS, tmp_path / ".github" / "workflows")
    done = lint(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "words", [(), ("--max-failures", "1", "--timeout", "15m", "--bake", "30m", "--query", "max(errors) < 1")]
)
def test_a_workflow_of_waves_passes_the_linter(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / ".github" / "workflows"
    shutil.copytree(WORKFLOWS, folder)
    waves = (
        "-C",
        str(ROOT),
        "waves",
        "--canary",
        "dev",
        *words,
        "--format",
        "github",
        "--out",
        str(folder / "waves.yml"),
    )
    assert main(waves) == 0
    done = lint(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_finds_errors(tmp_path: Path) -> None:
    shutil.copytree(WORKFLOWS, tmp_path / ".github" / "workflows")
    apply = tmp_path / ".github" / "workflows" / "apply.yml"
    apply.write_text(apply.read_text().replace("stack: prod", "stock: prod").replace("needs: dev", "needs: def"))
    done = lint(tmp_path)
    assert done.returncode == 1
    assert 'input "stack" is required' in done.stdout
    assert '"def"' in done.stdout


def platform(dev: Environment, tmp_path: Path) -> tuple[Repository, dict[str, str]]:
    """A repository whose stack dev is the lab's platform, and the variables of a CI runner that reaches the lab."""
    repository = Repository(tmp_path / "repository")
    for stack in ("staging", "prod"):
        (repository.folder / "stacks" / f"Pulumi.{stack}.yaml").unlink()
    subprocess.run(
        [str(Path(sys.prefix) / "bin" / "modelyard"), "record", "dev"], cwd=repository.folder, env=dev.env, check=True
    )
    repository.commit("Only dev, recorded from its cluster")
    return repository, ci_machine(dev, tmp_path)


def test_the_github_workflow_applies_exactly_its_plan(dev: Environment, tmp_path: Path) -> None:
    repository, env = platform(dev, tmp_path)
    kubeconfig = Path(dev.env["KUBECONFIG"]).read_text()
    secrets = re.findall(r"[\w+/=-]{24,}", kubeconfig)
    assert secrets
    backend = env.pop("PULUMI_BACKEND_URL")
    environments = {"dev-plan": {"KUBECONFIG": kubeconfig}, "dev": {"KUBECONFIG": kubeconfig}}

    def applied(name: str) -> dict[str, str]:
        runner = Runner(
            repository.folder,
            tmp_path / name,
            {},
            env=env,
            secrets=environments,
            variables={name: {"PULUMI_BACKEND_URL": backend} for name in environments},
        )
        jobs = runner.run("apply-stack.yml", {"stack": "dev"})
        logs = "\n".join(job.log for job in jobs.values())
        assert "    dev  Ray training" in runner.summary.read_text() or "no changes" in logs, logs
        assert not [secret for secret in secrets if secret in logs]
        assert "failure" not in {job.result for job in jobs.values()}, logs
        return {name: job.result for name, job in jobs.items()}

    assert applied("first") == {"plan": "success", "apply": "success"}
    dev.settle()
    assert dev.plan().changed == ()
    # Nothing is left to change, so there is nothing to approve.
    assert applied("second") == {"plan": "success", "apply": "skipped"}


def test_the_gitlab_pipeline_applies_its_plan_unless_it_is_stale(dev: Environment, tmp_path: Path) -> None:
    repository, env = platform(dev, tmp_path)
    env |= {"HOME": str(tmp_path), "LANG": "C.UTF-8", "KUBECONFIG": dev.env["KUBECONFIG"]}
    repository.edit("dev", "replicas: 2", "replicas: 3")
    planned = run_gitlab("plan dev", repository.folder, env)
    assert planned.returncode == 0, planned.stdout
    done = run_gitlab("apply dev", repository.folder, env)
    assert done.returncode == 0, done.stdout
    dev.settle()
    assert dev.deployment("deployment-model-service")["spec"]["replicas"] == 3
    again = run_gitlab("apply dev", repository.folder, env)
    assert again.returncode == 4, again.stdout


def test_the_nightly_jobs_fail_on_drift(dev: Environment, tmp_path: Path) -> None:
    repository, env = platform(dev, tmp_path)
    backend = env["PULUMI_BACKEND_URL"]
    dev.modelyard("apply", "dev", "--yes", env={"PULUMI_BACKEND_URL": backend})
    dev.settle()
    viewer = dev.lab.kubeconfig_of("viewer")
    in_gitlab = env | {"HOME": str(tmp_path), "LANG": "C.UTF-8", "KUBECONFIG": str(viewer), "STACK": "dev"}

    def compared(name: str) -> tuple[str, str]:
        runner = Runner(
            repository.folder,
            tmp_path / name,
            {},
            env={key: value for key, value in env.items() if key != "PULUMI_BACKEND_URL"},
            secrets={"dev-plan": {"KUBECONFIG": viewer.read_text()}},
            variables={"dev-plan": {"PULUMI_BACKEND_URL": backend}},
        )
        job = runner.run("drift.yml")["drift (dev)"]
        done = run_gitlab("drift", repository.folder, in_gitlab)
        assert (done.returncode == 0) == (job.result == "success"), done.stdout + job.log
        assert runner.summary.read_text().count("dev: ") == 1
        return job.result, job.log + done.stdout

    assert compared("applied")[0] == "success"
    scale = ("scale", "deployment", "deployment-model-service", "--namespace", "ml-platform", "--replicas=6")
    dev.lab.kubectl(*scale)
    result, log = compared("changed")
    assert result == "failure"
    assert "::error title=dev has drifted::" in log
    assert log.count("kubectl (Update of scale)") == 2
    dev.modelyard("apply", "dev", "--yes", env={"PULUMI_BACKEND_URL": backend})
    dev.settle()
    assert compared("reconciled")[0] == "success"


@pytest.fixture(scope="module")
def pre_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real pre-commit, in its own Python environment."""
    folder = tmp_path_factory.mktemp("pre-commit")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"pre-commit=={PRE_COMMIT}"]
    subprocess.run([str(python), *words], check=True)
    return folder / "bin" / "pre-commit"


def test_hooks_run_in_a_real_pre_commit(pre_commit: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    for name in (*wheel["packages"], *wheel["force-include"]):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, hooks)
    identity = ("-c", "user.name=ci", "-c", "user.email=ci@example.com")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=Begin")):
        subprocess.run(["git", *identity, "-C", str(hooks), *words], check=True)
    commit = subprocess.run(["git", "-C", str(hooks), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)

    project = Repository(tmp_path / "project")
    (project.folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks}\n    rev: {commit.stdout.strip()}\n"
        "    hooks: [{id: modelyard-fmt}, {id: modelyard-check}]\n"
    )
    env = machine(tmp_path) | {
        "HOME": str(tmp_path),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        # Only modelyard is installed for the hooks; its dependencies come from this Python environment.
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PYTHONPATH": next(path for path in sys.path if path.endswith("site-packages")),
    }

    def run() -> subprocess.CompletedProcess[str]:
        project.git("add", "--all")
        command = [str(pre_commit), "run", "--color=never", "--all-files"]
        return subprocess.run(command, cwd=project.folder, env=env, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    project.edit("dev", "model: A10", "model:   A10")
    done = run()
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert "model: A10\n" in (project.folder / "stacks" / "Pulumi.dev.yaml").read_text()
    project.edit("dev", "model: A10", "model: L4")
    done = run()
    assert done.returncode == 1
    assert "GPU001" in done.stdout
