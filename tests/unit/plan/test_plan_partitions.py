"""Partitions: their objects, findings about them, and the requests of pods on their slices."""

from fractions import Fraction
from typing import Any

import pytest
import yaml

from modelyard.findings import Severity
from modelyard.hardware.partitions import slices
from modelyard.kube.state import Node, Pod
from modelyard.plan.admission import never_placed
from modelyard.quantity import GB
from modelyard.runs.jobs import job_submission
from modelyard.stack.jobs import Job, Model, Resource, Runtime
from modelyard.stack.pool import Flavor, Partition, Team, TeamQuota
from tests.support.example_stacks import TODAY

IMAGE = Runtime("images.example.com/jobs:1.2.3")
SMALL = Partition("small", "mig", gpu="a100-80gb", layout={"3g.40gb": 1, "1g.10gb": 4})
SEVENTHS = Partition("sevenths", "mig", gpu="a100-80gb", layout={"1g.10gb": 7}, strategy="single")
MIG = {"nvidia.com/mig.config": "small"}
SHARED = Partition("shared", "time-slicing", replicas=4)
EVEN = Partition("even", "mps", replicas=4)
CHAT = Resource("chat", "llm-serving", partition="shared")
TALK = Job("talk", "llm-serving", "chat", model=Model("1G"))
LABEL = "nvidia.com/device-plugin.config"


def findings_of(site: Any, *codes: str) -> list[tuple[str, str, str]]:
    told = [one for one in site.plan().findings if one.code.startswith("PAR") and (not codes or one.code in codes)]
    return [(one.code, one.field, one.summary) for one in told if codes or one.code not in ("PAR009", "PAR015")]


def configs(site: Any) -> dict[str, Any]:
    """Returns the content of the partitions' ConfigMaps by name and key."""
    targets = [one for one in site.plan().targets if one.patches == ("gpu-partitions@v1",)]
    return {
        f"{one.name}/{key}": yaml.safe_load(text) for one in targets for key, text in one.after.reveal()["data"].items()
    }


def node(name: str, resources: dict[str, int]) -> Node:
    amounts = {
        "cpu": Fraction(32),
        "memory": Fraction(256 * 2**30),
        **{key: Fraction(n) for key, n in resources.items()},
    }
    return Node(name, {}, (), amounts)


def sliced(name: str, partition: str, resources: dict[str, int], **labels: str) -> Node:
    made = node(name, resources)
    return made._replace(labels={LABEL: partition, **labels})


def with_nodes(site: Any, *nodes: Node, pods: tuple[Pod, ...] = ()) -> Any:
    return site._replace(state=site.state._replace(nodes=(*site.state.nodes, *nodes), pods=(*site.state.pods, *pods)))


def test_a_stack_without_partitions_has_no_configmaps(dev: Any) -> None:
    assert configs(dev) == {}
    assert findings_of(dev, "PAR009", "PAR015") == []


def test_the_device_plugin_and_the_mig_manager_get_a_configmap_each(dev: Any) -> None:
    """The field names are those of the device plugin (api/config/v1) and of mig-parted."""
    assert configs(dev.asking(partitions=(SMALL, SHARED, EVEN))) == {
        "gpu-partitions-device-plugin/default": {"version": "v1", "flags": {"migStrategy": "none"}},
        "gpu-partitions-device-plugin/small": {"version": "v1", "flags": {"migStrategy": "mixed"}},
        "gpu-partitions-device-plugin/shared": {
            "version": "v1",
            "flags": {"migStrategy": "none"},
            "sharing": {
                "timeSlicing": {
                    "renameByDefault": True,
                    "failRequestsGreaterThanOne": True,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
                }
            },
        },
        "gpu-partitions-device-plugin/even": {
            "version": "v1",
            "flags": {"migStrategy": "none"},
            "sharing": {
                "mps": {
                    "renameByDefault": True,
                    "failRequestsGreaterThanOne": True,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
                }
            },
        },
        "gpu-partitions-mig/config.yaml": {
            "version": "v1",
            "mig-configs": {
                "all-disabled": [{"devices": "all", "mig-enabled": False}],
                "small": [
                    {"devices": "all", "mig-enabled": True, "mig-devices": {"3g.40gb": 1, "1g.10gb": 4}},
                ],
            },
        },
    }


