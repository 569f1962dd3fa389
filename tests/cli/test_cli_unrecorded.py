"""Stacks without a recorded platform: every check that needs none, and plans of stacks that create everything."""

import json
import shutil
from typing import Any

import pytest

from tests.support.cli_project import ROOT

JOBS = """modelyard:resources: [{name: etl, type: dataset}]
modelyard:jobs: [{name: features, type: dataset, resource: etlx, rows: 50M, columns: 40}]"""
HARDWARE = ("memory: 32Gi", "memory: 8Gi")


@pytest.fixture
def unrecorded(project: Any) -> Any:
    """The project, whose stack test has the file of dev and no recorded platform."""
    project.stack_file("test").write_bytes(project.stack_file().read_bytes())
    return project


def found(result: Any) -> list[tuple[str, str]]:
    return [(one["code"], one["severity"]) for one in json.loads(result.out)["findings"]]


def test_check_runs_every_check_that_needs_no_cluster(unrecorded: Any, run: Any) -> None:
    fine = run("check", "test")
    assert (fine.code, fine.errors) == (0, [])
    assert fine.out.count("CFG101") == 1
    unrecorded.edit(HARDWARE, stack="test")
    unrecorded.add(JOBS, "test")
    wrong = run("check", "test", "--json")
    assert wrong.code == 1
    assert [code for code, severity in found(wrong) if severity == "error"] == ["RES001", "RES201"]
    assert found(wrong).count(("CFG101", "advice")) == 1
    assert not [code for code, _ in found(wrong) if code.startswith("PAT")]


def test_a_plan_that_needs_the_platform_shows_all_errors_at_once(unrecorded: Any, refused: Any) -> None:
    unrecorded.edit(HARDWARE, stack="test")
    unrecorded.add(JOBS, "test")
    for verb in (("plan", "test"), ("render", "test"), ("plan", "test", "--policies", "none")):
        assert refused(*verb, code=2).errors == ["RES001", "RES201", "CFG101"]
    document = json.loads(refused("plan", "test", "--json", code=2).out)
    assert [one["code"] for one in document["findings"] if one["severity"] == "error"] == ["RES001", "RES201", "CFG101"]
    for verb in (("plan", "test"), ("plan", "dev", "test", "--matrix"), ("diff", "test"), ("render", "test")):
        result = refused(*verb, code=2)
        assert "CFG101" in result.errors
        assert "  note " not in result.err


def test_patches_are_checked_against_their_kinds(unrecorded: Any, run: Any) -> None:
    template = (ROOT / "patches/ray-head/v1/patch.yaml.j2").read_text().partition("spec:")[0]
    unrecorded.patch(
        "mine", f"{template.replace('{{ deployment }}', 'deployment-ray-head')}spec: {{hostNetwrk: true}}\n"
    )
    unrecorded.add("modelyard:patches: [{name: mine}, {name: ray-worker, version: v9}]", "test")
    test, dev = run("check", "test"), run("check", "dev")
    assert test.code == 1
    assert "hostNetwrk" in test.words
    assert "v9" in test.words
    assert set(dev.errors) < set(test.errors)


def test_a_waiver_for_what_is_not_checked_is_not_reported_as_unused(unrecorded: Any, run: Any) -> None:
    waiver = "modelyard:waivers: [{code: RES101, reason: cards are on order, expires: 2099-01-01, by: me}]"
    unrecorded.add(waiver, "test")
    unrecorded.add(waiver, "dev")
    assert "CFG022" in run("check", "dev", "--notes").out
    shutil.copytree(ROOT / "policies", unrecorded.root / "policies")
    assert "CFG022" not in run("check", "test", "--notes").out
    unrecorded.edit(("mode: existing", "mode: managed"), ("RES101", "POL101"), stack="test")
    assert "CFG022" not in run("check", "test", "--notes").out


def test_every_format_of_check_reports_skipped_checks(unrecorded: Any, run: Any) -> None:
    for form in ("text", "json", "github", "sarif", "junit"):
        result = run("check", "test", "--format", form)
        assert (result.code, "CFG101" in result.out) == (0, True), form


def test_a_managed_stack_is_planned_against_an_empty_cluster(unrecorded: Any, run: Any) -> None:
    unrecorded.edit(("mode: existing", "mode: managed"), stack="test")
    result = run("plan", "test")
    assert (result.code, result.errors) == (0, [])
    document = json.loads(run("plan", "test", "--json").out)
    assert document["cluster"] == {"source": "recorded", "identity": "", "version": ""}
    assert {one["action"] for one in document["targets"]} == {"create"}
    deployments = {one["name"] for one in document["targets"] if one["kind"] == "Deployment"}
    assert deployments == {
        "deployment-model-service",
        "deployment-ray-head",
        "deployment-ray-model-training-worker",
        "deployment-model-training-tasks-gpu",
    }
    severities = {one["code"]: (one["severity"], one.get("target")) for one in document["findings"]}
    assert severities["CFG101"] == ("advice", None)
    # The installer's object, which the stack only patches.
    assert severities["PAT013"] == ("warning", "deployment-api-server")
    unrecorded.edit(HARDWARE, stack="test")
    assert run("plan", "test").errors == ["RES001"]


def test_rendered_files_of_a_managed_stack_come_with_a_warning(unrecorded: Any, run: Any) -> None:
    unrecorded.edit(("mode: existing", "mode: managed"), stack="test")
    result = run("render", "test", "--format", "kustomize")
    assert result.code == 0
    assert "PAT013" in result.err
    files = [path.read_text() for path in (unrecorded.root / "out/kustomize/test").rglob("*.yaml")]
    assert any("deployment-ray-head" in text for text in files)


def test_policies_judge_the_objects_that_the_stack_creates(unrecorded: Any, run: Any) -> None:
    shutil.copytree(ROOT / "policies", unrecorded.root / "policies")
    unrecorded.edit(("model-service:23.10.4", "model-service:latest"), stack="test")
    existing = run("check", "test", "--json")
    assert "POL101" not in dict(found(existing))
    unrecorded.edit(("mode: existing", "mode: managed"), stack="test")
    for verb in ("check", "plan"):
        assert "POL101" in dict(found(run(verb, "test", "--json")))
        assert "POL101" not in dict(found(run(verb, "test", "--json", "--policies", "none")))


@pytest.mark.parametrize("damage", ["no cluster.json", "a file", "a broken link", "a folder as file"])
@pytest.mark.parametrize("mode", ["existing", "managed"])
def test_a_damaged_recorded_platform_stays_an_error(unrecorded: Any, refused: Any, damage: str, mode: str) -> None:
    unrecorded.edit(("mode: existing", f"mode: {mode}"), stack="test")
    folder = unrecorded.root / "stacks/recorded/test"
    match damage:
        case "no cluster.json":
            shutil.copytree(unrecorded.root / "stacks/recorded/dev", folder)
            (folder / "cluster.json").unlink()
        case "a file":
            folder.write_text("")
        case "a broken link":
            folder.symlink_to("nowhere")
        case _:
            folder.mkdir()
            (folder / "cluster.json").mkdir()
    for verb in ("check", "plan"):
        result = refused(verb, "test", code=2)
        assert result.errors == ["CFG102"]
        assert "stacks/recorded/test" in result.text
        assert "record test" in result.words
