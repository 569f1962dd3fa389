"""Runs the example workflows as GitHub's runner does, as far as they need it: jobs, conditions, steps, artifacts.

What a step ``run``s is run. Of the actions, checkout and artifacts do what the real ones do; the others only install
or upload, and are noted.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.ci.support.workflow_expressions import holds, interpolated

WORKFLOWS = Path(__file__).resolve().parents[3] / "examples" / "ci" / "github"
PATIENCE = 600
"""Seconds that one step may take."""


class Step(NamedTuple):
    """A step that was run."""

    name: str
    code: int
    log: str
    env: Mapping[str, str]


class Job(NamedTuple):
    """How a job ended."""

    result: str
    """``success``, ``failure`` or ``skipped``."""
    outputs: Mapping[str, str]
    steps: tuple[Step, ...] = ()

    @property
    def log(self) -> str:
        return "".join(step.log for step in self.steps)


class Runner:
    """One run of a workflow for one event."""

    def __init__(
        self,
        repository: Path,
        home: Path,
        event: Mapping[str, Any],
        *,
        ref: str = "HEAD",
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        variables: Mapping[str, Mapping[str, str]] | None = None,
        workflows: Path = WORKFLOWS,
    ) -> None:
        """Prepares a run.

        Args:
            repository: what is checked out.
            home: a folder for everything that the run makes.
            event: the ``github`` context, but for what the runner knows by itself.
            ref: the commit that the event is about.
            env: variables of the machine.
            secrets: by environment; ``""`` for those that every job has. ``variables`` likewise, beside the SHA-256 of
                the machine's engine.
            workflows: the folder with the workflows.
        """
        self.repository, self.home, self.ref, self.workflows = repository, home, ref, workflows
        self.github = {
            "repository": "example/platform",
            "server_url": "https://github.example.com",
            "run_id": "42",
            "ref": "refs/heads/main",
            "token": "the-token",
            **event,
        }
        self.env = dict(env or {})
        self.secrets = secrets or {}
        engine = {name: self.env[name] for name in ("PULUMI_SHA256",) if name in self.env}
        self.variables = {**(variables or {}), "": {**engine, **(variables or {}).get("", {})}}
        self.artifacts: dict[str, Path] = {}
        self.uploads: list[Any] = []
        self.summary = home / "summary.md"
        home.mkdir(parents=True, exist_ok=True)
        self.summary.touch()

    def run(self, name: str, inputs: Mapping[str, str] | None = None) -> dict[str, Job]:
        """Runs the jobs of a workflow in their order."""
        workflow = yaml.safe_load((self.workflows / name).read_text(encoding="utf-8"))
        inputs = _inputs(workflow) | dict(inputs or {})
        done: dict[str, Job] = {}
        before: dict[str, set[str]] = {}
        for job, body in workflow["jobs"].items():
            needs = body.get("needs", [])
            needs = [needs] if isinstance(needs, str) else needs
            before[job] = {*needs}.union(*(before[other] for other in needs))
            values = {
                "github": self.github,
                "inputs": inputs,
                "needs": {other: {"result": done[other].result, "outputs": done[other].outputs} for other in needs},
            }
            good = all(done[other].result == "success" for other in needs)
            # A job that failed long before counts too.
            good = good and not any(done[other].result == "failure" for other in before[job])
            if not holds(body.get("if"), values, _status(good)):
                done[job] = Job("skipped", {})
            elif "uses" in body:
                called = body["uses"].removeprefix("./.github/workflows/")
                failed = False
                for variant, chosen in _matrix(body):
                    given = body.get("with", {}).items()
                    context = values | {"matrix": chosen}
                    inner = self.run(
                        called, {key: interpolated(str(value), context, _status(good)) for key, value in given}
                    )
                    failed = failed or any(one.result == "failure" for one in inner.values())
                    done |= {f"{job}{variant}/{other}": one for other, one in inner.items()}
                done[job] = Job("failure" if failed else "success", {})
            else:
                for variant, chosen in _matrix(body):
                    name = f"{inputs.get('stack', '')}{job}{variant}"
                    done[job + variant] = self._job(name, body, values | {"matrix": chosen})
        return done

    def _job(self, name: str, body: Mapping[str, Any], values: dict[str, Any]) -> Job:
        place = self.home / name
        workspace = place / "workspace"
        workspace.mkdir(parents=True)
        environment = interpolated(str(body.get("environment", "")), values, _status(True))
        values["secrets"] = {**self.secrets.get("", {}), **self.secrets.get(environment, {})}
        values["vars"] = {**self.variables.get("", {}), **self.variables.get(environment, {})}
        values["steps"] = {}
        # A token can do what the job's permissions say; without permissions it is as good as none.
        values["github"] = {**self.github, "token": json.dumps(body.get("permissions", {}), sort_keys=True)}
        machine = self._machine(place, values)
        steps: list[Step] = []
        good = True
        for number, step in enumerate(body["steps"]):
            functions = {**_status(good), "hashFiles": lambda name: "hash" if (workspace / name).exists() else ""}
            key = step.get("id", str(number))
            if not holds(step.get("if"), values, functions):
                values["steps"][key] = {"outcome": "skipped", "outputs": {}}
                continue
            given = {name: interpolated(str(text), values, functions) for name, text in step.get("env", {}).items()}
            options = {name: interpolated(str(text), values, functions) for name, text in step.get("with", {}).items()}
            if "run" in step:
                made = self._script(step, place / f"step{number}", workspace, machine, given)
                steps.append(made)
                ended, outputs = made.code == 0, _pairs(place / f"step{number}" / "output")
            else:
                ended, outputs = True, self._action(step["uses"], options, workspace)
            good = good and ended
            values["steps"][key] = {"outcome": "success" if ended else "failure", "outputs": outputs}
        declared = body.get("outputs", {})
        outputs = {name: interpolated(text, values, _status(good)) for name, text in declared.items()}
        return Job("success" if good else "failure", outputs, tuple(steps))

    def _machine(self, place: Path, values: Mapping[str, Any]) -> dict[str, str]:
        temporary = place / "temporary"
        temporary.mkdir()
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": self.github["repository"],
            "GITHUB_BASE_REF": self.github.get("base_ref", ""),
            "GITHUB_WORKSPACE": str(place / "workspace"),
            "RUNNER_TEMP": str(temporary),
            **self.env,
        }

    def _script(
        self, step: Mapping[str, Any], place: Path, workspace: Path, machine: dict[str, str], given: Mapping[str, str]
    ) -> Step:
        assert "${{" not in step["run"], "text from outside would become part of the script"
        place.mkdir()
        files = {name: place / name.lower() for name in ("OUTPUT", "ENV", "PATH")}
        for file in files.values():
            file.touch()
        script = place / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        env = {**machine, **{f"GITHUB_{name}": str(file) for name, file in files.items()}, **given}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env=env | {"GITHUB_STEP_SUMMARY": str(self.summary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        machine |= _pairs(files["ENV"])
        paths = files["PATH"].read_text().split()
        machine["PATH"] = os.pathsep.join([*reversed(paths), machine["PATH"]])
        return Step(step.get("name", step["run"]), done.returncode, done.stdout, env)

    def _action(self, uses: str, options: Mapping[str, str], workspace: Path) -> dict[str, str]:
        match uses.partition("@")[0]:
            case "actions/checkout":
                self._check_out(workspace, whole=options.get("fetch-depth") == "0")
            case "actions/upload-artifact":
                kept = self.home / "artifacts" / options["name"]
                kept.mkdir(parents=True)
                for file in options["path"].split():
                    shutil.copy(workspace / file, kept)
                self.artifacts[options["name"]] = kept
                return {"artifact-id": str(len(self.artifacts))}
            case "actions/download-artifact":
                for name, kept in self.artifacts.items():
                    if fnmatchcase(name, options.get("pattern", options.get("name", ""))):
                        shutil.copytree(kept, workspace, dirs_exist_ok=True)
            case "github/codeql-action/upload-sarif":
                self.uploads.append(json.loads((workspace / options["sarif_file"]).read_text()))
            case "actions/setup-python":
                pass
            case other:
                raise AssertionError(f"the runner does not know {other}")
        return {}

    def _check_out(self, workspace: Path, *, whole: bool) -> None:
        depth = [] if whole else ["--depth=1"]
        quiet = {"capture_output": True, "check": True, "text": True}
        commit = subprocess.run(["git", "-C", str(self.repository), "rev-parse", self.ref], **quiet).stdout.strip()
        source = self.repository.as_uri()
        for words in (
            ["init", "--quiet", "."],
            ["remote", "add", "origin", source],
            ["fetch", "--quiet", *depth, "origin", *(["+refs/heads/*:refs/remotes/origin/*"] if whole else []), commit],
            ["checkout", "--quiet", "--detach", commit],
        ):
            subprocess.run(["git", "-C", str(workspace), *words], **quiet)


def _inputs(workflow: Mapping[Any, Any]) -> dict[str, str]:
    """The defaults of the inputs with which another workflow calls this one."""
    # YAML reads the key "on" as true.
    called = (workflow[True] if isinstance(workflow[True], dict) else {}).get("workflow_call") or {}
    return {name: body["default"] for name, body in called.get("inputs", {}).items() if "default" in body}


def _matrix(body: Mapping[str, Any]) -> list[tuple[str, Mapping[str, str]]]:
    """The variants of a job of one dimension, by what GitHub adds to its name; of other jobs the one."""
    strategy = body.get("strategy", {"matrix": {}})
    assert strategy.get("fail-fast", False) is False, "one variant must not end the others"
    found = [(f" ({value})", {key: value}) for key, values in strategy["matrix"].items() for value in values]
    assert len(strategy["matrix"]) <= 1
    return found or [("", {})]


def _status(good: bool) -> dict[str, Any]:
    return {"success": lambda: good, "failure": lambda: not good, "always": lambda: True, "cancelled": lambda: False}


def _pairs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
