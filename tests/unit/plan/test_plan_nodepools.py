"""Pools of GPU nodes: the objects of Karpenter, and findings about them."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.hardware import resolve
from modelyard.hardware.instances import by_type, machines, product_on
from modelyard.hardware.rules.gpu import training_use
from modelyard.plan.checks.nodepools import possible_nodes
from modelyard.stack.jobs import Job, Resource, Runtime
from modelyard.stack.pool import Flavor, NodePool, Partition, Team, TeamQuota
from modelyard.workloads.remote.machines import unfit_gpu

A10G = NodePool("a10g", "A10G", 8, "gpu")
L40S = NodePool("l40s", "L40S", 8, "gpu")


def pools(site: Any, *wanted: NodePool, **more: Any) -> Any:
    return site.asking(node_pools=wanted, **more)


def findings_of(site: Any) -> list[tuple[str, str, str]]:
    told = [finding for finding in site.plan().findings if finding.code.startswith("QUE")]
    return [(finding.code, finding.field, finding.summary) for finding in told]


def spec_of(site: Any, name: str) -> Any:
    (target,) = [one for one in site.plan().targets if (one.key.kind, one.name) == ("NodePool", name)]
    assert (target.action, target.managed, target.patches) == ("create", True, ("node-pools@v1",))
    return target.after.reveal()["spec"]


def chosen(spec: Any) -> dict[str, list[str]]:
    rules = spec["template"]["spec"]["requirements"]
    assert {rule["operator"] for rule in rules} == {"In"}
    return {rule["key"]: rule["values"] for rule in rules}


def test_a_node_pool_adds_machines_with_its_gpu(dev: Any) -> None:
    assert [one.name for one in dev.plan().targets if one.key.kind == "NodePool"] == []
    spec = spec_of(pools(dev, A10G._replace(zones=("us-east-1a",), labels={"team": "vision"})), "a10g")
    assert chosen(spec) == {
        "karpenter.sh/capacity-type": ["on-demand"],
        "kubernetes.io/os": ["linux"],
        "node.kubernetes.io/instance-type": sorted(one.type for one in machines("aws", resolve("A10G"))),  # type: ignore[arg-type]
        "topology.kubernetes.io/zone": ["us-east-1a"],
    }
    assert spec["template"]["metadata"]["labels"] == {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-A10G",
        "team": "vision",
    }
    inner = spec["template"]["spec"]
    assert inner["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert inner["nodeClassRef"] == {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    assert inner["expireAfter"] == "Never"
    assert spec["limits"] == {"nvidia.com/gpu": "8"}
    disruption = spec["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == ("WhenEmpty", "600s")
    assert findings_of(pools(dev, A10G)) == []


@pytest.mark.parametrize(
    ("cloud", "gpu", "kind", "product"),
    [
        ("gcp", "a100-40gb", "GCENodeClass", "NVIDIA-A100-SXM4-40GB"),
        ("azure", "T4", "AKSNodeClass", "Tesla-T4"),
        ("aws", "a100-80gb", "EC2NodeClass", "NVIDIA-A100-SXM4-80GB"),
    ],
)
def test_each_cloud_has_its_node_class_and_gpu_products(
    dev: Any, cloud: Any, gpu: str, kind: str, product: str
) -> None:
    pool = NodePool("gpu", gpu, 16, "mine", cloud=cloud, taint=False, capacity="any", types=())
    spec = spec_of(pools(dev, pool), "gpu")
    assert spec["template"]["spec"]["nodeClassRef"]["kind"] == kind
    assert "taints" not in spec["template"]["spec"]
    assert spec["template"]["metadata"]["labels"]["nvidia.com/gpu.product"] == product
    assert chosen(spec)["karpenter.sh/capacity-type"] == ["on-demand", "spot"]


def test_node_pools_use_only_machines_with_whole_gpus() -> None:
    gpu = resolve("L4")
    assert gpu is not None
    there = machines("aws", gpu)
    assert there
    assert all(one.whole_gpus and one.gpus for one in there)
    assert not any(one.type.startswith("g6f.") for one in there)


def test_an_ambiguous_gpu_product_of_a_cloud_is_not_guessed() -> None:
    gpu = resolve("a100-80gb")
    assert gpu is not None
    assert product_on("azure", gpu) is None


@pytest.mark.parametrize(
    ("change", "code", "field", "words"),
    [
        ({"gpu": "A1000"}, "QUE020", "nodePools[0].gpu", "unknown GPU 'A1000'"),
        ({"gpu": "A30"}, "QUE020", "nodePools[0].gpu", "aws offers no machine with a whole A30"),
        ({"region": "us-est-1"}, "QUE020", "nodePools[0].region", "aws has no region us-est-1"),
        (
            {"region": "af-south-1"},
            "QUE020",
            "nodePools[0].gpu",
            "aws offers no machine with a whole A10G in af-south-1",
        ),
        (
            {"types": ("g5.xlarge", "g5.12xlrge")},
            "QUE020",
            "nodePools[0].types[1]",
            "g5.12xlrge of node pool a10g is unknown",
        ),
        (
            {"region": "us-east-1", "zones": ("us-east-1a", "us-west-2a")},
            "QUE020",
            "nodePools[0].zones[1]",
            "zone us-west-2a of node pool a10g is not in us-east-1",
        ),
        (
            {"zones": ("us-west-2-lax-1a", "moon-1a")},
            "QUE020",
            "nodePools[0].zones[1]",
            "zone moon-1a of node pool a10g is not in a region of aws",
        ),
        (
            {"cloud": "gcp", "gpu": "L4", "region": "europe-west1", "zones": ("europe-west1-b", "europe-west10-a")},
            "QUE020",
            "nodePools[0].zones[1]",
            "zone europe-west10-a of node pool a10g is not in europe-west1",
        ),
        ({"types": ("g6.xlarge",)}, "QUE020", "nodePools[0].types[0]", "has L4, not A10G"),
        ({"types": ("g2-standard-4",)}, "QUE020", "nodePools[0].types[0]", "is a machine of gcp"),
        (
            {"gpu": "A100"},
            "QUE021",
            "nodePools[0].gpu",
            "nvidia.com/gpu.product has 4 values for A100, but a node pool needs exactly one",
        ),
        (
            {"gpu": "h200-sxm-141gb", "gpus": 4},
            "QUE022",
            "nodePools[0].gpus",
            "is limited to 4 GPUs, but its smallest node has 8",
        ),
        ({"gpus": 0}, "QUE022", "nodePools[0].gpus", "is limited to 0 GPUs, but its smallest node has 1"),
    ],
)
def test_a_node_pool_that_can_never_add_a_node_is_an_error(
    dev: Any, change: dict[str, Any], code: str, field: str, words: str
) -> None:
    plan = pools(dev, A10G._replace(**change)).plan()
    (one,) = [finding for finding in plan.findings if finding.code.startswith("QUE")]
    assert (one.code, one.field, one.severity) == (code, field, Severity.ERROR)
    assert words in one.summary
    assert one.remedy


@pytest.mark.parametrize(
    ("gpu", "remedy"),
    [
        ("A100", "name the variant, or set the product in the pool's labels: nvidia.com/gpu.product"),
        ("a100-80gb", "set one of the values in the pool's labels: nvidia.com/gpu.product"),
    ],
)
def test_a_gpu_variant_in_several_forms_needs_a_label(dev: Any, gpu: str, remedy: str) -> None:
    told = [one for one in pools(dev, A10G._replace(gpu=gpu, cloud="azure")).plan().findings if one.code == "QUE021"]
    assert [one.remedy for one in told] == [remedy]


@pytest.mark.parametrize(
    ("change", "detail", "remedy"),
    [
        ({"gpu": "A10", "region": "us-east-1"}, "offered by azure", "a10g"),
        ({"region": "af-south-1"}, "offered in ap-east-1", "; or another region"),
        ({"gpu": "rtx-4090"}, "", "l40s"),
    ],
)
def test_a_gpu_that_a_cloud_lacks_is_reported_with_the_available_ones(
    dev: Any, change: dict[str, Any], detail: str, remedy: str
) -> None:
    (one,) = [finding for finding in pools(dev, A10G._replace(**change)).plan().findings if finding.code == "QUE020"]
    assert detail in one.detail if detail else one.detail == ""
    assert remedy in one.remedy
    assert one.remedy.startswith("choose a GPU that is offered there: ")


def test_a_label_selects_the_variant_of_a_gpu_family(dev: Any) -> None:
    named = A10G._replace(gpu="A100", labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"})
    assert findings_of(pools(dev, named)) == []


def test_two_node_pools_with_one_name_are_an_error(dev: Any) -> None:
    assert [code for code, _, _ in findings_of(pools(dev, A10G, A10G))] == ["QUE001"]


def test_a_worker_that_no_machine_of_the_pool_holds_is_an_error(dev: Any) -> None:
    gpu = dev.stack.config.gpu._replace(model="A10G", per_worker=4, allocation="multi_gpu")
    small = A10G._replace(types=("g5.xlarge", "g5.2xlarge"))
    assert [code for code, _, _ in findings_of(pools(dev, small, gpu=gpu))] == ["QUE023"]
    assert findings_of(pools(dev, A10G, gpu=gpu)) == []
    assert [code for code, _, _ in findings_of(pools(dev, A10G._replace(gpus=2), gpu=gpu))] == ["QUE023"]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({}, False),
        ({"karpenter.sh/nodepool": "a10g"}, False),
        ({"karpenter.sh/capacity-type": "on-demand"}, False),
        ({"node.kubernetes.io/instance-type": "g5.xlarge"}, False),
        ({"topology.kubernetes.io/zone": "us-east-1a"}, False),
        ({"karpenter.sh/capacity-type": "spot"}, True),
        ({"karpenter.sh/nodepool": "other"}, True),
        ({"node.kubernetes.io/instance-type": "p5.48xlarge"}, True),
        ({"team": "vision"}, True),
    ],
)
def test_a_flavor_with_labels_that_no_pool_gives_is_an_error(dev: Any, labels: dict[str, str], told: bool) -> None:
    site = pools(dev, A10G, flavors=(Flavor("mine", "A10G", labels),))
    assert [code for code, _, _ in findings_of(site)] == (["QUE024"] if told else [])


def test_a_flavor_of_existing_nodes_needs_no_node_pool(dev: Any) -> None:
    assert findings_of(pools(dev, A10G, flavors=(Flavor("there", "A10"),))) == []


def test_a_flavor_of_another_gpu_is_not_checked_against_the_pool(dev: Any) -> None:
    assert [code for code, _, _ in findings_of(pools(dev, A10G, flavors=(Flavor("other", "A30"),)))] == ["QUE005"]


def test_quotas_may_count_gpus_that_node_pools_can_add(dev: Any) -> None:
    def reported(gpus: int) -> list[str]:
        team = Team("vision", (TeamQuota("mine", "64", "256Gi", gpus),))
        return [code for code, _, _ in findings_of(pools(dev, A10G, flavors=(Flavor("mine", "A10G"),), teams=(team,)))]

    assert reported(8) == []
    assert reported(9) == ["QUE006"]
    flavors = (Flavor("mine", "A10G"), Flavor("same", "A10G"))
    team = Team("vision", tuple(TeamQuota(one.name, "64", "256Gi", 5) for one in flavors))
    (told,) = (one for one in pools(dev, A10G, flavors=flavors, teams=(team,)).plan().findings if one.code == "QUE006")
    assert ("flavors[1]", "8 in total" in told.remedy) == (told.field, True)


def test_pods_that_fit_on_new_nodes_of_a_pool_do_not_block_an_apply(dev: Any) -> None:
    gpu = dev.stack.config.gpu._replace(model="L40S")

    def reported(*pool: NodePool) -> list[tuple[Severity, str]]:
        plan = pools(dev, *pool, gpu=gpu).plan()
        return [(one.severity, one.remedy) for one in plan.findings if one.code == "RES101"]

    assert [severity for severity, _ in reported()] == [Severity.ERROR]
    ((severity, remedy),) = reported(L40S)
    assert severity is Severity.ADVICE
    assert remedy.startswith("no action needed: the node pool may add l40s/g6e.")
    assert [severity for severity, _ in reported(L40S._replace(types=("g6e.xlarge",)))] == [Severity.ERROR]


def test_pods_beyond_the_limits_of_node_pools_are_reported(dev: Any) -> None:
    """The limit of a pool applies to all its nodes, including the existing ones."""

    def reported(replicas: int, *pool: NodePool, site: Any = dev, **more: Any) -> list[tuple[Severity, str]]:
        gpu = dev.stack.config.gpu._replace(model="L40S")
        worker = dev.stack.config.ray_worker._replace(replicas=replicas, cpu="2", memory="24Gi")
        plan = pools(site, *pool, gpu=gpu, ray_worker=worker, **more).plan()
        return [(one.severity, one.remedy) for one in plan.findings if one.code == "RES101"]

    assert [severity for severity, _ in reported(8, L40S)] == [Severity.ADVICE]
    assert reported(11, L40S) == [
        (
            Severity.ERROR,
            "node pool l40s may have 8 GPUs, and the pods need 3 more GPUs: raise the pool's gpus, or run fewer pods",
        )
    ]
    assert [severity for severity, _ in reported(11, L40S, L40S._replace(name="more", gpus=3))] == [Severity.ADVICE]
    # A pool whose limit is below its smallest node adds none.
    assert reported(8, L40S._replace(gpus=7, types=("g6e.48xlarge",))) == [
        (
            Severity.ERROR,
            "node pool l40s may have 7 GPUs (its smallest node has 8), and the pods need 8 more GPUs: "
            "raise the pool's gpus, or run fewer pods",
        )
    ]
    # One pod fills a node of the pool, and the limit allows three more nodes.
    (node, *_) = (one for one in possible_nodes((L40S,)) if one.name == "l40s/g6e.xlarge")
    assert node.allocatable["memory"] == 32 * 2**30
    grown = dev._replace(state=dev.state._replace(nodes=(*dev.state.nodes, node._replace(name="new"))))
    limits = [reported(4, L40S._replace(gpus=gpus), site=grown) for gpus in (4, 3)]
    assert [severity for ((severity, _),) in limits] == [Severity.ADVICE, Severity.ERROR]
    keda = dev.stack.config.autoscaling._replace(mode="keda", prometheus="http://p:9090", max_replicas=9)
    ((severity, remedy),) = reported(1, L40S, autoscaling=keda)
    assert (severity, "the pods need 1 more GPU" in remedy) == (Severity.WARNING, True)


def test_worker_pods_fit_the_labels_of_a_node_pool(dev: Any) -> None:
    """Karpenter matches the node affinity of pods with the pool: without the GPU label, it adds no nodes."""
    from modelyard.kube.scheduling.capacity import obstacle
    from modelyard.kube.scheduling.pods import pods_of

    site = pools(dev, L40S, gpu=dev.stack.config.gpu._replace(model="L40S"))
    (worker,) = [one for one in site.plan().targets if one.role == "rayWorker" and one.key.kind == "Deployment"]
    nodes = possible_nodes((L40S,))
    assert {node.allocatable["nvidia.com/gpu"] for node in nodes} == {Fraction(1), Fraction(4), Fraction(8)}
    assert {obstacle(pods_of(worker.after.reveal()), node) for node in nodes} == {""}
    (bare, *_) = possible_nodes((L40S,))
    unlabelled = bare._replace(labels={key: value for key, value in bare.labels.items() if "product" not in key})
    assert obstacle(pods_of(worker.after.reveal()), unlabelled)


def test_jobs_may_run_on_nodes_that_a_pool_can_add(dev: Any) -> None:
    wide = Resource("deep", "training", workers=2, cpu="4", memory="24Gi", gpus=4, gpu="L40S")
    job = Job("train", "training", "deep", command=("python", "train.py"))

    def reported(*wanted: NodePool, site: Any = dev, **changes: Any) -> list[str]:
        asking = site.asking(node_pools=wanted, resources=(wide._replace(**changes),), jobs=(job,))
        return [one.summary for one in asking.plan().findings if one.code == "RES212"]

    (nothing,) = reported()
    assert reported(L40S) == []
    # No machine of the pool has that many GPUs.
    assert reported(L40S, gpus=9) == [nothing]
    assert reported(L40S._replace(types=("g6e.xlarge",))) == [nothing]
    # All workers of a gang must fit together.
    assert reported(L40S, workers=3) == [
        "job train has no room: the nodes, with those that node pools may add, hold 2 of its 3 workers"
    ]
    assert reported(L40S, L40S._replace(name="more"), workers=3) == []
    # Three GPUs are left of the limit, and the pool's only machine type has four.
    quad = L40S._replace(types=("g6e.12xlarge",), gpus=7)
    grown = dev._replace(state=dev.state._replace(nodes=(*dev.state.nodes, *possible_nodes((quad,)))))
    assert reported(quad, site=grown, workers=4, gpus=1) == []
    assert reported(quad, site=grown, workers=6, gpus=1) != []


def test_no_pool_adds_a_node_for_slices(dev: Any) -> None:
    shared = Partition("shared", "time-slicing", gpu="L40S", replicas=4)
    pool = L40S._replace(labels={"nvidia.com/device-plugin.config": "shared"})
    site = dev.asking(
        node_pools=(pool,),
        partitions=(shared,),
        runtime=Runtime("images.example.com/jobs:1"),
        resources=(Resource("chat", "serving", workers=1, cpu="1", memory="1Gi", partition="shared"),),
        jobs=(Job("talk", "serving", "chat"),),
    )
    (finding,) = [one for one in site.plan().findings if (one.code, one.target) == ("RES101", "resource-chat")]
    assert "the node pool may add" not in finding.remedy


@pytest.mark.slow
def test_the_gpu_of_a_pool_follows_the_rules_for_remote_machines(dev: Any) -> None:
    def refused(site: Any) -> list[tuple[str, str, str]]:
        judged = [one for one in site.plan().findings if one.code.startswith("GPU") and one.blocks]
        told = [one for one in judged if one.field.startswith("nodePools")]
        # Other codes have no detail.
        assert all(one.detail for one in told if one.code in ("GPU001", "GPU004"))
        return [(one.code, one.field, one.summary) for one in told]

    ((code, field, summary),) = refused(pools(dev, L40S, A10G))
    assert (code, field) == ("GPU001", "nodePools[1].gpu")
    assert summary.startswith("node pool a10g: A10G")
    told = {}
    for machine in by_type().values():
        if machine.gpu is not None and machine.whole_gpus and machine.cloud in ("aws", "gcp", "azure"):
            judged = refused(pools(dev, L40S._replace(gpu=machine.gpu.id, cloud=machine.cloud)))
            told[machine.gpu.id] = bool(judged)
            away = unfit_gpu(machine, training_use(dev.stack.config))
            assert told[machine.gpu.id] == (away is not None), machine.gpu.id
    assert {*told.values()} == {True, False}
