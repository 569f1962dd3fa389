"""What the AWS components ask for, answered by AWS's own API models and a simulated account.

An operation that moto does not know (add-ons, access entries, pod identities) is checked by botocore's model alone, and
what it refers to must exist.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pulumi
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from pulumi.runtime.settings import SETTINGS

from components.aws_base import AwsBase
from components.remote_instance import RemoteInstance
from modelyard.cli import main
from modelyard.kube import merge
from modelyard.stack.remote import Bucket
from modelyard.workloads.remote.aws_job import RemoteJob, user_data
from modelyard.workloads.remote.script import BucketFolder, export_script, import_script
from tests.support.aws_account import Account, account
from tests.support.aws_cloud import AWS, registered
from tests.support.component_engine import ROOT, Engine
from tests.support.project_copies import copied
from tests.support.remote_stack import JOB
from tests.support.remote_storage import tree

pytestmark = pytest.mark.slow


def declared(cloud: Account, declare: Callable[[], object]) -> Engine:
    """Runs a program against the account."""
    engine = Engine()
    engine.mocks = cloud
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        pulumi.runtime.set_mocks(cloud, project="modelyard", stack="dev", monitor=engine)
        SETTINGS.callbacks = engine
        pulumi.runtime.test(lambda: declare() and None)()
    finally:
        loop.close()
    return engine


@pytest.fixture(scope="module")
def base() -> Iterator[tuple[Account, Engine]]:
    """An account in which the whole base was made."""
    with account(AWS.region) as cloud:
        yield cloud, declared(cloud, lambda: AwsBase("base", AWS))


def test_the_base_is_created(base: tuple[Account, Engine]) -> None:
    cloud, _ = base
    eks = cloud.client("eks")
    cluster = eks.describe_cluster(name="vision")["cluster"]
    assert (cluster["status"], cluster["version"]) == ("ACTIVE", AWS.kubernetes)
    assert cluster["resourcesVpcConfig"]["publicAccessCidrs"] == list(AWS.public)
    groups = eks.list_nodegroups(clusterName="vision")["nodegroups"]
    assert sorted(groups) == ["a100-1", "cpu-1", "l40s-1"]
    gpus = eks.describe_nodegroup(clusterName="vision", nodegroupName="l40s-1")["nodegroup"]
    assert gpus["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert gpus["labels"]["nvidia.com/gpu.product"] == "NVIDIA-L40S"


def test_machines_connect_only_through_the_nat_gateway(base: tuple[Account, Engine]) -> None:
    cloud, _ = base
    ec2 = cloud.client("ec2")
    subnets = cloud.client("eks").describe_nodegroup(clusterName="vision", nodegroupName="cpu-1")["nodegroup"][
        "subnets"
    ]
    assert len(subnets) == 2
    for subnet in subnets:
        (table,) = ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [subnet]}])[
            "RouteTables"
        ]
        (out,) = (one for one in table["Routes"] if one.get("DestinationCidrBlock") == "0.0.0.0/0")
        assert out["NatGatewayId"].startswith("nat-")


def test_the_bucket_is_private_and_old_versions_expire(base: tuple[Account, Engine]) -> None:
    cloud, _ = base
    s3, name = cloud.client("s3"), "vision-123456789012-eu-central-1"
    assert all(s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"].values())
    assert s3.get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
    (rule,) = s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    assert rule["NoncurrentVersionExpiration"]["NoncurrentDays"] == 30


@pytest.mark.parametrize(
    ("name", "inputs", "words"),
    [
        ("base-l40s-nodes", {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}, "not one of"),
        ("base-l40s-nodes", {"amiType": "AL2023_x86_64"}, "not one of"),
        ("base-l40s-nodes", {"clusterName": "another"}, "No cluster found"),
        ("base-l40s-nodes", {"scalingConfig": {"minSize": 0, "maxSize": 1, "wanted": 0}}, "Unknown parameter"),
        ("base-ml-train-rights", {"role": "nobody"}, "nobody not found"),
        ("base-ml-train-rights", {"policy": '{"Statement": [{"Effect": "Permit"}]}'}, "MalformedPolicyDocument"),
        ("base-ml-train-identity", {"roleArn": "arn:aws:iam::123456789012:role/nobody"}, "not found"),
        ("base-ml-train-identity", {"namespace": 7}, "Invalid type"),
        ("base-nat", {"allocationId": "eipalloc-0"}, "not found"),
        ("base-private-routes", {"vpcId": "vpc-0"}, "does not exist"),
        ("base-eu-central-1b", {"cidrBlock": "10.40.0.0/17"}, "conflicts"),
        ("base-versions", {"versioningConfiguration": {"status": "On"}}, "not one of"),
        ("base-images", {}, "already exists"),
    ],
)
def test_a_wrong_base_is_refused(base: tuple[Account, Engine], name: str, inputs: dict[str, Any], words: str) -> None:
    """Without this, the other tests could not fail."""
    cloud, engine = base
    (given,) = (one for one in engine.registered if one.name == name and one.type.startswith("aws:"))
    with pytest.raises((AssertionError, BotoCoreError, ClientError), match=words):
        cloud.new_resource(
            pulumi.runtime.MockResourceArgs(given.type, f"{name}-2", {**given.inputs, **inputs}, "", "", True)
        )


def test_destroy_keeps_only_the_bucket(base: tuple[Account, Engine]) -> None:
    """In the engine's order: what depends on a resource goes before it."""
    cloud, engine = base
    for one in reversed(engine.registered):
        if one.type.startswith("aws:") and not one.retained:
            cloud.delete(one.name, one.type, one.inputs)
    ec2 = cloud.client("ec2")
    assert not cloud.client("eks").list_clusters()["clusters"]
    assert not ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": ["base"]}])["Vpcs"]
    assert not ec2.describe_addresses()["Addresses"]
    assert not ec2.describe_launch_templates()["LaunchTemplates"]
    assert not cloud.client("iam").list_roles()["Roles"]
    assert [one["Name"] for one in cloud.client("s3").list_buckets()["Buckets"]] == ["vision-123456789012-eu-central-1"]


