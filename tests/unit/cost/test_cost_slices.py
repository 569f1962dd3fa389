"""What a pod on a slice costs: its part of the machine."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.kube.state import Node
from modelyard.stack.jobs import Job, Resource, Runtime
from modelyard.stack.pool import Partition

IMAGE = Runtime("images.example.com/jobs:1.2.3")
SMALL = Partition("small", "mig", gpu="a100-80gb", layout={"3g.40gb": 1, "1g.10gb": 4})
SHARED = Partition("shared", "time-slicing", gpu="a100-80gb", replicas=4)
MIG = {"nvidia.com/mig-3g.40gb": 8, "nvidia.com/mig-1g.10gb": 32}


def machine(name: str, partition: str, gpus: dict[str, int]) -> Node:
    labels = {
        "nvidia.com/device-plugin.config": partition,
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
        "node.kubernetes.io/instance-type": "mine",
    }
    amounts = {
        "cpu": Fraction(96),
        "memory": Fraction(1100 * 2**30),
        **{key: Fraction(one) for key, one in gpus.items()},
    }
    return Node(name, labels, (), amounts)


@pytest.mark.parametrize(
    ("resource", "gpus", "share"),
    [
        (Resource("chat", "serving", 1, "1", "1Gi", partition="small", slice="1g.10gb"), MIG, Fraction(1, 56)),
        (Resource("chat", "serving", 1, "1", "1Gi", partition="small", slice="3g.40gb"), MIG, Fraction(3, 56)),
        (
            Resource("chat", "serving", 2, "1", "1Gi", partition="shared"),
            {"nvidia.com/gpu.shared": 32},
            Fraction(2, 32),
        ),
        (Resource("chat", "serving", 1, "1", "1Gi", partition="shared"), {"nvidia.com/gpu": 8}, None),
    ],
)
def test_a_slice_costs_its_part_of_the_machine(
    sites: Any, resource: Resource, gpus: dict[str, int], share: Fraction | None
) -> None:
    site = sites["dev"].paying("machines:", "  - {type: mine, usdPerHour: 56}")
    assert resource.partition is not None
    node = machine("n", resource.partition, gpus)
    site = site._replace(state=site.state._replace(nodes=(*site.state.nodes, node))).asking(
        runtime=IMAGE, partitions=(SMALL, SHARED), resources=(resource,), jobs=(Job("talk", "serving", "chat"),)
    )
    found = site.of("resource-chat")
    expected = None if share is None else 56 * share
    assert (None if found.usd[1] is None else found.usd[1].low) == expected
