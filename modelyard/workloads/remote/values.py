"""What is launched: one job on a rented machine, and the machine's name."""

import hashlib
from typing import NamedTuple

from modelyard.stack.remote import Launcher
from modelyard.workloads.remote.aws_job import RemoteJob
from modelyard.workloads.remote.offers import Offer
from modelyard.workloads.remote.script import BucketFolder


def machine_name(stack: str, job: str, most: int = 40) -> str:
    """Returns letters, digits and dashes, at most ``most``; a checksum keeps shortened names distinct."""
    whole = f"{stack}-{job}".lower().replace("_", "-").replace(".", "-")
    name = whole if whole[0].isalpha() else f"m-{whole}"
    if len(name) <= most:
        return name
    return f"{name[: most - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


class Launch(NamedTuple):
    """One job on its own machine: everything that a launcher needs."""

    name: str
    """Name of the machine, at most 40 characters, different from those of other stacks."""
    job: str
    resource: str
    launcher: Launcher
    offer: Offer
    image: str
    time_limit: int
    """Seconds."""
    serves: bool
    data: BucketFolder | None
    transfer: bool
    """Whether the data is exported for this job."""
    model: BucketFolder | None
    script: str
    """What the machine runs."""
    secrets: tuple[str, ...]
    """Environment variables to set before the launch."""
    port: int | None = None
    """Port on which it serves; None: not set, or it does not serve."""
    aws: RemoteJob | None = None
    """What Pulumi launches; None: another launcher is used, or the provider lacks settings."""
