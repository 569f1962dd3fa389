"""The way of a change: a branch, a pull request with its comment and check, the merge, the apply, the next branch."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

from tests.ci.support.github_runner import Runner
from tests.ci.support.machine import Repository

OWNER = "example.com/owner: ml"
"""An annotation that the second version of a patch adds."""
PINNED = "  modelyard:patches:\n    - name: ray-worker\n      version: v1\n"
Apply = Callable[[str], bool]
"""Applies a stack of the branch main; whether there was anything to apply."""


class Proposal(NamedTuple):
    """What a pull request shows."""

    comment: str
    preview: str
    """How the job ended; so the next."""
    check: str
    log: str
    """What the check says."""


class Loop:
    """A repository on a server that knows one pull request at a time."""

    def __init__(self, home: Path, repository: Repository, env: Mapping[str, str]) -> None:
        """Takes over a repository with a clean branch main.

        Args:
            home: the machine's folder, for everything that runs make.
            repository: what is worked on.
            env: of the machine that runs the jobs.
        """
        self.repository, self.env = repository, dict(env)
        self._home, self._runs = home, 0

    def modelyard(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Runs the command line in the repository, as somebody does who works in it."""
        done = subprocess.run(
            [str(self._home / "machine" / "modelyard"), *words],
            cwd=self.repository.folder,
            env=self.env | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def branch(self, name: str) -> None:
        """Begins a branch where main is."""
        self.repository.git("checkout", "--quiet", "-b", name, "main")
        self._branch = name

    def propose(self) -> Proposal:
        """Commits what was changed, pushes it, and waits for the workflows of the pull request."""
        git = self.repository.git
        self.repository.commit(self._branch)
        git("checkout", "--quiet", "--detach", "main")
        git("merge", "--quiet", "--no-ff", "--message", "Merge", self._branch)
        merged = git("rev-parse", "HEAD")
        git("checkout", "--quiet", self._branch)
        event = {"base_ref": "main", "event": {"pull_request": {"number": 7, "head": {"repo": {"fork": False}}}}}
        server = self._home / f"{self._branch}.json"
        env = self.env | {"FAKE_SERVER": str(server)}
        preview = Runner(self.repository.folder, self._folder(), event, ref=merged, env=env).run("preview.yml")
        check = Runner(self.repository.folder, self._folder(), event, ref=merged, env=env).run("check.yml")
        assert preview["comment"].result == "success", preview["comment"].log
        (comment,) = json.loads(server.read_text())["comments"]
        return Proposal(comment["body"], preview["preview"].result, check["check"].result, check["check"].log)

    def merge(self) -> None:
        """Merges the branch."""
        self.repository.git("checkout", "--quiet", "main")
        self.repository.git("merge", "--quiet", "--no-ff", "--message", f"Merge {self._branch}", self._branch)

    def runner(self, **options: Mapping[str, Mapping[str, str]]) -> Runner:
        """A run for a push to main."""
        return Runner(self.repository.folder, self._folder(), {}, ref="main", env=self.env, **options)

    def _folder(self) -> Path:
        self._runs += 1
        return self._home / f"run{self._runs}"


def begin(repository: Repository) -> None:
    """Leaves dev and staging, of which staging stays with the first version of a patch."""
    (repository.folder / "stacks/Pulumi.prod.yaml").unlink()
    staging = repository.folder / "stacks/Pulumi.staging.yaml"
    staging.write_text(staging.read_text() + PINNED)
    repository.commit("Two stacks")


def go_round(loop: Loop, apply: Apply) -> None:
    """Takes three changes through the loop, each on top of what the one before it left."""
    patches = loop.repository.folder / "patches" / "ray-worker"

    # A new version of a patch: dev follows it, staging has it pinned.
    loop.branch("upgrade")
    copytree(patches / "v1", patches / "v5")
    template = patches / "v5" / "patch.yaml.j2"
    mark = '        karpenter.sh/do-not-disrupt: "true"\n'
    assert mark in template.read_text()
    template.write_text(template.read_text().replace(mark, f"{mark}        {OWNER}\n"))
    loop.modelyard("patches", "--release")
    seen = loop.propose()
    assert (seen.preview, seen.check) == ("success", "success"), seen
    assert "<code>modelyard apply dev</code>" in seen.comment
    assert "v1 → v5" in seen.comment
    assert "owner" in seen.comment
    loop.merge()
    assert apply("dev")
    assert not apply("dev")

    # Staging is brought up to dev.
    loop.branch("promote")
    assert "patches.ray-worker  v1" in loop.modelyard("promote", "dev", "staging", "--write")
    seen = loop.propose()
    assert (seen.preview, seen.check) == ("success", "success"), seen
    assert "<code>modelyard apply staging</code>" in seen.comment
    assert "v1 → v5" in seen.comment
    loop.merge()
    assert not apply("dev")

    # A change that cannot be applied is seen before it is merged, and mended on its branch.
    loop.branch("size")
    loop.repository.edit("dev", "model: A10", "model: L4")
    seen = loop.propose()
    assert (seen.preview, seen.check) == ("failure", "failure")
    assert "GPU001" in seen.comment
    assert "::error file=stacks/Pulumi.dev.yaml,line=11,col=5,title=GPU001 dev::" in seen.log
    loop.repository.edit("dev", "model: L4", "model: A10")
    loop.repository.edit("dev", "replicas: 2", "replicas: 3")
    seen = loop.propose()
    assert (seen.preview, seen.check) == ("success", "success"), seen
    assert "GPU001" not in seen.comment
    # What was merged before is no news.
    assert "ray-worker" not in seen.comment
    assert "<code>modelyard apply dev</code>" in seen.comment
    loop.merge()
    assert apply("dev")
