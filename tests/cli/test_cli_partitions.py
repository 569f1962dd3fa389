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
