"""Plans of single targets, saved plans, and targets that cannot be planned.

``tests/golden/test_cli_plan_parts.txt`` has what they print.
"""

import json
from collections.abc import Callable
from shutil import copyfile
from typing import Any

import pytest

from tests.support.project_copies import ROOT

Golden = Callable[..., None]


def targets(run: Any, *names: str) -> list[str]:
    """The targets of a plan of single targets."""
    words = (word for name in names for word in ("--target", name))
    return [target["name"] for target in json.loads(run("plan", "dev", *words, "--json").out)["targets"]]


def test_plan_of_single_targets(project: Any, run: Any, golden: Golden) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    golden(run("plan", "dev", "--target", "ray-head", "--target", "api-server"))
    assert set(targets(run, "ray-head", "api-server")) == {"deployment-ray-head", "deployment-api-server"}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("celery", "deployment-model-training-tasks-gpu"),
        ("rayHead", "deployment-ray-head"),
        ("ray-head", "deployment-ray-head"),
        ("RAY-worker", "deployment-ray-model-training-worker"),
    ],
)
def test_a_target_is_named_by_its_workload_or_role(run: Any, name: str, target: str) -> None:
    assert targets(run, name) == [target]


def test_steps_of_a_part_keep_their_numbers(run: Any) -> None:
    out = run("plan", "dev", "--target", "tasks-gpu", "--target", "ray-head").out
    assert [line.split()[0] for line in out.splitlines() if line[1:2] == "."] == ["3.", "4.", "6."]


def test_a_part_of_a_plan_with_one_change(project: Any, applied: Any, run: Any, golden: Golden) -> None:
    applied("dev")
    project.edit(("replicas: 2", "replicas: 3"))
    other = ("plan", "dev", "--target", "ray-head", "--detailed-exitcode")
    golden(run("plan", "dev", "--target", "model-service"), run(*other))
    assert run(*other).code == run(*other, "--json").code == 0


def test_saving_and_showing_a_plan(project: Any, applied: Any, run: Any, golden: Golden) -> None:
    file = "plans/my dev.json"
    result = run("plan", "dev", "--out", file)
    saved = (project.root / file).read_text()
    assert result.code == 0
    assert saved == run("plan", "dev", "--json").out
    assert run("show", file, "--json").out == saved
    shown = run("show", file).out.splitlines()
    # The saved plan is shown with its notes.
    (missing,) = [line for line in result.out.splitlines() if line not in shown]
    assert "--notes" in missing
    applied("dev")
    golden(*result.out.splitlines()[-2:], "", run("plan", "dev", "--out", file), run("plan", file))


def test_showing_a_plan_of_an_earlier_version(project: Any, run: Any, golden: Golden) -> None:
    copyfile(ROOT / "tests/unit/plan/data/saved-by-earlier-version.json", project.root / "plan.json")
    golden(run("show", "plan.json"))


@pytest.fixture
def misnamed(project: Any) -> None:
    """A stack that names a Deployment which the platform lacks."""
    project.add("modelyard:targets:\n  rayHead: {deployment: deployment-ray-hed}")


@pytest.mark.usefixtures("misnamed")
def test_a_target_that_cannot_be_planned(run: Any, refused: Any, golden: Golden) -> None:
    plan = run("plan", "dev", "--target", "ray-hed")
    assert (plan.code, plan.errors) == (1, ["PAT013"])
    document = json.loads(run("plan", "dev", "--target", "ray-hed", "--json").out)
    assert [one["code"] for one in document["findings"]] == ["PAT013"]
    assert document["targets"] == []
    diff = refused("diff", "dev", "--target", "ray-hed", code=1)
    blame = refused("blame", "dev", "ray-hed", "spec.replicas", code=1)
    assert (diff.out, diff.errors) == (blame.out, blame.errors) == ("", ["PAT013"])
    golden(plan, diff, blame)


@pytest.mark.usefixtures("misnamed")
def test_plans_and_diffs_of_other_targets_have_the_error_too(run: Any) -> None:
    result = run("plan", "dev", "--target", "api-server")
    assert (result.code, result.errors) == (1, ["PAT013"])
    assert run("plan", "dev", "--target", "api-server", "--json").code == 1
    diff = run("diff", "dev")
    assert (diff.code, diff.errors, diff.out.count("+++ after/")) == (1, ["PAT013"], 4)
    assert "PAT013" in diff.err
    assert "PAT013" not in diff.out


def test_a_plan_without_any_target_of_the_platform(project: Any, run: Any, golden: Golden) -> None:
    for path in (project.root / "stacks/recorded/dev").glob("deployment.*.json"):
        path.unlink()
    plan, diff = run("plan", "dev"), run("diff", "dev")
    assert (plan.code, plan.errors) == (diff.code, diff.errors) == (1, ["PAT013"])
    golden(plan, diff)
