"""Names of other programs are written once, so that a change is made in one place."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from modelyard.names import is_gpu, is_slice

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"([a-z0-9-]+\.)+(io|com|dev|sh|aws)/[A-Za-z0-9._-]*[A-Za-z0-9-]")
VERSION = re.compile(r".*/v\d+((alpha|beta)\d+)?")
"""Of a kind: an API version stands beside each kind, as in a manifest."""
TABLES = "modelyard/kube/merge/data/"
"""Programs that make tables; nothing imports them. A project's own ``policies/`` stand for themselves too."""


def written(path: Path) -> set[str]:
    """Returns the labels, annotations and resources that are literals in a module; words in sentences do not count."""
    literals = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return {one for one in literals if isinstance(one, str) and NAME.fullmatch(one) and not VERSION.fullmatch(one)}


def test_each_label_annotation_and_resource_name_is_in_one_module() -> None:
    found = defaultdict(list)
    for folder in ("modelyard", "components", "stacks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            if not place.startswith(TABLES):
                for name in written(path):
                    found[name].append(place)
    assert found["nvidia.com/gpu"] == ["modelyard/names.py"]
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize(
    ("resource", "gpu", "part"),
    [
        ("nvidia.com/gpu", True, False),
        ("nvidia.com/gpu.shared", True, True),
        ("nvidia.com/mig-1g.5gb", True, True),
        ("nvidia.com/gpumem", False, False),
        ("cpu", False, False),
    ],
)
def test_a_resource_is_a_gpu_or_a_slice(resource: str, gpu: bool, part: bool) -> None:
    assert (is_gpu(resource), is_slice(resource)) == (gpu, part)
