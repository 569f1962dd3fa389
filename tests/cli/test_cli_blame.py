"""blame as a user runs it: one field, or all fields of a part.

What it prints is in ``tests/golden/test_cli_blame.txt``.
"""

import json
import re
from typing import Any

import pytest


def test_an_environment_variable_by_its_name(run: Any) -> None:
    short, path = (run("blame", "staging", "rayWorker", field) for field in (NAME, f"env[name={NAME}].value"))
    assert short.code == 0
    assert "ray-worker-multi-gpu@v1" in short.out
    assert short.out == path.out


NAME = "NUM_GPUS_REQUESTED"


def test_what_blame_shows(run: Any, golden: Any) -> None:
    golden(
        run("blame", "dev", "training-worker", "resources.limits.memory"),
        # A part with one field is that field.
        run("blame", "dev", "training-worker", "affinity"),
        run("blame", "dev", "ray-head", "spec.progressDeadlineSeconds"),
        run("blame", "dev", "ray-head", "modelyard.dev/mode"),
        run("blame", "dev", "training-worker", "resources"),
        # Of the section that is in the stack file, these settings are not.
        run("blame", "dev", "celery", "CELERY_TASK_TIME_LIMIT"),
    )
    document = json.loads(run("blame", "dev", "training-worker", "resources.limits.memory", "--json").out)
    memory = next(source for source in document["settings"][0]["sources"] if source["param"] == "memory")
    assert memory == {"param": "memory", "value": "32Gi", "path": ["rayWorker", "memory"], "line": 28}


def test_a_value_in_a_section_of_json_text_has_the_line_of_the_section(project: Any, run: Any) -> None:
    text = project.stack_file().read_text()
    start, end = text.index("  modelyard:rayHead:"), text.index("  modelyard:rayWorker:")
    section = """  modelyard:rayHead: '{"cpu": 2, "memory": "20Gi"}'\n"""
    project.stack_file().write_text(text[:start] + section + text[end:])
    line = text[:start].count("\n") + 1
    assert f"memory = 20Gi  stacks/Pulumi.dev.yaml:{line}" in run("blame", "dev", "ray-head", "limits.memory").out


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.replicas", "spec.replicas"),
        ("replicas", "spec.replicas"),
        ("cpu", None),
        ("env[name=NUM_GPUS_REQUESTED].value", "env[name=NUM_GPUS_REQUESTED].value"),
        ("autoscaling/max_replicas", 'metadata.annotations["autoscaling/max_replicas"]'),
        ("limits.nvidia.com/gpu", 'resources.limits["nvidia.com/gpu"]'),
        ("node affinity", "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
        ("pod annotations", "spec.template.metadata.annotations"),
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


@pytest.mark.parametrize("field", ["spec.template.spec.containers", "containers", "containers[name=ray-head]"])
def test_blame_of_a_container(run: Any, field: str) -> None:
    out = run("blame", "dev", "ray-head", field).out
    assert re.search(r"resources.limits.memory +8Gi → 16Gi +ray-head@v1\n", out)
    assert re.search(r'env\[name=RAY_OVERRIDE_RESOURCES\].value +\+ {"CPU": 0} +ray-head@v1\n', out)
    assert re.search(r"imagePullPolicy +IfNotPresent +no patch\n", out)


def test_blame_of_a_large_part_lists_what_patches_set_and_counts_the_rest(run: Any) -> None:
    lines = run("blame", "dev", "training-worker", "spec").out.splitlines()
    assert all("@v1" in line for line in lines[3:-1])
    assert int(lines[-1].split()[0]) > 10


def test_blame_of_metadata_leaves_out_what_the_server_writes(run: Any) -> None:
    result = run("blame", "dev", "ray-head", "metadata", "--json")
    fields = [one["field"] for one in json.loads(result.out)["fields"]]
    assert 'metadata.labels["app.kubernetes.io/name"]' in fields
    assert not [field for field in fields if "managedFields" in field or "resourceVersion" in field]


def test_the_document_of_a_part_fits_its_schema(run: Any, valid: Any) -> None:
    document = json.loads(run("blame", "dev", "training-worker", "resources", "--json").out)
    assert valid(document, "outputs", "blameSubtree") == []
    memory = next(one for one in document["fields"] if one["field"].endswith("limits.memory"))
    assert (memory["before"], memory["after"], memory["patches"]) == ("12Gi", "32Gi", ["ray-worker@v1"])
    memory["owner"] = "x"
    assert valid(document, "outputs", "blameSubtree") != []


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


def test_a_target_may_have_its_kind(run: Any) -> None:
    name = "deployment-ray-model-training-worker"
    with_kind, without = (run("blame", "dev", target, "spec.replicas") for target in (f"Deployment/{name}", name))
    assert with_kind.out == without.out


def test_a_workload_is_its_deployment_if_keda_scales_it(project: Any, run: Any) -> None:
    project.edit(("mode: none", "mode: keda\n    prometheus: http://prometheus.monitoring.svc:9090"))
    result = run("blame", "dev", "rayWorker", "limits.memory")
    assert (result.code, result.out.splitlines()[0]) == (0, "deployment-ray-model-training-worker")


FIELDS = [
    "annotations",
    "limits.memry",
    "limits.nvidia.com/gpu",
    "nvidia.com/gpu",
    "spec/replicas",
    "metadata.annotations.a/b",
    "replica",
]


def test_fields_that_are_not_found(refused: Any, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [refused("blame", "dev", "ray-head", field, code=2) for field in FIELDS]
    no_field = refused("blame", "dev", "ray-head", code=2)
    # With a default stack, which could be missing instead.
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    golden(*results, no_field, refused("blame", "dev", "ray-head", code=2))