def test_the_example_is_a_cluster_with_gpus_and_a_platform(tmp_path: Path) -> None:
    program = ROOT / "examples/aws/__main__.py"
    code = compile(program.read_text(), str(program), "exec")
    found = registered(lambda: exec(code, {"__file__": str(program)})).registered
    (plugin,) = (one for one in found if one.type.endswith(":DaemonSet"))
    labels = next(one.inputs["labels"] for one in found if one.name == "base-l40s-nodes")
    wanted = {"apiVersion": "apps/v1", "kind": "DaemonSet", **plugin.inputs}
    assert not merge.validate(wanted, merge.MergeSchema.kubernetes("1.35").of_object(wanted))
    assert plugin.inputs["spec"]["template"]["spec"]["nodeSelector"].items() <= labels.items()
    copied(tmp_path)
    shutil.copy(ROOT / "examples/aws/Pulumi.vision.yaml", tmp_path / "stacks")
    assert main(["-C", str(tmp_path), "check", "vision"]) == 0


def in_a_network(cloud: Account, job: RemoteJob) -> RemoteJob:
    """The job in a network of the account."""
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    return job._replace(vpc=vpc, subnet=subnet, machine_image=image)


def test_a_machine_is_launched_in_its_network_and_ended_by_its_schedule() -> None:
    with account(JOB.region) as cloud:
        job = in_a_network(cloud, JOB)
        engine = declared(cloud, lambda: RemoteInstance("job", job))
        ec2 = cloud.client("ec2")
        machine = engine.outputs["job"]["instance"]
        ((found,),) = (one["Instances"] for one in ec2.describe_instances(InstanceIds=[machine])["Reservations"])
        assert (found["InstanceType"], found["State"]["Name"]) == (job.instance_type, "running")
        # What the schedule's target asks of EC2 is what it accepts, and it is this machine's end.
        scheduler = cloud.client("scheduler")
        schedule = scheduler.get_schedule(Name="job-deadline", GroupName="modelyard-train-7")
        service, operation = schedule["Target"]["Arn"].split(":")[-2:]
        assert (service, operation) == ("ec2", "terminateInstances")
        ec2.terminate_instances(**json.loads(schedule["Target"]["Input"]))
        ((found,),) = (one["Instances"] for one in ec2.describe_instances(InstanceIds=[machine])["Reservations"])
        assert found["State"]["Name"] in ("shutting-down", "terminated")


DOCKER = """#!/bin/sh
case $1 in
  login) cat >/dev/null ;;
  run) cat "$MODELYARD_WORK/data/a.csv" >"$MODELYARD_WORK/model/weights" ;;
esac
"""


@pytest.fixture
def storage() -> Iterator[str]:
    """The address of a simulated AWS."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_the_real_command_line_copies_data_and_model(tmp_path: Path, storage: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    ended = tmp_path / "ended"
    for name, text in {
        "docker": DOCKER,
        "shutdown": f'#!/bin/sh\n[ "$2" != now ] || echo "$3" >{ended}\n',
        "systemctl": "#!/bin/sh\n",
        "poweroff": "#!/bin/sh\n",
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools / "aws").symlink_to(Path(sys.executable).with_name("aws"))
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "AWS_ENDPOINT_URL": storage,
        "AWS_ACCESS_KEY_ID": "mock",
        "AWS_SECRET_ACCESS_KEY": "mock",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "MODELYARD_WORK": str(tmp_path / "work"),
    }
    s3 = boto3.client("s3", "us-east-1", endpoint_url=storage, aws_access_key_id="mock", aws_secret_access_key="mock")
    for bucket in ("ml-data", "ml-models"):
        s3.create_bucket(Bucket=bucket)

    def run(text: str, *words: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", text, "bash", *map(str, words)],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    digest = run(export_script(BucketFolder(Bucket("lake", "s3://ml-data", ()), "sets/7")), tree(tmp_path / "dataset"))
    run(user_data(JOB._replace(manifest=digest)))
    assert ended.read_text().split()[-1] == "0"
    run(import_script(BucketFolder(Bucket("models", "s3://ml-models", ()), "jobs/train-7/model")), tmp_path / "model")
    assert (tmp_path / "model/weights").read_text() == "1,2\n"
    result = s3.get_object(Bucket="ml-models", Key="jobs/train-7/result.json")["Body"].read()
    assert json.loads(result) == {"exit": 0, "step": "whole"}
