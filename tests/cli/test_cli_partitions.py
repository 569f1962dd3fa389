"""Stack files with partitions: check, plan, render and size, and wrong input.

``tests/golden/test_cli_partitions.txt`` has the notes of a plan, and sizes.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.support.setting_errors import setting_errors

PARTITIONS = """
  modelyard:partitions:
    - {name: small, mode: mig, gpu: a100-80gb, layout: {3g.40gb: 1, 1g.10gb: 4}}
    - {name: shared, mode: time-slicing, replicas: 4}
"""


@pytest.fixture
def divided(project: Any) -> Any:
    """The project whose stack dev has partitions."""
    project.edit(("config:\n", f"config:{PARTITIONS}"))
    return project


def test_a_plan_creates_config_maps_and_notes_the_isolation(
    divided: Any, run: Any, golden: Callable[..., None]
) -> None:
    targets = ("--target", "gpu-partitions-device-plugin", "--target", "gpu-partitions-mig")
    golden(run("plan", "dev", "--notes", *targets))


def test_config_maps_are_rendered(divided: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    folder = divided.root / "out" / "dev"
    made = yaml.safe_load((folder / "configmap-gpu-partitions-mig.yaml").read_text())
    assert made["metadata"]["namespace"] == "gpu-operator"
    layout = yaml.safe_load(made["data"]["config.yaml"])["mig-configs"]["small"]
    assert layout == [{"devices": "all", "mig-enabled": True, "mig-devices": {"3g.40gb": 1, "1g.10gb": 4}}]


def test_the_namespace_is_a_parameter_of_the_patch(divided: Any, run: Any) -> None:
    divided.edit(("config:\n", "config:\n  modelyard:patches: [{name: gpu-partitions, params: {namespace: nvidia}}]\n"))
    assert "namespace: nvidia" in run("diff", "dev", "--target", "gpu-partitions-mig").out


@pytest.mark.parametrize(
    ("before", "after", "code", "field"),
    [
        ("mode: mig", "mode: mgi", "CFG011", "[0].mode"),
        ("replicas: 4", "replicas: 1", "CFG012", "[1].replicas"),
        ("replicas: 4", "replicas: many", "CFG010", "[1].replicas"),
        ("replicas: 4", "replikas: 4", "CFG008", "[1].replikas"),
        ("1g.10gb: 4", "1g.10gb: 0", "CFG012", "[0].layout.1g.10gb"),
        ("1g.10gb: 4", "1g.10GB: 4", "CFG018", "[0].layout.1g.10GB"),
        ("layout: {3g.40gb: 1, 1g.10gb: 4}", "layout: 7", "CFG010", "[0].layout"),
        ("name: small", "name: Small!", "CFG018", "[0].name"),
        ("mode: mig, ", "", "CFG009", "[0].mode"),
    ],
)
def test_wrong_partitions(divided: Any, run: Any, before: str, after: str, code: str, field: str) -> None:
    divided.edit((before, after))
    assert setting_errors(run) == [(code, f"partitions{field}")]


def test_every_error_of_partitions_is_reported(divided: Any, run: Any) -> None:
    divided.edit(
        ("gpu: a100-80gb", "gpu: a100-40gb"),
        ("replicas: 4", "replicas: 4, layout: {1g.5gb: 7}, strategy: single"),
        ("name: shared", "name: small"),
    )
    result = run("check", "dev")
    assert sorted(result.errors) == ["PAR001", "PAR003", "PAR003", "PAR005"]
    assert "MIG profile 3g.40gb" in result.words


def test_size_uses_the_memory_of_the_slice(divided: Any, run: Any, golden: Callable[..., None]) -> None:
    divided.add(
        """modelyard:resources: [{name: chat, type: llm-serving, partition: small, slice: 1g.10gb}]
modelyard:jobs: [{name: talk, type: llm-serving, resource: chat, model: {parameters: 7G}}]"""
    )
    golden(run("size", "dev", "chat"))
    assert json.loads(run("size", "dev", "chat", "--json").out)["resources"][0]["slice"] == "nvidia.com/mig-1g.10gb"
    assert "PAR014" in run("check", "dev").errors


GROWING = """modelyard:runtime: {image: "images.example.com/jobs:1"}
modelyard:resources:
  - {name: chat, type: serving, workers: 2, cpu: 1, memory: 2Gi, partition: small, slice: 1g.10gb, grow: true}
