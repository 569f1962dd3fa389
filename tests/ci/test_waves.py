"""What ``modelyard waves`` writes for CI systems, with its jobs run in order against a stand-in for modelyard."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft7Validator

from modelyard.cli import main
from tests.ci.support.github_runner import WORKFLOWS, Runner
from tests.ci.support.gitlab_pipeline import FILE, jobs, run_all
from tests.ci.support.machine import ROOT, Repository, machine

pytestmark = pytest.mark.slow

# Writes down what it is asked, and fails where $FAIL says so, such as verify:dev.
_MODELYARD = """#!/bin/sh
stack=$2
case "$1" in
  plan) echo "$2" > plan.json ;;
  apply) [ "$2" != --plan ] || stack=$(cat plan.json) ;;
  verify) shift 2; echo "$stack $*" >> "$CALLS.options"; set -- verify ;;
esac
echo "$1 $stack" >> "$CALLS"
case " $FAIL " in *" $1:$stack "*) exit 1 ;; esac
case "$1 $*" in plan*--detailed-exitcode*) exit 5 ;; esac
"""
QUERY = 'max(errors{job="a b$"}) < 0.1'


class Rollout(NamedTuple):
    """How the jobs ended, and what modelyard was asked."""

    results: dict[str, str]
    calls: list[str]
    """Applies and verifications, in order."""
    options: list[str]
    """The options of the verifications."""


class World:
    """A repository with more stacks, and a machine with the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempts = 0
        self.artifacts: dict[str, Path] = {}
        self.repository = Repository(folder / "repository")
        stacks = self.repository.folder / "stacks"
        for name in ("eu", "us"):
            shutil.copy(stacks / "Pulumi.dev.yaml", stacks / f"Pulumi.{name}.yaml")
        self.repository.commit("More stacks")
        self.env = machine(folder)
        program = folder / "machine" / "modelyard"
        program.write_text(_MODELYARD)

    def written(self, form: str, *words: str) -> Path:
        """The file that the verb writes."""
        file = self.folder / f"{form}.yml"
        code = main(["-C", str(self.repository.folder), "waves", *words, "--format", form, "--out", str(file)])
        assert code == 0
        return file

    def github(self, fail: str, *words: str) -> Rollout:
        """Runs the workflow."""
        workflows = self.folder / "workflows"
        shutil.copytree(WORKFLOWS, workflows, dirs_exist_ok=True)
        shutil.copy(self.written("github", *words), workflows / "waves.yml")
        self.attempts += 1
        calls = self.folder / f"calls{self.attempts}"
        runner = Runner(
            self.repository.folder,
            self.folder / f"run{self.attempts}",
            {},
            env=self.env | {"CALLS": str(calls), "FAIL": fail},
            variables={"": {"PULUMI_BACKEND_URL": "file:///state", "PROMETHEUS_URL": "http://prometheus"}},
            workflows=workflows,
        )
        # GitHub keeps the artifacts of a run for its later attempts.
        runner.artifacts = self.artifacts
        done = runner.run("waves.yml")
        return rollout({name: job.result for name, job in done.items() if "/" not in name}, calls)

    def gitlab(self, fail: str, *words: str) -> Rollout:
        """Runs the child pipeline."""
        found = jobs(FILE.with_name("waves-jobs.yml"), self.written("gitlab", *words))
        calls = self.folder / "calls"
        env = self.env | {
            "HOME": str(self.folder),
            "CALLS": str(calls),
            "FAIL": fail,
            "PULUMI_BACKEND_URL": "file:///state",
            "PROMETHEUS_URL": "http://prometheus",
        }
        return rollout(run_all(found, self.repository.folder, env), calls)


def rollout(results: dict[str, str], calls: Path) -> Rollout:
    asked = [line for line in calls.read_text().splitlines() if line.split()[0] in ("apply", "verify")]
    options = Path(f"{calls}.options")
    return Rollout(results, asked, options.read_text().splitlines() if options.exists() else [])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


CANARY = ("--canary", "dev", "--percent", "50,100")


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_waves_are_applied_and_verified_one_after_the_other(world: World, form: str) -> None:
    done = getattr(world, form)("", *CANARY, "--timeout", "15m", "--bake", "30m", "--query", QUERY)
    names = [f"{kind}-{number}" for number in (1, 2, 3) for kind in ("wave", "verify")]
    assert done.results == dict.fromkeys(names, "success")
    waves = (("dev",), ("eu", "prod"), ("staging", "us"))
    assert done.calls == [f"{verb} {stack}" for wave in waves for verb in ("apply", "verify") for stack in wave]
    assert done.options[0] == f"dev --timeout 15m --bake 30m --prometheus http://prometheus --query {QUERY}"


