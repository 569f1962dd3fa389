"""Every ``--json`` output has the form that ``modelyard schema`` publishes."""

import copy
import json
import re
from argparse import Namespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cli_project import SCHEMAS


def test_schemas_are_valid_and_every_part_has_a_description(valid: Any) -> None:
    for name in SCHEMAS:
        schema = valid.schemas[name]
        Draft202012Validator.check_schema(schema)
        assert schema["title"]
        assert schema["description"]
        if name not in ("stack", "prices", "hardware", "policy", "assertion"):
            for part in schema.get("$defs", {}).values():
                assert part["title"]
                assert part["additionalProperties"] is False


def test_findings_have_one_schema(valid: Any) -> None:
    assert valid.schemas["plan"]["$defs"]["finding"] == valid.schemas["findings"]["$defs"]["finding"]


@pytest.mark.parametrize("stack", ["dev", "prod", "staging"])
def test_plans(run: Any, valid: Any, stack: str) -> None:
    assert valid(json.loads(run("plan", stack, "--json").out), "plan") == []
    assert valid(json.loads(run("plan", stack, "--json", "--target", "ray-head").out), "plan") == []


PLACES = "image: 'trainer:1', data: {shared: {bucket: lake, prefix: data}}, model: {bucket: lake, prefix: models}"
FAR = """modelyard:resources:
  - name: far
    type: training
    remote: {cluster: {controller: "https://10.8.0.5:6443", context: far, quota: {cpu: 8, memory: 32Gi}}}
"""


def test_plans_with_an_unrecorded_remote_cluster(project: Any, run: Any, valid: Any) -> None:
    project.add(FAR)
    document = json.loads(run("plan", "dev", "--json").out)
    assert [one["cluster"]["identity"] for one in document["remotes"]] == [""]
    assert [one["cluster"] for one in document["cost"]["jobsOnly"]] == ["far"]
    assert valid(document, "plan") == []


@pytest.mark.parametrize("form", ["vendor", "kustomize"])
def test_rendered_files(project: Any, run: Any, valid: Any, form: str) -> None:
    project.add(
        "modelyard:buckets: [{name: lake, url: 's3://acme-lake', reachedBy: [platform, far]}]\n"
        + FAR.replace("{cluster:", f"{{{PLACES}, cluster:").replace("quota:", "readSecret: r, writeSecret: w, quota:")
    )
    document = json.loads(run("render", "--all", "--format", form, "--json").out)
    assert ["remotes" in stack for stack in document["stacks"]] == [True, False, False]
    assert valid(document, "outputs", "render") == []


def test_dry_runs(project: Any, run: Any, valid: Any) -> None:
    project.add(
        "modelyard:runtime: {image: 'images.example.com/jobs:1'}\n"
        "modelyard:jobs: [{name: clicks, type: dataset, command: [python, prepare.py]}]\n"
        "modelyard:pipelines: [{name: nightly, stages: [{name: prepare, job: clicks}]}]"
    )
    for words in (("job", "render", "dev", "clicks"), ("pipeline", "render", "dev", "nightly")):
        assert valid(json.loads(run(*words, "--json").out), "outputs", "runRendered") == []


def test_managed_plans_and_plans_with_errors(project: Any, run: Any, valid: Any) -> None:
    project.edit(("mode: existing", "mode: managed"), ("model: A10", "model: L4"))
    refused = json.loads(run("plan", "dev", "--json").out)
    assert valid(refused, "plan") == []
    assert refused["summary"]["blocked"] is True
    for path in (project.root / "stacks/recorded/dev").glob("deployment.*.json"):
        path.unlink()
    made = json.loads(run("plan", "dev", "--json").out)
    assert valid(made, "plan") == []
    assert {target["action"] for target in made["targets"]} >= {"create"}


