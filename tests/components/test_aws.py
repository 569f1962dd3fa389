"""What the AWS components register, looked at as a whole: what must hold for every resource, whoever declares it."""

import inspect
import json
import re
import shlex
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pulumi
import pytest

from modelyard.components.aws_base import AwsBase, kubeconfig
from modelyard.components.aws_network import ranges
from modelyard.components.remote_instance import RemoteInstance
from modelyard.workloads.remote.aws_job import user_data
from modelyard.workloads.remote.aws_launch import reach_rights
from tests.support.aws_cloud import AWS, of, registered, statements
from tests.support.component_engine import ROOT, Engine, Registered
from tests.support.remote_stack import JOB

JOB_WITH_KEY = JOB._replace(key="arn:aws:kms:eu-central-1:123456789012:key/0a1b", tags={"team": "vision"})
SERVING = JOB._replace(name="chat-7", serves=True, port=8000)
UNSCOPED = {
    "ecr:GetAuthorizationToken": "a token belongs to the account's registry, which has no IAM resource",
    "ssm:UpdateInstanceInformation": "the machine reports its state, and has no name before it exists",
    **dict.fromkeys(
        (
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        "a machine's channels have no IAM resource",
    ),
}
"""Actions that AWS grants only on ``*``, and why."""
DECLARED: Mapping[str, Callable[[], object]] = {
    "base": lambda: AwsBase("base", AWS),
    "subnets": lambda: AwsBase("base", AWS._replace(zones=(), subnets=("subnet-1", "subnet-2"), public=())),
    "job": lambda: RemoteInstance("job", JOB_WITH_KEY),
    "serving": lambda: RemoteInstance("serving", SERVING),
}
CONDITIONS = {
    # An instance's role is bound by its profile; EC2 offers no condition for it.
    "ec2.amazonaws.com": set(),
    "eks.amazonaws.com": {"aws:SourceAccount", "aws:SourceArn"},
    "scheduler.amazonaws.com": {"aws:SourceAccount", "aws:SourceArn"},
    "pods.eks.amazonaws.com": {
        "aws:SourceAccount",
        "aws:RequestTag/eks-cluster-name",
        "aws:RequestTag/kubernetes-namespace",
        "aws:RequestTag/kubernetes-service-account",
    },
}
MANAGED = {
    "AmazonEKSClusterPolicy",
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEKS_CNI_Policy",
    "service-role/AmazonEBSCSIDriverPolicy",
}
"""AWS's own policies: each is of one role that AWS's documentation gives it to."""


@pytest.fixture(scope="module")
def engines() -> Mapping[str, Engine]:
    return {name: registered(declare) for name, declare in DECLARED.items()}


@pytest.fixture(scope="module")
def everything(engines: Mapping[str, Engine]) -> list[Registered]:
    found = [one for engine in engines.values() for one in engine.registered if one.type.startswith("aws:")]
    assert len(found) > 100
    return found


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def rights(found: list[Registered]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every statement that gives a role something."""
    for one in of(found, "RolePolicy"):
        for statement in statements(one.inputs["policy"]):
            yield one.name, statement


def test_no_inbound_traffic_is_allowed(everything: list[Registered]) -> None:
    for group in [*of(everything, "SecurityGroup"), *of(everything, "DefaultSecurityGroup")]:
        assert group.inputs.get("ingress") == [], group.name
    assert not [one for one in everything if "IngressRule" in one.type or one.type.endswith(":SecurityGroupRule")]


def test_a_job_may_only_send_https(everything: list[Registered]) -> None:
    for group in of(everything, "SecurityGroup"):
        for rule in group.inputs["egress"]:
            assert (rule["protocol"], rule["fromPort"], rule["toPort"]) == ("tcp", 443, 443)


def test_no_right_covers_all_resources(everything: list[Registered]) -> None:
    seen = set()
    for name, statement in rights(everything):
        assert statement["Effect"] == "Allow"
        actions, resources = listed(statement["Action"]), listed(statement["Resource"])
        assert not [action for action in actions if "*" in action], name
        assert not {"NotAction", "NotResource"} & statement.keys()
        if "*" in resources:
            assert set(actions) <= UNSCOPED.keys(), (name, actions)
            seen |= set(actions)
        else:
            # A star stands at the end only, below a whole name: a prefix with its slash, or one kind of thing.
            assert not [one for one in resources if "*" in one[:-1] or (one.endswith("*") and one[-2] not in "/:")], (
                name
            )
    assert seen == set(UNSCOPED)


def test_no_role_may_delete_pass_or_assume_another_role(everything: list[Registered]) -> None:
    actions = {action for _, statement in rights(everything) for action in listed(statement["Action"])}
    assert not [one for one in actions if "Delete" in one or one.startswith(("iam:", "sts:"))]


def test_roles_have_only_listed_policies_of_aws(everything: list[Registered]) -> None:
    given = {
        one.inputs["policyArn"].removeprefix("arn:aws:iam::aws:policy/")
        for one in of(everything, "RolePolicyAttachment")
    }
    assert given == MANAGED
    for role in of(everything, "Role"):
        assert not {"managedPolicyArns", "inlinePolicies"} & role.inputs.keys()


def test_a_role_is_for_one_service_under_its_conditions(everything: list[Registered]) -> None:
    services = set()
    for role in of(everything, "Role"):
        (statement,) = statements(role.inputs["assumeRolePolicy"])
        (kind,) = statement["Principal"]
        service = statement["Principal"][kind]
        assert kind == "Service"
        named = {key for test in statement.get("Condition", {}).values() for key in test}
        assert named == CONDITIONS[service], role.name
        assert not [
            value for test in statement.get("Condition", {}).values() for value in test.values() if "*" in value
        ]
        services.add(service)
    assert services == CONDITIONS.keys()


def test_every_disk_bucket_and_repository_is_encrypted(everything: list[Registered]) -> None:
    for template in of(everything, "LaunchTemplate"):
        disks = template.inputs["blockDeviceMappings"]
        assert disks
        for disk in disks:
            assert (disk["ebs"]["encrypted"], disk["ebs"]["deleteOnTermination"]) == ("true", "true"), template.name
    buckets = {f"{one.name}-id" for one in of(everything, "Bucket")}
    for kind in (
        "BucketServerSideEncryptionConfiguration",
        "BucketPublicAccessBlock",
        "BucketVersioning",
        "BucketPolicy",
    ):
        assert {one.inputs["bucket"] for one in of(everything, kind)} == buckets
    for one in of(everything, "BucketServerSideEncryptionConfiguration"):
        assert one.inputs["rules"][0]["applyServerSideEncryptionByDefault"]["sseAlgorithm"] in ("AES256", "aws:kms")
    for one in of(everything, "BucketPublicAccessBlock"):
        flags = {key: value for key, value in one.inputs.items() if key != "bucket"}
        assert list(flags.values()) == [True] * 4
    for one in of(everything, "Repository"):
        assert one.inputs["encryptionConfigurations"]
        assert one.inputs["imageTagMutability"] == "IMMUTABLE"
    for one in of(everything, "Cluster"):
        assert one.inputs["encryptionConfig"]["resources"] == ["secrets"]


def test_buckets_require_tls(everything: list[Registered]) -> None:
    for one in of(everything, "BucketPolicy"):
        (statement,) = statements(one.inputs["policy"])
        assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert len(statement["Resource"]) == 2


def test_instance_metadata_requires_a_session(everything: list[Registered]) -> None:
    templates = of(everything, "LaunchTemplate")
    for template in templates:
        options = template.inputs["metadataOptions"]
        assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)
        assert "keyName" not in template.inputs
    groups = of(everything, "NodeGroup")
    assert len(templates) == len(groups) + len(of(everything, "Instance"))
    for group in groups:
        assert "remoteAccess" not in group.inputs
        assert group.inputs["launchTemplate"]["id"] in {f"{one.name}-id" for one in templates}


def test_no_machine_has_a_public_address(everything: list[Registered]) -> None:
    for subnet in of(everything, "Subnet"):
        assert subnet.inputs["mapPublicIpOnLaunch"] is False
    for instance in of(everything, "Instance"):
        assert "associatePublicIpAddress" not in instance.inputs
    for template in of(everything, "LaunchTemplate"):
        for interface in template.inputs.get("networkInterfaces", ()):
            assert interface["associatePublicIpAddress"] == "false"


def test_inputs_are_the_providers(everything: list[Registered]) -> None:
    """No name of a property can slip in that the library does not know, at any depth."""
    for one in everything:
        _, module, kind = one.type.split(":")
        library = import_module(f"pulumi_aws.{module.partition('/')[0]}")
        _known(one.inputs, getattr(library, kind)._internal_init, library, one.name)


def _known(given: Any, made: Callable[..., Any], library: Any, where: str) -> None:
    takes = {_camel(name): one for name, one in inspect.signature(made).parameters.items()}
    for key, value in given.items():
        assert key in takes, f"{where} has {key}, there are {sorted(takes)}"
        text = str(takes[key].annotation)
        inner = [name for name in _words(text) if name.endswith("Args") and hasattr(library, name)]
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and inner:
                _known(part, getattr(library, inner[0]).__init__, library, f"{where}.{key}")


def _words(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() or sign == "_" else " " for sign in text).split()


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def test_an_unknown_property_is_found() -> None:
    library = import_module("pulumi_aws.ec2")
    wrong = {"blockDeviceMappings": [{"ebs": {"encrypt": "true"}}]}
    with pytest.raises(AssertionError, match=r"blockDeviceMappings\.ebs has encrypt,"):
        _known(wrong, library.LaunchTemplate._internal_init, library, "template")


def one(engines: Mapping[str, Engine], engine: str, kind: str, name: str = "") -> Registered:
    (found,) = (one for one in engines[engine].registered if one.type.endswith(f":{kind}") and name in one.name)
    return found


def test_gpu_machines_are_only_for_gpu_pods(engines: Mapping[str, Engine]) -> None:
    groups = {
        one.name.split("-")[1]: one.inputs for one in engines["base"].registered if one.type.endswith(":NodeGroup")
    }
    assert groups.keys() == {"cpu", "l40s", "a100"}
    assert "taints" not in groups["cpu"]
    for name, image in (
        ("cpu", "AL2023_x86_64_STANDARD"),
        ("l40s", "AL2023_x86_64_NVIDIA"),
        ("a100", "AL2023_x86_64_NVIDIA"),
    ):
        assert groups[name]["amiType"] == image
    for name in ("l40s", "a100"):
        (taint,) = groups[name]["taints"]
        assert (taint["key"], taint["effect"]) == ("nvidia.com/gpu", "NO_SCHEDULE")
    # A group without machines has what its nodes will say of themselves, or no autoscaler would start the first.
    assert groups["l40s"]["labels"] == {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-L40S"}
    assert groups["a100"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB"
    assert "nvidia.com/gpu.product" not in groups["cpu"].get("labels", {})
    assert groups["l40s"]["instanceTypes"] == ["g6e.2xlarge", "g6e.4xlarge"]
    assert groups["l40s"]["scalingConfig"] == {"minSize": 0, "maxSize": 4, "desiredSize": 0}
    assert (groups["l40s"]["capacityType"], groups["a100"]["capacityType"]) == ("ON_DEMAND", "SPOT")


def test_the_api_server_is_private_unless_networks_are_named(engines: Mapping[str, Engine]) -> None:
    open_to = one(engines, "base", "Cluster").inputs["vpcConfig"]
    assert (open_to["endpointPrivateAccess"], open_to["publicAccessCidrs"]) == (True, ["203.0.113.0/24"])
    closed = one(engines, "subnets", "Cluster").inputs["vpcConfig"]
    assert (closed["endpointPublicAccess"], closed["subnetIds"]) == (False, ["subnet-1", "subnet-2"])
    assert "publicAccessCidrs" not in closed


def test_given_subnets_create_no_network(engines: Mapping[str, Engine]) -> None:
    made = {one.type for one in engines["subnets"].registered}
    assert not [kind for kind in made if kind.endswith((":Vpc", ":Subnet", ":NatGateway", ":RouteTable"))]


def test_a_service_account_has_its_own_prefixes(engines: Mapping[str, Engine]) -> None:
    bucket = "arn:aws:s3:::vision-123456789012-eu-central-1"
    given = statements(one(engines, "base", "RolePolicy", "ml-train").inputs["policy"])
    assert given == [
        {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [f"{bucket}/sets/*"]},
        {
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": [bucket],
            "Condition": {"StringLike": {"s3:prefix": ["sets/", "sets/*"]}},
        },
        {"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": [f"{bucket}/models/*"]},
    ]
    serve = statements(one(engines, "base", "RolePolicy", "ml-serve").inputs["policy"])
    assert {action for statement in serve for action in statement["Action"]} == {"s3:GetObject", "s3:ListBucket"}


def test_machines_wait_for_the_network_plugin_and_pods_for_machines(engines: Mapping[str, Engine]) -> None:
    for group in (one for one in engines["base"].registered if one.type.endswith(":NodeGroup")):
        assert {"base-vpc-cni-addon", "base-eks-pod-identity-agent-addon"} <= set(group.depends_on)
    for addon in ("coredns", "aws-ebs-csi-driver"):
        assert "base-cpu-nodes" in one(engines, "base", "Addon", addon).depends_on


def test_the_bucket_outlives_the_stack(engines: Mapping[str, Engine]) -> None:
    for found in engines["base"].registered:
        if ":Bucket" in found.type:
            assert found.retained, found.name


def test_the_kubeconfig_has_no_token(engines: Mapping[str, Engine]) -> None:
    outputs = engines["base"].outputs["base"]
    (user,) = outputs["kubeconfig"]["users"]
    assert user["user"].keys() == {"exec"}
    assert outputs["kubeconfig"] == kubeconfig(AWS, "https://cluster.example", "Q0E=")
    assert (outputs["cluster"], outputs["bucket"]) == ("vision", "vision-123456789012-eu-central-1")


@pytest.mark.parametrize(("cidr", "zones"), [("10.40.0.0/16", 2), ("10.40.0.0/16", 3), ("10.0.0.0/20", 3)])
def test_ranges_do_not_overlap(cidr: str, zones: int) -> None:
    from ipaddress import ip_network

    public, private = ranges(cidr, zones)
    every = [ip_network(one) for one in (public, *private)]
    assert len(private) == zones
    assert all(one.subnet_of(ip_network(cidr)) for one in every)
    assert not [(a, b) for a in every for b in every if a is not b and a.overlaps(b)]


def test_a_too_small_network_is_refused() -> None:
    with pytest.raises(ValueError, match="new prefix must be longer"):
        ranges("10.0.0.0/24", 3)


def test_a_job_may_read_and_add_only_its_own_data(engines: Mapping[str, Engine]) -> None:
    given = {}
    for statement in statements(one(engines, "job", "RolePolicy", "rights").inputs["policy"]):
        for action in statement["Action"]:
            assert action not in given
            given[action] = (statement["Resource"], statement.get("Condition"))
    assert given.keys() == {
        "s3:GetObject", "s3:ListBucket", "s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey",
        "ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer",
        "ecr:BatchCheckLayerAvailability", "logs:CreateLogStream", "logs:PutLogEvents",
    }  # fmt: skip
    assert given["s3:GetObject"][0] == ["arn:aws:s3:::ml-data/sets/7/*"]
    assert given["s3:ListBucket"] == (["arn:aws:s3:::ml-data"], {"StringLike": {"s3:prefix": ["sets/7/", "sets/7/*"]}})
    assert given["s3:PutObject"][0] == ["arn:aws:s3:::ml-models/jobs/train-7/*"]
    assert given["ecr:BatchGetImage"][0] == ["arn:aws:ecr:eu-central-1:210987654321:repository/team/train"]
    # By the storage of the key's own region, where the buckets are.
    through = {"StringEquals": {"kms:ViaService": "s3.eu-central-1.amazonaws.com"}}
    assert given["kms:Decrypt"] == (["arn:aws:kms:eu-central-1:123456789012:key/0a1b"], through)
    (logs,) = given["logs:PutLogEvents"][0]
    assert logs == "arn:aws:logs:eu-west-1:123456789012:log-group:/modelyard/jobs/train-7:log-stream:*"


SESSIONS = {
    "ssm:UpdateInstanceInformation",
    *(f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")),
}


def test_only_a_serving_job_accepts_sessions(
    engines: Mapping[str, Engine],
) -> None:
    given = {
        name: {
            action
            for statement in statements(one(engines, name, "RolePolicy", "rights").inputs["policy"])
            for action in statement["Action"]
        }
        for name in ("job", "serving")
    }
    assert given["serving"] - given["job"] == SESSIONS
    assert not [action for action in given["job"] if action.startswith(("ssm", "ec2messages"))]


def test_a_serving_job_has_a_connect_command_and_opens_no_port(engines: Mapping[str, Engine]) -> None:
    outputs = engines["serving"].outputs["serving"]
    words = shlex.split(outputs["reach"])
    assert words[:3] == ["aws", "ssm", "start-session"]
    given = dict(pairwise(words[3:]))
    assert (given["--region"], given["--target"]) == ("eu-west-1", "serving-machine-id")
    assert given["--document-name"] == "AWS-StartPortForwardingSession"
    assert json.loads(given["--parameters"]) == {"portNumber": ["8000"], "localPortNumber": ["8000"]}
    assert one(engines, "serving", "SecurityGroup").inputs["ingress"] == []
    assert "reach" not in engines["job"].outputs["job"]


def test_users_of_a_job_get_its_port_and_no_shell() -> None:
    start, document, own = statements(reach_rights(SERVING))
    assert start["Resource"] == ["arn:aws:ec2:eu-west-1:123456789012:instance/*"]
    assert start["Condition"]["StringEquals"] == {"ssm:resourceTag/modelyard:job": "chat-7"}
    # Of the documents, this one alone; and which one it is, is asked for both.
    assert document["Resource"] == ["arn:aws:ssm:eu-west-1::document/AWS-StartPortForwardingSession"]
    for statement in (start, document):
        assert statement["Action"] == ["ssm:StartSession"]
        assert statement["Condition"]["BoolIfExists"] == {"ssm:SessionDocumentAccessCheck": "true"}
    assert own["Resource"] == ["arn:aws:ssm:eu-west-1:123456789012:session/${aws:userid}-*"]
    assert {"ssm:StartSession", "ssm:SendCommand"}.isdisjoint(own["Action"])


def test_a_machine_is_ended_by_itself_and_by_a_schedule(engines: Mapping[str, Engine]) -> None:
    template = one(engines, "job", "LaunchTemplate")
    assert template.inputs["instanceInitiatedShutdownBehavior"] == "terminate"
    assert b64decode(template.inputs["userData"]).decode() == user_data(JOB_WITH_KEY)
    machine = one(engines, "job", "Instance")
    assert "disableApiTermination" not in machine.inputs
    assert machine.inputs["tags"]["modelyard:job"] == "train-7"
    schedule = one(engines, "job", "Schedule").inputs
    # 09:30 and 3601 seconds, and a quarter of an hour.
    assert schedule["scheduleExpression"] == "at(2026-11-22T10:45:01)"
    assert schedule["scheduleExpressionTimezone"] == "UTC"
    assert schedule["target"]["arn"] == "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"
    assert json.loads(schedule["target"]["input"]) == {"InstanceIds": [f"{machine.name}-id"]}
    (may,) = statements(one(engines, "job", "RolePolicy", "may-end").inputs["policy"])
    assert may["Action"] == ["ec2:TerminateInstances"]
    assert may["Condition"] == {"StringEquals": {"aws:ResourceTag/modelyard:job": "train-7"}}


def test_a_machine_depends_on_its_rights_and_its_log(engines: Mapping[str, Engine]) -> None:
    assert one(engines, "job", "InstanceProfile").depends_on >= ("job-rights",)
    assert "job-logs" in one(engines, "job", "Instance").depends_on


def test_a_wrong_job_registers_no_resource_and_reports_all_problems() -> None:
    with pytest.raises(pulumi.RunError) as told:
        RemoteInstance("job", JOB._replace(limit=0, command=()))
    assert "limit is 0 seconds" in str(told.value)
    assert "command is" in str(told.value)


def test_the_program_of_a_stack_without_aws_imports_nothing_of_it() -> None:
    imports = "import sys, components.platform, modelyard.engine.program.plan"
    line = f"{imports}; print([m for m in sys.modules if 'pulumi_aws' in m])"
    done = subprocess.run([sys.executable, "-c", line], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_example_of_the_guide_can_be_declared() -> None:
    guide = (ROOT / "docs" / "guides" / "aws.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(programs) == 2
    for program in programs:
        code = compile(program, "aws.md", "exec")
        engine = registered(lambda code=code: exec(code, {"__file__": str(ROOT / "aws" / "__main__.py")}))
        assert len(engine.registered) > 8


def test_the_types_are_those_of_the_installed_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "typings"))
    generate = import_module("generate")
    made = {ROOT / "typings" / path: text for path, text in generate.stubs()}
    assert {path: path.read_text(encoding="utf-8") for path in Path(ROOT / "typings").rglob("*.pyi")} == made
