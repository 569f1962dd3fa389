"""Live plans: the answers of the API server are the result of the plan, and unexpected answers are findings.

The fake server answers by the offline rules and can change objects like an admission webhook. Lab tests use a real
one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from modelyard.cluster import Answer, Claim, Refusal
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.names import FIELD_MANAGER
from modelyard.plan.prediction import settled, short_json
from modelyard.plan.store import moved, plan_to_json

Change = Callable[[dict[str, Any]], None]
HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
RAY = "deployment-ray-model-training-worker"


class Server:
    """Answers dry runs for the objects of a site."""

    def __init__(self, site: Any, admission: Mapping[str, Change] | None = None) -> None:
        self.site = site
        self.admission = admission or {}
        self.answers: dict[str, Callable[[Answer], Answer]] = {}
        self.asked: list[list[str]] = []
        self.time = 0

    def __call__(self, bodies: Sequence[Mapping[str, Any]]) -> list[Answer]:
        self.asked.append([body["metadata"]["name"] for body in bodies])
        return [self.answer(dict(body)) for body in bodies]

    def answer(self, body: dict[str, Any]) -> Answer:
        name = body["metadata"]["name"]
        schema = merge.MergeSchema.kubernetes(self.site.stack.config.kubernetes_version).of("apps/v1", body["kind"])
        live = next((known for key, known in self.site.state.objects.reveal().items() if key.name == name), None)
        said = merge.server_side(live, body, FIELD_MANAGER, schema, force=True)
        after = json.loads(json.dumps(said.object))
        # Fields that a real server changes with each write.
        self.time += 1
        after["metadata"] |= {"resourceVersion": f"new-{self.time}", "generation": 99, "uid": "new"}
        after["status"] = {"observedGeneration": self.time}
        for entry in after["metadata"]["managedFields"]:
            if entry["manager"] == FIELD_MANAGER:
                entry["time"] = f"2026-11-21T08:00:{self.time:02}Z"
        self.admission.get(name, lambda _body: None)(after)
        claims = sorted(
            Claim(conflict.path.server_text, owner.manager, owner.operation, owner.subresource)
            for conflict in said.taken
            for owner in conflict.owners
        )
        return self.answers.get(name, lambda answer: answer)(Answer(Confidential(after), tuple(claims)))


def container(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["spec"]["template"]["spec"]["containers"][0]
    return found


def target_of(plan: Any, name: str) -> Any:
    return next(target for target in plan.targets if target.name == name)


def findings_of(plan: Any, code: str) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == code]


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_a_server_that_follows_the_offline_rules_gives_the_same_plan(sites: Any, name: str) -> None:
    server = Server(sites[name])
    assert plan_to_json(sites[name].plan(server)) == plan_to_json(sites[name].plan())
    assert server.asked == [sorted(server.asked[0])]
    assert len(server.asked[0]) == 5


def test_a_second_answer_gives_the_same_plan(dev: Any) -> None:
    server = Server(dev)
    assert plan_to_json(dev.plan(server)) == plan_to_json(dev.plan(server))


def test_new_objects_have_no_versions_and_times(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))

    def deployments(bodies: Sequence[Mapping[str, Any]]) -> list[Answer | None]:
        return [server.answer(dict(body)) if body["kind"] == "Deployment" else None for body in bodies]

    server = Server(managed)
    assert plan_to_json(managed.plan(deployments)) == plan_to_json(managed.plan())


def test_fields_that_admission_adds_are_in_the_plan_with_one_note(dev: Any) -> None:
    def sidecar(body: dict[str, Any]) -> None:
        body["spec"]["template"]["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"})
        body["spec"]["template"]["metadata"].setdefault("labels", {})["mesh"] = "yes"

    plan = dev.plan(Server(dev, {HEAD: sidecar}))
    changes = {str(change.path): change for change in target_of(plan, HEAD).changes}
    added = "spec.template.spec.containers[name=proxy].image"
    assert (changes[added].after, changes[added].patch) == ("proxy:1", None)
    (finding,) = findings_of(plan, "OWN008")
    assert (finding.target, finding.severity.value) == (HEAD, "advice")
    assert finding.summary == f"the API server changes 3 fields of {HEAD} that no patch sets"
    assert f"{added}: nothing → proxy:1" in finding.detail
    assert not plan.blocked


def test_values_in_findings_have_one_order() -> None:
    assert short_json({"b": 1, "a": [2]}) == '{"a": [2], "b": 1}'


def test_a_patched_value_that_admission_changes_is_a_warning(dev: Any) -> None:
    def less(body: dict[str, Any]) -> None:
        container(body)["resources"]["limits"]["memory"] = "1Gi"

    plan = dev.plan(Server(dev, {HEAD: less}))
    (finding,) = findings_of(plan, "OWN008")
    field = "spec.template.spec.containers[name=ray-head].resources.limits.memory"
    assert (finding.severity.value, finding.field) == ("warning", field)
    assert finding.summary == f"the API server sets {field} to 1Gi, but the patches ask for 16Gi"
    change = next(change for change in target_of(plan, HEAD).changes if str(change.path) == field)
    assert change.after == "1Gi"


def test_the_hardware_rules_check_the_result_of_admission(dev: Any) -> None:
    def small(body: dict[str, Any]) -> None:
        resources = container(body)["resources"]
        resources["limits"]["nvidia.com/gpu"] = resources["requests"]["nvidia.com/gpu"] = "64"

    plan = dev.plan(Server(dev, {RAY: small}))
    assert target_of(plan, RAY).gpus[1] == 64
    assert plan.blocked


def test_an_object_that_admission_resets_does_not_change(dev: Any) -> None:
    """Admission returns the live object, so every plan has no change."""
    live = next(body for key, body in dev.state.objects.reveal().items() if key.name == HEAD)

    def reset(body: dict[str, Any]) -> None:
        body["spec"] = live["spec"]
        body["metadata"] = live["metadata"]

    target = target_of(dev.plan(Server(dev, {HEAD: reset})), HEAD)
    assert (target.action, target.changes) == ("none", ())


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (Refusal("rights", 'User "viewer" cannot patch'), "these credentials may not change"),
        (Refusal("admission", "denied request: at most 3 replicas"), "denies the change of"),
        (Refusal("quota", "exceeded quota: q"), "exceeds a quota"),
        (Refusal("invalid", "must be at least 0"), "rejects the change of"),
        (Refusal("missing", 'namespaces "x" not found'), "the cluster lacks what"),
    ],
)
def test_a_rejection_is_an_error_of_its_target_alone(dev: Any, refusal: Refusal, words: str) -> None:
    server = Server(dev)
    server.answers[HEAD] = lambda _answer: Answer(Confidential(None), (), refusal)
    plan = dev.plan(server)
    (finding,) = findings_of(plan, "OWN009")
    assert plan.blocked
    assert finding.target == HEAD
    assert words in finding.summary
    assert finding.detail == refusal.message
    assert finding.remedy
    # The plan still shows the changes of the target.
    assert target_of(plan, HEAD) == target_of(dev.plan(), HEAD)


def test_a_new_object_needs_the_right_to_create(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({})))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    server = Server(managed)
    refusal = Refusal("rights", 'User "viewer" cannot create')
    server.answers[HEAD] = lambda _answer: Answer(Confidential(None), (), refusal)
    # The server of this test knows Deployments only.
    plan = managed.plan(
        lambda bodies: [server.answer(dict(one)) if one["kind"] == "Deployment" else None for one in bodies]
    )
    (finding,) = findings_of(plan, "OWN009")
    assert finding.summary == f"these credentials may not create {HEAD}"
    assert "create and patch" in finding.remedy


def test_conflicts_come_from_the_server(dev: Any) -> None:
    """The conflicts of the server count, also if the offline rules find other owners."""
    server = Server(dev)
    server.answers[SERVICE] = lambda answer: answer._replace(claims=(Claim(".spec.replicas", "helm", "Apply"),))
    plan = dev.plan(server)
    target = target_of(plan, SERVICE)
    assert [str(change.path) for change in target.changes if change.taken] == ["spec.replicas"]
    assert target.conflicts == (Claim(".spec.replicas", "helm", "Apply"),)
    assert [finding.field for finding in findings_of(plan, "OWN001") if finding.target == SERVICE] == ["spec.replicas"]


def test_a_conflict_in_an_unchanged_field_is_reported(dev: Any) -> None:
    claim = Claim('.spec.template.spec.containers[name="ray-head"].image', "keda-operator", "Apply")
    server = Server(dev)
    server.answers[HEAD] = lambda answer: answer._replace(claims=(*answer.claims, claim))
    plan = dev.plan(server)
    (finding,) = findings_of(plan, "OWN002")
    assert finding.summary == "keda-operator keeps writing spec.template.spec.containers[name=ray-head].image"
    assert plan.blocked


def test_other_owners_make_an_approved_plan_stale(dev: Any) -> None:
    server = Server(dev)
    approved = dev.plan(server)
    server.answers[HEAD] = lambda answer: answer._replace(claims=(Claim(".spec.replicas", "helm", "Apply"),))
    first, second = moved(approved, dev.plan(server))
    assert first == f"{HEAD} now takes spec.replicas from helm"
    assert second.startswith(
        f"{HEAD} no longer takes spec.strategy.rollingUpdate.maxSurge from kubectl-client-side-apply"
    )


def test_another_result_of_admission_makes_an_approved_plan_stale(dev: Any) -> None:
    live = dev._replace(state=dev.state._replace(source="live"))

    def less(body: dict[str, Any]) -> None:
        container(body)["resources"]["limits"]["memory"] = "1Gi"

    approved = live.plan(Server(live))
    words = (f"{HEAD} would become different from what was approved",)
    assert moved(approved, live.plan(Server(live, {HEAD: less}))) == words
    assert moved(dev.plan(), live.plan(Server(live, {HEAD: less}))) == ()


def test_findings_have_no_secrets(dev: Any) -> None:
    def password(body: dict[str, Any]) -> None:
        container(body).setdefault("env", []).append({"name": "DB_PASSWORD", "value": "hunter2"})

    (finding,) = findings_of(dev.plan(Server(dev, {HEAD: password})), "OWN008")
    assert "DB_PASSWORD" in finding.detail
    assert "hunter2" not in str(finding)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (
            {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ports": [{"port": 80, "nodePort": 31000}]},
            {"ports": [{"port": 80}]},
        ),
        ({"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]}, None),
    ],
)
def test_a_new_service_keeps_only_the_clusterip_none(sent: Any, kept: Any) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": sent}
    assert settled(service, None)["spec"] == (kept or sent)
    assert settled(service, service)["spec"] == sent
