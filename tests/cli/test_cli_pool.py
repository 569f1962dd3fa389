"""Stack files with teams: the objects of a plan, and wrong input."""

import json
from typing import Any

import pytest

from tests.support.setting_errors import setting_errors

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


def created(run: Any) -> set[tuple[str, str]]:
    """Kind and name of each object that a plan creates."""
    result = run("plan", "dev", "--json")
    assert result.code == 0, result.err
    return {(one["kind"], one["name"]) for one in json.loads(result.out)["targets"] if one["action"] == "create"}


def test_a_plan_creates_the_queues(pool: Any, run: Any) -> None:
    assert created(run) == {
        ("ResourceFlavor", "a10"),
        ("ClusterQueue", "team-vision"),
        ("LocalQueue", "vision"),
        ("WorkloadPriorityClass", "urgent"),
    }
    pool.edit(("config:\n", "config:\n  modelyard:patches: [{name: team-queues, enabled: false}]\n"))
    assert created(run) == set()


def test_queues_are_rendered(pool: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    folder = pool.root / "out" / "dev"
    assert "clusterqueue-team-vision.yaml" in (folder / "kustomization.yaml").read_text()
    assert "nominalQuota: 128Gi" in (folder / "clusterqueue-team-vision.yaml").read_text()


CLUSTERS = "config:\n  modelyard:workerClusters: [{name: farm, secret: farm-kubeconfig}]\n"
QUOTA = "teams[0].quotas[0]"
CLUSTER = "workerClusters[0]"


@pytest.mark.parametrize(
    ("before", "after", "code", "field"),
    [
        ("gpus: 1,", "gpus: -1,", "CFG012", f"{QUOTA}.gpus"),
        ("gpus: 1,", "gpus: 1000000000,", "CFG012", f"{QUOTA}.gpus"),
        ("borrow: 1", "borrow: -1", "CFG012", f"{QUOTA}.borrow"),
        ("gpus: 1,", "gpus: 1.5,", "CFG012", f"{QUOTA}.gpus"),
        ("gpus: 1,", "gpus: many,", "CFG010", f"{QUOTA}.gpus"),
        ("gpus: 1,", "gpus: 1, resource: gpu,", "CFG018", f"{QUOTA}.resource"),
        ("gpu: A10", "gpu: A10, topology: rack", "CFG010", "flavors[0].topology"),
        ("memory: 128Gi", "memory: 128", "CFG013", f"{QUOTA}.memory"),
        ("cpu: 16", "cpu: 16M", "CFG013", f"{QUOTA}.cpu"),
        ("cpu: 16, ", "", "CFG009", f"{QUOTA}.cpu"),
        ("memory: 128Gi, ", "", "CFG009", f"{QUOTA}.memory"),
        ("name: vision", "name: Vision!", "CFG018", "teams[0].name"),
        ("cohort: research", "kohort: research", "CFG008", "teams[0].kohort"),
        ("value: 1000", "value: high", "CFG010", "priorities[0].value"),
        (", secret: farm-kubeconfig", "", "CFG009", f"{CLUSTER}.secret"),
        ("secret: farm-kubeconfig", "secret: /etc/kubeconfig", "CFG018", f"{CLUSTER}.secret"),
        ("secret: farm", "secret: farm, kubeconfig: farm", "CFG008", f"{CLUSTER}.kubeconfig"),
        ("secret: farm-kubeconfig", "secret: farm-kubeconfig, context: [farm]", "CFG010", f"{CLUSTER}.context"),
        ("cohort: research", "clusters: farm", "CFG010", "teams[0].clusters"),
        ("cohort: research", "clusters: []", "CFG012", "teams[0].clusters"),
    ],
)
def test_wrong_settings(pool: Any, run: Any, before: str, after: str, code: str, field: str) -> None:
    pool.edit(("config:\n", CLUSTERS), (before, after))
    assert setting_errors(run) == [(code, field)]


def test_jobs_of_a_team_run_in_worker_clusters(pool: Any, run: Any) -> None:
    pool.edit(("config:\n", CLUSTERS), ("gpus: 1, borrow: 1}]", "gpus: 99}]\n      clusters: [farm]"))
    assert created(run) >= {
        ("MultiKueueCluster", "cluster-farm"),
        ("MultiKueueConfig", "clusters-vision"),
        ("AdmissionCheck", "dispatch-vision"),
    }
    plan = run("plan", "dev").out
    assert "QUE006" not in plan
    queue = run("diff", "dev", "--target", "team-vision").out
    assert "admissionChecksStrategy" in queue
    assert "dispatch-vision" in queue
    pool.edit(("secret: farm-kubeconfig}", "secret: farm-kubeconfig, context: farm-admin}"))
    assert run("plan", "dev").out == plan
    (line,) = [line for line in run("show", "dev").out.splitlines() if "farm-kubeconfig" in line]
    assert line.split() == ["farm", "farm-kubeconfig", "farm-admin"]
    assert json.loads(run("show", "dev", "--json").out)["workerClusters"] == [
        {"name": "farm", "secret": "farm-kubeconfig", "context": "farm-admin"}
    ]


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
def test_findings_about_teams_have_a_line(pool: Any, run: Any, before: str, after: str, code: str, line: str) -> None:
    pool.edit((before, after))
    result = run("check", "dev", "--json")
    found = [one for one in json.loads(result.out)["findings"] if one["code"] == code]
    (number,) = {one["line"] for one in found}
    assert line in (pool.root / "stacks/Pulumi.dev.yaml").read_text().splitlines()[number - 1]