@pytest.mark.parametrize("form", ["github", "gitlab"])
@pytest.mark.parametrize("fail", ["apply:dev", "verify:dev"])
@pytest.mark.parametrize("allowed", ["0", "5"])
def test_a_failed_canary_stops_every_later_wave(world: World, form: str, fail: str, allowed: str) -> None:
    done = getattr(world, form)(fail, *CANARY, "--max-failures", allowed)
    assert {call.split()[1] for call in done.calls} == {"dev"}
    later = {name: result for name, result in done.results.items() if not name.endswith("-1")}
    assert set(later.values()) == {"skipped"}
    assert {"wave-2", "wave-3"} <= later.keys()


@pytest.mark.parametrize("form", ["github", "gitlab"])
@pytest.mark.parametrize("fail", ["apply:prod verify:prod", "verify:prod"])
@pytest.mark.parametrize(("allowed", "reached"), [("0", False), ("1", True)])
def test_some_stacks_of_a_wave_may_fail(world: World, form: str, fail: str, allowed: str, reached: bool) -> None:
    done = getattr(world, form)(fail, *CANARY, "--max-failures", allowed)
    assert ("apply us" in done.calls) is reached
    assert ("verify us" in done.calls) is reached
    assert done.results["wave-3"] == ("success" if reached else "skipped")


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_a_wave_in_which_every_stack_fails_stops_the_next(world: World, form: str) -> None:
    fail = "apply:eu verify:eu apply:prod verify:prod"
    done = getattr(world, form)(fail, *CANARY, "--max-failures", "5")
    assert done.results["gate-2"] == "failure"
    assert done.results["wave-3"] == "skipped"
    assert "apply us" not in done.calls


def test_without_options_a_stack_has_ten_minutes_and_does_not_bake(world: World) -> None:
    assert world.github("", *CANARY).options[0] == world.gitlab("", *CANARY).options[0] == "dev --timeout 10m --bake 0s"


def test_a_second_attempt_counts_only_its_own_results(world: World) -> None:
    words = (*CANARY, "--max-failures", "1")
    assert world.github("", *words).results["wave-3"] == "success"
    done = world.github("verify:eu verify:prod", *words)
    assert (done.results["gate-2"], done.results["wave-3"]) == ("failure", "skipped")


def test_a_workflow_of_another_branch_applies_nothing(world: World) -> None:
    text = world.written("github", *CANARY).read_text()
    first = yaml.safe_load(text)["jobs"]["wave-1"]
    assert first["if"] == "${{ github.ref == 'refs/heads/main' }}"


def test_the_jobs_of_a_called_workflow_may_ask_for_an_identity_token(world: World) -> None:
    found = yaml.safe_load(world.written("github", *CANARY).read_text())["jobs"].values()
    allowed = {"contents": "read", "id-token": "write"}
    assert all(job["permissions"] == (allowed if "uses" in job else {}) for job in found)


@pytest.mark.parametrize(
    "words", [CANARY, (*CANARY, "--max-failures", "1", "--timeout", "1h", "--bake", "1h", "--query", QUERY), ()]
)
def test_the_child_pipeline_follows_gitlabs_schema(world: World, words: tuple[str, ...]) -> None:
    schema = json.loads((ROOT / "tests" / "ci" / "schemas" / "gitlab-ci.json").read_text())
    for file in (world.written("gitlab", *words), FILE.with_name("waves-jobs.yml")):
        Draft7Validator(schema).validate(yaml.safe_load(file.read_text()))


def test_a_child_pipeline_without_stacks_still_has_a_job(world: World) -> None:
    file = world.written("gitlab", "--changed-since", "HEAD")
    assert [set(job) for job in jobs(file).values()] == [{"script"}]


def test_each_later_wave_needs_the_verification_of_the_wave_before(world: World) -> None:
    for form in ("github", "gitlab"):
        whole: dict[str, Any] = yaml.safe_load(world.written(form, *CANARY).read_text())
        found = whole.get("jobs", whole)
        for number in (2, 3):
            assert found[f"wave-{number}"]["needs"] in (f"verify-{number - 1}", [f"verify-{number - 1}"])
