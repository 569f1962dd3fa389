"""Turns a remote resource into one launch per job, and into the files that launch it."""

from collections.abc import Iterator

from modelyard.hardware.instances import provider_of
from modelyard.stack.config import Stack
from modelyard.stack.jobs import Resource
from modelyard.workloads.remote.aws_launch import aws_files, aws_job
from modelyard.workloads.remote.offers import Own, offers
from modelyard.workloads.remote.places import (
    bucket_files,
    data_of,
    data_part,
    model_part,
    remote_jobs,
    transfers,
    writes,
)
from modelyard.workloads.remote.script import job_script, secrets_of
from modelyard.workloads.remote.values import Launch, machine_name


def launches(stack: Stack, resource: Resource, own: Own | None = None) -> Iterator[Launch]:
    """Yields the launches of a resource, one per job; none for a remote cluster or a resource with errors."""
    config, name = stack.config, stack.full_name.rpartition("/")[2]
    remote, provider = resource.remote, provider_of(config, resource)
    found = offers(config, resource, own)
    if remote is None or provider is None or not found or remote.image is None or remote.time_limit is None:
        return
    data = data_part(config, resource)
    if (data is None and data_of(resource) is not None) or not remote.command:
        return
    serves = resource.type == "llm-serving"
    for job in remote_jobs(config, resource):
        result = model_part(config, resource, job)
        if remote.model is not None and result is None:
            return
        model = result if writes(resource) else None
        yield Launch(
            name=machine_name(name, job.name),
            job=job.name,
            resource=resource.name,
            launcher=provider.launched_by,
            offer=found[0],
            image=remote.image,
            time_limit=remote.time_limit,
            serves=serves,
            data=data,
            transfer=transfers(resource),
            model=model,
            script=job_script(remote.command, remote.time_limit, data, model, serves),
            secrets=secrets_of(data, model),
            port=remote.port if serves else None,
            aws=None
            if provider.aws is None
            else aws_job(name, provider.aws, resource, job=job, offer=found[0], data=data, model=result),
        )


def launch_files(launch: Launch) -> dict[str, str]:
    """Returns the files of one launch by relative name."""
    if launch.launcher == "pulumi" and launch.aws is not None:
        made = aws_files(launch.aws, launch)
    else:
        from modelyard.workloads.remote.launchers import DOCUMENTS

        made = {
            "job.sh": f"#!/bin/sh\n{launch.script}",
            **{name: text(launch) for name, text in DOCUMENTS.get(launch.launcher, {}).items()},
            **bucket_files(launch.data, launch.transfer, launch.model),
        }
    return {f"{launch.job}/{name}": text for name, text in made.items()}
