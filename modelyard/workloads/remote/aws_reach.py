"""Access to a job that serves on AWS: a Systems Manager session, which its machine opens from inside.

No port is open to any network. The agent on the machine polls Systems Manager for sessions, over HTTPS like all
outgoing traffic; a user who may start a session gets a local port forwarded to the job's. Sources: AWS Systems Manager
user guide, custom role with minimal Session Manager permissions; starting a session with a document named in a policy;
additional sample policies.
"""

import json
from typing import Any, Final

from modelyard.workloads.remote.aws_job import JOB_TAG, RemoteJob
from modelyard.workloads.remote.aws_rights import Statement, allow

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
    """Returns a policy for the job's users, as JSON: only its port, and no shell on any machine."""
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
