"""Stack files with partitions: what check, plan and render say, and bad input."""

import json
from typing import Any

import pytest
import yaml

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


def test_the_plan_has_their_configurations_and_says_what_they_keep_apart(divided: Any, run: Any) -> None:
    result = run("plan", "dev", "--notes")
    assert result.code == 0, result.err
    for name in ("gpu-partitions-device-plugin", "gpu-partitions-mig"):
        assert f"+ ConfigMap {name}  gpu-partitions@v1  new" in result.out
    assert "partition small, mig: slices are isolated in memory, compute and faults" in result.words
    assert "partition shared, time-slicing: pods are not isolated in memory, time or faults" in result.words
    assert "kubectl label node NODE nvidia.com/device-plugin.config=small nvidia.com/mig.config=small" in result.words


def test_they_are_files_of_a_kustomization(divided: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    folder = divided.root / "out" / "dev"
    made = yaml.safe_load((folder / "configmap-gpu-partitions-mig.yaml").read_text())
    assert made["metadata"]["namespace"] == "gpu-operator"
    layout = yaml.safe_load(made["data"]["config.yaml"])["mig-configs"]["small"]
    assert layout == [{"devices": "all", "mig-enabled": True, "mig-devices": {"3g.40gb": 1, "1g.10gb": 4}}]


def test_the_namespace_is_a_parameter(divided: Any, run: Any) -> None:
    divided.edit(("config:\n", "config:\n  modelyard:patches: [{name: gpu-partitions, params: {namespace: nvidia}}]\n"))
    assert "namespace: nvidia" in run("diff", "dev", "--target", "gpu-partitions-mig").out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("mode: mig", "mode: mgi", "did you mean mig?"),
        ("replicas: 4", "replicas: 1", "partitions[1].replicas is 1"),
        ("replicas: 4", "replicas: many", "partitions[1].replicas"),
        ("replicas: 4", "replikas: 4", "did you mean replicas?"),
        ("1g.10gb: 4", "1g.10gb: 0", "1g.10gb"),
        ("1g.10gb: 4", "1g.10GB: 4", "1g.10GB is not a valid key of partitions[0].layout"),
        ("layout: {3g.40gb: 1, 1g.10gb: 4}", "layout: 7", "partitions[0].layout is 7"),
        ("name: small", "name: Small!", "partitions[0].name"),
        ("mode: mig, ", "", "partitions[0].mode is missing"),
    ],
)
def test_bad_input_is_told_with_its_place(divided: Any, run: Any, before: str, after: str, said: str) -> None:
    divided.edit((before, after))
    result = run("check", "dev")
    assert result.code == 2
    assert said in result.words
    assert "stacks/Pulumi.dev.yaml:" in result.words
    assert "Traceback" not in result.text


def test_everything_wrong_is_told_at_once(divided: Any, run: Any) -> None:
    divided.edit(
        ("gpu: a100-80gb", "gpu: a100-40gb"),
        ("replicas: 4", "replicas: 4, layout: {1g.5gb: 7}, strategy: single"),
        ("name: shared", "name: small"),
    )
    result = run("check", "dev")
    assert sorted(result.errors) == ["PAR001", "PAR003", "PAR003", "PAR005"]
    assert "the A100 40GB (SXM4/PCIe) has no MIG profile 3g.40gb" in result.words


def test_size_counts_with_the_memory_of_the_slice(divided: Any, run: Any) -> None:
    divided.add(
        """modelyard:resources: [{name: chat, type: llm-serving, partition: small, slice: 1g.10gb}]
modelyard:jobs: [{name: talk, type: llm-serving, resource: chat, model: {parameters: 7G}}]"""
    )
    result = run("size", "dev", "chat")
    assert "1 one slice, because it sets no number; nvidia.com/mig-1g.10gb of partition small" in result.words
    assert json.loads(run("size", "dev", "chat", "--json").out)["resources"][0]["slice"] == "nvidia.com/mig-1g.10gb"
    assert "GPU memory ÷ 10 GB of the 1g.10gb slice of the A100 80GB" in result.words
    assert "PAR014" in run("check", "dev").errors


