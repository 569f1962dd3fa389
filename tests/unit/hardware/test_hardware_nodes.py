"""The GPUs and drivers of nodes, read from their labels."""

import pytest

from modelyard.findings import Severity
from modelyard.hardware.gpu_models import gpu_models
from modelyard.hardware.nodes import check_nodes, driver_verdict, node_gpus
from modelyard.kube.state import Node
from modelyard.quantity import parse
from modelyard.stack.jobs import Resource
from modelyard.workloads.training import active

P = "nvidia.com/gpu.product"


def amounts(resources):
    return {name: parse(amount) for name, amount in resources.items()}


@pytest.mark.parametrize(
    ("labels", "allocatable", "gpu", "whole", "kind"),
    [
        ({}, {"cpu": "8"}, None, 0, "none"),
        ({P: "NVIDIA-A10"}, {"nvidia.com/gpu": "4"}, "a10", 4, "whole"),
        ({P: "NVIDIA-A10"}, {"nvidia.com/gpu": "0"}, "a10", 0, "none"),
        ({P: "NVIDIA-A10"}, {}, "a10", 0, "none"),
        ({P: "NVIDIA-A10G", "nvidia.com/gpu.memory": "23028"}, {"nvidia.com/gpu": "1"}, "a10g", 1, "whole"),
        ({P: "A100-SXM4-40GB"}, {"nvidia.com/gpu": "8"}, "a100-40gb", 8, "whole"),
        ({P: "NVIDIA-A10", "nvidia.com/gpu.memory": "12288"}, {"nvidia.com/gpu": "1"}, "a10", 0, "fraction"),
        ({P: "NVIDIA-A10-SHARED", "nvidia.com/gpu.replicas": "4"}, {"nvidia.com/gpu": "16"}, "a10", 0, "shared"),
        ({P: "NVIDIA-A10", "nvidia.com/gpu.replicas": "4"}, {"nvidia.com/gpu.shared": "16"}, "a10", 0, "shared"),
        ({P: "NVIDIA-A10", "nvidia.com/gpu.replicas": "1"}, {"nvidia.com/gpu": "2"}, "a10", 2, "whole"),
        ({P: "NVIDIA-A10", "nvidia.com/gpu.sharing-strategy": "mps"}, {"nvidia.com/gpu": "8"}, "a10", 0, "shared"),
        ({P: "NVIDIA-A10", "nvidia.com/gpu.sharing-strategy": "none"}, {"nvidia.com/gpu": "1"}, "a10", 1, "whole"),
        ({P: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, {"nvidia.com/gpu": "56"}, "a100-40gb", 0, "mig"),
        ({P: "NVIDIA-A100-SXM4-40GB"}, {"nvidia.com/mig-1g.5gb": "56"}, "a100-40gb", 0, "mig"),
        ({P: "NVIDIA-A100-SXM4-40GB"}, {"nvidia.com/gpu": "6", "nvidia.com/mig-1g.5gb": "14"}, "a100-40gb", 6, "whole"),
        ({P: "NVIDIA-A10-24Q"}, {"nvidia.com/gpu": "1"}, None, 1, "unknown"),
        ({}, {"nvidia.com/gpu": "1"}, None, 1, "unknown"),
        ({"cloud.google.com/gke-accelerator": "nvidia-l4"}, {"nvidia.com/gpu": "1"}, "l4", 1, "whole"),
        (
            {
                "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
                "cloud.google.com/gke-gpu-partition-size": "1g.5gb",
            },
            {"nvidia.com/gpu": "7"},
            "a100-40gb",
            0,
            "mig",
        ),
        (
            {"karpenter.k8s.aws/instance-gpu-name": "a100", "karpenter.k8s.aws/instance-gpu-memory": "81920"},
            {"nvidia.com/gpu": "8"},
            "a100-80gb",
            8,
            "whole",
        ),
        ({"node.kubernetes.io/instance-type": "p4d.24xlarge"}, {"nvidia.com/gpu": "8"}, "a100-40gb", 8, "whole"),
        ({"node.kubernetes.io/instance-type": "g4-standard-6"}, {"nvidia.com/gpu": "1"}, None, 1, "unknown"),
        ({"node.kubernetes.io/instance-type": "m7i.large"}, {"cpu": "2"}, None, 0, "none"),
    ],
)
def test_a_node_has_its_whole_gpus(labels, allocatable, gpu, whole, kind):
    found = node_gpus(Node("gpu-1", labels, (), amounts(allocatable)))
    assert (found.gpu.id if found.gpu else None, found.whole, found.kind) == (gpu, whole, kind)


def test_slices_are_listed_separately():
    allocatable = amounts({"nvidia.com/mig-2g.12gb": "2", "nvidia.com/mig-1g.6gb": "0", "cpu": "8"})
    found = node_gpus(Node("gpu-1", {P: "NVIDIA-A30"}, (), allocatable))
    assert found.slices == (("nvidia.com/mig-2g.12gb", 2),)
    assert found.gpu is gpu_models()["a30"]


@pytest.mark.parametrize(
    ("driver", "cuda", "runs", "minor_only"),
    [
        ("515.43.04", "11.7", True, False),
        ("515.43.03", "11.7", True, True),
        ("450.80.02", "11.7", True, True),
        ("450.80.01", "11.7", False, False),
        ("450.51.06", "11.7", False, False),
        ("580.126.16", "11.7", True, False),
        ("550.54.14", "12.4", True, False),
        ("525.60.13", "12.4", True, True),
        ("515.105.01", "12.4", False, False),
        ("575.57.08", "13.0", False, False),
        ("570.26", "12.8", True, False),
        ("520.61.05", "11.8", True, False),
        ("520.61.04", "11.8", True, True),
        ("560.28.03", "12.6", True, False),
        ("560.28.02", "12.6", True, True),
        ("440.33", "10.2", None, False),
        ("", "11.7", None, False),
        ("beta", "11.7", None, False),
    ],
)
def test_each_cuda_version_has_a_minimum_driver(driver, cuda, runs, minor_only):
    found = driver_verdict({"nvidia.com/cuda.driver-version.full": driver}, cuda)
    assert (found.runs, found.minor_only) == (runs, minor_only)
    assert found.reason


@pytest.mark.parametrize(
    ("cuda", "known"), [("11.4", True), ("12.0", True), ("12.6", True), ("13.0", True), ("12.8", False)]
)
def test_the_reason_depends_on_a_known_driver_of_the_toolkit(cuda, known):
    reason = driver_verdict({"nvidia.com/cuda.driver-version.full": "999.1"}, cuda).reason
    assert reason.endswith(f"runs CUDA {cuda}" if known else "(by minor-version compatibility at least)")


def test_old_driver_labels_are_read():
    parts = {
        "nvidia.com/cuda.driver.major": "450",
        "nvidia.com/cuda.driver.minor": "80",
        "nvidia.com/cuda.driver.rev": "02",
    }
    assert driver_verdict(parts).version == "450.80.02"
    parts["nvidia.com/cuda.driver.rev"] = ""
    assert driver_verdict(parts).version == "450.80"
    assert driver_verdict(parts).runs is False


def node(name, labels=None, **allocatable):
    return Node(name, labels or {}, (), amounts(allocatable))


def gpu_node(name, driver, product="NVIDIA-A10"):
    return node(name, {P: product, "nvidia.com/cuda.driver-version.full": driver}, **{"nvidia.com/gpu": 1})


def on_nodes(stack, nodes):
    return check_nodes(stack, nodes, active(stack.config).pods(stack.config))


def test_nodes_with_one_old_driver_are_one_finding(make_stack):
    nodes = [gpu_node(f"gpu-{number}", "440.33.01") for number in range(5, 0, -1)]
    nodes += [gpu_node("other", "440.33.01", "Tesla-T4"), gpu_node("new", "535.54.03"), node("cpu")]
    (found,) = on_nodes(make_stack(), nodes)
    assert (found.code, found.severity, found.field) == ("GPU011", Severity.ERROR, "platform.cuda")
    assert (
        found.summary
        == "driver 440.33.01 is older than 450.80.02, the minimum for CUDA 11.7 (gpu-1, gpu-2, gpu-3 and 2 more)"
    )
    assert found.line == 104


@pytest.mark.parametrize(
    ("labels", "allocatable", "found"),
    [
        ({P: "NVIDIA-A10"}, {}, True),
        ({P: "NVIDIA-A10"}, {"nvidia.com/gpu": 0}, True),
        ({"node.kubernetes.io/instance-type": "Standard_NV36ads_A10_v5"}, {}, False),
        ({P: "NVIDIA-A10"}, {"nvidia.com/gpu": 1}, False),
        ({P: "NVIDIA-A10"}, {"nvidia.com/gpu.shared": 4}, False),
        ({P: "Tesla-T4"}, {}, False),
        ({P: "NVIDIA-L40S"}, {}, True),
        ({}, {}, False),
    ],
)
def test_a_node_without_gpus_from_its_device_plugin_is_reported(make_stack, labels, allocatable, found):
    stack = make_stack()
    stack = stack._replace(config=stack.config._replace(resources=(Resource("train", "training", gpu="L40S"),)))
    nodes = [gpu_node("gpu-1", "535.54.03"), node("gpu-2", labels, **allocatable)]
    told = on_nodes(stack, nodes)
    assert [(one.code, "gpu-2" in one.summary) for one in told] == ([("GPU013", True)] if found else [])


def test_minor_version_compatibility_is_a_note(make_stack):
    (found,) = on_nodes(make_stack(), [gpu_node("gpu-1", "470.57.02")])
    assert (found.code, found.severity) == ("GPU011", Severity.ADVICE)
    assert "515.43.04" in found.remedy


@pytest.mark.parametrize(("disk", "codes"), [("49Gi", ["RES008"]), ("50Gi", []), ("53687091200", []), (None, [])])
def test_nodes_need_disk_for_the_model_service(make_stack, disk, codes):
    nodes = [node("small", **{"ephemeral-storage": "10Gi"})] if disk else [node("bare", cpu="4")]
    if disk:
        nodes.append(node("large", **{"ephemeral-storage": disk}))
    assert [found.code for found in on_nodes(make_stack(), nodes)] == codes


def test_nodes_are_not_checked_for_an_unknown_gpu(make_stack):
    assert on_nodes(make_stack(gpu={"model": "A11"}), [gpu_node("gpu-1", "1.0")]) == ()


@pytest.mark.parametrize(
    ("model", "memory", "variants", "found"),
    [
        ("A100", "48Gi", ("NVIDIA-A100-SXM4-80GB",), ("RES001", Severity.ERROR)),
        ("A100", "48Gi", ("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-80GB-PCIe"), ("RES001", Severity.WARNING)),
        ("A100", "48Gi", ("NVIDIA-A100-SXM4-40GB",), None),
        ("A100", "80G", ("NVIDIA-A100-SXM4-80GB",), None),
        ("A100", "48Gi", (), None),
        ("a100-40gb", "48Gi", ("NVIDIA-A100-SXM4-80GB",), None),
    ],
)
def test_memory_is_compared_with_the_gpus_of_the_nodes(make_stack, model, memory, variants, found):
    stack = make_stack(gpu={"model": model}, rayWorker={"memory": memory})
    nodes = [node(f"gpu-{at}", {P: product}, **{"nvidia.com/gpu": 1}) for at, product in enumerate(variants)]
    told = [(one.code, one.severity) for one in on_nodes(stack, nodes)]
    assert told == ([found] if found else [])


def test_memory_of_the_idle_backend_is_not_compared_with_nodes(make_stack):
    stack = make_stack(training="celery", gpu={"model": "A100"}, rayWorker={"memory": "48Gi"}, celery={"memory": "80G"})
    nodes = [node("gpu", {P: "NVIDIA-A100-SXM4-80GB"}, **{"nvidia.com/gpu": 1})]
    assert on_nodes(stack, nodes) == ()
