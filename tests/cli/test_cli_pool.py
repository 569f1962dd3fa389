"""Stack files with teams: what a plan says of them, and bad input."""

import json
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
        ("gpus: 1,", "gpus: -1,", "teams[0].quotas[0].gpus is -1; it cannot be negative"),
        ("gpus: 1,", "gpus: 1000000000,", "teams[0].quotas[0].gpus is 1000000000; it is too large"),
        ("borrow: 1", "borrow: -1", "teams[0].quotas[0].borrow is -1; it cannot be negative"),
        ("gpus: 1,", "gpus: 1.5,", "teams[0].quotas[0].gpus is 1.5; it cannot be a fraction"),
        ("gpus: 1,", "gpus: many,", "teams[0].quotas[0].gpus"),
        ("gpus: 1,", "gpus: 1, resource: gpu,", 'teams[0].quotas[0].resource is "gpu", not the name of a resource'),
        ("gpu: A10", "gpu: A10, topology: rack", "flavors[0].topology"),
        ("memory: 128Gi", "memory: 128", "teams[0].quotas[0].memory is 128: less than 1Mi"),
        ("cpu: 16", "cpu: 16M", 'teams[0].quotas[0].cpu is "16M": more than 1000000 cores'),
        ("cpu: 16, ", "", "teams[0].quotas[0].cpu is missing"),
        ("memory: 128Gi, ", "", "teams[0].quotas[0].memory is missing"),
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


CLUSTERS = "config:\n  modelyard:workerClusters: [{name: farm, secret: farm-kubeconfig}]\n"


def test_a_teams_jobs_may_run_in_other_clusters(pool: Any, run: Any) -> None:
    pool.edit(("config:\n", CLUSTERS), ("gpus: 1, borrow: 1}]", "gpus: 99}]\n      clusters: [farm]"))
    result = run("plan", "dev")
    assert result.code == 0, result.err
    for line in (
        "MultiKueueCluster cluster-farm",
        "MultiKueueConfig clusters-vision",
        "AdmissionCheck dispatch-vision",
    ):
        assert f"+ {line}  team-queues@v1  new" in result.out
    assert "QUE006" not in result.out
    queue = run("diff", "dev", "--target", "team-vision").out
    assert "admissionChecksStrategy" in queue
    assert "dispatch-vision" in queue
    pool.edit(("secret: farm-kubeconfig}", "secret: farm-kubeconfig, context: farm-admin}"))
    assert run("plan", "dev").out == result.out
    (line,) = [line for line in run("show", "dev").out.splitlines() if "farm-kubeconfig" in line]
    assert line.split() == ["farm", "farm-kubeconfig", "farm-admin"]
    assert json.loads(run("show", "dev", "--json").out)["workerClusters"] == [
        {"name": "farm", "secret": "farm-kubeconfig", "context": "farm-admin"}
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (", secret: farm-kubeconfig", "", "workerClusters[0].secret is missing"),
        ("secret: farm-kubeconfig", "secret: /etc/kubeconfig", "workerClusters[0].secret"),
        ("secret: farm-kubeconfig", "kubeconfig: farm", "workerClusters[0].kubeconfig"),
        ("secret: farm-kubeconfig", "secret: farm-kubeconfig, context: [farm]", "workerClusters[0].context"),
        ("cohort: research", "clusters: farm", "teams[0].clusters"),
        ("cohort: research", "clusters: []", "teams[0].clusters"),
    ],
)
def test_bad_worker_clusters_are_told_with_their_place(pool: Any, run: Any, before: str, after: str, said: str) -> None:
    pool.edit(("config:\n", CLUSTERS), (before, after))
    result = run("plan", "dev")
    assert result.code == 2
    words = " ".join(result.err.split())
    assert said in words
    assert "stacks/Pulumi.dev.yaml:" in words


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("gpus: 1,", "gpus: 100000,", "QUE006", "{name: a10"),
        ("flavor: a10,", "flavor: a11,", "QUE003", "quotas"),
        ("cpu: 16, memory: 128Gi, ", "", "QUE008", "quotas"),
        ("cohort: research", "cohort: research\n      clusters: [farm]", "QUE010", "clusters: [farm]"),
        ("{name: a10, gpu: A10}", "{name: a10, gpu: A10, topology: [rack, rack]}", "QUE007", "{name: a10"),
        ("config:\n", "config:\n  modelyard:jobs: [{name: it, type: training, team: visoin}]\n", "RES210", "visoin"),
    ],
)
def test_what_cannot_work_is_told_with_its_line(
    pool: Any, run: Any, before: str, after: str, code: str, line: str
) -> None:
    pool.edit((before, after))
    result = run("check", "dev", "--json")
    told = [one for one in json.loads(result.out)["findings"] if one["code"] == code]
    (number,) = {one["line"] for one in told}
    assert line in (pool.root / "stacks/Pulumi.dev.yaml").read_text().splitlines()[number - 1]
