"""blame as a user runs it: one field, or all fields of a part."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource


def test_an_environment_variable_by_its_name(run: Any) -> None:
    result = run("blame", "staging", "rayWorker", "NUM_GPUS_REQUESTED")
    assert result.code == 0
    assert "set by ray-worker-multi-gpu@v1" in result.out
    whole = run("blame", "staging", "rayWorker", "env[name=NUM_GPUS_REQUESTED].value")
    assert result.out == whole.out


def test_blame_leads_from_a_field_to_the_line_that_decides_it(run: Any) -> None:
    result = run("blame", "dev", "training-worker", "resources.limits.memory")
    for words in (
        "containers[name=ray-model-training-worker].resources.limits.memory",
        "after 32Gi",
        "set by ray-worker@v1 patches/ray-worker/v1/patch.yaml.j2",
        "memory = 32Gi stacks/Pulumi.dev.yaml:28",
        "before 12Gi",
        "owned by kubectl-client-side-apply (Update)",
    ):
        assert words in result.words
    document = json.loads(run("blame", "dev", "training-worker", "resources.limits.memory", "--json").out)
    memory = next(source for source in document["settings"][0]["sources"] if source["param"] == "memory")
    assert memory == {"param": "memory", "value": "32Gi", "path": ["rayWorker", "memory"], "line": 28}


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.replicas", "spec.replicas"),
        ("replicas", "spec.replicas"),
        ("cpu", None),
        ("env[name=NUM_GPUS_REQUESTED].value", "env[name=NUM_GPUS_REQUESTED].value"),
        ("autoscaling/max_replicas", 'metadata.annotations["autoscaling/max_replicas"]'),
        ("limits.nvidia.com/gpu", 'resources.limits["nvidia.com/gpu"]'),
    ],
)
def test_blame_takes_whole_paths_ends_of_paths_and_names_without_quotes(run: Any, field: str, path: str | None) -> None:
    result = run("blame", "staging", "training-worker", field, "--json")
    if path is None:
        assert (result.code, "matches" in result.out) == (2, True)
    else:
        assert json.loads(result.out)["field"].endswith(path)


@pytest.mark.parametrize(("field", "path"), [("replicas", "spec.replicas"), ("status.replicas", "status.replicas")])
def test_blame_means_the_status_only_by_its_path(run: Any, field: str, path: str) -> None:
    for target in ("rayWorker", "training-worker"):
        assert json.loads(run("blame", "dev", target, field, "--json").out)["field"] == path


def test_blame_of_a_field_that_nobody_of_ours_sets(run: Any) -> None:
    result = run("blame", "dev", "ray-head", "spec.progressDeadlineSeconds")
    assert "set by no patch" in result.words
    assert "owned by kubectl-client-side-apply (Update)" in result.words
    assert "set by modelyard itself" in run("blame", "dev", "ray-head", "modelyard.dev/mode").words


def test_blame_of_a_part_lists_its_fields(run: Any) -> None:
    assert run("blame", "dev", "training-worker", "resources").out.splitlines() == [
        "deployment-ray-model-training-worker",
        "  spec.template.spec.containers[name=ray-model-training-worker].resources",
        "  FIELD                       VALUE        SET BY",
        "  limits.cpu                  4 → 8        ray-worker@v1",
        "  limits.memory               12Gi → 32Gi  ray-worker@v1",
        '  limits["nvidia.com/gpu"]    1            ray-worker@v1',
        "  requests.cpu                4 → 8        ray-worker@v1",
        "  requests.memory             12Gi → 32Gi  ray-worker@v1",
        '  requests["nvidia.com/gpu"]  1            ray-worker@v1',
    ]


@pytest.mark.parametrize("field", ["spec.template.spec.containers", "containers", "containers[name=ray-head]"])
def test_blame_of_a_container(run: Any, field: str) -> None:
    out = run("blame", "dev", "ray-head", field).out
    assert re.search(r"resources.limits.memory +8Gi → 16Gi +ray-head@v1\n", out)
    assert re.search(r'env\[name=RAY_OVERRIDE_RESOURCES\].value +\+ {"CPU": 0} +ray-head@v1\n', out)
    assert re.search(r"imagePullPolicy +IfNotPresent +no patch\n", out)


def test_blame_of_a_large_part_lists_what_patches_set_and_counts_the_rest(run: Any) -> None:
    lines = run("blame", "dev", "training-worker", "spec").out.splitlines()
    assert all("@v1" in line for line in lines[3:-1])
    assert re.fullmatch(r"  \d+ more fields below spec that no patch sets", lines[-1])


def test_blame_of_metadata_leaves_out_what_the_server_writes(run: Any) -> None:
    result = run("blame", "dev", "ray-head", "metadata", "--json")
    fields = [one["field"] for one in json.loads(result.out)["fields"]]
    assert 'metadata.labels["app.kubernetes.io/name"]' in fields
    assert not [field for field in fields if "managedFields" in field or "resourceVersion" in field]


def test_blame_of_a_part_with_one_field_is_the_story_of_that_field(run: Any) -> None:
    result = run("blame", "dev", "training-worker", "affinity")
    assert "after nvidia.com/gpu.product in NVIDIA-A10 set by ray-worker@v1" in result.words


def test_blame_of_a_part_that_is_there_twice(refused: Any) -> None:
    result = refused("blame", "dev", "ray-head", "annotations", code=2)
    fields = "metadata.annotations template.metadata.annotations"
    assert f"'annotations' matches 2 fields: {fields} → give one of these" in result.words


def test_the_document_of_a_part_has_the_published_form(run: Any) -> None:
    document = json.loads(run("blame", "dev", "training-worker", "resources", "--json").out)
    schemas = [json.loads(run("schema", name).out) for name in ("outputs", "plan")]
    registry: Any = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in schemas])
    form = Draft202012Validator({"$ref": "urn:modelyard:schema:outputs#/$defs/blameSubtree"}, registry=registry)
    assert list(form.iter_errors(document)) == []
    memory = next(one for one in document["fields"] if one["field"].endswith("limits.memory"))
    assert (memory["before"], memory["after"], memory["patches"]) == ("12Gi", "32Gi", ["ray-worker@v1"])
    memory["owner"] = "x"
    assert list(form.iter_errors(document)) != []


def test_blame_of_an_object_that_a_patch_owns(project: Any, run: Any) -> None:
    project.add(
        "modelyard:flavors: [{name: a10, gpu: A10}]\n"
        "modelyard:teams:\n  - {name: vision, quotas: [{flavor: a10, cpu: 1, memory: 1Gi, gpus: 2}]}\n"
        "modelyard:priorities: [{name: high, value: 10}]"
    )
    traced = json.loads(run("blame", "dev", "team-vision", "spec.preemption.withinClusterQueue", "--json").out)
    (setting,) = traced["settings"]
    assert (setting["patch"], setting["file"]) == ("team-queues@v1", "patches/team-queues/v1/base.yaml.j2")
    assert [source["param"] for source in setting["sources"]] == ["teams"]
    line = (project.root / "stacks/Pulumi.dev.yaml").read_text().splitlines()[setting["sources"][0]["line"] - 1]
    assert line.strip() == "modelyard:teams:"


def test_a_target_may_have_its_kind_as_diff_and_kubectl_name_it(run: Any) -> None:
    name = "deployment-ray-model-training-worker"
    assert (
        run("blame", "dev", f"Deployment/{name}", "spec.replicas").out == run("blame", "dev", name, "spec.replicas").out
    )


def test_a_workload_is_its_deployment_also_where_keda_scales_it(project: Any, run: Any) -> None:
    project.edit(("mode: none", "mode: keda\n    prometheus: http://prometheus.monitoring.svc:9090"))
    result = run("blame", "dev", "rayWorker", "limits.memory")
    assert (result.code, result.out.splitlines()[0]) == (0, "deployment-ray-model-training-worker")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dev", "ray-head", "limits.memry"), "did you mean limits.memory"),
        (("dev", "ray-head", "limits.nvidia.com/gpu"), "not a field path: column 18: expected '.' or '[' → quote the"),
        (("dev", "ray-head", "limits.nvidia.com/gpu"), """: 'limits["nvidia.com/gpu"]'"""),
        (("dev", "ray-head", "nvidia.com/gpu"), """→ quote the name: '["nvidia.com/gpu"]'"""),
        (("dev", "ray-head", "spec/replicas"), "→ write a path such as spec.replicas"),
        (("dev", "ray-head", "metadata.annotations.a/b"), """: 'metadata.annotations["a/b"]'"""),
        (("dev", "ray-head", "replica"), "did you mean replicas"),
        (("dev", "ray-head"), "dev is a stack, and no field was given"),
        (("dev", "ray-head"), "modelyard blame dev ray-head spec.replicas"),
    ],
)
def test_a_field_that_is_missing_is_suggested(refused: Any, words: tuple[str, ...], said: str) -> None:
    assert said in refused("blame", *words, code=2).words


def test_a_field_that_is_missing_in_a_project_of_one_stack(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    assert "modelyard blame dev ray-head spec.replicas" in refused("blame", "dev", "ray-head", code=2).words
