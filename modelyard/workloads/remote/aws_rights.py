"""AWS policies as text: who may assume a role, and what the role may do. Pure functions; nothing here calls AWS."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from modelyard.workloads.remote.script import BucketFolder

Statement = Mapping[str, Any]
Conditions = Mapping[str, Mapping[str, str | list[str]]]


def allow(actions: Sequence[str], resources: Sequence[str], conditions: Conditions | None = None) -> Statement:
    """Returns a statement that allows ``actions`` on ``resources`` (ARNs)."""
    made: dict[str, Any] = {"Effect": "Allow", "Action": sorted(actions), "Resource": sorted(resources)}
    return {**made, "Condition": conditions} if conditions else made


def document(statements: Sequence[Statement]) -> str:
    """Returns a policy as AWS reads it; equal statements give equal text."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, sort_keys=True)


def trust(service: str, conditions: Conditions | None = None, actions: Sequence[str] = ("sts:AssumeRole",)) -> str:
    """Returns the policy that lets one service, such as ``ec2.amazonaws.com``, assume a role.

    EC2 supports no conditions, because an instance profile binds the role.
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


def rights(part: BucketFolder, write: bool) -> str:
    """Returns the document that limits credentials to a prefix, as JSON."""
    made = _s3(part, write) if part.scheme == "s3" else _gs(part, write)
    return json.dumps(made, indent=2) + "\n"


def _s3(part: BucketFolder, write: bool) -> dict[str, Any]:
    bucket, prefix = part.bucket.url.partition("://")[2], f"{part.prefix}/"
    statements = reading(bucket, prefix)
    if write:
        # Writing lists the prefix and removes what an earlier run left.
        statements += [*writing(bucket, prefix), allow(["s3:DeleteObject"], [f"arn:aws:s3:::{bucket}/{prefix}*"])]
    return {"Version": "2012-10-17", "Statement": statements}


def _gs(part: BucketFolder, write: bool) -> dict[str, Any]:
    bucket = part.bucket.url.partition("://")[2]
    objects = f"projects/_/buckets/{bucket}/objects/{part.prefix}/"
    listed = f"api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('{part.prefix}/')"
    # An object admin could also share the objects with others.
    role = "objectUser" if write else "objectViewer"
    return {
        "accessBoundary": {
            "accessBoundaryRules": [
                {
                    "availableResource": f"//storage.googleapis.com/projects/_/buckets/{bucket}",
                    "availablePermissions": [f"inRole:roles/storage.{role}"],
                    "availabilityCondition": {
                        "expression": f"resource.name.startsWith('{objects}') || {listed}",
                    },
                }
            ]
        }
    }
