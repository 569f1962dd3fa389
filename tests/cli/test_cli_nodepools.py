"""Stack files with node pools: what a plan shows of them, and bad input."""

from typing import Any

import pytest

POOLS = """
  modelyard:nodePools:
    - {name: l40s, gpu: L40S, gpus: 8, nodeClass: gpu, region: us-east-1, idle: 20m}
"""


@pytest.fixture
def pool(project: Any) -> Any:
    """The project whose stack dev has a node pool."""
    project.edit(("config:\n", f"config:{POOLS}"))
    return project


def test_the_plan_has_the_pool(pool: Any, run: Any) -> None:
    result = run("plan", "dev")
    assert result.code == 0, result.err
    assert "+ NodePool l40s  node-pools@v1" in result.out
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    made = (pool.root / "out" / "dev" / "nodepool-l40s.yaml").read_text()
    assert "consolidateAfter: 1200s" in made
    assert "namespace:" not in made


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("gpus: 8, ", "", "nodePools[0].gpus is missing"),
        ("nodeClass: gpu, ", "", 'add `nodeClass: "…"` to nodePools[0]'),
        ("gpus: 8", "gpus: -8", "nodePools[0].gpus"),
        ("name: l40s", "name: L40S!", "nodePools[0].name"),
        ("idle: 20m", "idle: later", "nodePools[0].idle"),
        ("idle: 20m", "idle: 900h", "nodePools[0].idle is"),
        ("region:", "cloud: aws2, region:", "nodePools[0].cloud"),
        ("region:", "capacity: spots, region:", "did you mean spot?"),
        ("region:", "regoin:", "did you mean region?"),
        ("region:", "labels: {rack: a b}, region:", 'nodePools[0].labels.rack is "a b", not the value of a label'),
        ("region:", "labels: {a b: x}, region:", "a b is not a valid key of nodePools[0].labels"),
    ],
)
def test_bad_input_is_told_with_its_place(pool: Any, run: Any, before: str, after: str, said: str) -> None:
    pool.edit((before, after))
    result = run("plan", "dev")
    assert result.code == 2
    assert said in result.words
    assert "stacks/Pulumi.dev.yaml:" in result.words


def test_what_would_never_get_a_node_stops_an_apply(pool: Any, run: Any) -> None:
    pool.edit(("gpu: L40S", "gpu: A30"))
    result = run("plan", "dev")
    assert (result.code, result.errors) == (1, ["QUE020"])
    assert "aws offers no machine with a whole A30 in us-east-1" in result.words


def test_a_gpu_that_the_platform_cannot_use_stops_an_apply_before_it_is_rented(pool: Any, run: Any) -> None:
    pool.edit(("gpu: L40S", "gpu: A10G"))
    result = run("plan", "dev")
    assert (result.code, result.errors) == (1, ["GPU001"])
    assert "node pool l40s: A10G" in result.words