def test_without_mig_there_is_no_mig_configmap(dev: Any) -> None:
    assert {key.partition("/")[0] for key in configs(dev.asking(partitions=(SHARED,)))} == {
        "gpu-partitions-device-plugin"
    }


@pytest.mark.parametrize(
    ("partition", "code", "summary"),
    [
        (SMALL, None, ""),
        (SHARED, None, ""),
        (EVEN, None, ""),
        (SMALL._replace(gpu="a10"), "PAR004", "partition small divides the A10, which has no MIG"),
        (SMALL._replace(gpu=None), "PAR004", "partition small divides the A10, which has no MIG"),
        (SMALL._replace(gpu="t4"), "PAR004", "partition small divides the T4, which has no MIG"),
        (
            SMALL._replace(gpu="A100"),
            "PAR002",
            "partition small divides the A100, whose variants have different MIG profiles",
        ),
        (
            SMALL._replace(gpu="H100"),
            "PAR002",
            "partition small: 'H100' is the name of 3 GPUs: h100-nvl-94gb, h100-pcie-80gb, h100-sxm5-80gb",
        ),
        (SMALL._replace(gpu="a30", layout={"1g.5gb": 1}), "PAR005", "the A30 has no MIG profile 1g.5gb"),
        (
            SMALL._replace(layout={"3g.40gb": 2, "1g.10gb": 1}),
            "PAR006",
            "2 × 3g.40gb, 1 × 1g.10gb do not fit on one A100 80GB (SXM4/PCIe)",
        ),
        (
            SMALL._replace(gpu="rtx-pro-4500-bw"),
            "PAR005",
            "the MIG profiles of the RTX PRO 4500 Blackwell (AWS g7) are unknown, so the layout of small is not "
            "checked",
        ),
        (SMALL._replace(layout={}), "PAR003", "partition small has no layout, which mig needs"),
        (SHARED._replace(replicas=None), "PAR003", "partition shared has no replicas, which time-slicing needs"),
        (
            EVEN._replace(fail_requests_greater_than_one=False),
            "PAR003",
            "partition even allows a container several shared GPUs, which MPS does not support",
        ),
        (SHARED._replace(fail_requests_greater_than_one=False), None, ""),
        (EVEN._replace(replicas=48), None, ""),
        (EVEN._replace(replicas=49), "PAR007", "49 pods would share one A10, but the device plugin's MPS allows 48"),
        (EVEN._replace(replicas=16, gpu="v100-sxm2-16gb"), None, ""),
        (
            EVEN._replace(replicas=17, gpu="v100-sxm2-16gb"),
            "PAR007",
            "17 pods would share one V100 SXM2 16GB, but the device plugin's MPS allows 16",
        ),
        (EVEN._replace(gpu="p40"), "PAR007", "partition even divides the P40, on which MPS cannot limit its clients"),
        (
            SHARED._replace(rename=False),
            "PAR010",
            "slices of partition shared are called nvidia.com/gpu: quotas and limits count them as whole GPUs",
        ),
        (
            SHARED._replace(name="default"),
            "PAR001",
            "default cannot be the name of a partition: this name is reserved for a configuration of the device plugin "
            "or the MIG manager",
        ),
        (
            SHARED._replace(flavor="a11"),
            "PAR002",
            "partition shared divides the nodes of flavor a11, which is not defined",
        ),
    ],
)
def test_a_partition_that_a_gpu_or_mode_cannot_have_is_reported(
    dev: Any, partition: Partition, code: str | None, summary: str
) -> None:
    told = [(one[0], one[2]) for one in findings_of(dev.asking(partitions=(partition,)))]
    assert told == ([(code, summary)] if code else [])


