"""The program of one remote job: from the file that ``modelyard remote --write`` makes to its machine."""

import json
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import pulumi

from components.remote_instance import RemoteInstance
from modelyard.remote.aws_launch import job_from_json


def launch(file: Path) -> RemoteInstance:
    """Launches the job of a file, in its own region and in no other account than its own.

    The stack's config says ``launched``, the moment from which the machine's end counts, and may say ``dataManifest``,
    the SHA-256 that the export of the dataset has printed.

    Raises:
        pulumi.RunError: the file or the config cannot be used, or something is wrong with the job.
    """
    config = pulumi.Config()
    given = config.get("launched")
    if given is None:
        raise pulumi.RunError('say when it is launched: pulumi config set launched "$(date -u +%Y-%m-%dT%H:%M:%SZ)"')
    try:
        launched = datetime.fromisoformat(given)
    except ValueError as error:
        raise pulumi.RunError(f"launched is {given!r}, and no time such as 2026-11-22T09:30:00Z") from error
    try:
        job = job_from_json(file.read_text(encoding="utf-8"), launched, config.get("dataManifest") or "")
    except (OSError, ValueError) as error:
        raise pulumi.RunError(f"{file.name} is not what modelyard remote --write makes: {error}") from error
    provider = pulumi.ProviderResource(
        "aws",
        job.name,
        # As the provider reads its own config: lists are JSON.
        {"region": job.region, "allowedAccountIds": json.dumps([job.account])},
        pulumi.ResourceOptions(version=version("pulumi-aws")),
    )
    machine = RemoteInstance(job.name, job, pulumi.ResourceOptions(providers=[provider]))
    pulumi.export("instance", machine.instance)
    pulumi.export("model", job.model.url)
    pulumi.export("deadline", job.deadline.isoformat())
    if machine.reach is not None:
        pulumi.export("reach", machine.reach)
    return machine
