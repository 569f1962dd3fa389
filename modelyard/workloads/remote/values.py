"""What is launched: one job on a remote machine, and the machine's name."""

import hashlib
from typing import NamedTuple

from modelyard.stack.remote import Launcher
from modelyard.workloads.remote.aws_job import RemoteJob
from modelyard.workloads.remote.offers import Offer
from modelyard.workloads.remote.script import Part


def machine_name(stack: str, job: str, most: int = 40) -> str:
    """Letters, digits and dashes, ``most`` at the most; shortened names keep apart by a checksum."""
    whole = f"{stack}-{job}".lower().replace("_", "-").replace(".", "-")
    name = whole if whole[0].isalpha() else f"m-{whole}"
    if len(name) <= most:
        return name
    return f"{name[: most - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


class Launch(NamedTuple):
    """One job on a machine of its own: all that a launcher has to know."""

    name: str
    """Of the machine, at most 40 characters, unlike those of other stacks."""
    job: str
    resource: str
    launcher: Launcher
    offer: Offer
    image: str
    time_limit: int
    """Seconds."""
    serves: bool
    data: Part | None
    transfer: bool
    """Whether the data is exported for this job."""
    model: Part | None
    script: str
    """What the machine runs."""
    secrets: tuple[str, ...]
    """Environment variables to set before the launch."""
    port: int | None = None
    """On which it serves; None: nobody said, or it does not serve."""
    aws: RemoteJob | None = None
    """What Pulumi launches; None: another does, or the provider does not say enough."""
