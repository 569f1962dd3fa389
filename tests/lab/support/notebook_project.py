"""A project whose stack accepts notebooks, and a control plane to submit them to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from lab import Lab
from tests.lab.support.environment import Environment

POOL = {
    "modelyard:flavors": [{"name": "a10", "gpu": "A10"}, {"name": "a30", "gpu": "A30"}, {"name": "l4", "gpu": "L4"}],
    "modelyard:teams": [
        {
            "name": "vision",
            "quotas": [
                *({"flavor": name, "cpu": 16, "memory": "128Gi", "gpus": 1} for name in ("a10", "a30")),
                {"flavor": "a30", "gpus": 2, "resource": "nvidia.com/mig-1g.6gb"},
                {"flavor": "l4", "cpu": 16, "memory": "128Gi", "gpus": 2, "resource": "nvidia.com/gpu.shared"},
            ],
        }
    ],
    "modelyard:partitions": [
        {"name": "small", "mode": "mig", "flavor": "a30", "layout": {"1g.6gb": 4}},
        {"name": "shared", "mode": "time-slicing", "flavor": "l4", "replicas": 4},
    ],
    "modelyard:priorities": [{"name": "urgent", "value": 1000}],
}


@contextmanager
def notebook_project(folder: Path) -> Iterator[Environment]:
    """The project in ``folder/project``, with the namespace of its team; the workspace is ``folder/work``."""
    with Lab.start(folder / "lab", context="dev") as lab:
        made = Environment("dev", lab, folder / "project")
        (folder / "work").mkdir()
        document = yaml.safe_load(made.stack_file.read_text())
        document["config"] |= POOL
        document["config"]["modelyard:notebooks"] = {
            "image": "images.example.com/notebook:1",
            "path": str(folder / "work"),
        }
        made.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        lab.kubectl("create", "namespace", "vision")
        yield made
