"""Stack files with node pools: the objects of a plan, and wrong input."""

from typing import Any

import pytest

from tests.support.setting_errors import setting_errors

POOLS = """
  modelyard:nodePools:
    - {name: l40s, gpu: L40S, gpus: 8, nodeClass: gpu, region: us-east-1, idle: 20m}
"""


@pytest.fixture
def pool(project: Any) -> Any:
    """The project whose stack dev has a node pool."""
    project.edit(("config:\n", f"config:{POOLS}"))
    return project


def test_a_plan_creates_the_node_pool(pool: Any, run: Any) -> None:
    result = run("plan", "dev")
    assert result.code == 0, result.err
    assert "+ NodePool l40s  node-pools@v1" in result.out
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    made = (pool.root / "out" / "dev" / "nodepool-l40s.yaml").read_text()
    assert "consolidateAfter: 1200s" in made
    assert "namespace:" not in made


@pytest.mark.parametrize(
    ("before", "after", "code", "field"),
    [
        ("gpus: 8, ", "", "CFG009", "gpus"),
        ("nodeClass: gpu, ", "", "CFG009", "nodeClass"),
        ("gpus: 8", "gpus: -8", "CFG012", "gpus"),
        ("name: l40s", "name: L40S!", "CFG018", "name"),
        ("idle: 20m", "idle: later", "CFG014", "idle"),
        ("idle: 20m", "idle: 900h", "CFG012", "idle"),
        ("region:", "cloud: aws2, region:", "CFG011", "cloud"),
        ("region:", "capacity: spots, region:", "CFG011", "capacity"),
        ("region:", "regoin:", "CFG008", "regoin"),
        ("region:", "labels: {rack: a b}, region:", "CFG018", "labels.rack"),
        ("region:", "labels: {a b: x}, region:", "CFG018", "labels.a b"),
    ],
)
def test_wrong_node_pools(pool: Any, run: Any, before: str, after: str, code: str, field: str) -> None:
    pool.edit((before, after))
    assert setting_errors(run) == [(code, f"nodePools[0].{field}")]


@pytest.mark.parametrize(
    ("gpu", "code", "values"),
    [("A30", "QUE020", ("A30", "us-east-1")), ("A10G", "GPU001", ("node pool l40s", "A10G"))],
    ids=["no such machine", "GPU not supported"],
)
def test_a_gpu_that_no_node_can_have_is_an_error(
    pool: Any, run: Any, gpu: str, code: str, values: tuple[str, ...]
) -> None:
    """Otherwise an apply would rent nodes that the platform cannot use, or wait for nodes that never come."""
    pool.edit(("gpu: L40S", f"gpu: {gpu}"))
    result = run("plan", "dev")
    assert (result.code, result.errors) == (1, [code])
    assert all(value in result.words for value in values)
