"""The pipeline for GitLab: valid by GitLab's own schema, its scripts run on merge requests of the project."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.ci.support.gitlab_pipeline import FILE, jobs, run
from tests.ci.support.machine import ROOT, RULE, Repository, machine

pytestmark = pytest.mark.slow

CHANGE = ("staging", "maxReplicas: 2", "maxReplicas: 4")
BAD = ("prod", "model: A30", "model: L4")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def env(tmp_path: Path, repository: Repository, change: tuple[str, str, str], number: str = "") -> dict[str, str]:
    """Commits a change and gives the variables of its merge request's jobs."""
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.edit(*change)
    repository.commit("Change")
    return machine(tmp_path / f"machine{number}") | {
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "FAKE_SERVER": str(tmp_path / "server.json"),
        "CI_PROJECT_DIR": str(repository.folder),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_PROJECT_ID": "11",
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
        "CI_JOB_URL": "https://gitlab.example.com/jobs/1",
        "MODELYARD_TOKEN": "the-token",
    }


def server(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "server.json").read_text())
    return found


def test_it_follows_gitlabs_schema() -> None:
    schema = json.loads((ROOT / "tests" / "ci" / "schemas" / "gitlab-ci.json").read_text())
    Draft7Validator(schema).validate(yaml.safe_load(FILE.read_text()))


def test_the_schema_rejects_an_error() -> None:
    schema = json.loads((ROOT / "tests" / "ci" / "schemas" / "gitlab-ci.json").read_text())
    broken = yaml.safe_load(FILE.read_text()) | {"check": {"scripts": ["true"]}}
    assert not Draft7Validator(schema).is_valid(broken)


def test_check_of_a_good_change_passes_with_a_report(tmp_path: Path, repository: Repository) -> None:
    done = run("check", repository.folder, env(tmp_path, repository, CHANGE))
    assert done.returncode == 0, done.stdout
    report = jobs()["check"]["artifacts"]["reports"]["junit"]
    root = ElementTree.parse(repository.folder / report).getroot()
    assert [suite.get("name") for suite in root] == ["dev", "prod", "staging"]
    assert root.get("failures") == "0"


def test_check_of_a_bad_change_fails_with_a_report(tmp_path: Path, repository: Repository) -> None:
    done = run("check", repository.folder, env(tmp_path, repository, BAD))
    assert done.returncode == 1, done.stdout
    assert "GPU001" in done.stdout
    assert jobs()["check"]["artifacts"]["when"] == "always"
    (failure,) = ElementTree.parse(repository.folder / "modelyard.xml").getroot().iter("failure")
    assert failure.text is not None
    assert "stacks/Pulumi.prod.yaml:10:5" in failure.text


def test_preview_is_written_for_the_comment(tmp_path: Path, repository: Repository) -> None:
    done = run("preview", repository.folder, env(tmp_path, repository, CHANGE))
    assert done.returncode == 0, done.stdout
    for path in jobs()["preview"]["artifacts"]["paths"]:
        assert (repository.folder / path).stat().st_size
    assert "<code>modelyard apply staging</code>" in (repository.folder / "preview.md").read_text()


def test_one_comment_is_written_and_updated(tmp_path: Path, repository: Repository) -> None:
    given = env(tmp_path, repository, CHANGE)
    run("preview", repository.folder, given)
    assert run("comment", repository.folder, given).returncode == 0
    (note,) = server(tmp_path)["comments"]
    assert note["body"] == (repository.folder / "preview.md").read_text()
    (repository.folder / "preview.md").write_text(note["body"].splitlines()[0] + "\nnew\n")
    done = run("comment", repository.folder, given)
    assert done.returncode == 0, done.stdout
    (note,) = server(tmp_path)["comments"]
    assert note["body"].endswith("\nnew\n")
    requests = server(tmp_path)["requests"]
    assert [request["method"] for request in requests] == ["GET", "GET", "POST", "GET", "GET", "PUT"]
    assert {request["token"] for request in requests} == {"PRIVATE-TOKEN: the-token"}
    notes = "https://gitlab.example.com/api/v4/projects/11/merge_requests/7/notes"
    user = "https://gitlab.example.com/api/v4/user"
    assert all(request["path"] == user or request["path"].startswith(notes) for request in requests)


