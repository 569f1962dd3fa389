"""The last look before a step: it fails unless the conflicts are the plan's and the object is what the plan read."""

import asyncio
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import httpx2
import pulumi
import pytest
from lightkube import Client, KubeConfig

from modelyard.cluster import Claim
from modelyard.engine.program.hooks import Guard, Live
from modelyard.hiding import Confidential
from modelyard.plan import Plan, TargetPlan
from tests.support.component_engine import Build, existing, managed

SERVICE = "deployment-model-service"
Answers = Callable[..., list[dict[str, Any]]]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Makes a cluster with one object, which gives every apply the same answer; returns the applies that it will have
    had.
    """

    def install(
        code: int, message: str, causes: Sequence[tuple[str, str]], live: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        details = {"causes": [{"field": field, "message": f"conflict with {who}"} for field, who in causes]}

        def handler(request: httpx2.Request) -> httpx2.Response:
            if request.method == "GET":
                status = {"kind": "Status", "message": "not found"}
                return httpx2.Response(404, json=status) if live is None else httpx2.Response(200, json=live)
            assert dict(request.url.params) == {"fieldManager": "modelyard", "dryRun": "All", "force": "false"}
            asked.append(json.loads(request.content))
            return httpx2.Response(code, json={"message": message, "details": details})

        def connect(context: str | None) -> Client:
            assert context == "dev"
            users = [{"name": "u", "user": {"token": "t"}}]
            found = KubeConfig.from_dict(
                {
                    "clusters": [
                        {"name": "c", "cluster": {"server": "http://cluster.example", "insecure-skip-tls-verify": True}}
                    ],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "users": users,
                    "current-context": "c",
                }
            )
            return Client(config=found.get(), transport=httpx2.MockTransport(handler), trust_env=False)

        monkeypatch.setattr("modelyard.cluster.connection.connect", connect)
        return asked

    return install


def service() -> TargetPlan:
    found = next(target for target in existing("dev").targets if target.name == SERVICE)
    return found._replace(conflicts=(Claim(".spec.replicas", "kubectl-client-side-apply", "Update"),))


KUBECTL = (".spec.replicas", '"kubectl-client-side-apply" using apps/v1')
SCALER = (".spec.replicas", '"keda" with subresource "scale" using apps/v1')


def test_approved_conflicts_do_not_stop_the_step(answers: Answers) -> None:
    target = service()
    asked = answers(409, "Apply failed", [KUBECTL], target.before.reveal())
    Guard(Live("dev")).check(target)
    assert asked == [target.applied.reveal()]


@pytest.mark.parametrize("causes", [[KUBECTL, SCALER], [SCALER], []], ids=["one-more", "another", "one-less"])
def test_any_other_conflict_stops_the_step(answers: Answers, golden: Any, causes: list[tuple[str, str]]) -> None:
    answers(409 if causes else 200, "Apply failed", causes)
    with pytest.raises(pulumi.RunError) as caught:
        Guard(Live("dev")).check(service())
    golden(caught.value)


def with_image(body: dict[str, Any]) -> None:
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "images.example.com/it:2"


def with_replicas(body: dict[str, Any]) -> None:
    body["spec"]["replicas"] = 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_image, "containers[name=model-service].image images"),
        (with_replicas, "spec.replicas 1 → 7"),
        (lambda body: body["spec"].pop("replicas"), "spec.replicas 1 → nothing"),
        (
            lambda body: body["metadata"].setdefault("annotations", {}).update({"modelyard.dev/mode": "x"}),
            "nothing → x",
        ),
    ],
)
def test_another_value_of_the_same_owner_stops_the_step(answers: Answers, change: Change, said: str) -> None:
    target = service()
    live = deepcopy(target.before.reveal())
    assert live is not None
    change(live)
    answers(409, "Apply failed", [KUBECTL], live)
    with pytest.raises(pulumi.RunError) as caught:
        Guard(Live("dev")).check(target)
    stale = f"the plan is stale: {SERVICE} was not applied: it has changed since the plan was made ("
    assert str(caught.value).startswith(stale)
    assert said in str(caught.value)
    first, remedy = str(caught.value).splitlines()
    assert first.endswith("(OWN011)")
    assert remedy.startswith("→ ")


def test_a_changed_secret_stops_the_step_and_is_not_shown(answers: Answers) -> None:
    target = service()
    before, live = deepcopy(target.before.reveal()), deepcopy(target.before.reveal())
    assert before is not None
    assert live is not None
    for body, value in ((before, "hunter2"), (live, "hunter3")):
        env = {"name": "DB_PASSWORD", "value": value}
        body["spec"]["template"]["spec"]["containers"][0].setdefault("env", []).append(env)
    answers(409, "Apply failed", [KUBECTL], live)
    with pytest.raises(pulumi.RunError) as caught:
        Guard(Live("dev")).check(target._replace(before=Confidential(before)))
    assert "(hidden) → (hidden, changed)" in str(caught.value)
    assert "hunter" not in str(caught.value)


def test_a_deleted_or_created_object_stops_the_step(answers: Answers) -> None:
    target = service()
    answers(409, "Apply failed", [KUBECTL])
    with pytest.raises(pulumi.RunError, match=f"{SERVICE} was not applied: it is gone"):
        Guard(Live("dev")).check(target)
    answers(409, "Apply failed", [KUBECTL], target.before.reveal())
    with pytest.raises(pulumi.RunError, match=f"{SERVICE} was not applied: it is new"):
        Guard(Live("dev")).check(target._replace(before=Confidential(None)))


def test_an_object_of_the_stack_may_be_deleted_when_the_engine_replaces_it(answers: Answers) -> None:
    answers(200, "", [])
    Guard(Live("dev")).check(service()._replace(managed=True, conflicts=()))


def versions(body: dict[str, Any]) -> None:
    body["metadata"] |= {"resourceVersion": "9", "generation": 9, "managedFields": [], "labels": {"team": "x"}}
    body["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "9"}


@pytest.mark.parametrize("change", [versions, lambda body: body.update(status={"replicas": 9})])
def test_fields_that_change_by_themselves_do_not_stop_the_step(answers: Answers, change: Change) -> None:
    target = service()
    live = deepcopy(target.before.reveal())
    assert live is not None
    change(live)
    answers(409, "Apply failed", [KUBECTL], live)
    Guard(Live("dev")).check(target)


def test_replicas_that_the_request_does_not_set_may_change(answers: Answers) -> None:
    """An autoscaler's, be it that the plan knows of it or not."""
    target = service()
    sent = target.applied.reveal()
    asked = {**sent, "spec": {name: v for name, v in sent["spec"].items() if name != "replicas"}}
    live = deepcopy(target.before.reveal())
    assert live is not None
    with_replicas(live)
    answers(409, "Apply failed", [KUBECTL], live)
    Guard(Live("dev")).check(target._replace(applied=Confidential(asked)))


def test_a_rejected_request_is_left_to_the_step(answers: Answers) -> None:
    answers(403, 'User "viewer" cannot patch resource', [])
    Guard(Live("dev")).check(service())


def test_a_cluster_that_does_not_answer_stops_the_step(answers: Answers, golden: Any) -> None:
    answers(401, "Unauthorized", [])
    with pytest.raises(pulumi.RunError) as error:
        Guard(Live("dev")).check(service())
    golden(error.value)


@pytest.mark.parametrize("make", [existing, managed])
def test_every_target_is_checked_right_before_its_step(build: Build, make: Callable[[str], Plan]) -> None:
    plan = make("dev")
    engine = build(plan)
    found = {(one.type, one.name): one.before for one in engine.registered if one.type.startswith("kubernetes:")}
    assert len(found) == len(plan.targets)
    for before in found.values():
        # Whatever else runs before a step, this comes last.
        assert before[-1].startswith("approved:")
    assert len({before[-1] for before in found.values()}) == len(found)


def test_the_hook_checks_its_own_target(build: Build, answers: Answers) -> None:
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
