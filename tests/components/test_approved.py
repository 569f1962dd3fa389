"""The last look before a step: the step fails unless the API server's conflicts are exactly the plan's."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pulumi
import pytest
from lightkube import Client, KubeConfig

from components.approved import Guard
from modelyard.cluster import Claim
from modelyard.plan import Plan, TargetPlan
from tests.components.conftest import Build, existing, managed

SERVICE = "deployment-model-service"
Answers = Callable[[int, str, Sequence[tuple[str, str]]], list[dict[str, Any]]]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Makes a cluster that gives every question the same answer; returns the questions that it will have had."""

    def install(code: int, message: str, causes: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        details = {"causes": [{"field": field, "message": f"conflict with {who}"} for field, who in causes]}

        def handler(request: httpx2.Request) -> httpx2.Response:
            assert dict(request.url.params) == {"fieldManager": "modelyard", "dryRun": "All", "force": "false"}
            asked.append(json.loads(request.content))
            return httpx2.Response(code, json={"message": message, "details": details})

        def connect(context: str | None) -> Client:
            assert context == "dev"
            users = [{"name": "u", "user": {"token": "t"}}]
            found = KubeConfig.from_dict(
                {
                    "clusters": [{"name": "c", "cluster": {"server": "http://cluster.example"}}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "users": users,
                    "current-context": "c",
                }
            )
            return Client(config=found.get(), transport=httpx2.MockTransport(handler), trust_env=False)

        monkeypatch.setattr("modelyard.cluster.live.connect", connect)
        return asked

    return install


def service() -> TargetPlan:
    found = next(target for target in existing("dev").targets if target.name == SERVICE)
    return found._replace(conflicts=(Claim(".spec.replicas", "kubectl-client-side-apply", "Update"),))


KUBECTL = (".spec.replicas", '"kubectl-client-side-apply" using apps/v1')
SCALER = (".spec.replicas", '"keda" with subresource "scale" using apps/v1')


def test_the_approved_conflicts_let_the_step_go_on(answers: Answers) -> None:
    asked = answers(409, "Apply failed", [KUBECTL])
    target = service()
    Guard("dev").check(target)
    assert asked == [target.applied]


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        ([KUBECTL, SCALER], "it would take spec.replicas of keda (scale)"),
        (
            [SCALER],
            "it would take spec.replicas of keda (scale) and "
            "nobody holds spec.replicas of kubectl-client-side-apply now",
        ),
        ([], "nobody holds spec.replicas of kubectl-client-side-apply now"),
    ],
)
def test_any_other_conflict_stops_the_step(answers: Answers, causes: list[tuple[str, str]], said: str) -> None:
    answers(409 if causes else 200, "Apply failed", causes)
    with pytest.raises(pulumi.RunError) as caught:
        Guard("dev").check(service())
    assert str(caught.value) == f"the plan is stale: {SERVICE} was not changed, {said} (OWN011)"


def test_a_refusal_is_left_to_the_step_itself(answers: Answers) -> None:
    answers(403, 'User "viewer" cannot patch resource', [])
    Guard("dev").check(service())


def test_a_cluster_that_does_not_answer_stops_the_step(answers: Answers) -> None:
    answers(401, "Unauthorized", [])
    with pytest.raises(pulumi.RunError, match=f"{SERVICE} was not changed: .* log in to the cluster again"):
        Guard("dev").check(service())


@pytest.mark.parametrize("make", [existing, managed])
def test_every_target_has_its_last_look_right_before_its_step(build: Build, make: Callable[[str], Plan]) -> None:
    plan = make("dev")
    engine = build(plan)
    found = {(one.type, one.name): one.before for one in engine.registered if one.type.startswith("kubernetes:")}
    assert len(found) == len(plan.targets)
    for before in found.values():
        # Whatever else runs before a step, this comes last.
        assert before[-1].startswith("approved:")
    assert len({before[-1] for before in found.values()}) == len(found)


def test_the_hook_asks_about_its_own_target(build: Build, answers: Answers) -> None:
    plan = existing("dev")
    engine = build(plan)
    asked = answers(401, "Unauthorized", [])
    hook = engine.hooks[f"approved:Deployment/{SERVICE}"]
    nothing = pulumi.ResourceHookArgs("urn", "id", SERVICE, "type")

    async def run() -> None:
        waiting = hook(nothing)
        assert waiting is not None
        await waiting

    loop = asyncio.new_event_loop()
    with pytest.raises(pulumi.RunError):
        loop.run_until_complete(run())
    loop.close()
    assert [body["metadata"]["name"] for body in asked] == [SERVICE]
