"""The GPU pool of teams: its objects, and findings about it."""

import re
from fractions import Fraction
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.state import Node
from modelyard.stack.pool import Flavor, Partition, Priority, Team, TeamQuota, Toleration
from modelyard.workloads import node_labels

A10 = Flavor("a10", "A10", tolerations=(Toleration("nvidia.com/gpu", "Exists", effect="NoSchedule"),))
VISION = Team("vision", (TeamQuota("a10", "16", "128Gi", 1, borrow=1, lend=0),), cohort="research")
SEVENTHS = Partition("sevenths", "mig", gpu="a100-40gb", layout={"1g.5gb": 7})
SPEECH = Team("speech", (TeamQuota("a10", "500m", "1G", 1),), "speech-ml", reclaim="lower", within="never")


def pool(site: Any, *teams: Team, flavors: tuple[Flavor, ...] = (A10,), priorities: tuple[Priority, ...] = ()) -> Any:
    return site.asking(teams=teams, flavors=flavors, priorities=priorities)


def queues(site: Any) -> dict[str, Any]:
    """Returns the targets of the pool by kind and name."""
    targets = [target for target in site.plan().targets if target.key.api_version.startswith("kueue")]
    return {f"{target.key.kind}/{target.name}": target for target in targets}


def findings_of(site: Any) -> list[tuple[str, str, str]]:
    told = [finding for finding in site.plan().findings if finding.code.startswith("QUE")]
    return [(finding.code, finding.field, finding.summary) for finding in told]


def test_a_stack_without_teams_has_no_queues(dev: Any) -> None:
    assert queues(dev) == {}
    assert queues(dev.asking(flavors=(A10,))) == {}


