"""Turns a resource on AWS into the Pulumi program that launches each of its jobs, without values entered twice.

The program is three lines around ``modelyard.components.launching``; ``job.json`` holds everything known about the
job. The time of the launch is set at the launch, because AWS counts the machine's deadline from it.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import UnionType
from typing import Any, Final, get_origin, get_type_hints

from modelyard.files import parse_json, wrong_form
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import AwsAccount
from modelyard.workloads.remote.aws_job import GPU_IMAGE, JOB_TAG, Place, RemoteJob
from modelyard.workloads.remote.aws_rights import Statement, allow
from modelyard.workloads.remote.offers import Offer
from modelyard.workloads.remote.script import BucketFolder, export_script, import_script
from modelyard.workloads.remote.values import Launch, machine_name

FORM: Final = "aws-job@v1"
"""Version of ``job.json``; it changes when the meaning changes."""
LONGEST: Final = 32
"""Maximum length of a job's name on AWS; names of schedules and roles are built from it."""
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PROGRAM: Final = '''"""{form}: launches job {job} of resource {resource}."""

from pathlib import Path

from modelyard.components.launching import launch

launch(Path(__file__).resolve().parent / "job.json")
'''
_PROJECT: Final = """# {form}, job {job} of resource {resource}: {type} in {region}, at most {limit} s.
# Run it in a virtual environment with modelyard[aws], as account {account}:
# pulumi stack init {name}
# pulumi config set launched "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
# pulumi config set dataManifest SHA256        # if export.sh printed one
# pulumi up
{more}name: {name}
description: One remote job
runtime: python
"""
_MODEL: Final = "# When import.sh has fetched the model: pulumi destroy\n"
_ENDS: Final = "# When it is no longer needed: pulumi destroy\n"
_SERVES: Final = f"""# To reach the model (needs the rights in reach.rights.json), see: pulumi stack output reach
{_ENDS}"""


def partition_of(region: str) -> str:
    """Returns the AWS partition of a region."""
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"


def aws_job(
    stack: str,
    account: AwsAccount,
    resource: Resource,
    *,
    job: Job,
    offer: Offer,
    data: BucketFolder | None,
    model: BucketFolder | None,
) -> RemoteJob | None:
    """Returns what is launched for a job; None if the offer's region has no network, or a bucket is not on S3.

    ``launched`` is not set yet.
    """
    remote = resource.remote
    network = next((one for one in account.networks if one.region == offer.region), None)
    if remote is None or network is None or model is None or remote.image is None or remote.time_limit is None:
        return None
    if model.scheme != "s3" or (data is not None and data.scheme != "s3"):
        return None
    return RemoteJob(
        name=machine_name(stack, job.name, LONGEST),
        account=account.account,
        region=offer.region,
        instance_type=offer.type,
        subnet=network.subnet,
        vpc=network.vpc,
        image=remote.image,
        command=remote.command,
        read=None if data is None else _place(data),
        write=_place(model),
        launched=_NEVER,
        limit=remote.time_limit,
        disk=account.disk,
        machine_image=account.machine_image or GPU_IMAGE,
        root_device=account.root_device,
        key=account.key,
        partition=partition_of(offer.region),
        serves=resource.type == "llm-serving",
        port=remote.port if resource.type == "llm-serving" else None,
    )


def _place(part: BucketFolder) -> Place:
    return Place(part.bucket.url.partition("://")[2], f"{part.prefix}/")


def aws_files(job: RemoteJob, launch: Launch) -> dict[str, str]:
    """Returns the program, its input, and the data and model scripts, by name."""
    words = {
        "form": FORM,
        "job": launch.job,
        "resource": launch.resource,
        "name": job.name,
        "type": job.instance_type,
        "region": job.region,
        "limit": str(job.limit),
        "account": job.account,
        "more": _MODEL if not launch.serves else _SERVES if job.port is not None else _ENDS,
    }
    made = {
        "Pulumi.yaml": _PROJECT.format(**words),
        "__main__.py": _PROGRAM.format(**words),
        "job.json": json.dumps(job_to_json(job), indent=2, ensure_ascii=False) + "\n",
    }
    if job.port is not None:
        made["reach.rights.json"] = reach_rights(job)
    if launch.data is not None and launch.transfer:
        made["export.sh"] = export_script(launch.data)
    if launch.model is not None and not launch.serves:
        # Next to the model is the job's result.
        made["import.sh"] = import_script(launch.model._replace(prefix=f"{launch.model.prefix}/model"))
    return made