@pytest.mark.parametrize(
    ("partition", "whole", "exact", "least"),
    [
        (SHARED, 24, Fraction(24 * GB), 24),
        (EVEN, 6, Fraction(6 * GB), 6),
        (EVEN._replace(replicas=5), 4, Fraction(24 * GB, 5), 4),
        # A share that is smaller than the memory of CUDA itself has no usable memory.
        (EVEN._replace(replicas=20), 1, Fraction(24 * GB, 20), 2),
    ],
)
def test_a_share_has_its_part_of_the_gpu_memory(
    dev: Any, partition: Partition, whole: int, exact: Fraction, least: int
) -> None:
    (share,) = slices(dev.stack.config, partition).values()
    assert (share.memory_gb, share.memory) == (whole, exact)
    assert share.as_gpu is not None
    assert share.as_gpu.memory_gb == least


def test_strategy_single_takes_one_profile(dev: Any) -> None:
    single = SMALL._replace(strategy="single")
    assert [one[0] for one in findings_of(dev.asking(partitions=(single,)))] == ["PAR006", "PAR010"]
    alike = single._replace(layout={"1g.10gb": 7})
    assert [one[0] for one in findings_of(dev.asking(partitions=(alike,)))] == ["PAR010"]


@pytest.mark.parametrize(("change", "key"), [({"gpu": "p40"}, "mode"), ({"replicas": 49}, "replicas")])
def test_a_setting_that_mps_does_not_support_has_the_key_to_change(dev: Any, change: dict[str, Any], key: str) -> None:
    told = findings_of(dev.asking(partitions=(SHARED, EVEN._replace(**change))), "PAR007")
    assert [field for _, field, _ in told] == [f"partitions[1].{key}"]


def test_a_duplicate_partition_name_is_an_error(dev: Any) -> None:
    ((_, field, summary),) = findings_of(dev.asking(partitions=(SHARED, SHARED)), "PAR001")
    assert field == "partitions[1].name"
    assert "shared" in summary


@pytest.mark.parametrize(
    ("flavors", "summary"),
    [
        ((Flavor("a10", "A10"),), "partitions one and two both divide the nodes of a10"),
        ((Flavor("a10", "A10", {LABEL: "other"}),), "nodes of flavor a10 have nvidia.com/device-plugin.config=other"),
    ],
)
def test_two_partitions_of_one_node_are_an_error(dev: Any, flavors: tuple[Flavor, ...], summary: str) -> None:
    both = (SHARED._replace(name="one", flavor="a10"), EVEN._replace(name="two", flavor="a10"))
    told = findings_of(dev.asking(partitions=both, flavors=flavors), "PAR008")
    assert any(one[2].startswith(summary) for one in told)


def test_two_partitions_with_flavors_of_one_node_name_the_node(dev: Any) -> None:
    flavors = (Flavor("a10", "A10"), Flavor("all", labels={"nvidia.com/gpu.product": "NVIDIA-A10"}))
    both = (SHARED._replace(name="one", flavor="a10"), EVEN._replace(name="two", flavor="all"))
    ((_, field, summary),) = findings_of(dev.asking(partitions=both, flavors=flavors), "PAR008")
    assert field == "partitions[1].flavor"
    assert {"one", "two", "dev-gpu-1"} <= set(summary.split())
    apart = (
        flavors[0]._replace(labels={LABEL: "one"}),
        flavors[1]._replace(labels={**flavors[1].labels, LABEL: "two"}),
    )
    assert findings_of(dev.asking(partitions=both, flavors=apart), "PAR008") == []


@pytest.mark.parametrize(
    ("partition", "words"), [(SMALL, "slices are isolated"), (EVEN, "a fault ends all"), (SHARED, "not isolated")]
)
def test_a_note_states_the_isolation_of_each_mode(dev: Any, partition: Partition, words: str) -> None:
    (told,) = [one for one in dev.asking(partitions=(partition,)).plan().findings if one.code == "PAR009"]
    assert words in told.summary
    assert told.severity.value == "advice"
    assert ("drain a node" in told.detail) == (partition.mode == "mig")


def asking(site: Any, resource: Resource, job: Job = TALK, *partitions: Partition) -> Any:
    return site.asking(
        runtime=IMAGE, partitions=partitions or (SMALL, SHARED, EVEN), resources=(resource,), jobs=(job,)
    )


