"""Teams whose jobs run in worker clusters: the objects of Kueue, and findings about them."""

from typing import Any

import pytest

from modelyard.kube.kinds import is_namespaced
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Job, Resource, Runtime
from modelyard.stack.pool import Flavor, NodePool, Team, TeamQuota, WorkerCluster

A10 = Flavor("a10", "A10")
FARM, CLOUD = WorkerCluster("farm", "farm-kubeconfig"), WorkerCluster("cloud", "cloud-kubeconfig")
VISION = Team("vision", (TeamQuota("a10", "64", "512Gi", 4),), clusters=("farm", "cloud"))
HERE = Team("speech", (TeamQuota("a10", "16", "128Gi", 1),))
DEEP = Resource("deep", "training", workers=1, cpu="1", memory="1Gi", gpus=1, team="vision")
TRAIN = Job("train", "training", "deep", command=("python", "train.py"))


def pool(site: Any, *teams: Team, **changes: Any) -> Any:
    asked = {"flavors": (A10,), "worker_clusters": (FARM, CLOUD), **changes}
    return site.asking(teams=teams, runtime=Runtime("images.example.com/jobs:1"), **asked)


def bodies(site: Any) -> dict[str, Any]:
    targets = site.plan().targets
    return {
        f"{one.key.kind}/{one.name}": one.after.reveal() for one in targets if one.key.api_version.startswith("kueue")
    }


def findings_of(site: Any, *codes: str) -> list[tuple[str, str, str]]:
    wanted = codes or ("QUE010", "QUE011", "QUE012")
    return [(one.severity.value, one.field, one.summary) for one in site.plan().findings if one.code in wanted]


def test_a_team_sends_jobs_to_the_clusters_that_it_names(dev: Any) -> None:
    site = pool(dev, VISION, HERE)
    made = bodies(site)
    kinds = ("MultiKueueCluster", "MultiKueueConfig", "AdmissionCheck")
    assert {name: body["spec"] for name, body in made.items() if name.startswith(kinds)} == {
        "MultiKueueCluster/cluster-farm": {
            "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "farm-kubeconfig"}}
        },
        "MultiKueueCluster/cluster-cloud": {
            "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "cloud-kubeconfig"}}
        },
        "MultiKueueConfig/clusters-vision": {"clusters": ["cluster-farm", "cluster-cloud"]},
        "AdmissionCheck/dispatch-vision": {
            "controllerName": "kueue.x-k8s.io/multikueue",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "clusters-vision"},
        },
    }
    assert made["ClusterQueue/team-vision"]["spec"]["admissionChecksStrategy"] == {
        "admissionChecks": [{"name": "dispatch-vision"}]
    }
    assert "admissionChecksStrategy" not in made["ClusterQueue/team-speech"]["spec"]
    assert not any(is_namespaced("kueue.x-k8s.io/v1beta2", kind) for kind in kinds)
    assert not any("namespace" in made[name]["metadata"] for name in made if name.startswith(kinds))
    assert not any(one.key.kind == "Secret" for one in site.plan().targets)
    assert site.applied().plan().changed == ()


def test_the_context_of_a_worker_cluster_changes_no_kueue_object(dev: Any) -> None:
    assert bodies(pool(dev, VISION, worker_clusters=(FARM._replace(context="farm"), CLOUD))) == bodies(
        pool(dev, VISION)
    )


def test_changing_or_dropping_clusters_updates_the_queue(dev: Any) -> None:
    site = pool(dev, VISION).applied()
    fewer = pool(site, VISION._replace(clusters=("cloud",))).plan()
    assert [(one.key.kind, one.action) for one in fewer.changed] == [("MultiKueueConfig", "update")]
    home = pool(site, VISION._replace(clusters=()), worker_clusters=()).plan()
    assert {(one.key.kind, one.name, one.action) for one in home.changed} == {
        ("AdmissionCheck", "dispatch-vision", "delete"),
        ("ClusterQueue", "team-vision", "update"),
        ("MultiKueueCluster", "cluster-cloud", "delete"),
        ("MultiKueueCluster", "cluster-farm", "delete"),
        ("MultiKueueConfig", "clusters-vision", "delete"),
    }
    # The queue drops its reference to the check before the check is deleted.
    assert home.steps[0].target == "team-vision"


@pytest.mark.parametrize(
    ("team", "field", "said", "remedy"),
    [
        (
            VISION._replace(clusters=("fram",)),
            "teams[0].clusters[0]",
            " fram, which is not defined",
            "farm?",
        ),
        (VISION._replace(clusters=("farm", "farm")), "teams[0].clusters[1]", "lists farm twice", "drop one"),
        (VISION._replace(name="v" * 55), "teams[0].name", "has 55 characters", "shorter"),
    ],
)
def test_wrong_clusters_of_a_team_are_an_error(dev: Any, team: Team, field: str, said: str, remedy: str) -> None:
    plan = pool(dev, team).plan()
    (told,) = [one for one in plan.findings if one.code == "QUE010"]
    assert told.field == field
    assert said in told.summary
    assert remedy in told.remedy
    assert plan.blocked


