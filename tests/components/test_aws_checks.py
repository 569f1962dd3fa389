"""What is wrong with an AWS side is told before AWS is asked for anything, all of it at once."""

import re
from typing import Any

import pulumi
import pytest

from modelyard.components.aws_checks import problems
from modelyard.quantity import parse
from modelyard.stack import load
from modelyard.stack.aws import Access, Aws, NodeGroup
from tests.support.component_engine import ROOT

GOOD = Aws(
    "vision",
    "123456789012",
    "us-east-1",
    ("us-east-1a", "us-east-1b"),
    admins=("arn:aws:iam::123456789012:role/platform",),
    gpus=(NodeGroup("l40s", ("g6e.2xlarge",)),),
)


def test_a_good_one_has_no_problems() -> None:
    assert list(problems(GOOD)) == []
    assert list(problems(GOOD._replace(zones=(), subnets=("subnet-1", "subnet-2"), public=("203.0.113.0/24",)))) == []


def test_each_default_cpu_machine_has_room_for_the_pods_of_the_example() -> None:
    group = GOOD.cpus
    assert group.types == ("m7i.4xlarge",), "16 CPUs and 64 GiB, of which pods get about 15.9 and 57"
    file = ROOT / "examples/aws/Pulumi.vision.yaml"
    stack, _ = load(file, file.name)
    assert stack is not None
    service, head = stack.config.model_service, stack.config.ray_head
    # An update starts one pod of the model service more, on whichever machine.
    assert 2 * parse(service.cpu) + parse(head.cpu) < 15
    assert 2 * parse(service.memory) + parse(head.memory) < parse("56Gi")
    assert 3 * parse(service.volume) < parse(f"{group.disk}Gi") * 8 / 10


def gpus(*types: str, **fields: Any) -> dict[str, object]:
    return {"gpus": (NodeGroup("gpu", types, **fields),)}


def cpus(*types: str, wanted: int = 2) -> dict[str, object]:
    return {"cpus": NodeGroup("cpu", types, 0, 4, wanted)}