def test_several_plans_with_one_failed(project: Any, run: Any, valid: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"))
    document = json.loads(run("plan", "--all", "--json").out)
    assert valid(document, "outputs", "plans") == []
    assert ["findings" in plan and "targets" in plan for plan in document["plans"]] == [False, True, True]


def test_findings(project: Any, run: Any, valid: Any) -> None:
    assert valid(json.loads(run("check", "--all", "--json").out), "findings") == []
    project.edit(("model: A10", "model: L4"))
    project.add("modelyard:waivers:\n  - {code: GPU001, reason: on order, expires: 2036-01-01, by: Ada}")
    waived = json.loads(run("check", "dev", "--json").out)
    assert valid(waived, "findings") == []
    assert [one["waived"] for one in waived["findings"] if one["code"] == "GPU001"] == ["on order (Ada)"]
    project.edit(("replicas: 2", "replicas: -2"))
    for words in (("check", "dev"), ("plan", "dev"), ("show", "dev"), ("plan", "nope"), ("gpus", "nope"), ("bogus",)):
        assert valid(json.loads(run(*words, "--json").out), "findings") == [], words


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("show", ("show", "dev")),
        ("show", ("show", "staging")),
        ("diff", ("diff", "prod")),
        ("blame", ("blame", "dev", "training-worker", "resources.limits.memory")),
        ("blame", ("blame", "staging", "training-worker", "autoscaling/queries")),
        ("ledger", ("ledger", "--all")),
        ("gpus", ("gpus",)),
        ("size", ("size", "dev")),
        ("remote", ("remote", "dev")),
        ("environments", ("environment", "list", "dev")),
        ("jobChoices", ("job", "choices", "dev")),
        ("doctor", ("doctor",)),
        ("patches", ("patches",)),
        ("upgradeCheck", ("upgrade-check",)),
        ("codes", ("explain",)),
        ("explain", ("explain", "RES101")),
    ],
)
def test_the_other_outputs(run: Any, valid: Any, part: str, words: tuple[str, ...]) -> None:
    assert valid(json.loads(run(*words, "--json").out), "outputs", part) == []


def test_ledgers(run: Any, valid: Any, applied: Any) -> None:
    applied("dev")
    document = json.loads(run("ledger", "--all", "--json").out)
    assert valid(document, "outputs", "ledger") == []
    assert [len(stack["targets"]) for stack in document["stacks"]] == [5, 0, 0]


def test_apply_and_destroy(valid: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine is not run here: its outcome is handed in, to see the document that is made of it."""
    from modelyard.cli.running import run_engine
    from modelyard.engine.automation import EngineOutcome

    outcome = EngineOutcome("succeeded", {"same": 1, "update": 2}, {"route": "ray"})
    assert run_engine("dev", Namespace(json=True), lambda _report, _stopping: outcome, total=0) == 0
    document = json.loads(capsys.readouterr().out)
    assert valid(document, "outputs", "apply") == []
    assert (document["stack"], document["changes"]) == ("dev", {"same": 1, "update": 2})


def test_the_schema_of_plans_rejects_damaged_documents(run: Any, valid: Any) -> None:
    plan = json.loads(run("plan", "dev", "--json").out)
    damages = [
        lambda one: one.update(formatVersion=1),
        lambda one: one.pop("inputs"),
        lambda one: one.update(extra=1),
        lambda one: one["targets"][0].update(action="destroy"),
        lambda one: one["targets"][0]["gpus"].pop("after"),
        lambda one: one["targets"][1]["changes"][0].update(owner="x"),
        lambda one: one["findings"][0].update(severity="fatal"),
        lambda one: one.update(sha256="x"),
    ]
    for damage in damages:
        broken = copy.deepcopy(plan)
        damage(broken)
        assert valid(broken, "plan") != []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_self_contained(run: Any, name: str) -> None:
    schema = json.loads(run("schema", name).out)
    parts = json.dumps({key: value for key, value in schema.items() if key != "$id"})
    references = set(re.findall(r'"\$ref": "([^"]*)"', parts))
    assert {one for one in references if not one.startswith("#")} == set()
    defined = {f"#/$defs/{part}" for part in schema.get("$defs", {})}
    assert references - {"#"} <= defined
    # No registry: this is how somebody else checks a document.
    validator = Draft202012Validator(schema)
    if name == "plan":
        assert [error.message for error in validator.iter_errors(json.loads(run("plan", "dev", "--json").out))] == []


def test_an_included_schema_is_as_strict(run: Any) -> None:
    validator = Draft202012Validator(json.loads(run("schema", "preview").out)["$defs"]["finding"])
    assert not list(validator.iter_errors({"code": "GPU001", "severity": "error", "summary": "no"}))
    assert list(validator.iter_errors({"code": "GPU001", "severity": "fatal", "summary": "no"}))
