"""The workflow of ``modelyard waves`` rolls changes out to three clusters, with the real engine in each job."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from lab import Lab
from tests.ci.support.github_runner import WORKFLOWS, Job, Runner
from tests.ci.support.machine import Repository
from tests.lab.support.environment import NAMESPACE, Environment, ci_machine

WAVES = ("dev", "staging", "prod")
"""The waves: one stack each, with its own cluster."""
HEAD = "deployment-ray-head"


class Rollouts:
    """A repository with the workflow, and its stacks' clusters."""

    def __init__(self, home: Path, labs: dict[str, Lab]) -> None:
        self.home, self.labs = home, labs
        self.repository = Repository(home / "repository")
        self.env = ci_machine(Environment("dev", labs["dev"], home / "project"), home)
        self.backend = self.env.pop("PULUMI_BACKEND_URL")
        self.runs = 0
        workflows = self.workflows = self.repository.folder / ".github" / "workflows"
        copytree(WORKFLOWS, workflows)
        for stack in WAVES:
            file = self.repository.folder / "stacks" / f"Pulumi.{stack}.yaml"
            text = file.read_text()
            file.write_text(text + f'  modelyard:labels: {{wave: "{WAVES.index(stack)}"}}\n')
            self.modelyard("record", stack, KUBECONFIG=str(labs[stack].kubeconfig))
        options = ("--canary", "dev", "--by", "wave", "--timeout", "15s", "--format", "github")
        self.modelyard("waves", *options, "--out", str(workflows / "waves.yml"))
        self.repository.commit("Record the platforms, and roll out in waves")

    def modelyard(self, *words: str, **env: str) -> None:
        """Runs the command line in the repository, as a developer does."""
        program = str(self.home / "machine" / "modelyard")
        done = subprocess.run(
            [program, *words],
            cwd=self.repository.folder,
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def release(self, *, deployment: str, pods: str) -> None:
        """Commits a new version of the Ray head's patch, with an annotation of the Deployment and one of its pods."""
        patch = self.repository.folder / "patches" / "ray-head"
        version = f"v{1 + max(int(folder.name[1:]) for folder in patch.iterdir() if folder.is_dir())}"
        copytree(patch / "v1", patch / version)
        template = patch / version / "patch.yaml.j2"
        head, _, spec = template.read_text().partition("spec:\n")
        spec = spec.replace("  template:\n", f"  template:\n    metadata:\n      annotations: {{{pods}}}\n", 1)
        assert pods in spec
        template.write_text(f"{head}metadata:\n  annotations: {{{deployment}}}\nspec:\n{spec}")
        self.modelyard("patches", "--release")
        self.repository.commit(f"Release ray-head {version}")

    def run(self) -> dict[str, Job]:
        """Runs the workflow for a push to main."""
        self.runs += 1
        login = {stack: {"KUBECONFIG": lab.kubeconfig.read_text()} for stack, lab in self.labs.items()}
        runner = Runner(
            self.repository.folder,
            self.home / f"run{self.runs}",
            {},
            env=self.env,
            secrets=login | {f"{stack}-plan": secrets for stack, secrets in login.items()},
            variables={
                name: {"PULUMI_BACKEND_URL": self.backend} for stack in WAVES for name in (stack, f"{stack}-plan")
            },
            workflows=self.workflows,
        )
        return runner.run("waves.yml")

    def versions(self, stack: str) -> dict[str, str]:
        """The resource version of each Deployment in a stack's cluster."""
        items = self.labs[stack].request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments").body["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def annotation(self, stack: str, name: str) -> str | None:
        """An annotation of the Ray head's pods."""
        found = self.labs[stack].request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{HEAD}").body
        value: str | None = found["spec"]["template"]["metadata"].get("annotations", {}).get(name)
        return value


@pytest.fixture
def rollouts(tmp_path: Path) -> Iterator[Rollouts]:
    labs: dict[str, Lab] = {}
    try:
        for stack in WAVES:
            labs[stack] = Lab.start(tmp_path / f"lab-{stack}", context=stack)
            labs[stack].install_platform(stack)
        yield Rollouts(tmp_path, labs)
    finally:
        for lab in labs.values():
            lab.stop()


def results(done: dict[str, Job]) -> dict[str, str]:
    """The results of the workflow's own jobs, without those of called workflows."""
    return {name: job.result for name, job in done.items() if "/" not in name}


def test_a_failed_canary_stops_the_rollout_until_it_is_corrected(rollouts: Rollouts) -> None:
    later = WAVES[1:]
    before = {stack: rollouts.versions(stack) for stack in later}
    # The apply does not wait for this rollout and succeeds; only the verify job fails.
    rollouts.release(
        deployment='pulumi.com/skipAwait: "true"', pods='lab.modelyard/never-ready: "true", example.com/owner: ml'
    )
    done = rollouts.run()
    logs = "".join(job.log for job in done.values())
    assert results(done) == {"wave-1": "success", "verify-1": "failure"} | {
        f"{kind}-{number}": "skipped" for number in (2, 3) for kind in ("wave", "verify")
    }, logs
    assert f"{HEAD}: 0 of 1 pods available" in done["verify-1 (dev)/verify"].log
    assert rollouts.annotation("dev", "example.com/owner") == "ml"
    assert {stack: rollouts.versions(stack) for stack in later} == before

    rollouts.release(deployment='example.com/reviewed: "true"', pods="example.com/owner: platform")
    done = rollouts.run()
    logs = "".join(job.log for job in done.values())
    assert set(results(done).values()) == {"success"}, logs
    applied = [name for name, job in done.items() if name.endswith("/apply") and job.result == "success"]
    assert applied == [f"wave-{number} ({stack})/apply" for number, stack in enumerate(WAVES, 1)]
    assert {stack: rollouts.annotation(stack, "example.com/owner") for stack in WAVES} == dict.fromkeys(
        WAVES, "platform"
    )
