"""Rights limited to one prefix, for credentials that last no longer than the job.

For ``s3``, a session policy: it is passed to the call that creates temporary credentials (STS AssumeRole,
``--policy``), which then allow what both it and the role allow. For ``gs``, a Credential Access Boundary: it is passed
to the exchange of a token for a weaker one. Sources: AWS IAM user guide, session policies, and actions of Amazon S3;
Google Cloud IAM, Credential Access Boundaries.
"""

import json
from typing import Any

from modelyard.workloads.remote.aws_rights import allow, reading, writing
from modelyard.workloads.remote.script import Part


def rights(part: Part, write: bool) -> str:
    """Returns the document that limits credentials to a prefix, as JSON."""
    made = _s3(part, write) if part.scheme == "s3" else _gs(part, write)
    return json.dumps(made, indent=2) + "\n"


def _s3(part: Part, write: bool) -> dict[str, Any]:
    bucket, prefix = part.bucket.url.partition("://")[2], f"{part.prefix}/"
    statements = reading(bucket, prefix)
    if write:
        # Writing lists the prefix and removes what an earlier run left.
        statements += [*writing(bucket, prefix), allow(["s3:DeleteObject"], [f"arn:aws:s3:::{bucket}/{prefix}*"])]
    return {"Version": "2012-10-17", "Statement": statements}


def _gs(part: Part, write: bool) -> dict[str, Any]:
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
