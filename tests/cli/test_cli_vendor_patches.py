"""The vendor's documentation prints these patches; ``render --as-printed`` writes the same, compared as parsed YAML."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

PRINTED = Path(__file__).with_name("vendor")
CELERY = ("modelyard:training: ray", "modelyard:training: celery")
AUTOSCALED = ("mode: none", "mode: annotations\n    maxReplicas: 1")
FOUR_GPUS = (
    ("perWorker: 1\n    allocation: single", "perWorker: 4\n    allocation: multi_gpu"),
    (
        "replicas: 1\n    cpu: 8\n    memory: 32Gi\n    image: images.example.com/ml-platform/ray-model",
        "replicas: 1\n    cpu: 4000m\n    memory: 12Gi\n    image: images.example.com/ml-platform/ray-model",
    ),
)


def documents(text: str) -> dict[str, Any]:
    """The documents of printed patches by their target line."""
    parts = [part.strip() for part in text.split("---\n")]
    return {part.splitlines()[0].removeprefix("# target: "): yaml.safe_load(part) for part in parts}


@pytest.mark.parametrize(
    ("printed", "edits", "autoscaled", "names"),
    [
        ("route-celery", [CELERY], False, ["training-route"]),
        ("replicas-celery", [CELERY], False, ["training-replicas"]),
        ("autoscaled-celery", [CELERY, AUTOSCALED], True, ["autoscaling-celery", "autoscaling-ray"]),
        ("multi-gpu", FOUR_GPUS, False, ["ray-worker-multi-gpu"]),
        ("autoscaling-celery", [CELERY, AUTOSCALED], False, ["autoscaling-celery"]),
        ("autoscaling-ray", [AUTOSCALED], False, ["autoscaling-ray"]),
    ],
)
def test_vendor_patches_have_the_same_effect(
    project: Any, run: Any, applied: Any, printed: str, edits: Any, autoscaled: bool, names: list[str]
) -> None:
    if autoscaled:
        # The way back to Celery on a platform that the autoscaler already scales: no replicas, as it has set them.
        project.edit(AUTOSCALED)
        applied("dev")
        edits = [CELERY]
    project.edit(*edits)
    nodes = project.root / "stacks/recorded/dev/cluster.json"
    nodes.write_text(nodes.read_text().replace('"nvidia.com/gpu": "1"', '"nvidia.com/gpu": "4"'))
    done = run("render", "dev", "--as-printed", "--print", "--json")
    assert done.code == 0, done.text
    (stack,) = json.loads(done.out)["stacks"]
    ours = [documents(file["text"]) for file in stack["files"] if file["name"].split(".")[0][3:] in names]
    assert {target: body for one in ours for target, body in one.items()} == documents(
        (PRINTED / f"{printed}.yaml").read_text()
    )


def test_only_vendor_files_have_the_vendor_format(refused: Any) -> None:
    assert "--as-printed" in refused("render", "dev", "--format", "kustomize", "--as-printed", code=2).err