GROWING = """modelyard:runtime: {image: "images.example.com/jobs:1"}
modelyard:resources:
  - {name: chat, type: serving, workers: 2, cpu: 1, memory: 2Gi, partition: small, slice: 1g.10gb, grow: true}
modelyard:jobs: [{name: talk, type: serving, resource: chat}]"""
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
PRODUCT = "NVIDIA-A100-SXM4-80GB"
LABELLED = ("device-plugin", "mig")


def record(project: Any, **changes: Any) -> None:
    """Changes the recorded cluster: two nodes with an A100 each, one of them whole, and more."""
    file = project.root / "stacks/recorded/dev/cluster.json"
    cluster = json.loads(file.read_text())
    have = {"cpu": "32", "memory": "256Gi"}
    sliced = {"nvidia.com/gpu.product": PRODUCT, **{f"nvidia.com/{name}.config": "small" for name in LABELLED}}
    nodes = [
        {"metadata": {"name": "whole", "labels": {"nvidia.com/gpu.product": PRODUCT}}, "allocatable": {GPU: "2"}},
        {"metadata": {"name": "sliced", "labels": sliced}, "allocatable": {"nvidia.com/mig-3g.40gb": "1", SLICE: "4"}},
    ]
    nodes = [{"metadata": one["metadata"], "status": {"allocatable": have | one["allocatable"]}} for one in nodes]
    cluster["nodes"] = [
        node for node in cluster["nodes"] if node["metadata"]["name"] not in ("whole", "sliced")
    ] + nodes
    file.write_text(json.dumps(cluster | changes))


def test_a_plan_gives_whole_gpus_while_they_are_idle_and_takes_them_back(divided: Any, run: Any, applied: Any) -> None:
    divided.add(GROWING)

    def planned() -> tuple[str, dict[str, str], str]:
        """What the plan does to the resource's pods, their GPUs, and why."""
        result = run("plan", "dev", "--json")
        assert result.code == 0, result.text
        plan = json.loads(result.out)
        (target,) = [one for one in plan["targets"] if one["name"] == "resource-chat"]
        limits = target["after"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        gpus = {name: value for name, value in limits.items() if name.startswith("nvidia.com/")}
        (note,) = [one["summary"] for one in plan["findings"] if one["code"] == "PAR018"]
        return target["action"], gpus, note.removeprefix("resource chat gets ")

    record(divided)
    assert planned() == ("create", {SLICE: "1"}, "1g.10gb of small: the pods that wait for a GPU are unknown")
    record(divided, waiting=[])
    idle = "whole GPUs: 2 × a100-80gb are free for its 2 pods, and no other pod waits"
    assert planned() == ("create", {GPU: "1"}, idle)
    assert f"resource chat gets {idle}" in run("plan", "dev").words
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    assert f"{GPU}: '1'" in "".join(file.read_text() for file in (divided.root / "out/dev").glob("*resource-chat.yaml"))
    applied("dev")
    own = [{"node": "whole", "namespace": "ml-platform", "owner": "resource-chat", "requests": {GPU: "1"}}] * 2
    record(divided, waiting=[], pods=own)
    # Nothing changes while nobody waits, however often a plan is applied.
    assert planned() == ("none", {GPU: "1"}, idle)
    assert f"resource chat gets {idle}" in run("plan", "dev", "--notes").words
    limits = {"resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}}}
    train = {"name": "train-x", "namespace": "vision", "owner": "train-x", "spec": {"containers": [limits]}}
    record(divided, waiting=[train], pods=own)
    back = "1g.10gb of small: train-x of vision waits for a GPU"
    assert planned() == ("update", {SLICE: "1"}, back)
    assert f"resource chat gets {back}" in run("plan", "dev").words
    applied("dev")
    assert planned() == ("none", {SLICE: "1"}, back)


def test_what_is_recorded_of_who_waits_is_checked(divided: Any, run: Any) -> None:
    for wrong in ({}, {"spec": 5}, {"name": 1}, {"spec": {"containers": [5]}}, {"spec": {"tolerations": [5]}}):
        record(divided, waiting=[{"name": "x", "namespace": "y", "owner": "z", **wrong}])
        result = run("check", "dev")
        assert (result.code, result.errors) == (2, ["CFG102"]), result.text
        assert "Traceback" not in result.text
