"""The workflows for GitHub Actions, run on pull requests of the project."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft4Validator

from tests.ci.support.github_runner import WORKFLOWS, Runner
from tests.ci.support.machine import ROOT, RULE, GitFolder, Repository, machine

pytestmark = pytest.mark.slow

CHANGE = ("staging", "maxReplicas: 2", "maxReplicas: 4")
BAD = ("prod", "model: A30", "model: L4")
BROKEN = ("prod", "model: A30", "model: [")
FILES = sorted(WORKFLOWS.glob("*.yml"))


def pull_request(tmp_path: Path, change: tuple[str, str, str], *, fork: bool = False, runs: int = 1) -> Runner:
    """A run for a pull request with one change."""
    repository = Repository(tmp_path / "repository")
    merged = repository.pull_request(*change)
    event = {
        "base_ref": "main",
        "event": {"pull_request": {"number": 7, "head": {"repo": {"fork": fork}}}},
    }
    return Runner(repository.folder, tmp_path / "run", event, ref=merged, env=machine(tmp_path))


def server(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "server.json").read_text())
    return found


def test_check_of_a_good_change_passes_and_uploads(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, CHANGE)
    jobs = runner.run("check.yml")
    assert {name: job.result for name, job in jobs.items()} == {"check": "success", "code-scanning": "success"}, jobs
    (sarif,) = runner.uploads
    Draft4Validator(json.loads((ROOT / "tests" / "ci" / "schemas" / "sarif-2.1.0.json").read_text())).validate(sarif)
    assert "### modelyard check" in runner.summary.read_text()


def test_check_of_a_bad_change_fails_on_its_line_and_still_uploads(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, BAD)
    jobs = runner.run("check.yml")
    assert jobs["check"].result == "failure"
    assert "::error file=stacks/Pulumi.prod.yaml,line=10,col=5,title=GPU001 prod::" in jobs["check"].log
    (sarif,) = runner.uploads
    (error,) = (result for result in sarif["runs"][0]["results"] if result["level"] == "error")
    place = error["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("stacks/Pulumi.prod.yaml", 10)
    assert "| error | GPU001 |" in runner.summary.read_text()


def test_check_of_an_unformatted_file_fails(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, ("prod", "model: A30", "model:   A30"))
    jobs = runner.run("check.yml")
    assert jobs["check"].result == "failure"
    assert "stacks/Pulumi.prod.yaml is not" in jobs["check"].log


def test_check_of_a_fork_uploads_nothing(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, BAD, fork=True)
    jobs = runner.run("check.yml")
    assert {name: job.result for name, job in jobs.items()} == {"check": "failure", "code-scanning": "skipped"}
    assert runner.uploads == []


def test_preview_writes_one_comment_and_updates_it(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, CHANGE)
    assert {name: job.result for name, job in runner.run("preview.yml").items()} == {
        "preview": "success",
        "comment": "success",
    }
    (comment,) = server(tmp_path)["comments"]
    assert "<code>modelyard apply staging</code>" in comment["body"]
    assert "max\\_replicas" in comment["body"]
    # Others comment too, and one of them quotes ours.
    state = server(tmp_path)
    state["comments"][0]["body"] = state["comments"][0]["body"].splitlines()[0] + "\nold"
    quote = {"id": 1, "user": {"type": "User"}, "body": state["comments"][0]["body"]}
    other = {"id": 2, "user": {"type": "Bot"}, "body": f"> {comment['body']}"}
    state["comments"][:0] = [quote, other]
    (tmp_path / "server.json").write_text(json.dumps(state))
    again = Runner(runner.repository, tmp_path / "again", runner.github, ref=runner.ref, env=runner.env)
    again.run("preview.yml")
    *others, ours = server(tmp_path)["comments"]
    assert others == [quote, other]
    assert ours["body"] == comment["body"]
    assert [request["method"] for request in server(tmp_path)["requests"]] == ["GET", "POST", "GET", "PATCH"]


def test_preview_of_a_bad_change_fails_and_still_comments(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, BAD)
    jobs = runner.run("preview.yml")
    assert {name: job.result for name, job in jobs.items()} == {"preview": "failure", "comment": "success"}
    (comment,) = server(tmp_path)["comments"]
    assert "GPU001" in comment["body"]
    assert comment["body"] in runner.summary.read_text()


def test_preview_of_a_broken_file_still_comments(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, BROKEN)
    jobs = runner.run("preview.yml")
    assert {name: job.result for name, job in jobs.items()} == {"preview": "failure", "comment": "success"}
    assert "CFG" in server(tmp_path)["comments"][0]["body"]


def test_preview_of_a_fork_has_a_summary_and_no_comment(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, CHANGE, fork=True)
    jobs = runner.run("preview.yml")
    assert {name: job.result for name, job in jobs.items()} == {"preview": "success", "comment": "skipped"}
    assert not (tmp_path / "server.json").exists()
    assert "<code>modelyard apply staging</code>" in runner.summary.read_text()


def test_code_of_a_pull_request_runs_without_write_access(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, CHANGE)
    jobs = runner.run("preview.yml")
    tokens = {request["token"] for request in server(tmp_path)["requests"]}
    assert tokens == {json.dumps({"pull-requests": "write"})}
    for step in jobs["preview"].steps:
        assert "GH_TOKEN" not in step.env
    writing = yaml.safe_load((WORKFLOWS / "preview.yml").read_text())["jobs"]["comment"]["steps"]
    assert not any("checkout" in step.get("uses", "") or "modelyard " in step.get("run", "") for step in writing)


@pytest.mark.parametrize("name", ["preview.yml", "check.yml"])
def test_python_of_a_pull_request_is_not_run(tmp_path: Path, name: str) -> None:
    """Neither a rule nor what sets up the tool: both come from the base."""
    runner = pull_request(tmp_path, BAD)
    repository = GitFolder(runner.repository)
    mark = tmp_path / "mark"
    repository.git("checkout", "--quiet", "--detach", runner.ref)
    for file in ("policies/rules/forged.py", "policies/rules/_shared.py", "modelyard.py", "yaml.py"):
        (repository.folder / file).write_text(f"open({str(mark)!r}, 'w').close()\nimport os\nos._exit(0)\n")
    (repository.folder / "Makefile").write_text(f"setup:\n\ttouch {mark}\n")
    runner.ref = repository.commit("Forge")
    repository.git("checkout", "--quiet", "main")
    jobs = runner.run(name)
    assert next(iter(jobs.values())).result == "failure"
    assert not mark.exists()
    assert "GPU001" in runner.summary.read_text()
    assert "POL007" in runner.summary.read_text()


def test_an_old_branch_is_checked_with_current_rules(tmp_path: Path) -> None:
    runner = pull_request(tmp_path, CHANGE)
    repository = GitFolder(runner.repository)
    (repository.folder / "policies/rules/since.py").write_text(RULE)
    repository.commit("A rule")
    assert runner.run("check.yml")["check"].result == "failure"
    assert "POL901" in runner.summary.read_text()


@pytest.mark.parametrize("forged", ["<!-- modelyard preview -->\nno changes in 3 stacks", None], ids=["file", "link"])
@pytest.mark.parametrize("readable", [True, False])
def test_forged_reports_of_a_pull_request_are_ignored(tmp_path: Path, forged: str | None, readable: bool) -> None:
    outside = tmp_path / "outside"
    outside.write_text("{}")
    runner = pull_request(tmp_path, CHANGE)
    repository = GitFolder(runner.repository)
    repository.git("checkout", "--quiet", "--detach", runner.ref)
    for name in ("preview.md", "preview.html", "modelyard.sarif"):
        if forged is None:
            (repository.folder / name).symlink_to(outside)
        else:
            (repository.folder / name).write_text(forged)
    if not readable:
        (repository.folder / "Pulumi.yaml").write_text("a: [")
    runner.ref = repository.commit("Forge")
    repository.git("checkout", "--quiet", "main")
    jobs = runner.run("check.yml") | runner.run("preview.yml")
    results = {name: job.result for name, job in jobs.items()}
    if readable:
        assert set(results.values()) == {"success"}
        assert "<code>modelyard apply staging</code>" in server(tmp_path)["comments"][0]["body"]
        assert len(runner.uploads) == 1
    else:
        assert results == {"check": "failure", "code-scanning": "skipped", "preview": "failure", "comment": "skipped"}
    assert "no changes" not in runner.summary.read_text()
    assert outside.read_text() == "{}"


def test_nothing_is_applied_from_another_branch(tmp_path: Path) -> None:
    event = {"ref": "refs/heads/other"}
    runner = Runner(Repository(tmp_path / "repository").folder, tmp_path / "run", event, env=machine(tmp_path))
    assert {job.result for job in runner.run("apply.yml").values()} == {"skipped"}


def test_the_comment_is_recognised_by_its_first_line() -> None:
    from modelyard.report.preview.markdown import MARK

    text = (WORKFLOWS / "preview.yml").read_text()
    assert f'MARK: "{MARK}"' in text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_action_is_pinned_to_a_commit_with_its_version(file: Path) -> None:
    for line in file.read_text().splitlines():
        if found := re.search(r"uses: (\S+)(.*)", line):
            name, rest = found.groups()
            local = name.startswith("./.github/workflows/")
            assert local or (re.search(r"@[0-9a-f]{40}$", name) and re.fullmatch(r" # v\d+\.\d+\.\d+", rest)), line
            assert not local or (WORKFLOWS / name.rpartition("/")[2]).exists()


def test_each_action_has_one_version() -> None:
    found = {name for file in FILES for name in re.findall(r"uses: (\S+@\S+)", file.read_text())}
    assert len({name.partition("@")[0] for name in found}) == len(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_job_has_permissions_and_a_timeout(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert "permissions" in job
        assert "timeout-minutes" in job or "uses" in job
        writes = {name for name, right in job["permissions"].items() if right == "write"}
        assert writes <= {"pull-requests", "security-events"}
        if writes:
            assert not any("checkout" in step.get("uses", "") for step in job["steps"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_script_contains_expressions(file: Path) -> None:
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        for step in job.get("steps", ()):
            assert "${{" not in step.get("run", "")


def test_stacks_are_applied_one_after_the_other() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "apply.yml").read_text())["jobs"]
    order = [job["with"]["stack"] for job in jobs.values()]
    assert order == ["dev", "staging", "prod"]
    assert [job.get("needs") for job in jobs.values()] == [None, "dev", "staging"]
    assert set(order) == {path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml")}


def test_every_stack_is_checked_for_drift_every_night_with_read_access() -> None:
    workflow = yaml.safe_load((WORKFLOWS / "drift.yml").read_text())
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True]["schedule"] == [{"cron": "17 3 * * *"}]
    job = workflow["jobs"]["drift"]
    assert set(job["strategy"]["matrix"]["stack"]) == {
        path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml")
    }
    assert job["environment"] == "${{ matrix.stack }}-plan"


def test_drift_without_the_state_fails_early(tmp_path: Path) -> None:
    runner = Runner(Repository(tmp_path / "repository").folder, tmp_path / "run", {}, env=machine(tmp_path))
    jobs = runner.run("drift.yml")
    assert {name: job.result for name, job in jobs.items()} == {
        f"drift ({stack})": "failure" for stack in ("dev", "staging", "prod")
    }
    for job in jobs.values():
        assert "variable PULUMI_BACKEND_URL" in job.log


@pytest.mark.parametrize("sha256", ["", "0" * 64])
def test_an_engine_with_another_hash_is_not_unpacked(tmp_path: Path, sha256: str) -> None:
    env = machine(tmp_path) | {"PULUMI_SHA256": sha256}
    runner = Runner(Repository(tmp_path / "repository").folder, tmp_path / "run", {}, env=env)
    for job in runner.run("drift.yml").values():
        assert job.result == "failure"
        assert ("pulumi.tar.gz: FAILED" if sha256 else "variable PULUMI_SHA256") in job.log
    assert not list((tmp_path / "run").rglob("pulumi"))


def test_the_engine_is_installed_the_same_way_everywhere() -> None:
    found = [
        step
        for file in FILES
        for job in yaml.safe_load(file.read_text())["jobs"].values()
        for step in job.get("steps", ())
        if "Pulumi" in step.get("name", "")
    ]
    assert len(found) == 4
    assert found[0] == found[1] == found[2]


def test_a_failed_comparison_is_not_reported_as_drift(tmp_path: Path) -> None:
    runner = Runner(
        Repository(tmp_path / "repository").folder,
        tmp_path / "run",
        {},
        env=machine(tmp_path),
        variables={"": {"PULUMI_BACKEND_URL": tmp_path.as_uri()}},
    )
    jobs = runner.run("drift.yml")
    assert {job.result for job in jobs.values()} == {"failure"}
    assert not any("has drifted" in job.log for job in jobs.values())
