"""Turns a remote resource into one launch per job, and into the files that launch it."""

from collections.abc import Iterator

from modelyard.hardware.instances import provider_of
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.workloads.remote.aws_launch import aws_files, aws_job
from modelyard.workloads.remote.aws_rights import rights
from modelyard.workloads.remote.offers import Own, offers
from modelyard.workloads.remote.places import data_of, model_prefix, remote_jobs, writes
from modelyard.workloads.remote.script import Part, export_script, import_script, job_script, secrets_of
from modelyard.workloads.remote.values import Launch, machine_name


def launches(stack: str, config: Config, resource: Resource, own: Own | None = None) -> Iterator[Launch]:
    """Yields the launches of a resource, one per job; none for a remote cluster or a resource with errors."""
    remote, provider = resource.remote, provider_of(config, resource)
    found = offers(config, resource, own)
    if remote is None or provider is None or not found or remote.image is None or remote.time_limit is None:
        return
    buckets = {one.name: one for one in config.buckets}
    way = data_of(resource)
    if (way is not None and way[1].bucket not in buckets) or not remote.command:
        return
    data = None if way is None else Part(buckets[way[1].bucket], way[1].prefix)
    serves = resource.type == "llm-serving"
    for job in remote_jobs(config, resource):
        result = None
        if remote.model is not None:
            if remote.model.bucket not in buckets:
                return
            result = Part(buckets[remote.model.bucket], model_prefix(resource, job))
        model = result if writes(resource) else None
        yield Launch(
            name=machine_name(stack, job.name),
            job=job.name,
            resource=resource.name,
            launcher=provider.launched_by,
            offer=found[0],
            image=remote.image,
            time_limit=remote.time_limit,
            serves=serves,
            data=data,
            transfer=way is not None and way[0] == "transfer",
            model=model,
            script=job_script(remote.command, remote.time_limit, data, model, serves),
            secrets=secrets_of(data, model),
            port=remote.port if serves else None,
            aws=None if provider.aws is None else aws_job(stack, provider.aws, resource, job, found[0], data, result),
        )


def launch_files(launch: Launch) -> dict[str, str]:
    """Returns the files of one launch by relative name."""
    if launch.launcher == "pulumi" and launch.aws is not None:
        return {f"{launch.job}/{name}": text for name, text in aws_files(launch.aws, launch).items()}
    made = {f"{launch.job}/job.sh": f"#!/bin/sh\n{launch.script}"}
    if launch.launcher == "skypilot":
        from modelyard.workloads.remote.launchers import task

        made[f"{launch.job}/skypilot.yaml"] = task(launch)
    elif launch.launcher == "dstack":
        from modelyard.workloads.remote.launchers import fleet, run

        made[f"{launch.job}/fleet.dstack.yml"] = fleet(launch)
        made[f"{launch.job}/task.dstack.yml"] = run(launch)
    if launch.data is not None:
        made[f"{launch.job}/read.rights.json"] = rights(launch.data, write=False)
        if launch.transfer:
            made[f"{launch.job}/export.sh"] = export_script(launch.data)
    if launch.model is not None:
        made[f"{launch.job}/write.rights.json"] = rights(launch.model, write=True)
        made[f"{launch.job}/import.sh"] = import_script(launch.model)
    return made
