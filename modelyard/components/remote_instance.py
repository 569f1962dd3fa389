"""A GPU machine that is launched for one job and ends with it."""

import json
from base64 import b64encode

import pulumi
from pulumi_aws import cloudwatch, ec2, iam, scheduler

from modelyard.workloads.remote.aws_job import JOB_TAG, RemoteJob, log_group, problems, user_data
from modelyard.workloads.remote.aws_launch import agent_rights, reach_command
from modelyard.workloads.remote.aws_rights import allow, document, reading, trust, writing

RETENTION = 30
"""Days that a job's log is kept."""


class RemoteInstance(pulumi.ComponentResource):
    """One machine, its role and network rules, and what ends it.

    Three things end the machine, and none of them needs the person who launched it: the script powers it off when the
    job has finished or failed; a shutdown that is scheduled before anything else ends it at the time limit; and an AWS
    schedule ends it some time later from outside, in case the machine hangs. A power-off terminates the machine and its
    disk.

    The machine is made once: the next update does not start an ended machine again, because it does not refresh the
    resource in the state. So each job has a stack of its own, which is destroyed when the model has come back; a
    refresh before that would find the machine gone and launch the job once more.
    """

    def __init__(self, name: str, job: RemoteJob, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declares the machine.

        Raises:
            pulumi.RunError: something is wrong with the job; reports everything at once.
        """
        if wrong := [f"{field} {problem}" for field, problem in problems(job)]:
            raise pulumi.RunError("\n".join((f"the job {job.name} cannot be launched", *wrong)))
        try:
            script = user_data(job)
        except ValueError as error:
            raise pulumi.RunError(f"the job {job.name} cannot be launched\n{error}") from error
        super().__init__("modelyard:index:RemoteInstance", name, None, opts)
        self._job = job
        self._tags = {**job.tags, JOB_TAG: job.name}
        self._inside = pulumi.ResourceOptions(parent=self)
        logs = cloudwatch.LogGroup(
            f"{name}-logs", name=log_group(job), retention_in_days=RETENTION, tags=self._tags, opts=self._inside
        )
        template = self._template(name, script)
        machine = ec2.Instance(
            f"{name}-machine",
            launch_template=ec2.InstanceLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(lambda version: str(version))
            ),
            tags=self._tags,
            # A newer AMI, or another version of the template, is no reason to lose a running job.
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[logs], ignore_changes=["ami", "launchTemplate", "userData"]
            ),
        )
        self._ending(name, machine)
        self.instance = machine.id
        self.reach: pulumi.Output[str] | None = None
        """The command that forwards the port of a job that serves; None: it has none."""
        outputs = {
            "instance": machine.id,
            "model": job.model.url,
            "logs": logs.name,
            "deadline": job.deadline.isoformat(),
        }
        if job.port is not None:
            self.reach = outputs["reach"] = machine.id.apply(lambda one: reach_command(job, one))
        self.register_outputs(outputs)

    def _template(self, name: str, script: str) -> ec2.LaunchTemplate:
        job = self._job
        closed = ec2.SecurityGroup(
            f"{name}-network",
            description="Nothing comes in; HTTPS goes out",
            vpc_id=job.vpc,
            ingress=[],
            egress=[
                ec2.SecurityGroupEgressArgs(
                    description="HTTPS", protocol="tcp", from_port=443, to_port=443, cidr_blocks=["0.0.0.0/0"]
                )
            ],
            tags=self._tags,
            opts=self._inside,
        )
        parameter = job.machine_image.startswith("/")
        return ec2.LaunchTemplate(
            f"{name}-template",
            image_id=f"resolve:ssm:{job.machine_image}" if parameter else job.machine_image,
            instance_type=job.instance_type,
            instance_initiated_shutdown_behavior="terminate",
            iam_instance_profile=ec2.LaunchTemplateIamInstanceProfileArgs(arn=self._profile(name).arn),
            # One hop: the machine gets credentials and its containers do not, so a job holds no AWS key.
            metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            block_device_mappings=[
                ec2.LaunchTemplateBlockDeviceMappingArgs(
                    device_name=job.root_device,
                    ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                        volume_type="gp3", volume_size=job.disk, encrypted="true", delete_on_termination="true"
                    ),
                )
            ],
            # The subnet's own setting might give a public address.
            network_interfaces=[
                ec2.LaunchTemplateNetworkInterfaceArgs(
                    device_index=0,
                    subnet_id=job.subnet,
                    security_groups=[closed.id],
                    associate_public_ip_address="false",
                    delete_on_termination="true",
                )
            ],
            monitoring=ec2.LaunchTemplateMonitoringArgs(enabled=True),
            tag_specifications=[
                ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=self._tags)
                for kind in ("instance", "volume", "network-interface")
            ],
            user_data=b64encode(script.encode()).decode(),
            tags=self._tags,
            opts=self._inside,
        )

    def _profile(self, name: str) -> iam.InstanceProfile:
        """The rights of the machine: read its data, add its model, pull its image, write its log, and let the user of a
        job that serves connect through a session.
        """
        job = self._job
        logs = f"arn:{job.partition}:logs:{job.region}:{job.account}:log-group:{log_group(job)}:log-stream:*"
        pull = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
        rights = [
            *([] if job.read is None else reading(job.read.bucket, job.read.prefix, job.partition)),
            *writing(job.write.bucket, job.write.prefix, job.partition),
            allow(pull, [job.repository]),
            allow(["ecr:GetAuthorizationToken"], ["*"]),
            allow(["logs:CreateLogStream", "logs:PutLogEvents"], [logs]),
        ]
        if job.port is not None:
            rights += agent_rights()
        if job.key is not None:
            through = {"StringEquals": {"kms:ViaService": f"s3.{job.key_region}.amazonaws.com"}}
            rights.append(allow(["kms:Decrypt", "kms:GenerateDataKey"], [job.key], through))
        role = iam.Role(
            f"{name}-role", assume_role_policy=trust("ec2.amazonaws.com"), tags=self._tags, opts=self._inside
        )
        # The machine's profile comes after its rights: a machine is faster than a policy.
        policy = iam.RolePolicy(f"{name}-rights", role=role.name, policy=document(rights), opts=self._inside)
        return iam.InstanceProfile(
            f"{name}-profile",
            role=role.name,
            tags=self._tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )

    def _ending(self, name: str, machine: ec2.Instance) -> None:
        """Ends the machine from outside after its deadline, with a role that may end machines of this job only."""
        job = self._job
        group = scheduler.ScheduleGroup(
            f"{name}-deadlines", name=f"modelyard-{job.name}", tags=self._tags, opts=self._inside
        )
        here = f"{job.partition}:scheduler:{job.region}:{job.account}:schedule-group/modelyard-{job.name}"
        for_us = {"StringEquals": {"aws:SourceAccount": job.account, "aws:SourceArn": f"arn:{here}"}}
        role = iam.Role(
            f"{name}-ending",
            assume_role_policy=trust("scheduler.amazonaws.com", for_us),
            tags=self._tags,
            opts=self._inside,
        )
        machines = f"arn:{job.partition}:ec2:{job.region}:{job.account}:instance/*"
        ours = {"StringEquals": {f"aws:ResourceTag/{JOB_TAG}": job.name}}
        policy = iam.RolePolicy(
            f"{name}-may-end",
            role=role.name,
            policy=document([allow(["ec2:TerminateInstances"], [machines], ours)]),
            opts=self._inside,
        )
        scheduler.Schedule(
            f"{name}-deadline",
            group_name=group.name,
            schedule_expression=f"at({job.deadline:%Y-%m-%dT%H:%M:%S})",
            schedule_expression_timezone="UTC",
            flexible_time_window=scheduler.ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            target=scheduler.ScheduleTargetArgs(
                arn=f"arn:{job.partition}:scheduler:::aws-sdk:ec2:terminateInstances",
                role_arn=role.arn,
                input=machine.id.apply(lambda one: json.dumps({"InstanceIds": [one]})),
                retry_policy=scheduler.ScheduleTargetRetryPolicyArgs(
                    maximum_event_age_in_seconds=86_400, maximum_retry_attempts=185
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
