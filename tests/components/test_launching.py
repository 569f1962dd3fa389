"""From a stack file to a machine on AWS: what is written for a job is what its program asks AWS for."""

import asyncio
import gc
import json
import runpy
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS

from modelyard.components.launching import launch
from modelyard.stack import load_text
from modelyard.workloads.remote.aws_job import problems, user_data
from modelyard.workloads.remote.aws_launch import job_from_json
from modelyard.workloads.remote.launch import launch_files, launches
from tests.support.aws_cloud import Cloud, of, statements
from tests.support.component_engine import Engine, Registered
from tests.support.remote_stack import FAR

STACK = (
    """config:
  modelyard:platform: {release: "23.10", namespace: ml}
  modelyard:gpu: {model: A10}
  modelyard:providers:
    - name: amazon
      kind: aws
      credentialsSecret: amazon
      aws:
        account: "123456789012"
        machineImage: ami-0123456789abcdef0
        disk: 300
        networks:
          - {region: us-west-2, vpc: vpc-0a1b2c3d, subnet: subnet-0a1b2c3d}
          - {region: eu-west-1, vpc: vpc-1a2b3c4d, subnet: subnet-1a2b3c4d}
  modelyard:buckets:
    - {name: lake, url: "s3://acme-lake", reachedBy: [platform, amazon]}
  modelyard:resources:
"""
    + FAR.replace("registry.example/trainer:3", "123456789012.dkr.ecr.us-west-2.amazonaws.com/trainer:3")
    + """  modelyard:jobs:
    - {name: churn, type: training, resource: far}
"""
)
NOW = datetime(2026, 11, 22, 9, 31, tzinfo=UTC)
CONFIG = {"modelyard:launched": "2026-11-22T09:30:00Z", "modelyard:dataManifest": "ab" * 32}


class _Seeing(Engine):
    """Also notes by which provider each resource is made."""

    def __init__(self) -> None:
        super().__init__()
        self.by: dict[str, str] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        self.by[request.name] = request.provider
        return super().RegisterResource(request)