@pytest.mark.parametrize(
    "change",
    [
        # Letters of other meanings than ARM, GPUs in families that begin like others, and what is newer than the table.
        cpus(
            "m7i.xlarge", "m7a.large", "c8i.large", "i4i.large", "r5.large", "m5.metal", "u-6tb1.56xlarge", "z1d.large"
        ),
        gpus("g6e.2xlarge", labels={"pool": "", "example.com/pool": "a.b", "node.kubernetes.io/pool": "gpu"}),
        {"kubernetes": "1.31"},
        {"region": "ap-east-2", "zones": ("ap-east-2a", "ap-east-2b"), "gpus": ()},
        {
            "region": "cn-north-1",
            "zones": ("cn-north-1a", "cn-north-1b"),
            "partition": "aws-cn",
            "gpus": (),
        },
    ],
)
def test_supported_values_have_no_problems(change: dict[str, object]) -> None:
    assert list(problems(GOOD._replace(**change))) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Vision"}, "name is 'Vision': two to 32 lower-case letters"),
        ({"account": "12"}, "account is '12'"),
        ({"zones": ()}, "either zones .* or subnets"),
        ({"subnets": ("subnet-1", "subnet-2")}, "either zones .* or subnets"),
        ({"zones": ("us-east-1a", "us-east-1a")}, "subnets in at least two zones"),
        ({"zones": ("us-east-1a", "us-west-2a")}, "zones has us-west-2a, which is not a zone of us-east-1"),
        ({"partition": "aws-cn"}, "partition is aws-cn, but us-east-1 is in aws"),
        ({"cidr": "10.0.0.0/24"}, "a network of /20 or larger"),
        ({"cidr": "ten"}, "cidr is 'ten'"),
        ({"public": ("0.0.0.0/0",)}, "public has 0.0.0.0/0: that allows everyone"),
        ({"public": ("10.0.0.1/8",)}, "public has '10.0.0.1/8': not an IPv4 network; write one such as 10.0.0.0/8"),
        ({"admins": ()}, "admins is empty"),
        ({"admins": ("arn:aws:iam::123456789012:root",)}, "the ARN of a role or user"),
        ({"cpus": NodeGroup("l40s", ("m7i.xlarge",), wanted=1)}, "two groups of machines are called l40s"),
        (
            {"cpus": NodeGroup("x", ("m7i.xlarge",), wanted=1)},
            "a group of machines is called 'x': two to 32 lower-case letters",
        ),
        ({"cpus": NodeGroup("cpus-", ("m7i.xlarge",), wanted=1)}, "is called 'cpus-': .* and no dash last"),
        (gpus("g6e.2xlarge", least=2, wanted=1), "gpu has least 2 and most 1: raise most, or lower least"),
        (gpus("g6e.2xlarge", least=1), r"wanted of gpu is 0, below least \(1\) or above most \(1\)"),
        (gpus("g6e.2xlarge", wanted=-1), r"wanted of gpu is -1, below least \(0\)"),
        (gpus("g6e.2xlarge", most=0), "gpu has most 0: set it to 1 or more"),
        (gpus("g6e.2xlarge", least=-1), "gpu has least -1: set it to 0 or more"),
        (gpus("g6e.2xlarge", disk=-5), "gpu has a disk of -5 GiB: the machine image alone needs 20"),
        (gpus("g6e.2xlarge", disk=19), "gpu has a disk of 19 GiB"),
        (gpus("g6e.2xlarge", labels={"my pool": "a"}), "the label 'my pool': not a valid label key"),
        (gpus("g6e.2xlarge", labels={"pool": "a b"}), "the label 'pool' with 'a b': up to 63 letters"),
        (gpus("g6e.2xlarge", labels={"node-role.kubernetes.io/gpu": "a"}), "nodes with it cannot join"),
        (gpus("g6e.2xlarge", labels={"eks.amazonaws.com/pool": "a"}), "nodes with it cannot join"),
        (gpus("g5g.2xlarge"), "gpu has g5g.2xlarge, whose processor is ARM, but the group's image is for x86_64"),
        (cpus("m99.huge"), "cpu has m99.huge, which is not a known AWS machine type"),
        (cpus("m7i.xlarg"), "not a known AWS machine type: did you mean m7i.xlarge"),
        (cpus("m7i.large", "m99.xlarge"), "cpu has m99.xlarge, which is not a known AWS machine type"),
        (cpus("m7g.xlarge"), "cpu has m7g.xlarge, whose processor is ARM, .* such as m7i or m7a"),
        (cpus("c7gn.xlarge"), "c7gn.xlarge, whose processor is ARM"),
        (cpus("t4g.large"), "t4g.large, whose processor is ARM"),
        (cpus("im4gn.large"), "im4gn.large, whose processor is ARM"),
        (cpus("a1.large"), "a1.large, whose processor is ARM"),
        (cpus("g6e.2xlarge"), "cpu has g6e.2xlarge, which has GPUs: use it in a group of gpus"),
        (cpus("g4ad.xlarge"), "cpu has g4ad.xlarge, which has GPUs"),
        (cpus("m7i.large", wanted=0), "wanted of cpu is 0: CoreDNS .* set wanted to 1 or more"),
        (
            {"region": "us-eas-1"},
            "region is 'us-eas-1', which is not a known AWS region: did you mean us-east",
        ),
        ({"region": ""}, "region is '', which is not a known AWS region.* such as eu-central-1"),
        ({"kubernetes": "1.35.2"}, "kubernetes is '1.35.2': EKS takes a version of the form 1.35"),
        ({"kubernetes": "latest"}, "kubernetes is 'latest'"),
        ({"kubernetes": "1.30"}, "kubernetes is 1.30: EKS no longer supports it; set it to 1.31 or newer"),
        ({"cuda": "twelve"}, "cuda is 'twelve': a version of the form 12.4"),
        ({"cidr": "10.0.0.0/8"}, "cidr is 10.0.0.0/8: AWS takes networks of /16 or smaller"),
        ({"zones": (), "subnets": ("subnet-1", "vpc-2")}, "subnets has 'vpc-2': the ID of a subnet is needed"),
        ({"tags": {"aws:team": "vision"}}, "tags has 'aws:team': names that begin with aws: are AWS's own"),
        (
            {"tags": {"team": "x" * 257}},
            "tags has 'team': AWS takes keys of 1 to 128 characters, and values of up to 256",
        ),
        (gpus(), "gpu has no machine type"),
        (gpus("g6e.2xlarge", "p4d.24xlarge"), "gpu has machines with a100-40gb.* and l40s: make a group for each GPU"),
        (gpus("g6e.2xlarg"), "not an AWS GPU machine: did you mean g6e.2xlarge"),
        (gpus("m7i.xlarge"), "not an AWS GPU machine"),
        (gpus("g3.4xlarge"), r"\(m60\) is not a supported whole GPU"),
        (gpus("g5.2xlarge"), "the A10G, which is not supported"),
        (
            {"region": "eu-west-1", "zones": ("eu-west-1a", "eu-west-1b")},
            "l40s has g6e.2xlarge, which AWS does not offer in eu-west-1; similar: eu-central-1, eu-north-1",
        ),
        (gpus("p5.48xlarge"), "H100.* is not supported"),
        ({"access": (Access("ml", "train", ("*/",)),)}, r"ml/train has the prefix '\*/'"),
        ({"access": (Access("ml", "train", (), ("models",)),)}, "ml/train has the prefix 'models'"),
        ({"access": (Access("ml", "Train", ("a/",)),)}, "not a service account name"),
        ({"access": (Access("ml", "train"),)}, "neither read nor write"),
        ({"access": (Access("ml", "train", ("a/",)),) * 2}, "access has ml/train twice"),
    ],
)
def test_each_problem_is_reported(change: dict[str, object], message: str) -> None:
    (found,) = problems(GOOD._replace(**change))
    assert re.search(message, found), found


def test_a_machine_too_small_for_a_worker_is_a_problem(golden: Any) -> None:
    golden(*problems(GOOD._replace(**gpus("g6e.xlarge"))))


def test_all_problems_of_a_group_are_reported_at_once() -> None:
    group = NodeGroup("cpu", ("m99.huge", "m7g.large", "g6e.xlarge"), -1, 0, 0, disk=0, labels={"a b": "c d"})
    found = list(problems(GOOD._replace(cpus=group, region="nowhere", kubernetes="1", cuda="")))
    told = ("region", "kubernetes", "cuda", "least", "most", "disk", "label", "cpu is 0", "m99", "ARM", "GPUs", "c d")
    assert len(found) == len(told)
    for word in told:
        assert any(word in one for one in found), word


def test_a_gpu_is_checked_with_the_cuda_version_of_the_platform() -> None:
    hopper = GOOD._replace(**gpus("p5.48xlarge"))
    assert list(problems(hopper._replace(cuda="12.4"))) == []


def test_the_component_reports_all_problems() -> None:
    from modelyard.components.aws_base import AwsBase

    with pytest.raises(pulumi.RunError) as told:
        AwsBase("base", GOOD._replace(account="", admins=()))
    assert "account is ''" in str(told.value)
    assert "admins is" in str(told.value)
