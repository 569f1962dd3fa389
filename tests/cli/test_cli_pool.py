"""Stack files with teams: what a plan says of them, and bad input."""

from typing import Any

import pytest

POOL = """
  modelyard:flavors:
    - {name: a10, gpu: A10}
  modelyard:teams:
    - name: vision
      cohort: research
      quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1, borrow: 1}]
  modelyard:priorities:
    - {name: urgent, value: 1000}
"""


@pytest.fixture
def pool(project: Any) -> Any:
    """The project whose stack dev has a team."""
    project.edit(("config:\n", f"config:{POOL}"))
    return project


def test_the_plan_has_the_queues(pool: Any, run: Any) -> None:
    result = run("plan", "dev")
    assert result.code == 0, result.err
    for line in ("ResourceFlavor a10", "ClusterQueue team-vision", "LocalQueue vision", "WorkloadPriorityClass urgent"):
        assert f"+ {line}  team-queues@v1  new" in result.out
    assert "12 targets" not in result.out
    assert "9 targets to change" in result.out


def test_a_stack_may_drop_them(pool: Any, run: Any) -> None:
    pool.edit(("config:\n", "config:\n  modelyard:patches: [{name: team-queues, enabled: false}]\n"))
    assert "Queue" not in run("plan", "dev").out


def test_they_are_files_of_a_kustomization(pool: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    folder = pool.root / "out" / "dev"
    assert "clusterqueue-team-vision.yaml" in (folder / "kustomization.yaml").read_text()
    assert "nominalQuota: 128Gi" in (folder / "clusterqueue-team-vision.yaml").read_text()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("gpus: 1,", "gpus: -1,", "teams[0].quotas[0].gpus"),
        ("gpus: 1,", "gpus: 1000000000,", "teams[0].quotas[0].gpus"),
        ("memory: 128Gi", "memory: 128", "teams[0].quotas[0].memory is 128: less than 1Mi"),
        ("cpu: 16", "cpu: 16M", 'teams[0].quotas[0].cpu is "16M": more than 1000000 cores'),
        ("cpu: 16, ", "", "cpu"),
        ("name: vision", "name: Vision!", "teams[0].name"),
        ("cohort: research", "kohort: research", "did you mean cohort?"),
        ("value: 1000", "value: high", "priorities[0].value"),
    ],
)
def test_bad_input_is_told_with_its_place(pool: Any, run: Any, before: str, after: str, said: str) -> None:
    pool.edit((before, after))
    result = run("plan", "dev")
    assert result.code == 2
    words = " ".join(result.err.split())
    assert said in words
    assert "stacks/Pulumi.dev.yaml:" in words