def test_a_team_name_of_54_characters_fits_with_its_prefix(dev: Any) -> None:
    site = pool(dev, VISION._replace(name="v" * 54))
    (check,) = [body for name, body in bodies(site).items() if name.startswith("AdmissionCheck")]
    assert len(check["spec"]["parameters"]["name"]) == 63
    assert findings_of(site) == []


def test_a_duplicate_worker_cluster_is_an_error(dev: Any) -> None:
    site = pool(dev, VISION, worker_clusters=(FARM, CLOUD, FARM))
    assert [one[1] for one in findings_of(site, "QUE001")] == ["workerClusters[2].name"]


def test_flavors_of_worker_clusters_need_no_nodes_in_the_home_cluster(dev: Any) -> None:
    far = {"flavors": (Flavor("a30", "A30"),), "resources": (DEEP._replace(gpu="A30"),), "jobs": (TRAIN,)}
    quotas = (TeamQuota("a30", "64", "512Gi", 99),)
    codes = ("QUE005", "QUE006", "RES212", *("QUE010", "QUE011"))
    assert findings_of(pool(dev, VISION._replace(quotas=quotas), **far), *codes) == []
    told = findings_of(pool(dev, VISION._replace(quotas=quotas, clusters=()), **far), *codes)
    assert {field for _, field, _ in told} == {"flavors[0]"}


def test_quotas_of_worker_clusters_do_not_count_in_the_home_cluster(dev: Any) -> None:
    many = HERE._replace(quotas=(TeamQuota("a10", "16", "128Gi", 3),))
    (told,) = findings_of(pool(dev, VISION, many), "QUE006")
    assert [word for word in told[2].split() if word.isdigit()] == ["3", "2"]


def test_a_flavor_of_a_worker_cluster_needs_no_node_pool(dev: Any) -> None:
    spot = Flavor("a10", "A10G", {"karpenter.sh/nodepool": "far"})
    pools = (NodePool("a10g", "A10G", 8, "gpu"),)
    far, here = (findings_of(pool(dev, team, flavors=(spot,), node_pools=pools), "QUE024") for team in (VISION, HERE))
    assert far == []
    assert [one[:2] for one in here] == [("error", "flavors[0]")]


TWO = DEEP._replace(workers=2)


@pytest.mark.parametrize(
    ("job", "resource", "told"),
    [
        (TRAIN, DEEP, []),
        (TRAIN, TWO, [("error", "jobs[0]")]),
        (TRAIN._replace(trials=4), TWO, []),
        (TRAIN._replace(engine="ray"), TWO, []),
        (TRAIN._replace(engine="spark"), TWO, [("error", "jobs[0].engine")]),
        (TRAIN._replace(team="speech"), TWO, []),
        (TRAIN._replace(team="vision"), TWO._replace(team="speech"), [("error", "jobs[0]")]),
        (TRAIN._replace(environment="torch"), DEEP, [("warning", "jobs[0].environment")]),
        (TRAIN, DEEP._replace(environment="torch"), [("warning", "jobs[0]")]),
        (TRAIN._replace(command=()), DEEP, [("warning", "resources[0]")]),
        (TRAIN._replace(command=(), team="speech"), DEEP._replace(team="speech"), []),
        (Job("clean", "dataset", team="vision"), DEEP, [("warning", "jobs[0]")]),
    ],
)
def test_jobs_that_kueue_cannot_send_to_a_worker_cluster_are_reported(
    dev: Any, job: Job, resource: Resource, told: list[tuple[str, str]]
) -> None:
    environments = (Environment("torch", "3.12"),)
    site = pool(dev, VISION, HERE, jobs=(job,), resources=(resource,), environments=environments)
    assert [(severity, field) for severity, field, _ in findings_of(site, "QUE011")] == told


@pytest.mark.parametrize(
    ("teams", "told"),
    [
        ((VISION, HERE), ["teams[1].cohort"]),
        ((VISION, HERE._replace(clusters=("cloud", "farm"))), []),
        ((VISION, HERE._replace(clusters=("farm",))), ["teams[1].cohort"]),
        ((VISION, HERE._replace(quotas=(TeamQuota("any", "1", "1Gi"),))), []),
    ],
)
def test_a_cohort_needs_the_same_clusters_for_each_team(dev: Any, teams: tuple[Team, ...], told: list[str]) -> None:
    site = pool(dev, *(team._replace(cohort="research") for team in teams), flavors=(A10, Flavor("any")))
    assert [field for _, field, _ in findings_of(site, "QUE012")] == told
    assert findings_of(pool(dev, *teams, flavors=(A10, Flavor("any"))), "QUE012") == []