@pytest.mark.parametrize(
    ("resource", "name", "nodes"),
    [
        (CHAT, "nvidia.com/gpu.shared", {LABEL: "shared"}),
        (CHAT._replace(partition="even"), "nvidia.com/gpu.shared", {LABEL: "even"}),
        (CHAT._replace(partition="small", slice="3g.40gb"), "nvidia.com/mig-3g.40gb", {LABEL: "small"}),
        (CHAT._replace(partition=None, grow=True), "nvidia.com/gpu.shared", {LABEL: "shared"}),
        (CHAT._replace(partition=None, gpus=1), "nvidia.com/gpu", None),
    ],
)
def test_pods_request_the_slice_on_nodes_of_the_partition(
    dev: Any, resource: Resource, name: str, nodes: dict[str, str] | None
) -> None:
    (made,) = [one for one in asking(dev, resource).plan().targets if one.patches == ("job-resources@v1",)]
    spec = made.after.reveal()["spec"]["template"]["spec"]
    limits = spec["containers"][0]["resources"]["limits"]
    assert {key: value for key, value in limits.items() if key.startswith("nvidia.com/")} == {name: "1"}
    assert spec.get("nodeSelector") == nodes
    # Nodes with slices may have another product label, so there is no affinity.
    assert ("affinity" in spec) is (nodes is None)
    assert findings_of(asking(dev, resource)) == []


@pytest.mark.parametrize("engine", ["job", "ray"])
def test_a_submitted_job_requests_the_slice(dev: Any, engine: Any) -> None:
    train = Job("train", "training", "deep", command=("python", "train.py"), engine=engine)
    deep = Resource("deep", "training", partition="small", slice="3g.40gb")
    site = asking(dev, deep, train)
    made = job_submission(site.stack, site.library, "train", "train-x")
    (first, *_) = made.objects.reveal()
    text = yaml.safe_dump(first)
    assert "nvidia.com/mig-3g.40gb: 1" in text
    assert f"{LABEL}: small" in text
    assert "nvidia.com/gpu:" not in text


def test_a_job_with_an_unknown_slice_is_not_submitted(dev: Any) -> None:
    train = Job("train", "training", "deep", command=("python", "train.py"))
    site = asking(dev, Resource("deep", "training", partition="smal"), train)
    made = job_submission(site.stack, site.library, "train", "train-x")
    assert made.objects.reveal() == ()
    assert {one.code for one in made.findings if one.blocks} == {"PAR011"}


@pytest.mark.parametrize(
    ("resource", "code", "summary"),
    [
        (CHAT._replace(partition="shard"), "PAR011", "resource chat uses partition shard, which is not defined"),
        (
            CHAT._replace(partition="small"),
            "PAR011",
            "resource chat does not set a slice of partition small",
        ),
        (
            CHAT._replace(partition="small", slice="2g.20gb"),
            "PAR011",
            "resource chat has slice 2g.20gb, which partition small does not have",
        ),
        (
            CHAT._replace(slice="3g.40gb"),
            "PAR011",
            "resource chat has slice 3g.40gb, but partition shared is of mode time-slicing",
        ),
        (CHAT._replace(gpu="A30"), "PAR011", "resource chat has GPU A30, but partition shared divides A10"),
        (CHAT._replace(partition=None, slice="3g.40gb"), "PAR011", "resource chat has a slice but no partition"),
        (CHAT._replace(grow=True), None, ""),
        (CHAT._replace(partition="even", grow=True), None, ""),
        (CHAT._replace(partition="small", slice="3g.40gb", grow=True), None, ""),
        (
            CHAT._replace(partition=None, grow=True, gpu="A30"),
            "PAR012",
            "resource chat has grow but no partition on which it could grow",
        ),
        (
            CHAT._replace(gpus=2),
            "PAR013",
            "a pod of resource chat asks for 2 slices of partition shared, but the device plugin rejects more than one",
        ),
        (
            CHAT._replace(gpus=0),
            "PAR013",
            "a pod of resource chat uses no slice of partition shared but is bound to its nodes",
        ),
        (
            CHAT._replace(partition="small", slice="3g.40gb", gpus=2),
            "PAR013",
            "a pod of resource chat asks for 2 slices of partition small, but a process uses only one of them",
        ),
    ],
)
def test_a_wrong_request_for_a_slice_is_reported(dev: Any, resource: Resource, code: str | None, summary: str) -> None:
    told = [(one[0], one[2]) for one in findings_of(asking(dev, resource))]
    assert told == ([(code, summary)] if code else [])


