"""The gate between waves: the checks of a live plan, and how long to wait for them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.kube.rollouts import unfinished
from modelyard.plan.project import plan_recorded
from modelyard.plan.values import Plan
from modelyard.plan.verification import StackChecks, VerifyCheck, checks_of, failures, wait
from tests.support.project_copies import ROOT

GOOD = VerifyCheck("rollout", "a", "ok", "")
ROLLING = VerifyCheck("rollout", "a", "waiting", "1 of 2 pods available")
DRIFTED = VerifyCheck("change", "a", "failed", "it differs")
SILENT = VerifyCheck("stack", "dev", "unknown", "no answer")
UNNAMED = SILENT._replace(lasting=True)
"""A cluster that the kubeconfig does not have, or one that rejects the credentials."""


def waited(
    looks: dict[str, list[VerifyCheck]], *, timeout: float = 60, bake: float = 0
) -> tuple[StackChecks, float, list[str], dict[str, int]]:
    """Waits with the given checks of each stack, the last one repeated, at 12 checks per minute."""
    now, said, asked = [0.0], [], dict.fromkeys(looks, 0)

    def look(stacks: Sequence[str]) -> StackChecks:
        found = {stack: (looks[stack][min(asked[stack], len(looks[stack]) - 1)],) for stack in stacks}
        for stack in stacks:
            asked[stack] += 1
        return found

    def sleep(seconds: float) -> None:
        now[0] += seconds

    found = wait(
        look, tuple(looks), timeout=timeout, bake=bake, poll=5, say=said.append, clock=lambda: now[0], sleep=sleep
    )
    return found, now[0], said, asked


def test_a_stack_that_passes_needs_no_wait() -> None:
    found, seconds, said, _ = waited({"dev": [GOOD]})
    assert (failures(found), seconds, said) == ((), 0, [])


@pytest.mark.parametrize("wrong", [ROLLING, DRIFTED, SILENT])
def test_a_stack_that_passes_in_time_reports_progress_once(wrong: VerifyCheck) -> None:
    found, seconds, said, _ = waited({"dev": [wrong, wrong, wrong, GOOD]})
    assert (failures(found), seconds, len(said)) == ((), 15, 1)


@pytest.mark.parametrize("wrong", [ROLLING, DRIFTED, SILENT])
def test_a_stack_that_does_not_pass_in_time_fails(wrong: VerifyCheck) -> None:
    found, seconds, _, _ = waited({"dev": [wrong]})
    assert (failures(found), seconds) == (("dev",), 60)


def test_a_stack_must_keep_passing() -> None:
    found, seconds, said, _ = waited({"dev": [ROLLING, GOOD]}, bake=30)
    assert (failures(found), seconds) == ((), 35)
    assert said[-1] == "dev: passes; must keep passing for 30s"


def test_a_lasting_failure_ends_the_wait_unless_the_stack_has_passed() -> None:
    found, seconds, _, asked = waited({"dev": [UNNAMED], "prod": [ROLLING, GOOD]})
    assert (failures(found), seconds, asked) == (("dev",), 5, {"dev": 1, "prod": 2})
    found, seconds, _, _ = waited({"dev": [GOOD, UNNAMED, GOOD]}, bake=30)
    assert (failures(found), seconds) == ((), 30)


@pytest.mark.parametrize(
    ("subject", "words"), [("dev", "no answer"), ("deployment-ray-head", "deployment-ray-head: no answer")]
)
def test_progress_names_the_reason_for_waiting_once(subject: str, words: str) -> None:
    _, _, said, _ = waited({"dev": [SILENT._replace(subject=subject), GOOD]})
    assert said == [f"dev: waiting: {words}"]


def test_a_failure_during_the_bake_time_fails_at_once() -> None:
    found, seconds, _, _ = waited({"dev": [GOOD, GOOD, DRIFTED, GOOD]}, bake=300)
    assert (failures(found), seconds) == (("dev",), 10)


@pytest.mark.parametrize("wrong", [ROLLING, SILENT])
def test_a_rollout_or_a_missing_answer_does_not_end_the_bake_time(wrong: VerifyCheck) -> None:
    found, seconds, _, _ = waited({"dev": [GOOD, wrong, wrong, GOOD]}, bake=30)
    assert (failures(found), seconds) == ((), 30)
    found, seconds, _, _ = waited({"dev": [GOOD, wrong]}, bake=300)
    assert (failures(found), seconds) == (("dev",), 60)


def test_each_stack_is_checked_until_its_result_is_known() -> None:
    found, seconds, _, asked = waited({"dev": [GOOD], "prod": [ROLLING], "staging": [ROLLING, GOOD]})
    assert (failures(found), seconds) == (("prod",), 60)
    assert asked == {"dev": 1, "prod": 13, "staging": 2}
    assert list(found) == ["dev", "prod", "staging"]


@pytest.fixture(scope="module")
def dev() -> Plan:
    plan = plan_recorded(ROOT, ROOT / "stacks/Pulumi.dev.yaml", date(2026, 11, 21)).plan
    assert plan is not None
    return plan


def settled(plan: Plan, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body) -> Plan:
    """Returns the plan after an apply with complete rollouts; ``change`` edits each object."""

    def targets() -> Iterator[Any]:
        for target in plan.targets:
            body = dict(target.after.reveal())
            wanted = body["spec"].get("replicas", 1)
            counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), wanted)
            body["status"] = {**counts, "observedGeneration": body["metadata"].get("generation", 0)}
            yield target._replace(
                action="none", changes=(), hands_over=(), before=Confidential(change(body)), after=Confidential(body)
            )

    return plan._replace(targets=tuple(targets()), findings=())


def not_passed(plan: Plan) -> list[tuple[str, str, str]]:
    return [(one.kind, one.subject, one.state) for one in checks_of(plan) if one.state != "ok"]


def test_an_applied_stack_with_all_pods_passes(dev: Plan) -> None:
    assert not_passed(settled(dev)) == []
    assert {check.kind for check in checks_of(settled(dev))} == {"change", "rollout"}


def test_every_target_that_differs_from_the_stack_file_fails(dev: Plan) -> None:
    failed = {subject for kind, subject, state in not_passed(dev) if (kind, state) == ("change", "failed")}
    assert failed == dev.pending
    assert failed


def test_a_missing_pod_makes_the_check_wait(dev: Plan) -> None:
    def lost(body: dict[str, Any]) -> dict[str, Any]:
        fewer = {**body["status"], "availableReplicas": 0}
        return {**body, "status": fewer} if body["metadata"]["name"] == "deployment-ray-head" else body

    assert not_passed(settled(dev, lost)) == [("rollout", "deployment-ray-head", "waiting")]


def test_an_error_of_the_plan_fails(dev: Plan) -> None:
    error = Finding("RES001", Severity.ERROR, "too little memory", "dev", target="deployment-ray-head")
    assert not_passed(settled(dev)._replace(findings=(error,))) == [("stack", "deployment-ray-head", "failed")]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"updatedReplicas": 2, "availableReplicas": 2, "replicas": 2}, ""),
        ({"updatedReplicas": 1, "availableReplicas": 2, "replicas": 2}, "1 of 2 pods up to date"),
        ({"updatedReplicas": 2, "availableReplicas": 1, "replicas": 2}, "1 of 2 pods available"),
        ({}, "0 of 2 pods available"),
        (None, "it does not exist"),
    ],
)
def test_an_unfinished_rollout_has_its_reason(status: dict[str, int] | None, words: str) -> None:
    live = {"kind": "Deployment", "metadata": {}, "spec": {"replicas": 2}, "status": status}
    assert unfinished(None if status is None else live) == words