def job_file(folder: Path) -> Path:
    """What ``modelyard remote --out-dir`` makes of the stack's only job."""
    stack, findings = load_text(STACK, "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None, findings
    (made,) = launches(stack, stack.config.resources[0])
    files = launch_files(made)
    assert set(files) == {f"churn/{name}" for name in ("Pulumi.yaml", "__main__.py", "job.json", "import.sh")}
    file = folder / "job.json"
    file.write_text(files["churn/job.json"])
    return file


def run(file: Path, config: Mapping[str, str]) -> _Seeing:
    engine = _Seeing()
    engine.mocks = Cloud()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        pulumi.runtime.set_mocks(engine.mocks, project="modelyard", stack="dev", monitor=engine)
        pulumi.runtime.set_all_config(dict(config))
        SETTINGS.callbacks = engine
        pulumi.runtime.test(lambda: launch(file, NOW) and None)()
    finally:
        pulumi.runtime.set_all_config({})
        loop.close()
    return engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> _Seeing:
    return run(job_file(tmp_path_factory.mktemp("churn")), CONFIG)


def test_the_program_needs_only_the_installed_package(tmp_path: Path) -> None:
    stack, _ = load_text(STACK, "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    (made,) = launches(stack, stack.config.resources[0])
    (tmp_path / "__main__.py").write_text(launch_files(made)["churn/__main__.py"])
    with patch("modelyard.components.launching.launch") as launched:
        runpy.run_path(str(tmp_path / "__main__.py"))
    launched.assert_called_once_with(tmp_path / "job.json")


def one(engine: Engine, kind: str) -> Registered:
    (found,) = of(engine.registered, kind)
    return found


def test_the_machine_is_that_of_the_offer_in_the_network_of_its_region(engine: _Seeing) -> None:
    made = one(engine, "LaunchTemplate").inputs
    assert (made["instanceType"], made["imageId"]) == ("p4d.24xlarge", "ami-0123456789abcdef0")
    (network,) = made["networkInterfaces"]
    assert (network["subnetId"], network["associatePublicIpAddress"]) == ("subnet-0a1b2c3d", "false")
    provider = one(engine, "aws").inputs
    assert (provider["region"], json.loads(provider["allowedAccountIds"])) == ("us-west-2", ["123456789012"])
    mine = [name for name, by in engine.by.items() if "pulumi:providers:aws::dev-churn::" in by]
    asked = [each.name for each in engine.registered if each.type.startswith("aws:")]
    assert sorted(mine) == sorted(asked)


def test_the_machine_accepts_no_inbound_traffic(engine: _Seeing) -> None:
    assert one(engine, "SecurityGroup").inputs["ingress"] == []
    made = one(engine, "LaunchTemplate").inputs
    assert made["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    (disk,) = made["blockDeviceMappings"]
    assert (disk["ebs"]["encrypted"], disk["ebs"]["volumeSize"]) == ("true", 300)


def test_the_role_may_read_the_dataset_and_add_below_the_prefix_of_the_job(engine: _Seeing) -> None:
    (policy,) = [each for each in of(engine.registered, "RolePolicy") if each.name.endswith("-rights")]
    found = {(action, *each["Resource"]) for each in statements(policy.inputs["policy"]) for action in each["Action"]}
    storage = {each for each in found if each[0].startswith("s3:")}
    assert storage == {
        ("s3:GetObject", "arn:aws:s3:::acme-lake/datasets/churn/*"),
        ("s3:ListBucket", "arn:aws:s3:::acme-lake"),
        ("s3:PutObject", "arn:aws:s3:::acme-lake/models/churn/*"),
    }


def test_the_machine_is_ended_by_itself_and_by_a_schedule(engine: _Seeing) -> None:
    assert one(engine, "LaunchTemplate").inputs["instanceInitiatedShutdownBehavior"] == "terminate"
    schedule = one(engine, "Schedule").inputs
    # Six hours and a quarter after it was launched.
    assert schedule["scheduleExpression"] == "at(2026-11-22T15:45:00)"
    assert schedule["target"]["arn"].endswith(":aws-sdk:ec2:terminateInstances")


def test_the_machine_runs_the_script_of_the_stack_with_the_manifest(engine: _Seeing, tmp_path: Path) -> None:
    from base64 import b64decode

    launched = datetime.fromisoformat(CONFIG["modelyard:launched"])
    job = job_from_json(job_file(tmp_path).read_text(), launched, CONFIG["modelyard:dataManifest"])
    script = b64decode(one(engine, "LaunchTemplate").inputs["userData"]).decode()
    assert script == user_data(job)
    assert "shutdown -P +360 " in script
    assert f"manifest_sha256={'ab' * 32}\n" in script
    assert (job.read and job.read.url, job.model.url) == (
        "s3://acme-lake/datasets/churn/",
        "s3://acme-lake/models/churn/model/",
    )


@pytest.mark.parametrize("value", [None, 5, True, "x", [], [5], {}, {"a": 5}, [[]], 10**30])
def test_a_job_file_with_a_wrong_value_is_refused(tmp_path: Path, value: Any) -> None:
    """Or it is a part that may be that."""
    # Garbage of other tests would be collected in the middle of the deepest text, and its finalizers would fail there.
    gc.collect()
    launched = datetime.fromisoformat(CONFIG["modelyard:launched"])
    given = json.loads(job_file(tmp_path).read_text())
    for name in given:
        for changed in ({**given, name: value}, {**given, "write": {**given["write"], "prefix": value}}):
            with suppress(ValueError):
                job = job_from_json(json.dumps(changed), launched)
                if not list(problems(job)):
                    user_data(job)
    for text in ("[" * 20_000, "9" * 5000, json.dumps(value)):
        with pytest.raises(ValueError, match="it "):
            job_from_json(text, launched)


def test_a_serving_job_exports_its_connect_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported: dict[str, Any] = {}
    monkeypatch.setattr(pulumi, "export", exported.__setitem__)
    text = STACK.replace("type: training", "type: llm-serving")
    text = text.replace("        regionPrefix: us-\n", "        regionPrefix: us-\n        port: 8000\n")
    stack, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None, findings
    (made,) = launches(stack, stack.config.resources[0])
    files = launch_files(made)
    assert set(files) == {f"churn/{name}" for name in ("Pulumi.yaml", "__main__.py", "job.json", "reach.rights.json")}
    assert " output reach\n" in files["churn/Pulumi.yaml"]
    assert "import.sh" not in files["churn/Pulumi.yaml"]
    (tmp_path / "job.json").write_text(files["churn/job.json"])
    found = run(tmp_path / "job.json", CONFIG)
    assert set(exported) == {"instance", "model", "deadline", "reach"}
    assert " --region us-west-2 --target dev-churn-machine-id " in found.outputs["dev-churn"]["reach"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "set the time of the launch"),
        ({"modelyard:launched": "yesterday"}, "launched is 'yesterday'"),
        ({"modelyard:launched": "2026-11-22T09:30:00"}, "launched has no time zone"),
        ({**CONFIG, "modelyard:dataManifest": "abc"}, "a SHA-256 has 64"),
        # Its six hours and the quarter after them passed in this very minute: nothing would end it from outside.
        ({"modelyard:launched": "2026-11-22T03:16:00Z"}, "ended at 2026-11-22T09:31:00Z"),
    ],
)
def test_wrong_configuration_is_refused_before_any_resource(tmp_path: Path, config: dict[str, str], words: str) -> None:
    with pytest.raises(pulumi.RunError, match=words):
        run(job_file(tmp_path), config)


def test_a_file_that_is_not_a_job_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    for text in ("{}", "no JSON", json.dumps({"form": "aws-job@v0"}), json.dumps({"form": "aws-job@v1", "read": 1})):
        file.write_text(text)
        with pytest.raises(pulumi.RunError, match=r"job\.json was not written by modelyard remote --out-dir"):
            run(file, CONFIG)