@pytest.mark.parametrize(
    ("partition", "severity"),
    [
        (SHARED, Severity.ERROR),
        (SHARED._replace(fail_requests_greater_than_one=False), Severity.WARNING),
        (EVEN, Severity.ERROR),
        (EVEN._replace(fail_requests_greater_than_one=False), Severity.ERROR),
    ],
)
def test_only_time_slicing_can_give_a_pod_several_shares(dev: Any, partition: Partition, severity: Severity) -> None:
    site = asking(dev, CHAT._replace(gpus=2, partition=partition.name), TALK, partition)
    assert [one.severity for one in site.plan().findings if one.code == "PAR013"] == [severity]


@pytest.mark.parametrize(
    ("resource", "parameters", "summary"),
    [
        # The A10 has 24 GB: a quarter is 6.
        (CHAT._replace(partition="even"), "2G", None),
        (
            CHAT._replace(partition="even"),
            "3G",
            "the jobs of resource chat need 6.2 GiB (6.667 GB) of GPU memory, but a slice of partition even has 6 GB",
        ),
        (
            CHAT._replace(partition="small", slice="1g.10gb"),
            "7G",
            "the jobs of resource chat need 14.5 GiB (15.556 GB) of GPU memory, "
            "but slice 1g.10gb of partition small has 10 GB",
        ),
        (CHAT._replace(partition="small", slice="3g.40gb"), "7G", None),
        (
            CHAT,
            "3G",
            "the jobs of resource chat need 6.2 GiB (6.667 GB) of GPU memory, "
            "and 4 pods of partition shared share 24 GB",
        ),
        (CHAT, "2G", None),
    ],
)
def test_memory_of_a_model_is_compared_with_the_slice(
    dev: Any, resource: Resource, parameters: str, summary: str | None
) -> None:
    site = asking(dev, resource, TALK._replace(model=Model(parameters)))
    assert [one[2] for one in findings_of(site)] == ([summary] if summary else [])
    # Requesting several slices is not suggested.
    assert [one.summary for one in site.plan().findings if one.code == "RES204" and one.field.endswith("gpus")] == []


def test_only_jobs_with_a_model_on_the_gpu_are_listed(dev: Any) -> None:
    deep = Resource("deep", "training", partition="even", image="images.example.com/jobs:1")
    table = Job("table", "training", "deep", rows="1k", columns=10)
    net = Job("net", "training", "deep", model=Model("3G"))
    site = dev.asking(runtime=IMAGE, partitions=(EVEN,), resources=(deep,), jobs=(table, net))
    (told,) = [one for one in site.plan().findings if one.code == "PAR014"]
    assert told.detail.startswith("jobs: net; modelyard size")
    assert told.remedy == "set fewer replicas, or use whole GPUs"
    shared = dev.asking(
        runtime=IMAGE, partitions=(SHARED,), resources=(deep._replace(partition="shared"),), jobs=(net,)
    )
    assert [one.remedy for one in shared.plan().findings if one.code == "PAR014"] == [
        "use a GPU with more memory, or several whole GPUs"
    ]


@pytest.mark.parametrize(
    "partition",
    [
        SHARED,
        SHARED._replace(gpu="a30"),
        # Slices that are named like whole GPUs match machine types, so the remedy names a node pool.
        SHARED._replace(rename=False),
        Partition("small", "mig", gpu="a100-80gb", layout={"3g.40gb": 1, "1g.10gb": 4}),
    ],
    ids=["nodes with pods", "no node", "whole GPUs", "several slices"],
)
def test_nodes_to_divide_are_named_with_their_running_pods(dev: Any, partition: Partition, golden: Any) -> None:
    (told,) = [one for one in dev.asking(partitions=(partition,)).plan().findings if one.code == "PAR015"]
    golden(told.summary, told.detail, told.remedy)


