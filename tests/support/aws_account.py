"""An AWS account in memory: each resource that a component registers becomes a request to AWS's API, answered by moto.

What Pulumi's provider does is done here in short: the names of a resource's inputs become those of the API. botocore
then knows each operation's parameters, which are required and which values they take; moto knows whether what a
resource refers to exists, and gives the ids that later resources refer to.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import boto3
import pulumi
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from moto import mock_aws
from moto.backends import get_backend

SERVICES = ("ec2", "ecr", "eks", "iam", "kms", "logs", "s3", "scheduler")
Made = tuple[str, dict[str, Any]]
"""A resource's id, and what AWS gave it beyond its inputs."""


class Account(pulumi.runtime.Mocks):
    """The account, in one region."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._clients: dict[str, Any] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._one_at_a_time = Lock()
        for service in SERVICES:
            # Pulumi registers resources in several threads, which would import a service at the same time.
            get_backend(service)
            self.client(service)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            made = self._clients[service] = boto3.client(
                service, self.region, aws_access_key_id="mock", aws_secret_access_key="mock"
            )
            made.meta.events.register("before-parameter-build", _check_values)
        return self._clients[service]

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if not args.typ.startswith("aws:"):
            return f"{args.name}-id", dict(args.inputs)
        given = _whole(dict(args.inputs))
        kind = args.typ.rpartition(":")[2]
        with self._one_at_a_time:
            made, more = MAKERS[kind](self, args.name, dict(given))
        self._ids[args.typ, args.name] = made
        return made, {**given, **more}

    def delete(self, name: str, kind: str, inputs: Mapping[str, Any]) -> None:
        """Deletes one resource; AWS refuses while others depend on it."""
        found = self._ids.pop((kind, name))
        for service, operation, words in ENDS[kind.rpartition(":")[2]](found, dict(inputs)):
            getattr(self.client(service), operation)(**words)

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"no component may ask AWS for {args.token}")


@contextmanager
def account(region: str) -> Iterator[Account]:
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        yield Account(region)


def _whole(value: Any) -> Any:
    """Numbers as whole numbers: Pulumi sends all numbers as floating point."""
    if isinstance(value, Mapping):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_values(params: Mapping[str, Any], model: Any, **_: Any) -> None:
    """Refuses a value that the API's model does not list; botocore itself does not look at them."""
    wrong = list(_wrong_values(params, model.input_shape, model.name))
    assert not wrong, wrong


def _wrong_values(value: Any, shape: Shape | None, where: str) -> Iterator[str]:
    match shape:
        case StructureShape() if isinstance(value, Mapping):
            for name, one in value.items():
                if name in shape.members:
                    yield from _wrong_values(one, shape.members[name], f"{where}.{name}")
        case ListShape():
            for one in value:
                yield from _wrong_values(one, shape.member, where)
        case MapShape():
            for one in value.values():
                yield from _wrong_values(one, shape.value, where)
        case StringShape() if shape.enum and value not in shape.enum:
            yield f"{where} is {value!r}, not one of {shape.enum}"


def pascal(value: Any, **names: str) -> Any:
    """Input names as EC2, IAM and S3 write them; ``names`` has those with a spelling of their own."""
    if isinstance(value, Mapping):
        return {names.get(key, key[0].upper() + key[1:]): pascal(one, **names) for key, one in value.items()}
    return [pascal(one, **names) for one in value] if isinstance(value, list) else value


def pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def tagged(kind: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """The parameter with the tags of a new EC2 resource, which is left out if there are none."""
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": pairs(tags)}]} if tags else {}


def ec2(kind: str, operation: str, answer: str) -> Callable[[Account, str, dict[str, Any]], Made]:
    """How an EC2 resource with tags is made, by the operation whose answer has its id under ``answer``."""

    def make(cloud: Account, name: str, given: dict[str, Any]) -> Made:
        tags = tagged(kind, given.pop("tags"))
        made = getattr(cloud.client("ec2"), operation)(**pascal(given), **tags)
        found = made if answer in made else next(one for one in made.values() if answer in one)
        return found[answer], {}

    return make


def vpc(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    dns = [key for key in ("enableDnsSupport", "enableDnsHostnames") if key in given]
    wanted = {key: given.pop(key) for key in dns}
    made = ec2("vpc", "create_vpc", "VpcId")(cloud, name, given)
    for key, value in wanted.items():
        cloud.client("ec2").modify_vpc_attribute(VpcId=made[0], **pascal({key: {"value": value}}))
    return made


def subnet(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    public = given.pop("mapPublicIpOnLaunch")
    made = ec2("subnet", "create_subnet", "SubnetId")(cloud, name, given)
    cloud.client("ec2").modify_subnet_attribute(SubnetId=made[0], MapPublicIpOnLaunch={"Value": public})
    return made


def internet_gateway(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    into = given.pop("vpcId")
    made = ec2("internet-gateway", "create_internet_gateway", "InternetGatewayId")(cloud, name, given)
    cloud.client("ec2").attach_internet_gateway(InternetGatewayId=made[0], VpcId=into)
    return made


def route_table(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    routes = given.pop("routes")
    made = ec2("route-table", "create_route_table", "RouteTableId")(cloud, name, given)
    for route in routes:
        words = pascal(route, cidrBlock="DestinationCidrBlock")
        cloud.client("ec2").create_route(RouteTableId=made[0], **words)
    return made


def association(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    return cloud.client("ec2").associate_route_table(**pascal(given))["AssociationId"], {}


def _rules(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "IpProtocol": rule["protocol"],
            "FromPort": rule["fromPort"],
            "ToPort": rule["toPort"],
            "IpRanges": [{"CidrIp": one, "Description": rule["description"]} for one in rule["cidrBlocks"]],
        }
        for rule in rules
    ]


def security_group(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    """A group with exactly these rules: the provider takes away the one that lets everything out."""
    client, rules = cloud.client("ec2"), (given.pop("ingress"), given.pop("egress"))
    if given.get("description") is None:
        found = client.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [given["vpcId"]]}])
        group = next(one["GroupId"] for one in found["SecurityGroups"] if one["GroupName"] == "default")
    else:
        made = ec2("security-group", "create_security_group", "GroupId")(cloud, name, {**given, "groupName": name})
        group = made[0]
    there = client.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    for old, way in (("IpPermissions", "ingress"), ("IpPermissionsEgress", "egress")):
        if there[old]:
            getattr(client, f"revoke_security_group_{way}")(GroupId=group, IpPermissions=there[old])
    for wanted, way in zip(rules, ("ingress", "egress"), strict=True):
        if wanted:
            getattr(client, f"authorize_security_group_{way}")(GroupId=group, IpPermissions=_rules(wanted))
    return group, {}


def launch_template(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    tags = given.pop("tags")
    data = pascal(
        {key: value for key, value in given.items() if key != "tagSpecifications"},
        securityGroups="Groups",
    )
    data["TagSpecifications"] = [
        {"ResourceType": one["resourceType"], "Tags": pairs(one["tags"])} for one in given["tagSpecifications"]
    ]
    for mapping in data["BlockDeviceMappings"]:
        _truths(mapping["Ebs"])
    for network in data.get("NetworkInterfaces", ()):
        _truths(network)
    made = cloud.client("ec2").create_launch_template(
        LaunchTemplateName=name,
        LaunchTemplateData=data,
        **tagged("launch-template", tags),
    )["LaunchTemplate"]
    return made["LaunchTemplateId"], {"latestVersion": made["LatestVersionNumber"]}


def _truths(part: dict[str, Any]) -> None:
    """Truth values that the provider takes as text."""
    for key, value in part.items():
        if value in ("true", "false"):
            part[key] = value == "true"


def instance(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    template = given["launchTemplate"]
    made = cloud.client("ec2").run_instances(
        MinCount=1,
        MaxCount=1,
        LaunchTemplate={"LaunchTemplateId": template["id"], "Version": template["version"]},
        **tagged("instance", given["tags"]),
    )
    return made["Instances"][0]["InstanceId"], {}


def role(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    made = cloud.client("iam").create_role(
        RoleName=name, AssumeRolePolicyDocument=given["assumeRolePolicy"], Tags=pairs(given["tags"])
    )["Role"]
    return name, {"arn": made["Arn"], "name": name}


def role_policy(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    cloud.client("iam").put_role_policy(RoleName=given["role"], PolicyName=name, PolicyDocument=given["policy"])
    return f"{given['role']}:{name}", {"name": name}


def attachment(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    cloud.client("iam").attach_role_policy(RoleName=given["role"], PolicyArn=given["policyArn"])
    return name, {}


def profile(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    client = cloud.client("iam")
    made = client.create_instance_profile(InstanceProfileName=name, Tags=pairs(given["tags"]))["InstanceProfile"]
    client.add_role_to_instance_profile(InstanceProfileName=name, RoleName=given["role"])
    return name, {"arn": made["Arn"], "name": name}


def key(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    client = cloud.client("kms")
    tags = [{"TagKey": tag, "TagValue": value} for tag, value in given["tags"].items()]
    made = client.create_key(Description=given["description"], Policy=given["policy"], Tags=tags)["KeyMetadata"]
    if given["enableKeyRotation"]:
        client.enable_key_rotation(KeyId=made["KeyId"])
    return made["KeyId"], {"arn": made["Arn"]}


def log_group(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    client = cloud.client("logs")
    client.create_log_group(logGroupName=given["name"], tags=given["tags"])
    client.put_retention_policy(logGroupName=given["name"], retentionInDays=given["retentionInDays"])
    return given["name"], {}


def bucket(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    client = cloud.client("s3")
    client.create_bucket(Bucket=given["bucket"], CreateBucketConfiguration={"LocationConstraint": cloud.region})
    client.put_bucket_tagging(Bucket=given["bucket"], Tagging={"TagSet": pairs(given["tags"])})
    return given["bucket"], {}


def of_bucket(operation: str, parameter: str, content: Callable[[dict[str, Any]], Any]) -> Any:
    """How a setting of a bucket is made."""

    def make(cloud: Account, name: str, given: dict[str, Any]) -> Made:
        where = given.pop("bucket")
        getattr(cloud.client("s3"), operation)(Bucket=where, **{parameter: content(given)})
        return where, {}

    return make


def repository(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    (encryption,) = given["encryptionConfigurations"]
    made = cloud.client("ecr").create_repository(
        repositoryName=given["name"],
        imageTagMutability=given["imageTagMutability"],
        imageScanningConfiguration=given["imageScanningConfiguration"],
        encryptionConfiguration=encryption,
        tags=pairs(given["tags"]),
    )["repository"]
    return given["name"], {"repositoryUrl": made["repositoryUri"], "arn": made["repositoryArn"]}


def eks_cluster(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    given["resourcesVpcConfig"] = given.pop("vpcConfig")
    given["logging"] = {"clusterLogging": [{"types": given.pop("enabledClusterLogTypes"), "enabled": True}]}
    given["encryptionConfig"] = [given.pop("encryptionConfig")]
    made = cloud.client("eks").create_cluster(**given)["cluster"]
    return made["name"], {
        "endpoint": made["endpoint"],
        "certificateAuthority": made["certificateAuthority"],
        "arn": made["arn"],
    }


def node_group(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    prefix, labels = given.pop("nodeGroupNamePrefix"), given.pop("labels")
    given["nodegroupName"] = f"{prefix}1"
    given["nodeRole"] = given.pop("nodeRoleArn")
    given["subnets"] = given.pop("subnetIds")
    made = cloud.client("eks").create_nodegroup(**given, labels=labels)["nodegroup"]
    return f"{given['clusterName']}:{made['nodegroupName']}", {}


def eks(operation: str, unsent: tuple[str, ...] = ()) -> Callable[[Account, str, dict[str, Any]], Made]:
    """How a part of a cluster is made whose inputs have the API's own names, apart from those ``unsent``."""

    def make(cloud: Account, name: str, given: dict[str, Any]) -> Made:
        sent = {key: value for key, value in given.items() if key not in unsent}
        if "resolveConflictsOnCreate" in sent:
            sent["resolveConflicts"] = sent.pop("resolveConflictsOnCreate")
        try:
            getattr(cloud.client("eks"), operation)(**sent)
        except ClientError as error:
            # moto does not answer this operation: botocore has checked its parameters, and what it refers to is asked.
            assert error.response["Error"]["Message"] == "Not yet implemented", error
            cloud.client("eks").describe_cluster(name=sent["clusterName"])
            for arn in (value for key, value in _leaves(sent) if key == "roleArn"):
                cloud.client("iam").get_role(RoleName=arn.rpartition("/")[2])
        return name, {}

    return make


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _leaves(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, key)
    else:
        yield key, value


def schedule_group(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    made = cloud.client("scheduler").create_schedule_group(Name=given["name"], Tags=pairs(given["tags"]))
    return given["name"], {"arn": made["ScheduleGroupArn"]}


def schedule(cloud: Account, name: str, given: dict[str, Any]) -> Made:
    made = cloud.client("scheduler").create_schedule(Name=name, **pascal(given))
    return name, {"arn": made["ScheduleArn"]}


MAKERS: Mapping[str, Callable[[Account, str, dict[str, Any]], Made]] = {
    "Vpc": vpc,
    "Subnet": subnet,
    "Eip": ec2("elastic-ip", "allocate_address", "AllocationId"),
    "InternetGateway": internet_gateway,
    "NatGateway": ec2("natgateway", "create_nat_gateway", "NatGatewayId"),
    "RouteTable": route_table,
    "RouteTableAssociation": association,
    "VpcEndpoint": ec2("vpc-endpoint", "create_vpc_endpoint", "VpcEndpointId"),
    "SecurityGroup": security_group,
    "DefaultSecurityGroup": security_group,
    "LaunchTemplate": launch_template,
    "Instance": instance,
    "Role": role,
    "RolePolicy": role_policy,
    "RolePolicyAttachment": attachment,
    "InstanceProfile": profile,
    "Key": key,
    "LogGroup": log_group,
    "Bucket": bucket,
    "BucketPublicAccessBlock": of_bucket("put_public_access_block", "PublicAccessBlockConfiguration", pascal),
    "BucketOwnershipControls": of_bucket(
        "put_bucket_ownership_controls", "OwnershipControls", lambda given: {"Rules": [pascal(given["rule"])]}
    ),
    "BucketServerSideEncryptionConfiguration": of_bucket(
        "put_bucket_encryption",
        "ServerSideEncryptionConfiguration",
        lambda given: pascal(given, sseAlgorithm="SSEAlgorithm"),
    ),
    "BucketVersioning": of_bucket(
        "put_bucket_versioning", "VersioningConfiguration", lambda given: pascal(given["versioningConfiguration"])
    ),
    "BucketLifecycleConfiguration": of_bucket(
        "put_bucket_lifecycle_configuration", "LifecycleConfiguration", lambda given: pascal(given, id="ID")
    ),
    "BucketPolicy": of_bucket("put_bucket_policy", "Policy", lambda given: given["policy"]),
    "Repository": repository,
    "Cluster": eks_cluster,
    "NodeGroup": node_group,
    "Addon": eks("create_addon", ("resolveConflictsOnUpdate",)),
    "AccessEntry": eks("create_access_entry"),
    "AccessPolicyAssociation": eks("associate_access_policy"),
    "PodIdentityAssociation": eks("create_pod_identity_association"),
    "ScheduleGroup": schedule_group,
    "Schedule": schedule,
}
"""How each kind of resource is made."""

End = tuple[str, str, dict[str, Any]]
"""Service, operation and parameters of one request."""


def by_id(service: str, operation: str, parameter: str) -> Callable[[str, dict[str, Any]], list[End]]:
    return lambda found, given: [(service, operation, {parameter: found})]


ENDS: Mapping[str, Callable[[str, dict[str, Any]], list[End]]] = {
    "Vpc": by_id("ec2", "delete_vpc", "VpcId"),
    "Subnet": by_id("ec2", "delete_subnet", "SubnetId"),
    "Eip": by_id("ec2", "release_address", "AllocationId"),
    "InternetGateway": lambda found, given: [
        ("ec2", "detach_internet_gateway", {"InternetGatewayId": found, "VpcId": given["vpcId"]}),
        ("ec2", "delete_internet_gateway", {"InternetGatewayId": found}),
    ],
    "NatGateway": by_id("ec2", "delete_nat_gateway", "NatGatewayId"),
    "RouteTable": by_id("ec2", "delete_route_table", "RouteTableId"),
    "RouteTableAssociation": by_id("ec2", "disassociate_route_table", "AssociationId"),
    "VpcEndpoint": lambda found, given: [("ec2", "delete_vpc_endpoints", {"VpcEndpointIds": [found]})],
    # AWS deletes a network's default group with it.
    "DefaultSecurityGroup": lambda found, given: [],
    "LaunchTemplate": by_id("ec2", "delete_launch_template", "LaunchTemplateId"),
    "Role": by_id("iam", "delete_role", "RoleName"),
    "RolePolicy": lambda found, given: [
        ("iam", "delete_role_policy", dict(zip(("RoleName", "PolicyName"), found.split(":"), strict=True)))
    ],
    "RolePolicyAttachment": lambda found, given: [
        ("iam", "detach_role_policy", {"RoleName": given["role"], "PolicyArn": given["policyArn"]})
    ],
    "Key": by_id("kms", "schedule_key_deletion", "KeyId"),
    "LogGroup": by_id("logs", "delete_log_group", "logGroupName"),
    "Repository": by_id("ecr", "delete_repository", "repositoryName"),
    "Cluster": by_id("eks", "delete_cluster", "name"),
    "NodeGroup": lambda found, given: [
        ("eks", "delete_nodegroup", dict(zip(("clusterName", "nodegroupName"), found.split(":"), strict=True)))
    ],
    # moto does not know these; they end with their cluster.
    **dict.fromkeys(
        ("Addon", "AccessEntry", "AccessPolicyAssociation", "PodIdentityAssociation"), lambda found, given: []
    ),
}
"""How each kind of resource that a destroy deletes is deleted."""
