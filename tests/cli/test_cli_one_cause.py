"""Several targets with one cause are one finding in texts, and one for each target in JSON."""

import json
from typing import Any

FIVE = {
    "deployment-api-server",
    "deployment-model-service",
    "deployment-model-training-tasks-gpu",
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
}


def findings(run: Any, code: str) -> list[Any]:
    document = json.loads(run("plan", "dev", "--json").out)
    return [one for one in document["findings"] if one["code"] == code]


def misspelt(project: Any) -> None:
    project.edit(("namespace: ml-platform", "namespace: ml-platfrom"))


def test_a_wrong_namespace_is_one_finding_that_names_the_right_one(project: Any, run: Any) -> None:
    misspelt(project)
    for verb in ("check", "plan"):
        result = run(verb, "dev")
        assert (result.code, result.errors) == (1, ["PAT013"])
        assert "stacks/Pulumi.dev.yaml:9:5" in result.text
        assert all(name in result.words for name in FIVE)
        assert "set platform.namespace to ml-platform, which has 5" in result.words
    found = findings(run, "PAT013")
    assert {one["target"] for one in found} == FIVE
    assert {one["field"] for one in found} == {"platform.namespace"}
    assert all(one["summary"].endswith(one["target"]) for one in found)


def test_a_namespace_with_other_deployments_lists_them(project: Any, run: Any) -> None:
    misspelt(project)
    folder = project.root / "stacks/recorded/dev"
    for name in FIVE:
        path = folder / f"deployment.ml-platform.{name}.json"
        body = json.loads(path.read_text())
        path.unlink()
        body["metadata"] |= {"name": name.removeprefix("deployment-"), "namespace": "ml-platfrom"}
        (folder / f"deployment.ml-platfrom.{body['metadata']['name']}.json").write_text(json.dumps(body))
    result = run("plan", "dev")
    assert result.errors == ["PAT013"]
    assert "namespace ml-platfrom has api-server, model-service" in result.words
    assert "platform.without" in result.words


def test_an_empty_namespace_says_so(project: Any, run: Any) -> None:
    for name in FIVE:
        (project.root / f"stacks/recorded/dev/deployment.ml-platform.{name}.json").unlink()
    result = run("plan", "dev")
    assert result.errors == ["PAT013"]
    remedy = "correct it, record the platform again (modelyard record), or install the platform first"
    assert f"namespace ml-platform has no Deployment; {remedy}" in result.words


def test_a_workload_that_alone_is_missing_may_be_left_out(project: Any, run: Any) -> None:
    (project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-model-training-tasks-gpu.json").unlink()
    (found,) = findings(run, "PAT013")
    assert found["field"] == "targets.celery.deployment"
    assert found["remedy"].endswith("or leave it out with platform.without: [celery]")


def test_mode_managed_over_an_existing_platform_is_one_finding(project: Any, run: Any) -> None:
    project.edit(("mode: existing", "mode: managed"))
    result = run("plan", "dev")
    assert result.errors == ["OWN004"]
    assert "4 could not be planned" in result.words
    assert "1 error" in result.words
    assert "correct the error above" in result.words
    assert {one["target"] for one in findings(run, "OWN004")} == FIVE - {"deployment-api-server"}