def test_a_comment_after_many_others_is_found(tmp_path: Path, repository: Repository) -> None:
    given = env(tmp_path, repository, CHANGE)
    run("preview", repository.folder, given)
    assert run("comment", repository.folder, given).returncode == 0
    state = server(tmp_path)
    others = [{"id": number, "author": {"id": 7}, "body": "fine"} for number in range(1000, 1200)]
    (tmp_path / "server.json").write_text(json.dumps(state | {"comments": [*others, *state["comments"]]}))
    assert run("comment", repository.folder, given).returncode == 0
    assert len(server(tmp_path)["comments"]) == 201
    asked = [request["method"] for request in server(tmp_path)["requests"] if not request["path"].endswith("/user")]
    assert asked == ["GET", "POST", "GET", "GET", "GET", "PUT"]


def test_a_similar_comment_of_another_user_is_not_changed(tmp_path: Path, repository: Repository) -> None:
    given = env(tmp_path, repository, CHANGE)
    run("preview", repository.folder, given)
    foreign = {"id": 5, "author": {"id": 7}, "body": jobs()["comment"]["variables"]["MARK"] + "\nmine"}
    (tmp_path / "server.json").write_text(json.dumps({"comments": [foreign], "requests": []}))
    for _ in range(2):
        done = run("comment", repository.folder, given)
        assert done.returncode == 0, done.stdout
    first, ours = server(tmp_path)["comments"]
    assert first == foreign
    assert ours["body"] == (repository.folder / "preview.md").read_text()


def test_without_a_token_there_is_no_comment(tmp_path: Path, repository: Repository) -> None:
    given = env(tmp_path, repository, CHANGE)
    del given["MODELYARD_TOKEN"]
    run("preview", repository.folder, given)
    done = run("comment", repository.folder, given)
    assert done.returncode == 0, done.stdout
    assert "MODELYARD_TOKEN is" in done.stdout
    assert not (tmp_path / "server.json").exists()


def test_only_the_comment_job_has_the_token() -> None:
    found = jobs()
    scope = found["comment"]["environment"]["name"]
    assert f"environment scope {scope}" in FILE.read_text()
    for name, job in found.items():
        if name != "comment":
            assert job.get("environment", {}).get("name") != scope
            assert "MODELYARD_TOKEN" not in json.dumps(job)
    # The job with the token runs nothing from a merge request.
    assert found["comment"]["variables"]["GIT_STRATEGY"] == "none"
    assert "before_script" not in found["comment"]
    assert not any("modelyard " in line.split("#")[0] for line in found["comment"]["script"])


def test_apply_comes_after_check() -> None:
    for name, job in jobs().items():
        if name.startswith("plan "):
            assert [line.split()[1] for line in job["script"]] == ["check", "plan"]


@pytest.mark.parametrize("name", ["preview", "check"])
def test_python_of_a_merge_request_is_not_run(tmp_path: Path, repository: Repository, name: str) -> None:
    mark = tmp_path / "mark"
    (repository.folder / "policies/rules/forged.py").write_text(
        f"open({str(mark)!r}, 'w').close()\nimport os\nos._exit(0)\n"
    )
    given = env(tmp_path, repository, BAD)
    done = run(name, repository.folder, given)
    assert done.returncode == 1, done.stdout
    assert not mark.exists()
    assert not (repository.folder / ".venv").exists()


def test_an_old_branch_is_checked_with_current_rules(tmp_path: Path, repository: Repository) -> None:
    repository.git("branch", "old")
    (repository.folder / "policies/rules/since.py").write_text(RULE)
    repository.commit("A rule")
    repository.git("checkout", "--quiet", "old")
    given = env(tmp_path, repository, CHANGE)
    repository.git("update-ref", "refs/remotes/origin/main", "main")
    done = run("check", repository.folder, given)
    assert done.returncode == 1, done.stdout
    assert "POL901" in done.stdout


