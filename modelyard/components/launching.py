"""The program of one remote job: from the file that ``modelyard remote --out-dir`` makes to its machine."""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pulumi

from modelyard.components.remote_instance import RemoteInstance
from modelyard.files import ReadError, not_json, read_text
from modelyard.workloads.remote.aws_launch import job_from_json

_LAUNCHED = 'pulumi config set launched "$(date -u +%Y-%m-%dT%H:%M:%SZ)"'


def launch(file: Path, now: datetime | None = None) -> RemoteInstance:
    """Launches the job of a file, in its own region and in no account but its own.

    The stack's config sets ``launched``, the moment from which the machine's end counts, and may set ``dataManifest``,
    the SHA-256 that the export of the dataset has printed.

    Args:
        file: ``job.json``.
        now: with its time zone; None: the clock's. Launches no machine after the deadline, because nothing would end it
            from outside; this includes a config of the last run and an update of a stack whose machine has ended.

    Raises:
        pulumi.RunError: the file or the config cannot be used, something is wrong with the job, or its time is over.
    """
    config = pulumi.Config()
    given = config.get("launched")
    if given is None:
        raise pulumi.RunError(f"set the time of the launch: {_LAUNCHED}")
    try:
        launched = datetime.fromisoformat(given)
    except ValueError as error:
        raise pulumi.RunError(f"launched is {given!r}, not a time such as 2026-11-22T09:30:00Z") from error
    try:
        job = job_from_json(read_text(file), launched, config.get("dataManifest") or "")
    except ReadError as error:
        raise pulumi.RunError(f"{file.name} cannot be read: {error.reason}") from error
    except ValueError as error:
        raise pulumi.RunError(
            f"{file.name} was not written by modelyard remote --out-dir: {not_json(error)}"
        ) from error
    if launched.tzinfo is not None and job.deadline <= (now or datetime.now(UTC)):
        over = f"{job.deadline:%Y-%m-%dT%H:%M:%SZ}"
        raise pulumi.RunError(f"the job of {given} ended at {over}: run pulumi destroy; to run it again: {_LAUNCHED}")
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