def job_to_json(job: RemoteJob) -> dict[str, Any]:
    """Returns a job without its launch time, as plain JSON values."""
    values = {name: value for name, value in job._asdict().items() if name not in ("launched", "manifest")}
    for name in ("read", "write"):
        values[name] = None if values[name] is None else dict(values[name]._asdict())
    return {"form": FORM, **values, "command": list(job.command), "tags": dict(job.tags)}


def job_from_json(text: str, launched: datetime, manifest: str = "") -> RemoteJob:
    """Returns the job of a ``job.json``, launched now.

    Raises:
        ValueError: the text is not a job, or has another form.
    """
    try:
        values: Mapping[str, Any] = parse_json(text)
        if values["form"] != FORM:
            raise ValueError(f"it has form {values['form']!r}; this modelyard reads {FORM}")
        fields = {name: value for name, value in values.items() if name != "form"}
        read = None if fields["read"] is None else Place(**fields["read"])
        made = {"read": read, "write": Place(**fields["write"]), "command": tuple(fields["command"])}
        job = RemoteJob(**{**fields, **made, "launched": launched, "manifest": manifest})
        for place in (job.read, job.write):
            if place is not None:
                _check_types(place)
        _check_types(job)
        return job
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(wrong_form(error)) from error


def _check_types(value: RemoteJob | Place) -> None:
    """Checks each part of a value against its type.

    Raises:
        ValueError: a part has another type; the message names the part.
    """
    for name, kind in get_type_hints(type(value)).items():
        part = getattr(value, name)
        texts = (*part, *part.values()) if isinstance(part, Mapping) else part if type(part) is tuple else ()
        fits = isinstance(part, kind if isinstance(kind, UnionType) else get_origin(kind) or kind)
        if not fits or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{name} has the wrong type")


# From here: access to a job that serves on AWS, in a Systems Manager session that its machine opens from inside. No
# port is open to any network. The agent on the machine polls Systems Manager for sessions, over HTTPS like all outgoing
# traffic; a user who may start a session gets a local port forwarded to the job's. Sources: AWS Systems Manager user
# guide, custom role with minimal Session Manager permissions; starting a session with a document named in a policy;
# additional sample policies.
DOCUMENT: Final = "AWS-StartPortForwardingSession"
"""What a session does: it forwards one port. Without a document, a session is a shell."""
_OWN: Final = "${aws:userid}"


def agent_rights() -> list[Statement]:
    """Returns the rights that the agent on a machine needs for sessions, and nothing else of Systems Manager: no
    commands, no parameters, no inventory.
    """
    channels = [f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")]
    return [allow(["ssm:UpdateInstanceInformation", *channels], ["*"])]


def reach_command(job: RemoteJob, instance: str) -> str:
    """Returns the command that forwards the job's port to the same local port, until it is interrupted.

    It needs the AWS CLI with the Session Manager plugin.
    """
    ports = json.dumps({"portNumber": [str(job.port)], "localPortNumber": [str(job.port)]})
    return (
        f"aws ssm start-session --region {job.region} --target {instance} "
        f"--document-name {DOCUMENT} --parameters '{ports}'"
    )


def reach_rights(job: RemoteJob) -> str:
    """Returns a policy for the job's users, as JSON: ports of its machine, and no shell on any machine."""
    place = f"arn:{job.partition}:ssm:{job.region}"
    # Without the document check, the default document, a shell, would be allowed on a permitted machine.
    checked = {"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}}
    ours = {**checked, "StringEquals": {f"ssm:resourceTag/{JOB_TAG}": job.name}}
    machines = f"arn:{job.partition}:ec2:{job.region}:{job.account}:instance/*"
    own = f"{place}:{job.account}:session/{_OWN}-*"
    statements: list[Any] = [
        allow(["ssm:StartSession"], [machines], ours),
        allow(["ssm:StartSession"], [f"{place}::document/{DOCUMENT}"], checked),
        allow(["ssm:ResumeSession", "ssm:TerminateSession", "ssmmessages:OpenDataChannel"], [own]),
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, indent=2) + "\n"