@pytest.mark.parametrize(
    ("name", "files"), [("preview", ("preview.md", "preview.html")), ("check", ("modelyard.xml",))]
)
@pytest.mark.parametrize("readable", [True, False])
def test_forged_reports_of_a_merge_request_are_ignored(
    tmp_path: Path, repository: Repository, name: str, files: tuple[str, ...], readable: bool
) -> None:
    """A link in their place would have the job with the token read a file of its own machine."""
    given = env(tmp_path, repository, CHANGE)
    outside = tmp_path / "outside"
    outside.write_text("{}")
    for file in files:
        (repository.folder / file).symlink_to(outside)
    if not readable:
        (repository.folder / "Pulumi.yaml").write_text("a: [")
    repository.commit("Forge")
    assert run(name, repository.folder, given).returncode == (0 if readable else 2)
    for file in files:
        assert (repository.folder / file).is_file() == readable
        assert not (repository.folder / file).is_symlink()
    assert outside.read_text() == "{}"


def test_without_a_preview_there_is_no_comment(tmp_path: Path, repository: Repository) -> None:
    assert run("comment", repository.folder, env(tmp_path, repository, CHANGE)).returncode == 0
    assert not (tmp_path / "server.json").exists()


def test_the_token_is_not_in_a_log(tmp_path: Path, repository: Repository) -> None:
    given = env(tmp_path, repository, CHANGE)
    run("preview", repository.folder, given)
    assert "the-token" not in run("comment", repository.folder, given).stdout


def test_stacks_are_applied_in_order_and_manually_after_dev() -> None:
    found = jobs()
    for before, stack in (("", "dev"), ("dev", "staging"), ("staging", "prod")):
        plan, apply = found[f"plan {stack}"], found[f"apply {stack}"]
        assert plan.get("needs") == ([f"apply {before}"] if before else None)
        assert apply["needs"] == [f"plan {stack}"]
        assert plan["variables"] == apply["variables"] == {"STACK": stack}
        assert apply["environment"] == {"name": stack}
        assert plan["environment"] == {"name": f"{stack}-plan", "action": "access"}
        (rule,) = apply["rules"]
        assert (rule.get("when"), rule.get("allow_failure")) == (("manual", False) if before else (None, None))


def test_a_schedule_only_checks_for_drift() -> None:
    """In a scheduled pipeline a rule for changed files always holds, so that applies would run every night."""
    for name, job in jobs().items():
        conditions = [rule["if"] for rule in job["rules"]]
        if name == "drift":
            assert conditions == ['$CI_PIPELINE_SOURCE == "schedule"']
            assert job["parallel"]["matrix"] == [{"STACK": ["dev", "staging", "prod"]}]
            assert job["environment"] == {"name": "$STACK-plan", "action": "access"}
        else:
            excluded = '$CI_PIPELINE_SOURCE != "schedule"', '$CI_PIPELINE_SOURCE == "merge_request_event"'
            assert all(condition.startswith(excluded) for condition in conditions), name


@pytest.mark.parametrize("name", ["apply dev", "drift"])
def test_apply_and_drift_fail_without_the_state(tmp_path: Path, repository: Repository, name: str) -> None:
    done = run(name, repository.folder, env(tmp_path, repository, CHANGE) | {"STACK": "dev"})
    assert done.returncode != 0
    assert "variable PULUMI_BACKEND_URL" in done.stdout


@pytest.mark.parametrize("name", ["apply dev", "drift"])
def test_an_engine_with_another_hash_is_not_unpacked(tmp_path: Path, repository: Repository, name: str) -> None:
    given = {"STACK": "dev", "PULUMI_BACKEND_URL": "file:///nowhere", "PULUMI_SHA256": "0" * 64}
    done = run(name, repository.folder, env(tmp_path, repository, CHANGE) | given)
    assert done.returncode != 0
    assert "pulumi.tar.gz: FAILED" in done.stdout
    assert not (tmp_path / "pulumi").exists()


def test_nothing_is_piped_into_a_shell() -> None:
    for path in sorted((ROOT / "examples").rglob("*.yml")):
        assert not re.search(r"\|\s*(sudo\s+)?(ba)?sh\b", path.read_text()), path


def test_the_comment_is_recognised_by_its_first_line() -> None:
    from modelyard.report.preview.markdown import MARK

    assert jobs()["comment"]["variables"]["MARK"] == MARK