modelyard:jobs: [{name: talk, type: serving, resource: chat}]"""
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
PRODUCT = "NVIDIA-A100-SXM4-80GB"
LABELLED = ("device-plugin", "mig")


def record(project: Any, **changes: Any) -> None:
    """Records a cluster with a node of whole A100 GPUs and a partitioned one, and with other changes."""
    file = project.root / "stacks/recorded/dev/cluster.json"
    cluster = json.loads(file.read_text())
    have = {"cpu": "32", "memory": "256Gi"}
    sliced = {"nvidia.com/gpu.product": PRODUCT, **{f"nvidia.com/{name}.config": "small" for name in LABELLED}}
    nodes: list[dict[str, Any]] = [
        {"metadata": {"name": "whole", "labels": {"nvidia.com/gpu.product": PRODUCT}}, "allocatable": {GPU: "2"}},
        {"metadata": {"name": "sliced", "labels": sliced}, "allocatable": {"nvidia.com/mig-3g.40gb": "1", SLICE: "4"}},
    ]
    nodes = [{"metadata": one["metadata"], "status": {"allocatable": have | one["allocatable"]}} for one in nodes]
    cluster["nodes"] = [
        node for node in cluster["nodes"] if node["metadata"]["name"] not in ("whole", "sliced")
    ] + nodes
    file.write_text(json.dumps(cluster | changes))


def test_a_resource_grows_to_whole_gpus_while_they_are_idle(
    divided: Any, run: Any, applied: Any, golden: Callable[..., None]
) -> None:
    divided.add(GROWING)

    def planned() -> tuple[str, dict[str, str], str]:
        """What the plan does to the resource's pods, their GPUs, and the note that explains it."""
        result = run("plan", "dev", "--json")
        assert result.code == 0, result.text
        plan = json.loads(result.out)
        (target,) = [one for one in plan["targets"] if one["name"] == "resource-chat"]
        limits = target["after"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        gpus = {name: value for name, value in limits.items() if name.startswith("nvidia.com/")}
        (note,) = [one["summary"] for one in plan["findings"] if one["code"] == "PAR018"]
        assert note in run("plan", "dev", "--notes").words
        return target["action"], gpus, note

    record(divided)
    action, gpus, unknown = planned()
    assert (action, gpus) == ("create", {SLICE: "1"})
    record(divided, waiting=[])
    action, gpus, idle = planned()
    assert (action, gpus) == ("create", {GPU: "1"})
    assert idle in run("plan", "dev").words
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    assert f"{GPU}: '1'" in "".join(file.read_text() for file in (divided.root / "out/dev").glob("*resource-chat.yaml"))
    applied("dev")
    own = [{"node": "whole", "namespace": "ml-platform", "owner": "resource-chat", "requests": {GPU: "1"}}] * 2
    record(divided, waiting=[], pods=own)
    # Nothing changes while no pod waits, however often a plan is applied.
    assert planned() == ("none", {GPU: "1"}, idle)
    limits = {"resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}}}
    train = {"name": "train-x", "namespace": "vision", "owner": "train-x", "spec": {"containers": [limits]}}
    record(divided, waiting=[train], pods=own)
    action, gpus, back = planned()
    assert (action, gpus) == ("update", {SLICE: "1"})
    assert back in run("plan", "dev").words
    applied("dev")
    assert planned() == ("none", {SLICE: "1"}, back)
    golden(unknown, idle, back, "")


def test_recorded_pods_that_wait_are_checked(divided: Any, run: Any) -> None:
    for wrong in ({}, {"spec": 5}, {"name": 1}, {"spec": {"containers": [5]}}, {"spec": {"tolerations": [5]}}):
        record(divided, waiting=[{"name": "x", "namespace": "y", "owner": "z", **wrong}])
        result = run("check", "dev")
        assert (result.code, result.errors) == (2, ["CFG102"]), result.text
        assert "Traceback" not in result.text