def test_divided_nodes_are_no_finding(dev: Any) -> None:
    labelled = with_nodes(dev.asking(partitions=(SHARED,)), sliced("new", "shared", {"nvidia.com/gpu.shared": 4}))
    assert findings_of(labelled, "PAR015", "PAR016") == []


def test_a_partition_of_an_unknown_flavor_has_no_gpu_findings(dev: Any) -> None:
    site = dev.asking(partitions=(SMALL._replace(gpu=None, flavor="nope"),))
    assert [code for code, *_ in findings_of(site)] == ["PAR002"]


@pytest.mark.parametrize(
    ("partition", "there", "problem"),
    [
        (SHARED, sliced("n", "shared", {"nvidia.com/gpu": 1}), "advertises no nvidia.com/gpu.shared"),
        (SMALL, sliced("n", "small", {}), "does not have the label nvidia.com/mig.config"),
        (
            SMALL,
            sliced("n", "small", {}, **{"nvidia.com/mig.config": "all-disabled"}),
            "has the label nvidia.com/mig.config=all-disabled",
        ),
        (
            SMALL,
            sliced("n", "small", {}, **{"nvidia.com/mig.config": "small", "nvidia.com/mig.config.state": "failed"}),
            "reports its layout as failed",
        ),
        (
            SMALL,
            sliced("n", "small", {}, **{"nvidia.com/mig.config": "small", "nvidia.com/mig.strategy": "single"}),
            "has the MIG strategy single, not mixed",
        ),
        (
            SMALL,
            sliced("n", "small", {"nvidia.com/mig-3g.40gb": 1}, **{"nvidia.com/mig.config": "small"}),
            "advertises no nvidia.com/mig-1g.10gb",
        ),
        (
            SHARED,
            sliced("n", "shared", {"nvidia.com/gpu.shared": 6}),
            "does not advertise 4 × nvidia.com/gpu.shared of each GPU",
        ),
        (
            SHARED,
            sliced("n", "shared", {"nvidia.com/gpu.shared": 8}, **{"nvidia.com/gpu.count": "1"}),
            "does not advertise 4 × nvidia.com/gpu.shared of each GPU",
        ),
        (
            SMALL,
            sliced("n", "small", {"nvidia.com/mig-1g.10gb": 8, "nvidia.com/mig-3g.40gb": 1}, **MIG),
            "does not advertise 4 × nvidia.com/mig-1g.10gb, 1 × nvidia.com/mig-3g.40gb of each GPU",
        ),
    ],
)
def test_a_wrongly_divided_node_is_reported(dev: Any, partition: Partition, there: Node, problem: str) -> None:
    told = findings_of(with_nodes(dev.asking(partitions=(partition,)), there), "PAR016")
    assert [(one[2].split()[0], partition.name in one[2], problem in one[2]) for one in told] == [("n", True, True)]


@pytest.mark.parametrize(
    ("partition", "there"),
    [
        (SHARED, sliced("n", "shared", {"nvidia.com/gpu.shared": 8})),
        (SHARED, sliced("n", "shared", {"nvidia.com/gpu.shared": 8}, **{"nvidia.com/gpu.count": "2"})),
        (SMALL, sliced("n", "small", {"nvidia.com/mig-1g.10gb": 8, "nvidia.com/mig-3g.40gb": 2}, **MIG)),
        (
            SEVENTHS,
            sliced(
                "n",
                "sevenths",
                {"nvidia.com/gpu": 7},
                **{"nvidia.com/mig.config": "sevenths", "nvidia.com/gpu.count": "7"},
            ),
        ),
    ],
)
def test_a_correctly_divided_node_has_no_finding(dev: Any, partition: Partition, there: Node) -> None:
    assert findings_of(with_nodes(dev.asking(partitions=(partition,)), there), "PAR016") == []


