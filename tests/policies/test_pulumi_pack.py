"""The pack as Pulumi sees it: its own types, values as the engine sends them, and violations as it takes them."""

import os
import select
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from modelyard.engine.policy_pack import policies
from modelyard.policy.loading import policies_of
from modelyard.policy.pack import Pack
from tests.support.policy_subjects import ROOT
from tests.support.project_copies import copied

HEAD = "deployment-ray-head"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
OPTIONS = PolicyResourceOptions(False, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    copied(tmp_path)
    shutil.copytree(ROOT / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    policies_of.cache_clear()
    return tmp_path


def made(project: Path) -> dict[str, Policy]:
    return {policy.name: policy for policy in policies(Pack(project, date(2026, 11, 21)))}


def urn(kind: str = DEPLOYMENT, name: str = HEAD) -> str:
    return f"urn:pulumi:dev::modelyard::{kind}::{name}"


def ask(policy: Policy, props: dict[str, Any], config: dict[str, Any] | None = None) -> list[str]:
    """What a policy reports about a resource before it is sent."""
    assert isinstance(policy, ResourceValidationPolicy)
    said: list[str] = []
    proxied = unknown_checking_proxy(props)
    args = ResourceValidationArgs(DEPLOYMENT, proxied, urn(), HEAD, OPTIONS, None, config)
    policy.validate(args, lambda message, _=None: said.append(message))
    return said


def ask_at_end(
    policy: Policy, *resources: dict[str, Any], config: dict[str, Any] | None = None
) -> list[tuple[str, str]]:
    assert isinstance(policy, StackValidationPolicy)
    said: list[tuple[str, str]] = []
    found = [
        PolicyResource(DEPLOYMENT, unknown_checking_proxy(props), urn(), HEAD, OPTIONS, None, None, [], {})
        for props in resources
    ]
    policy.validate(StackValidationArgs(found, config), lambda message, at=None: said.append((message, at or "")))
    return said


def head(replicas: Any = 1.0, image: str = "repo/ray-head:23.10.4", **metadata: Any) -> dict[str, Any]:
    """A Deployment as the engine sends it: every number is a float."""
    container = {"name": "ray-head", "image": image, "resources": {"limits": {"cpu": "2", "memory": "16Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": HEAD, "namespace": "ml-platform", **metadata},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def test_every_policy_has_the_types_of_pulumi(project: Path) -> None:
    found = made(project)
    assert found["POL101"].description == policies_of(project).rules["POL101"].title
    assert found["POL101"].enforcement_level is EnforcementLevel.MANDATORY
    assert found["POL105"].enforcement_level is EnforcementLevel.ADVISORY
    assert (found["GPU001"].remediation_steps or "").split() == ["modelyard", "explain", "GPU001"]
    assert isinstance(found["POL109"], StackValidationPolicy)
    assert all(isinstance(policy, ResourceValidationPolicy) for name, policy in found.items() if name[:3] == "RES")


def test_parameters_have_a_schema_without_defaults(project: Path) -> None:
    schema = made(project)["POL101"].config_schema
    assert schema is not None
    assert set(schema.properties) == {"digest", "tags"}
    assert not any("default" in value for value in schema.properties.values())


def test_a_violation_is_reported(project: Path) -> None:
    (said,) = ask(made(project)["POL101"], head(image="repo/ray-head:latest"))
    assert said.splitlines()[0].endswith(": repo/ray-head:latest")


def test_a_correct_object_has_no_violations(project: Path) -> None:
    for policy in made(project).values():
        if isinstance(policy, ResourceValidationPolicy):
            assert ask(policy, head()) == []


def test_floats_of_the_engine_become_integers(project: Path) -> None:
    (said,) = ask(made(project)["RAY001"], head(replicas=2.0))
    assert said.startswith("rayHead.replicas is 2,")


def test_unknown_values_of_a_preview_are_ignored(project: Path) -> None:
    found = made(project)
    assert ask(found["RAY001"], head(replicas=UNKNOWN_STRING_VALUE)) == []
    assert ask(found["POL101"], head(image=UNKNOWN_STRING_VALUE)) == []
    assert ask(found["POL101"], {**head(image="a:latest"), "status": UNKNOWN_STRING_VALUE})


def test_an_unknown_list_item_does_not_hide_others(project: Path) -> None:
    props = head(image="a:latest")
    props["spec"]["template"]["spec"]["containers"].append(UNKNOWN_STRING_VALUE)
    assert ask(made(project)["POL101"], props)


def test_parameters_of_the_pulumi_configuration_are_used(project: Path) -> None:
    policy = made(project)["POL112"]
    assert ask(policy, head()) == []
    assert ask(policy, head(), {"allow": ["other-*"]})
    assert ask(policy, head(), {"allow": ["ml-*"]}) == []


def test_errors_of_live_objects_are_reported_at_the_end(project: Path) -> None:
    (project / "policies" / "policy.yaml").write_text("rules: {POL113: {params: {labels: {team: .+}}}}\n")
    found = made(project)
    for policy in found.values():
        if isinstance(policy, ResourceValidationPolicy):
            ask(policy, {"metadata": {"name": HEAD, "labels": {"team": "a"}}, "spec": {}})
    ((said, at),) = ask_at_end(found["live-errors"], head(uid="1", labels={}))
    assert said.startswith(f"POL113 {HEAD} ")
    assert " team\n" in said
    assert at == urn()


def test_the_pack_prints_its_port_unbuffered(project: Path) -> None:
    """The engine waits for the port that the pack serves on, however long."""
    path = project / "policies" / "rules" / "images.py"
    path.write_text(path.read_text() + '\nprint("words of a rule")\n')
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, str(project / "policies"), "127.0.0.1:1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=project
    ) as pack:
        try:
            assert pack.stdout is not None
            ready, _, _ = select.select([pack.stdout], [], [], 120)
            assert ready
            assert int(pack.stdout.readline()) > 0
        finally:
            pack.kill()
