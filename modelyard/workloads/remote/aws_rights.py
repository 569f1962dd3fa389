"""AWS policies as text: who may assume a role, and what the role may do. Pure functions; nothing here calls AWS."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

Statement = Mapping[str, Any]
Conditions = Mapping[str, Mapping[str, str | list[str]]]

UNSCOPED: Final[Mapping[str, str]] = {
    "ecr:GetAuthorizationToken": "a token belongs to the account's registry, which has no IAM resource",
    "ssm:UpdateInstanceInformation": "the machine reports its state, and has no name before it exists",
    **dict.fromkeys(
        (
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        "a machine's channels have no IAM resource",
    ),
}
"""Actions that AWS grants only on ``*``, and why; no other statement of this project has that resource."""


def allow(actions: Sequence[str], resources: Sequence[str], conditions: Conditions | None = None) -> Statement:
    """Returns a statement that allows ``actions`` on ``resources`` (ARNs)."""
    made: dict[str, Any] = {"Effect": "Allow", "Action": sorted(actions), "Resource": sorted(resources)}
    return {**made, "Condition": conditions} if conditions else made


def document(statements: Sequence[Statement]) -> str:
    """Returns a policy as AWS reads it; equal statements give equal text."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, sort_keys=True)


def trust(service: str, conditions: Conditions | None = None, actions: Sequence[str] = ("sts:AssumeRole",)) -> str:
    """Returns the policy that lets one service assume a role.

    Args:
        service: such as ``ec2.amazonaws.com``.
        conditions: when the service may assume it; EC2 supports none, because an instance profile binds the role.
        actions: the actions that assuming the role needs.
    """
    made: dict[str, Any] = {"Effect": "Allow", "Principal": {"Service": service}, "Action": sorted(actions)}
    return document([{**made, "Condition": conditions} if conditions else made])


def reading(bucket: str, prefix: str, partition: str = "aws") -> list[Statement]:
    """Returns statements for listing and reading objects below ``prefix`` (ends in a slash), and nothing else."""
    there = f"arn:{partition}:s3:::{bucket}"
    return [
        allow(["s3:GetObject"], [f"{there}/{prefix}*"]),
        allow(["s3:ListBucket"], [there], {"StringLike": {"s3:prefix": [prefix, f"{prefix}*"]}}),
    ]


def writing(bucket: str, prefix: str, partition: str = "aws") -> list[Statement]:
    """Returns the statement for adding objects below ``prefix``: no reading, no listing, no delete."""
    return [allow(["s3:PutObject"], [f"arn:{partition}:s3:::{bucket}/{prefix}*"])]