def test_running_pods_of_a_wrongly_divided_node_are_reported(dev: Any) -> None:
    there = sliced("n", "shared", {"nvidia.com/gpu": 2})
    runs = dev.state.pods[0]._replace(node="n", requests={"nvidia.com/gpu": Fraction(1)})
    idle = runs._replace(requests={})
    site = with_nodes(dev.asking(partitions=(SHARED,)), there, pods=(runs, idle))
    (told,) = [one for one in site.plan().findings if one.code == "PAR016"]
    assert told.detail == "1 pod runs on its GPUs now: drain the node before its GPUs are divided again."


def test_placing_pods_counts_the_slices_of_nodes(dev: Any) -> None:
    """On a node with four slices, neither five pods of a Deployment nor five workers of a job fit."""
    there = sliced("n", "shared", {"nvidia.com/gpu.shared": 4})
    for workers, short in ((4, False), (5, True)):
        served = with_nodes(asking(dev, CHAT._replace(workers=workers, cpu="1", memory="1Gi")), there)
        codes = [one.code for one in served.plan().findings if one.target == "resource-chat"]
        assert ("RES101" in codes) is short
        job = Job("train", "training", "deep", command=("python", "train.py"))
        deep = Resource("deep", "training", workers, "1", "1Gi", partition="shared")
        batch = with_nodes(asking(dev, deep, job), there)
        told = [one.summary for one in batch.plan().findings if one.code == "RES212"]
        assert ["4 of its 5" in summary for summary in told] == [True] * short


def test_pods_for_a_partition_without_nodes_name_the_missing_label(dev: Any) -> None:
    """The remedy does not suggest fewer replicas, and the partition has no finding of its own."""
    site = asking(dev, CHAT._replace(workers=1, cpu="1", memory="1Gi"))
    plan = site.plan()
    (told,) = [one for one in plan.findings if one.code == "RES101"]
    assert told.severity is Severity.ERROR
    assert f"label node NODE {LABEL}=shared;" in told.remedy
    assert "dev-gpu-1" in told.detail
    # Nothing asks for the other two partitions.
    assert [one.field for one in plan.findings if one.code == "PAR015"] == ["partitions[0]", "partitions[2]"]


@pytest.mark.parametrize("labelled", [True, False])
def test_a_partition_without_nodes_is_the_only_finding_about_its_slices(dev: Any, labelled: bool) -> None:
    """Jobs that have no room there, and quotas of its slices, have none of their own."""
    team = Team("vision", (TeamQuota("a10", "64", "512Gi"), TeamQuota("a10", gpus=8, resource="nvidia.com/gpu.shared")))
    deep = Resource("deep", "training", 8, "1", "1Gi", partition="shared", team="vision")
    job = Job("train", "training", "deep", command=("python", "train.py"))
    site = asking(dev, deep, job, SHARED).asking(teams=(team,), flavors=(Flavor("a10", "A10"),))
    if labelled:
        here = site.state.nodes[2]._replace(labels={**site.state.nodes[2].labels, LABEL: "shared"})
        site = with_nodes(site, here._replace(allocatable={**here.allocatable, "nvidia.com/gpu.shared": Fraction(4)}))
    told = {one.code for one in site.plan().findings if one.code in ("PAR015", "QUE006", "RES212")}
    assert told == ({"QUE006", "RES212"} if labelled else {"PAR015"})
    # A submission has no finding about the partition.
    assert [one.code for one in never_placed(site.stack, ["train"], site.state.nodes, TODAY)] == ["RES212"]


@pytest.mark.parametrize(("gpu", "codes"), [("A100", {"PAR002"}), ("A1OO", {"PAR002"}), ("a100-40gb", {"PAR015"})])
def test_quotas_of_slices_of_an_unknown_gpu_have_no_findings(dev: Any, gpu: str, codes: set[str]) -> None:
    seventh = SEVENTHS._replace(gpu=gpu, layout={"1g.5gb": 7}, strategy="mixed")
    team = Team("vision", (TeamQuota("a10", "64", "512Gi"), TeamQuota("a10", gpus=7, resource="nvidia.com/mig-1g.5gb")))
    site = dev.asking(partitions=(seventh,), teams=(team,), flavors=(Flavor("a10", "A10"),))
    assert {one.code for one in site.plan().findings if one.code.startswith(("PAR", "QUE"))} - {"PAR009"} == codes


