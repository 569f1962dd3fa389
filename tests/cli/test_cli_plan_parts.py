"""Plans of single targets, saved plans, and targets that cannot be planned."""

import json
from shutil import copyfile
from typing import Any

import pytest

from tests.support.project_copies import ROOT


def test_plan_of_single_targets(project: Any, run: Any) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    result = run("plan", "dev", "--target", "ray-head", "--target", "api-server")
    assert "dev: 2 of 5 targets shown: 2 to change, 1 pod replaced" in result.words
    assert "all 5 targets: 5 to change, 3 pods replaced, GPUs stay at 1; 1 warning, 4 notes" in result.words
    assert result.out.splitlines()[-1] == "Next: modelyard apply dev (all 5 targets)"
    assert "model-service" not in result.out
    document = json.loads(run("plan", "dev", "--target", "ray-head", "--json").out)
    assert [target["name"] for target in document["targets"]] == ["deployment-ray-head"]


def test_saving_and_showing_a_plan(project: Any, run: Any) -> None:
    result = run("plan", "dev", "--out", "plans/dev.json")
    saved = (project.root / "plans/dev.json").read_text()
    assert result.code == 0
    assert saved == run("plan", "dev", "--json").out
    assert run("show", "plans/dev.json", "--json").out == saved
    shown = run("show", "plans/dev.json").out
    missing = [line for line in result.out.splitlines() if line not in shown.splitlines()]
    # With its notes it need not say that notes tell more.
    assert missing == ["takes ownership of 26 fields from kubectl-client-side-apply (list them with --notes)"]


def test_showing_a_plan_that_an_earlier_version_saved(project: Any, run: Any) -> None:
    saved = ROOT / "tests/unit/plan/data/saved-by-earlier-version.json"
    copyfile(saved, project.root / "plan.json")
    result = run("show", "plan.json")
    assert result.code == 0
    assert "dev: 1 remote cluster no longer used" in result.words
    assert result.out.splitlines()[-1].startswith("Next: modelyard apply --plan plan.json")


def test_a_part_keeps_its_place_in_the_order_of_the_whole(run: Any) -> None:
    out = run("plan", "dev", "--target", "tasks-gpu", "--target", "ray-head").out
    assert [line.split()[0] for line in out.splitlines() if line[1:2] == "."] == ["3.", "4.", "6."]


def test_a_part_that_is_all_there_is_to_apply(project: Any, applied: Any, run: Any) -> None:
    applied("dev")
    project.edit(("replicas: 2", "replicas: 3"))
    last = run("plan", "dev", "--target", "model-service")
    assert last.out.splitlines()[-1] == "Next: modelyard apply dev"
    assert "all 5 targets: 1 to change" in last.words
    other = run("plan", "dev", "--target", "ray-head", "--detailed-exitcode")
    assert "dev: 1 of 5 targets shown: nothing to change" in other.words
    assert other.out.splitlines()[-1] == "Next: modelyard apply dev (1 target)"
    assert other.code == run("plan", "dev", "--target", "ray-head", "--detailed-exitcode", "--json").code == 0


@pytest.mark.parametrize("name", ["celery", "rayHead", "ray-head", "RAY-worker"])
def test_a_target_may_be_named_by_its_workload(run: Any, name: str) -> None:
    assert "1 of 5 targets shown" in run("plan", "dev", "--target", name).out


@pytest.fixture
def misnamed(project: Any) -> None:
    """A stack one of whose targets is not there."""
    project.add("modelyard:targets:\n  rayHead: {deployment: deployment-ray-hed}")


@pytest.mark.usefixtures("misnamed")
def test_a_target_without_a_plan_has_a_name(run: Any) -> None:
    result = run("plan", "dev", "--target", "ray-hed")
    assert (result.code, result.errors) == (1, ["PAT013"])
    assert "dev: 1 of 5 targets shown: 1 could not be planned" in result.words
    assert "all 5 targets: 4 to change, 1 could not be planned" in result.words
    assert "for the reason: modelyard explain PAT013" in result.words
    document = json.loads(run("plan", "dev", "--target", "ray-hed", "--json").out)
    assert [one["code"] for one in document["findings"]] == ["PAT013"]
    assert document["targets"] == []


@pytest.mark.usefixtures("misnamed")
@pytest.mark.parametrize(
    "words", [("diff", "dev", "--target", "ray-hed"), ("blame", "dev", "ray-hed", "spec.replicas")]
)
def test_what_has_no_plan_has_no_diff_and_no_blame(refused: Any, words: tuple[str, ...]) -> None:
    result = refused(*words, code=1)
    assert (result.out, result.errors) == ("", ["PAT013"])
    assert "error: deployment-ray-hed cannot be planned: it has PAT013" in result.words
    assert "did you mean deployment-ray-head?" in result.words


@pytest.mark.usefixtures("misnamed")
def test_errors_are_told_with_every_part_as_they_stop_it_too(run: Any) -> None:
    result = run("plan", "dev", "--target", "api-server")
    assert (result.code, result.errors) == (1, ["PAT013"])
    assert run("plan", "dev", "--target", "api-server", "--json").code == 1


@pytest.mark.usefixtures("misnamed")
def test_the_diff_of_the_others_comes_with_the_error(run: Any) -> None:
    result = run("diff", "dev")
    assert (result.code, result.errors, result.out.count("+++ after/")) == (1, ["PAT013"], 4)
    assert "PAT013" in result.err
    assert "PAT013" not in result.out


def test_a_plan_whose_every_target_is_missing_says_so(project: Any, run: Any) -> None:
    for path in (project.root / "stacks/recorded/dev").glob("deployment.*.json"):
        path.unlink()
    result = run("plan", "dev")
    assert (result.code, result.errors) == (1, ["PAT013"])
    assert "dev: nothing could be planned (5 targets); 1 error" in result.words
    assert "nothing to change" not in result.words
    assert "no changes" not in run("diff", "dev").words


def test_saving_a_plan_says_where_it_is_and_what_it_is_good_for(run: Any) -> None:
    lines = run("plan", "dev", "--out", "plans/my dev.json").out.splitlines()
    assert lines[-2:] == [
        "saved to plans/my dev.json",
        "Next: modelyard apply --plan 'plans/my dev.json'; it fails if the cluster is not as recorded",
    ]


def test_saving_a_plan_that_changes_nothing(applied: Any, run: Any) -> None:
    applied("dev")
    assert run("plan", "dev", "--out", "x.json").out.splitlines()[1:] == ["saved to x.json"]