def test_teams_become_queues_that_the_stack_owns(dev: Any) -> None:
    made = queues(pool(dev, VISION, SPEECH, priorities=(Priority("urgent", 1000, 'of "all"'),)))
    assert set(made) == {
        "ResourceFlavor/a10",
        "ClusterQueue/team-vision",
        "LocalQueue/vision",
        "ClusterQueue/team-speech",
        "LocalQueue/speech",
        "WorkloadPriorityClass/urgent",
    }
    assert {(one.managed, one.action, one.patches, one.role) for one in made.values()} == {
        (True, "create", ("team-queues@v1",), "")
    }
    spec = made["ClusterQueue/team-vision"].after.reveal()["spec"]
    assert spec["cohortName"] == "research"
    assert spec["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "vision"}}
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    assert spec["preemption"]["withinClusterQueue"] == "LowerPriority"
    (group,) = spec["resourceGroups"]
    (flavor,) = group["flavors"]
    assert group["coveredResources"] == [resource["name"] for resource in flavor["resources"]]
    assert flavor["resources"][2] == {
        "name": "nvidia.com/gpu",
        "nominalQuota": "1",
        "borrowingLimit": "1",
        "lendingLimit": "0",
    }
    alone = made["ClusterQueue/team-speech"].after.reveal()["spec"]
    assert "cohortName" not in alone
    assert (alone["preemption"]["reclaimWithinCohort"], alone["preemption"]["withinClusterQueue"]) == (
        "LowerPriority",
        "Never",
    )
    assert alone["resourceGroups"][0]["flavors"][0]["resources"][2] == {"name": "nvidia.com/gpu", "nominalQuota": "1"}
    local = made["LocalQueue/speech"]
    assert (local.key.namespace, local.after.reveal()["spec"]["clusterQueue"]) == ("speech-ml", "team-speech")
    assert made["ResourceFlavor/a10"].key.namespace == ""
    assert "namespace" not in made["ResourceFlavor/a10"].after.reveal()["metadata"]
    assert made["ResourceFlavor/a10"].after.reveal()["spec"] == {
        "nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-A10"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    assert made["WorkloadPriorityClass/urgent"].after.reveal()["value"] == 1000


def test_queues_have_a_step_and_no_replicas(dev: Any) -> None:
    plan = pool(dev, VISION).plan()
    steps = {step.target: (step.phase, step.why) for step in plan.steps}
    assert {steps[name] for name in ("a10", "team-vision", "vision")} == {("normal", "")}
    assert {target.replicas for target in plan.targets if target.managed} == {(None, None)}


def test_a_team_changes_after_what_it_needs_and_goes_before_it(dev: Any) -> None:
    zone = Flavor("zone", "A10", topology=("cloud.provider.com/rack",))
    team = Team("alpha", (TeamQuota("zone", "16", "128Gi", 1),), "a")
    site = pool(dev.applied(), team, flavors=(zone,))
    made, gone = site.plan(), pool(site.applied(), flavors=()).plan()
    assert [step.target for step in made.steps] == ["topology-zone", "zone", "team-alpha", "alpha"]
    assert [step.target for step in gone.steps] == ["a/alpha", "team-alpha", "zone", "topology-zone"]


def test_a_removed_team_deletes_its_queues(dev: Any) -> None:
    site = pool(dev, VISION, SPEECH).applied()
    assert site.plan().changed == ()
    fewer = pool(site, SPEECH).plan()
    assert {(target.key.kind, target.name, target.action) for target in fewer.changed} == {
        ("ClusterQueue", "team-vision", "delete"),
        ("LocalQueue", "vision/vision", "delete"),
    }


@pytest.mark.parametrize(
    ("flavor", "labels"),
    [
        (A10, {"nvidia.com/gpu.product": "NVIDIA-A10"}),
        (Flavor("cpu", labels={"pool": "cpu"}), {"pool": "cpu"}),
        (Flavor("it", "A10", {"zone": "a"}), {"nvidia.com/gpu.product": "NVIDIA-A10", "zone": "a"}),
        (Flavor("it", "A10", {"nvidia.com/gpu.product": "mine"}), {"nvidia.com/gpu.product": "mine"}),
        (Flavor("it", "A100"), {}),
    ],
)
def test_a_flavor_selects_nodes_by_labels(flavor: Flavor, labels: dict[str, str]) -> None:
    assert node_labels(flavor) == labels


def test_a_valid_pool_has_no_findings(dev: Any) -> None:
    assert findings_of(pool(dev, VISION, SPEECH)) == []


def test_duplicate_names_are_an_error(dev: Any) -> None:
    site = pool(dev, VISION, VISION, flavors=(A10, A10), priorities=(Priority("p", 1), Priority("p", 2)))
    assert {field for code, field, _ in findings_of(site) if code == "QUE001"} == {
        "flavors[1].name",
        "teams[1].name",
        "priorities[1].name",
    }
    assert site.plan().blocked


@pytest.mark.parametrize(
    ("flavor", "said"),
    [
        (Flavor("a10", "A101"), "flavor a10: unknown GPU 'A101'"),
        (Flavor("a10", "A100"), " 4 values for A100"),
    ],
)
def test_a_gpu_without_an_unambiguous_label_is_an_error(dev: Any, flavor: Flavor, said: str) -> None:
    (first, *_) = findings_of(pool(dev, VISION, flavors=(flavor,)))
    assert first[:2] == ("QUE002", "flavors[0].gpu")
    assert said in first[2]
    named = flavor._replace(gpu="A100", labels={"nvidia.com/gpu.product": "NVIDIA-A10"})
    assert findings_of(pool(dev, VISION, flavors=(named,))) == []


def test_a_quota_of_an_unknown_or_repeated_flavor_is_an_error(dev: Any) -> None:
    quota = VISION.quotas[0]
    site = pool(dev, VISION._replace(quotas=(quota._replace(flavor="a11"), quota, quota)))
    assert [one[:2] for one in findings_of(site) if one[0] == "QUE003"] == [
        ("QUE003", "teams[0].quotas[0].flavor"),
        ("QUE003", "teams[0].quotas[2].flavor"),
    ]
    assert [finding for finding in site.plan().findings if "a10?" in finding.remedy]


@pytest.mark.parametrize(
    ("quota", "cohort", "field"),
    [
        (TeamQuota("a10", "1", "1Gi", 1, borrow=1), None, "borrow"),
        (TeamQuota("a10", "1", "1Gi", 1, lend=1), None, "lend"),
        (TeamQuota("a10", "1", "1Gi", 1, lend=2), "research", "lend"),
    ],
)
def test_an_invalid_borrow_or_lend_limit_is_reported(
    dev: Any, quota: TeamQuota, cohort: str | None, field: str
) -> None:
    (told,) = findings_of(pool(dev, Team("vision", (quota,), cohort=cohort)))
    assert told[:2] == ("QUE004", f"teams[0].quotas[0].{field}")


def test_each_flavor_without_nodes_is_a_warning(dev: Any) -> None:
    flavors = (A10._replace(gpu="A30"), Flavor("other", "A40"))
    told = [one for one in pool(dev, VISION, flavors=flavors).plan().findings if one.code == "QUE005"]
    assert [(one.severity.value, one.detail) for one in told] == [
        ("warning", "nvidia.com/gpu.product=NVIDIA-A30"),
        ("warning", "nvidia.com/gpu.product=NVIDIA-A40"),
    ]


@pytest.mark.parametrize(
    ("changes", "meant"),
    [
        ({"labels": {"nvidia.com/gpu.product": "NVIDIA-A1O"}}, "gpu.product: NVIDIA-A10?"),
        ({"labels": {"nvidia.com/gpu.product": "NVIDIA-A10G"}}, "gpu.product: NVIDIA-A10?"),
        ({"gpu": "A10G"}, " gpu: A10?"),
        ({"labels": {"nvidia.com/gpu.product": "NVIDIA-A100"}}, None),
        ({"labels": {"nvidia.com/gpu.product": "other"}}, None),
    ],
)
def test_a_mistaken_gpu_of_a_flavor_names_that_of_the_nodes(
    dev: Any, changes: dict[str, Any], meant: str | None
) -> None:
    flavors = (A10._replace(**changes),)
    (told,) = (one for one in pool(dev, VISION, flavors=flavors).plan().findings if one.code == "QUE005")
    assert (meant or "correct") in told.remedy


def test_a_flavor_of_a_worker_cluster_hides_no_other_finding(dev: Any) -> None:
    far = Flavor("far", "H200")
    away = Team("away", (TeamQuota("far", "16", "128Gi", 8),), clusters=("east",))
    site = pool(dev, away, VISION, flavors=(far, A10._replace(gpu="A30")))
    assert [one.field for one in site.plan().findings if one.code == "QUE005"] == ["flavors[1]"]


def test_quotas_beyond_the_gpus_of_the_nodes_are_a_warning(dev: Any) -> None:
    many = VISION._replace(quotas=(VISION.quotas[0]._replace(gpus=2),))
    (told,) = [one for one in pool(dev, many, SPEECH).plan().findings if one.code == "QUE006"]
    assert re.findall(r"\b\d+\b", told.summary) == ["3", "2"]
    assert told.detail.startswith("quotas: vision 2, speech 1; nodes: 2. ")
    assert not pool(dev, many, SPEECH).plan().blocked


def test_quotas_of_flavors_that_share_nodes_are_added_up(dev: Any) -> None:
    def reported(*flavors: Flavor, gpus: int = 1, more: tuple[Node, ...] = ()) -> list[tuple[str, str]]:
        quotas = tuple(VISION.quotas[0]._replace(flavor=one.name, gpus=gpus) for one in flavors)
        site = pool(dev, VISION._replace(quotas=quotas), flavors=flavors)
        site = site._replace(state=site.state._replace(nodes=(*site.state.nodes, *more)))
        return [(one.field, one.summary) for one in site.plan().findings if one.code == "QUE006"]

    again, third = A10._replace(name="again"), A10._replace(name="third")
    other = A10._replace(name="first-node", labels={"kubernetes.io/hostname": "dev-gpu-1"})
    # Two nodes have one GPU each.
    assert reported(A10, again) == []
    words = "share nodes: quotas of them add up to 3 GPUs, but these nodes have 2"
    assert reported(A10, again, third) == [("flavors[2]", f"flavors a10, again and third {words}")]
    ((field, summary),) = reported(A10, again, other)
    assert (field, "first-node" in summary) == ("flavors[2]", True)
    # Its node with many GPUs does not count for the others: the shared nodes have no more GPUs.
    (gpu,) = [node for node in pool(dev, VISION).state.nodes if node.name == "dev-gpu-1"]
    zone = {"topology.kubernetes.io/zone": "a"}
    large = gpu._replace(name="large", labels=zone, allocatable={"nvidia.com/gpu": Fraction(8)})
    bare = gpu._replace(name="bare", labels={**gpu.labels, **zone}, allocatable={"cpu": Fraction(8)})
    beside = Flavor("beside", labels=zone)
    assert reported(A10, again, third, beside, more=(large, bare)) == reported(A10, again, third)
    # A flavor that alone exceeds the GPUs is reported once.
    assert [field for field, _ in reported(A10, again, gpus=3)] == ["flavors[0]", "flavors[1]"]


RACKS = A10._replace(topology=("example.com/rack", "kubernetes.io/hostname"))
ANY = Flavor("any")
ROOM = TeamQuota("any", "32", "256Gi")


def groups(site: Any) -> list[tuple[list[str], list[tuple[str, list[Any]]]]]:
    """Returns the resource groups of the team's queue, with the quotas by flavor in the order that Kueue tries them."""
    spec = queues(site)["ClusterQueue/team-vision"].after.reveal()["spec"]
    return [
        (
            group["coveredResources"],
            [(one["name"], [each["nominalQuota"] for each in one["resources"]]) for one in group["flavors"]],
        )
        for group in spec["resourceGroups"]
    ]


def test_a_flavor_refers_to_its_topology(dev: Any) -> None:
    made = queues(pool(dev, VISION, flavors=(RACKS,)))
    assert made["Topology/topology-a10"].after.reveal()["spec"] == {
        "levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    }
    assert made["Topology/topology-a10"].key.namespace == ""
    assert made["ResourceFlavor/a10"].after.reveal()["spec"]["topologyName"] == "topology-a10"


@pytest.mark.parametrize(
    ("flavor", "said"),
    [
        (RACKS._replace(topology=("r", "r")), "names r twice"),
        (RACKS._replace(topology=("kubernetes.io/hostname", "r")), "kubernetes.io/hostname before its last level"),
        (RACKS._replace(gpu=None), "has no node labels"),
    ],
)
def test_an_invalid_topology_is_an_error(dev: Any, flavor: Flavor, said: str) -> None:
    (told,) = [one for one in findings_of(pool(dev, VISION, flavors=(flavor,))) if one[0] == "QUE007"]
    assert told[1] == "flavors[0].topology"
    assert said in told[2]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (RACKS, RACKS._replace(labels={"zone": "a"}), "nodeLabels of ResourceFlavor a10"),
        (RACKS, RACKS._replace(tolerations=()), "tolerations of ResourceFlavor a10"),
        (RACKS, A10, "topologyName of ResourceFlavor a10"),
        (RACKS, RACKS._replace(topology=("kubernetes.io/hostname",)), "levels of Topology topology-a10"),
        (A10, RACKS, None),
        (A10, A10._replace(labels={"zone": "a"}), None),
        (RACKS, RACKS._replace(name="a10-2", labels={"zone": "a"}), None),
    ],
)
def test_a_forbidden_change_of_a_flavor_with_a_topology_is_an_error(
    dev: Any, before: Flavor, after: Flavor, said: str | None
) -> None:
    site = pool(dev, VISION, flavors=(before,)).applied()
    team = VISION._replace(quotas=(VISION.quotas[0]._replace(flavor=after.name),))
    plan = pool(site, team, flavors=(after,)).plan()
    told = [one for one in plan.findings if one.code == "QUE009"]
    assert [str(said) in one.summary for one in told] == [True] * bool(said)
    assert plan.blocked == bool(said)


def test_a_deleted_queue_with_jobs_is_reported(dev: Any) -> None:
    site = pool(dev, VISION, SPEECH).applied()
    status = {
        ("ClusterQueue", "team-vision"): {"reservingWorkloads": 2, "pendingWorkloads": 1},
        ("LocalQueue", "vision"): {"reservingWorkloads": 2, "pendingWorkloads": 1},
        ("ClusterQueue", "team-speech"): {"reservingWorkloads": 5},
    }
    objects = {
        key: {**body, "status": status[key.kind, key.name]} if (key.kind, key.name) in status else body
        for key, body in site.state.objects.reveal().items()
    }
    site = site._replace(state=site.state._replace(objects=Confidential(objects)))
    assert findings_of(pool(site, VISION, SPEECH)) == []
    assert sorted(findings_of(pool(site, SPEECH))) == [
        ("QUE013", "", "team-vision is deleted, and 2 runs hold its quota"),
        ("QUE013", "", "vision/vision is deleted, and 1 run waits in it"),
    ]
    (told,) = [one for one in pool(site, VISION).plan().findings if one.code == "QUE013"]
    assert (told.target, told.severity.value) == ("team-speech", "warning")
    assert "modelyard job list dev" in told.remedy


def test_flavors_without_gpus_come_first_in_a_group(dev: Any) -> None:
    vision = VISION._replace(quotas=(*VISION.quotas, ROOM))
    assert groups(pool(dev, vision, flavors=(A10, ANY))) == [
        (["cpu", "memory", "nvidia.com/gpu"], [("any", ["32", "256Gi", "0"]), ("a10", ["16", "128Gi", "1"])])
    ]


def test_cpu_and_memory_may_have_another_flavor_than_gpus(dev: Any) -> None:
    vision = VISION._replace(quotas=(TeamQuota("a10", gpus=2), ROOM))
    assert groups(pool(dev, vision, flavors=(A10, ANY))) == [
        (["nvidia.com/gpu"], [("a10", ["2"])]),
        (["cpu", "memory"], [("any", ["32", "256Gi"])]),
    ]
    assert findings_of(pool(dev, vision, flavors=(A10, ANY))) == []


def test_slices_are_counted_by_their_resource_name(dev: Any) -> None:
    slices = TeamQuota("a10", gpus=7, resource="nvidia.com/mig-1g.5gb")
    site = pool(dev, VISION._replace(quotas=(VISION.quotas[0], slices)))
    assert groups(site) == [
        (["cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"], [("a10", ["16", "128Gi", "1", "7"])])
    ]


@pytest.mark.parametrize(
    ("resource", "partitions", "codes", "named"),
    [
        ("nvidia.com/mig-1g.5gb", (), [("QUE003", "warning")], ""),
        ("nvidia.com/mig-1g.5bg", (SEVENTHS,), [("QUE003", "error")], "nvidia.com/mig-1g.5gb"),
        # No node has the partition, which PAR015 reports.
        ("nvidia.com/mig-1g.5gb", (SEVENTHS,), [], ""),
        # Another finding reports that the GPU does not have the profile.
        ("nvidia.com/mig-1g.5bg", (SEVENTHS._replace(gpu="A30"),), [("QUE006", "warning")], ""),
    ],
)
def test_quotas_of_slices_that_do_not_exist_are_reported_once(
    dev: Any, resource: str, partitions: tuple[Partition, ...], codes: list[tuple[str, str]], named: str
) -> None:
    slices = TeamQuota("a10", gpus=7, resource=resource)
    site = pool(dev, VISION._replace(quotas=(VISION.quotas[0], slices))).asking(partitions=partitions)
    told = [finding for finding in site.plan().findings if finding.code.startswith("QUE")]
    assert [(one.code, one.severity.value) for one in told] == codes
    assert all(one.field == "teams[0].quotas[1].resource" for one in told if one.code == "QUE003")
    assert all(named in one.remedy for one in told)
    # Without known nodes, some nodes may have it.
    blind = site._replace(state=site.state._replace(nodes=()))
    assert findings_of(blind) == []


def test_a_flavor_of_a_partition_without_nodes_has_no_finding_of_its_own(dev: Any) -> None:
    flavor = A10._replace(gpu=None, labels={"nvidia.com/device-plugin.config": "sevenths"})
    site = pool(dev, VISION, flavors=(flavor,))
    assert [code for code, *_ in findings_of(site)] == ["QUE005"]
    assert findings_of(site.asking(partitions=(SEVENTHS,))) == []


@pytest.mark.parametrize("teams", [(VISION, VISION), (VISION._replace(quotas=VISION.quotas * 3),)])
def test_duplicate_quotas_are_not_added_up(dev: Any, teams: tuple[Team, ...]) -> None:
    assert {code for code, *_ in findings_of(pool(dev, *teams))} == {"QUE003" if len(teams) == 1 else "QUE001"}


@pytest.mark.parametrize(
    ("quotas", "flavors", "field", "said"),
    [
        ((TeamQuota("a10", gpus=1),), (A10,), "quotas", "team vision has no quota of cpu and memory"),
        (
            (TeamQuota("a10", gpus=1), TeamQuota("b", "1", "1Gi", 1)),
            (A10, Flavor("b")),
            "quotas[1].cpu",
            "not with all its GPUs",
        ),
        ((TeamQuota("a10", gpus=1), ROOM), (RACKS, ANY), "quotas[0]", "which has a topology"),
    ],
)
def test_invalid_quotas_of_cpu_and_memory_are_reported(
    dev: Any, quotas: tuple[TeamQuota, ...], flavors: tuple[Flavor, ...], field: str, said: str
) -> None:
    (told,) = [one for one in findings_of(pool(dev, Team("vision", quotas), flavors=flavors)) if one[0] == "QUE008"]
    assert told[1] == f"teams[0].{field}"
    assert said in told[2]


def test_cpu_and_memory_of_one_flavor_given_twice_are_an_error(dev: Any) -> None:
    again = TeamQuota("a10", "1", "1Gi", resource="nvidia.com/gpu.shared")
    (told,) = findings_of(pool(dev, VISION._replace(quotas=(*VISION.quotas, again))))
    assert told == ("QUE003", "teams[0].quotas[1].cpu", "team vision has cpu and memory of a10 twice")
