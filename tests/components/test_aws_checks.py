"""What is wrong with an AWS side is told before AWS is asked for anything, all of it at once."""

import re
from typing import Any

import pulumi
import pytest

from components.aws_checks import problems
from modelyard.stack.aws import Access, Aws, NodeGroup

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


def gpus(*types: str, **fields: Any) -> dict[str, object]:
    return {"gpus": (NodeGroup("gpu", types, **fields),)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Vision"}, "name is 'Vision': two to 32 lower-case letters"),
        ({"account": "12"}, "account is '12'"),
        ({"zones": ()}, "either zones .* or subnets"),
        ({"subnets": ("subnet-1", "subnet-2")}, "either zones .* or subnets"),
        ({"zones": ("us-east-1a", "us-east-1a")}, "subnets in two zones at least"),
        ({"zones": ("us-east-1a", "us-west-2a")}, "zones has us-west-2a, which is none of us-east-1"),
        ({"partition": "aws-cn"}, "partition is aws-cn, and us-east-1 is of aws"),
        ({"cidr": "10.0.0.0/24"}, "a network of /20 or larger"),
        ({"cidr": "ten"}, "cidr is 'ten'"),
        ({"public": ("0.0.0.0/0",)}, "public has 0.0.0.0/0: that is everybody"),
        ({"public": ("10.0.0.1/8",)}, "public has '10.0.0.1/8': 10.0.0.1/8 has host bits set"),
        ({"admins": ()}, "admins is empty"),
        ({"admins": ("arn:aws:iam::123456789012:root",)}, "the ARN of a role or user"),
        ({"cpus": NodeGroup("l40s", ("m7i.xlarge",))}, "two groups of machines are called l40s"),
        ({"cpus": NodeGroup("x", ("m7i.xlarge",))}, "a group of machines is called 'x': two to 32 lower-case letters"),
        ({"cpus": NodeGroup("cpus-", ("m7i.xlarge",))}, "is called 'cpus-': .* and no dash last"),
        (gpus("g6e.2xlarge", least=2, wanted=1), "gpu wants 1 machines, from 2 to 1"),
        (gpus(), "gpu has no machine type"),
        (gpus("g6e.2xlarge", "p4d.24xlarge"), "gpu has machines with a100-40gb.* and l40s: make a group for each card"),
        (gpus("g6e.2xlarg"), "no GPU machine of AWS: did you mean g6e.2xlarge"),
        (gpus("m7i.xlarge"), "no GPU machine of AWS"),
        (gpus("g3.4xlarge"), r"\(m60\) is no whole card"),
        (gpus("g5.2xlarge"), "the A10G, which is not supported"),
        (
            {"region": "eu-west-1", "zones": ("eu-west-1a", "eu-west-1b")},
            "l40s has g6e.2xlarge, which AWS does not have in eu-west-1; the nearest: eu-central-1, eu-north-1",
        ),
        (gpus("p5.48xlarge"), "H100.* is not supported"),
        ({"access": (Access("ml", "train", ("*/",)),)}, r"ml/train has the prefix '\*/'"),
        ({"access": (Access("ml", "train", (), ("models",)),)}, "ml/train has the prefix 'models'"),
        ({"access": (Access("ml", "Train", ("a/",)),)}, "no service account's name"),
        ({"access": (Access("ml", "train"),)}, "neither read nor write"),
        ({"access": (Access("ml", "train", ("a/",)),) * 2}, "access is twice of ml/train"),
    ],
)
def test_what_is_wrong_is_told(change: dict[str, object], message: str) -> None:
    (found,) = problems(GOOD._replace(**change))
    assert re.search(message, found), found


def test_a_machine_with_too_little_for_a_worker_is_told_with_both_numbers() -> None:
    assert list(problems(GOOD._replace(**gpus("g6e.xlarge")))) == [
        "gpu has g6e.xlarge: 32 GiB hold no worker, which needs 44.7 GiB",
        "gpu has g6e.xlarge: a worker needs 4 of 4 CPUs, Kubernetes some too",
    ]


def test_a_card_is_judged_for_the_platforms_cuda() -> None:
    hopper = GOOD._replace(**gpus("p5.48xlarge"))
    assert list(problems(hopper._replace(cuda="12.4"))) == []


def test_the_component_refuses_with_everything_that_is_wrong() -> None:
    from components.aws_base import AwsBase

    with pytest.raises(pulumi.RunError) as told:
        AwsBase("base", GOOD._replace(account="", admins=()))
    assert "account is ''" in str(told.value)
    assert "admins is empty" in str(told.value)
