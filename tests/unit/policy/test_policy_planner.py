"""The planner's own rules as policies: codes, levels, and findings about objects of the engine."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from modelyard.explanations import explanations
from modelyard.findings import Finding, Severity
from modelyard.policy import planner
from modelyard.policy.pack import Context, SeenResource, subject
from modelyard.policy.settings import Settings
from modelyard.promql.queries import _CODES as QUERIES
from modelyard.stack import Stack, load, load_text
from modelyard.workloads import by_object, stack_facts, workloads
from tests.support.project_copies import ROOT

BASE = {"modelyard:platform": {"release": "23.10"}, "modelyard:gpu": {"model": "A10"}}
NOT_REACHABLE = {"GPU006", "CEL007"}
"""No GPU of the table is that old; and what an object gets is tested below."""


def test_every_code_is_explained() -> None:
    assert set(planner.CODES) <= set(explanations())


def examples() -> list[tuple[str, str]]:
    """The stack files of the explanations, by code."""
    found = []
    for code, page in explanations().items():
        block = re.search(r"```yaml\n(.*?)```", page.body, re.DOTALL)
        if block and code in planner.CODES and code[:3] in ("GPU", "RES", "RAY", "CEL") and code not in NOT_REACHABLE:
            found.append((code, block[1]))
    return found


@pytest.mark.parametrize(("code", "text"), examples())
def test_a_code_has_the_level_of_its_most_severe_finding(code: str, text: str) -> None:
    config = {**BASE, **yaml.safe_load(text)}
    if code.startswith("CEL"):
        config.setdefault("modelyard:training", "celery")
    stack, findings = load_text(yaml.safe_dump({"config": config}), "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None, findings
    severities = {finding.severity for finding in planner.of_stack(stack) if finding.code == code}
    wanted = Severity.ERROR if planner.CODES[code] == "mandatory" else Severity.WARNING
    # Findings of the side that is idle are advice, and say so.
    assert wanted in severities


def test_queries_have_the_level_of_their_most_severe_finding() -> None:
    gravest: dict[str, Severity] = {}
    order = [Severity.ADVICE, Severity.WARNING, Severity.ERROR]
    for code, severity in QUERIES.values():
        gravest[code] = max(gravest.get(code, Severity.ADVICE), severity, key=order.index)
    wanted = {
        code: "mandatory" if severity is Severity.ERROR else "advisory"
        for code, severity in gravest.items()
        if severity is not Severity.ADVICE
    }
    assert {code: planner.CODES.get(code) for code in wanted} == wanted


def loaded(name: str = "dev") -> Stack:
    stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert stack is not None, findings
    return stack


HEAD, WORKER, SERVICE = "deployment-ray-head", "deployment-ray-model-training-worker", "deployment-model-service"


def context(stack: Stack) -> Context:
    sized = workloads(stack.config)
    return Context(stack, stack_facts(stack, sized), by_object(sized), "ml-platform", Settings(()), {})


@pytest.fixture
def told() -> Callable[..., list[str]]:
    """What the planner's rules say of the pods of a Deployment of dev."""

    def run(name: str, spec: dict[str, Any], *, whole: bool = False, stack: Stack | None = None) -> list[str]:
        one = stack or loaded()
        sized = by_object(workloads(one.config))
        metadata = {"name": name, "namespace": "ml-platform", **({"uid": "1"} if whole else {})}
        found = SeenResource(
            "u", "kubernetes:apps/v1:DeploymentPatch", name, {"metadata": metadata, "spec": spec}, True
        )
        seen = subject(found, context(one))
        assert seen is not None
        assert seen.whole == whole
        findings: tuple[Finding, ...] = planner.of_object(one, sized.get(name, ()), seen)
        return [finding.code for finding in findings if finding.severity is not Severity.ADVICE]

    return run


def container(name: str, **resources: Any) -> dict[str, Any]:
    return {"containers": [{"name": name, "resources": {"limits": resources}}]}


def states(gpus: str) -> dict[str, Any]:
    """A worker whose program is told a number of GPUs."""
    return {
        "containers": [{"name": "ray-model-training-worker", "env": [{"name": "NUM_GPUS_REQUESTED", "value": gpus}]}]
    }


@pytest.mark.parametrize(
    ("name", "spec", "codes"),
    [
        (HEAD, {}, []),
        (HEAD, {"replicas": 2}, ["RAY001"]),
        (HEAD, {"template": {"spec": container("ray-head", memory="8Gi")}}, ["RAY002"]),
        (HEAD, {"template": {"spec": container("ray-head", cpu="1")}}, ["RAY003"]),
        (HEAD, {"template": {"spec": container("ray-head", **{"nvidia.com/gpu": 1})}}, ["RAY004"]),
        (SERVICE, {"template": {"spec": container("model-service", **{"nvidia.com/gpu": 1})}}, ["RES006"]),
        (SERVICE, {"template": {"spec": container("model-service", **{"ephemeral-storage": "1Gi"})}}, ["RES005"]),
        (WORKER, {"template": {"spec": container("ray-model-training-worker", memory="12Gi")}}, ["RES001"]),
        (WORKER, {"template": {"spec": {"terminationGracePeriodSeconds": 60}}}, ["RAY008"]),
        (WORKER, {"replicas": 0}, ["RAY009"]),
        (WORKER, {"template": {"spec": states("1")}}, []),
        (WORKER, {"template": {"spec": states("2")}}, ["RAY010"]),
        (WORKER, {"template": {"spec": container("another", memory="1Gi")}}, []),
    ],
)
def test_sent_fields_are_judged_and_others_come_from_the_stack_file(
    told: Callable[..., list[str]], name: str, spec: dict[str, Any], codes: list[str]
) -> None:
    assert told(name, spec) == codes


def test_a_missing_field_of_a_whole_object_is_missing(told: Callable[..., list[str]]) -> None:
    assert set(told(HEAD, {"replicas": 1}, whole=True)) == {"RAY002", "RAY003"}


@pytest.mark.parametrize("spec", [{"template": "x"}, {"template": {"spec": {"containers": "x"}}}, {"replicas": "x"}])
def test_an_object_with_a_wrong_shape_is_left_to_the_server(
    told: Callable[..., list[str]], spec: dict[str, Any]
) -> None:
    assert told(HEAD, spec) == []


def test_objects_without_a_role_are_not_sized(told: Callable[..., list[str]]) -> None:
    assert told("other", {"template": {"spec": container("ray-head", memory="1Gi")}}) == []


def test_replicas_beside_the_platforms_autoscaler(told: Callable[..., list[str]]) -> None:
    stack = loaded()
    sized = by_object(workloads(stack.config))
    metadata = {"name": WORKER, "namespace": "ml-platform", "annotations": {"autoscaling/enabled": "true"}}
    for spec, codes in (({"replicas": 2}, ["AUT003"]), ({}, [])):
        props = {"metadata": metadata, "spec": spec}
        found = SeenResource("u", "kubernetes:apps/v1:DeploymentPatch", WORKER, props, True)
        seen = subject(found, context(stack), props)
        assert seen is not None
        assert [finding.code for finding in planner.of_object(stack, sized[WORKER], seen)] == codes


def test_replicas_that_are_only_held_for_the_autoscaler(told: Callable[..., list[str]]) -> None:
    assert told(WORKER, {"replicas": 0}, stack=loaded("staging")) == []
