"""Rights that reach no further than one prefix, for credentials that last no longer than the job.

For ``s3``, a session policy: it goes with the call that makes temporary credentials (STS AssumeRole, ``--policy``),
which can then do what both it and the role allow. For ``gs``, a Credential Access Boundary: it goes with the exchange
of a token for a weaker one. Sources: AWS IAM user guide, session policies, and actions of Amazon S3; Google Cloud
IAM, Credential Access Boundaries.
"""

import json
from typing import Any

from modelyard.remote.script import Part


def rights(part: Part, write: bool) -> str:
    """The document that narrows credentials to a prefix, as JSON."""
    made = _s3(part, write) if part.scheme == "s3" else _gs(part, write)
    return json.dumps(made, indent=2) + "\n"


def _s3(part: Part, write: bool) -> dict[str, Any]:
    bucket = part.bucket.url.partition("://")[2]
    own = f"arn:aws:s3:::{bucket}/{part.prefix}/*"
    # Writing looks at what is there and removes what an earlier run left.
    actions = ["s3:GetObject", *(("s3:PutObject", "s3:DeleteObject") if write else ())]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": actions, "Resource": own},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": f"arn:aws:s3:::{bucket}",
                "Condition": {"StringLike": {"s3:prefix": [part.prefix, f"{part.prefix}/*"]}},
            },
        ],
    }


def _gs(part: Part, write: bool) -> dict[str, Any]:
    bucket = part.bucket.url.partition("://")[2]
    objects = f"projects/_/buckets/{bucket}/objects/{part.prefix}/"
    listed = f"api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('{part.prefix}/')"
    role = "objectAdmin" if write else "objectViewer"
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