def test_an_invalid_partition_does_not_report_missing_nodes(dev: Any) -> None:
    plan = dev.asking(partitions=(Partition("small", "mig", gpu="L4", layout={"1g.10gb": 1}), SHARED)).plan()
    told = [(one.code, one.field) for one in plan.findings if one.code in ("PAR004", "PAR015")]
    assert told == [("PAR004", "partitions[0].mode"), ("PAR015", "partitions[1]")]


def test_slices_need_a_quota_that_counts_them(dev: Any) -> None:
    team = Team("vision", (TeamQuota("a10", "16", "128Gi", 1),))
    site = asking(dev, CHAT._replace(team="vision")).asking(teams=(team,), flavors=(Flavor("a10", "A10"),))
    ((_, _, summary),) = findings_of(site, "PAR017")
    assert {"chat", "nvidia.com/gpu.shared", "vision"} <= set(summary.replace(",", "").split())
    called = asking(dev, CHAT._replace(team="vision"), TALK, SHARED._replace(rename=False))
    assert findings_of(called.asking(teams=(team,), flavors=(Flavor("a10", "A10"),)), "PAR017") == []


def test_a_resource_that_may_grow_needs_a_quota_of_whole_gpus(dev: Any) -> None:
    slices = TeamQuota("a10", gpus=4, resource="nvidia.com/gpu.shared")
    even = CHAT._replace(team="vision", partition="even", grow=True)

    def summaries(resource: Resource, *quotas: TeamQuota) -> list[str]:
        site = asking(dev, resource).asking(teams=(Team("vision", quotas),), flavors=(Flavor("a10", "A10"),))
        return [summary for _, _, summary in findings_of(site, "PAR017")]

    assert summaries(even, slices) == ["resource chat may grow to nvidia.com/gpu, of which team vision has no quota"]
    assert summaries(even, slices, TeamQuota("a10", "16", "128Gi", 1)) == []
    assert summaries(even._replace(grow=False), slices) == []
    assert summaries(even._replace(partition="shared"), slices) == []
    called = EVEN._replace(rename=False)
    site = asking(dev, even, TALK, called).asking(teams=(Team("vision", ()),), flavors=(Flavor("a10", "A10"),))
    assert len(findings_of(site, "PAR017")) == 1


@pytest.mark.parametrize("partition", ["small", "even", "shared"])
def test_a_job_with_a_command_cannot_grow_by_a_restart(dev: Any, partition: str) -> None:
    train = Job("train", "training", "deep", command=("python", "train.py"))
    deep = Resource(
        "deep", "training", partition=partition, slice="3g.40gb" if partition == "small" else None, grow=True
    )
    told = [summary for _, _, summary in findings_of(asking(dev, deep, train), "PAR012")]
    words = "resource deep cannot grow: job train has a command, and a run keeps its slice"
    assert told == ([] if partition == "shared" else [words])


@pytest.mark.parametrize(("gpus", "short"), [(4, False), (3, True)])
def test_a_gang_needs_a_quota_of_all_its_slices(dev: Any, gpus: int, short: bool) -> None:
    team = Team("vision", (TeamQuota("a10", "64", "512Gi", gpus, resource="nvidia.com/gpu.shared"),))
    job = Job("train", "training", "deep", command=("python", "train.py"))
    deep = Resource("deep", "training", 4, "1", "1Gi", partition="shared", team="vision")
    site = asking(dev, deep, job).asking(teams=(team,), flavors=(Flavor("a10", "A10"),))
    told = [one.summary for one in site.plan().findings if one.code == "RES213"]
    assert ["4 nvidia.com/gpu.shared" in summary and summary.endswith(" 3") for summary in told] == [True] * short
    assert findings_of(site, "PAR017") == []
