"""Objects that the stack no longer has: the plan restores or deletes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster import Answer, Deletion, Refusal
from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, StateObject, annotations_of
from modelyard.plan.destroy import destroy_plan
from modelyard.plan.starting import moved_object
from modelyard.plan.store import moved, plan_from_json, plan_to_json
from modelyard.plan.undo.findings import unlisted
from modelyard.plan.undo.ledger import ours
from modelyard.plan.values import Plan, TargetPlan
from modelyard.report.terminal import plan_text
from modelyard.stack.config import PatchChoice
from modelyard.workloads.training.backend import HeadService
from tests.support.example_stacks import Site, overwritten

HEAD, WORKER, SERVICE = "deployment-ray-head", "deployment-ray-model-training-worker", "deployment-model-service"
LEDGER = "modelyard.dev/ledger"


def dropping(site: Site, *names: str) -> Site:
    return site.asking(patches=tuple(PatchChoice(name, enabled=False) for name in names))


def target(plan: Plan, name: str) -> TargetPlan:
    (found,) = [one for one in plan.targets if one.name == name]
    return found


def key_of(name: str, namespace: str = "ml-platform") -> ObjectKey:
    return ObjectKey("apps/v1", "Deployment", namespace, name)


def codes(plan: Plan, name: str) -> set[str]:
    return {finding.code for finding in plan.findings if finding.target == name}


def test_a_dropped_target_is_restored(dev: Any) -> None:
    before = dev.state.objects.reveal()[key_of(HEAD)]
    plan = dropping(dev.applied(), "ray-head").plan()
    head = target(plan, HEAD)
    assert plan.changed == (head,)
    assert (head.action, head.patches, head.replaces_pods, head.role) == ("restore", (), 1, "rayHead")
    assert head.after.reveal()["spec"] == before["spec"]
    assert head.after.reveal()["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert not ours(head.after.reveal())
    given = {str(change.path): change for change in head.changes if change.back}
    cpu = given["spec.template.spec.containers[name=ray-head].resources.limits.cpu"]
    assert ([owner.manager for owner in cpu.back or ()], cpu.patch) == (["kubectl-client-side-apply"], None)
    assert [(step.target, step.phase) for step in plan.steps] == [(HEAD, "drain"), (HEAD, "normal")]
    assert head not in plan.asked
    assert not any(change.taken for change in head.changes)


@pytest.mark.parametrize(("stack", "restored"), [("ml-platform/dev", True), ("ml-platform/other", False)])
def test_an_offline_plan_restores_only_objects_of_its_stack(dev: Any, stack: str, restored: bool) -> None:
    site = dropping(dev.applied(), "ray-head")
    site.state.objects.reveal()[key_of(HEAD)]["metadata"]["annotations"]["modelyard.dev/stack"] = stack
    site = site._replace(stack=site.stack._replace(project="ml-platform"))
    assert [one.action for one in site.plan().targets if one.name == HEAD] == ["restore"] * restored


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("ray-head", "it has ray-head@v1; 6 fields back to kubectl-client-side-apply"),
        ("training-route", "it has training-route@v1; fields that others own too stay, the rest is removed"),
    ],
)
def test_a_dropped_target_names_the_owners_that_get_its_fields(dev: Any, patch: str, words: str) -> None:
    plan = dropping(dev.applied(), patch).plan()
    assert [finding.detail for finding in plan.findings if finding.code == "OWN006"] == [words]


@pytest.mark.parametrize(("patch", "name"), [("ray-head", HEAD), ("ray-worker", WORKER)])
def test_a_dropped_target_has_the_gpus_of_its_pods(dev: Any, patch: str, name: str) -> None:
    site = dev.applied()
    gone = target(dropping(site, patch, "training-replicas").plan(), name)
    assert gone.action == "restore"
    assert gone.gpus[0] == target(site.plan(), name).gpus[0]
    assert gone.gpus[1] == target(dev.plan(), name).gpus[0]


def test_a_dropped_target_is_restored_by_the_ledger_in_the_state(dev: Any) -> None:
    site = dropping(dev.applied(), "ray-head")
    notes = {
        key: body["metadata"]["annotations"][LEDGER]
        for key, body in site.state.objects.reveal().items()
        if key.name == HEAD
    }
    held = {key: StateObject(managed=False, ledger=Confidential(text)) for key, text in notes.items()}
    site = site.having(lambda body: overwritten(body) if body["metadata"]["name"] == HEAD else body)
    head = target(site._replace(state=site.state._replace(state_objects=held)).plan(), HEAD)
    assert head.after.reveal()["spec"] == dev.state.objects.reveal()[key_of(HEAD)]["spec"]


def test_an_object_without_its_mode_is_restored_and_not_deleted(dev: Any) -> None:
    def bare(body: dict[str, Any]) -> dict[str, Any]:
        kept = {name: text for name, text in body["metadata"]["annotations"].items() if name != "modelyard.dev/mode"}
        return {**body, "metadata": {**body["metadata"], "annotations": kept}}

    assert target(dropping(dev.applied().having(bare), "ray-head").plan(), HEAD).action == "restore"


def test_a_dropped_target_is_not_checked_for_capacity(dev: Any) -> None:
    small = dev.having(_thirsty).applied()
    assert {"RES101"} <= codes(small.plan(), HEAD)
    plan = dropping(small, "ray-head").plan()
    assert target(plan, HEAD).action == "restore"
    # The rollout that restores it still needs capacity.
    assert codes(plan, HEAD) == {"OWN006", "RES104"}
    assert not plan.blocked


def _thirsty(body: dict[str, Any]) -> dict[str, Any]:
    """Adds a second container that no node can hold to the Ray head."""
    if body["metadata"]["name"] != HEAD:
        return body
    body = json.loads(json.dumps(body))
    huge = {"name": "huge", "image": "it", "resources": {"requests": {"cpu": "4000"}}}
    body["spec"]["template"]["spec"]["containers"].append(huge)
    return body


def test_a_renamed_target_keeps_the_role_of_its_patches(dev: Any) -> None:
    site = dev.applied()
    targets = site.stack.config.targets
    other = targets._replace(ray_worker=targets.ray_worker._replace(deployment=f"{WORKER}-2"))
    body = dev.state.objects.reveal()[key_of(WORKER)]
    copy = {**body, "metadata": {**body["metadata"], "name": f"{WORKER}-2"}}
    state = site.state._replace(objects=Confidential({**site.state.objects.reveal(), key_of(f"{WORKER}-2"): copy}))
    plan = site._replace(state=state).asking(targets=other).plan()
    old = target(plan, WORKER)
    assert (old.action, old.role, old.in_earlier_namespace) == ("restore", "rayWorker", False)
    assert target(plan, f"{WORKER}-2").action == "update"
    (drain,) = [one for one in plan.drains if WORKER in one.targets]
    assert drain.backend == "ray"


def test_without_a_drain_a_dropped_target_reports_the_jobs_it_stops(dev: Any) -> None:
    off = dev.stack.config.drain._replace(enabled=False)
    short = dev.applied().having(_hasty).asking(drain=off)
    plan = dropping(short, "ray-worker", "training-replicas").plan()
    assert (plan.drains, target(plan, WORKER).action) == ((), "restore")
    assert "RES102" in codes(plan, WORKER)
    assert "RES102" not in codes(plan, HEAD)


def _hasty(body: dict[str, Any]) -> dict[str, Any]:
    """Sets the grace period of the pods to one second."""
    body = json.loads(json.dumps(body))
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return body


def moved_away(dev: Any, name: str = "new") -> Any:
    """Returns an applied stack with another namespace, where the platform is installed too."""
    site = dev.applied()

    def copied(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "metadata": {**body["metadata"], "namespace": name}}

    fresh = {key._replace(namespace=name): copied(body) for key, body in dev.state.objects.reveal().items()}
    held = {key: StateObject(managed=False) for key in site.state.objects.reveal()}
    state = site.state._replace(objects=Confidential({**site.state.objects.reveal(), **fresh}), state_objects=held)
    config = site.stack.config
    return site._replace(state=state).asking(platform=config.platform._replace(namespace=name))


def with_patches(text: str) -> Any:
    """Replaces the patches annotation of each object that has one; ``{}`` in the text is the old value."""

    def noted(body: dict[str, Any]) -> dict[str, Any]:
        notes = dict(body["metadata"].get("annotations", {}))
        if "modelyard.dev/patches" in notes:
            notes["modelyard.dev/patches"] = text.format(notes["modelyard.dev/patches"])
        return {**body, "metadata": {**body["metadata"], "annotations": notes}}

    return noted


@pytest.mark.parametrize("namespace", ["new", "early"])
@pytest.mark.parametrize(("text", "role"), [("gone@v1", ""), ("gone@v1,{}", "rayHead")])
def test_in_another_namespace_only_known_patches_set_the_role(dev: Any, namespace: str, text: str, role: str) -> None:
    plan = moved_away(dev, namespace).having(with_patches(text)).plan()
    assert target(plan, f"ml-platform/{HEAD}").role == role


def test_objects_of_an_earlier_namespace_have_distinct_names(dev: Any) -> None:
    plan = moved_away(dev).plan()
    names = [one.name for one in plan.targets]
    assert len(set(names)) == len(names) == 10
    assert {one.name for one in plan.targets if one.dropped} == {
        f"ml-platform/{one.key.name}" for one in plan.targets if not one.dropped
    }
    assert sorted(step.target for step in plan.steps if step.phase != "drain") == sorted(names)
    sources = {drain.targets: drain.source for drain in plan.drains if drain.backend == "ray"}
    assert {
        (source.namespace, source.deployment) for source in sources.values() if isinstance(source, HeadService)
    } == {
        ("ml-platform", HEAD),
        ("new", HEAD),
    }
    assert plan_from_json(json.dumps(plan_to_json(plan)), "it") == plan


def test_an_object_that_is_not_in_the_state_is_kept_and_reported(dev: Any) -> None:
    site = dropping(dev.applied(), "ray-head")
    known = site._replace(state=site.state._replace(state_objects={})).plan()
    assert HEAD not in {one.name for one in known.targets}
    (finding,) = [one for one in known.findings if one.code == "OWN006"]
    assert (finding.severity, finding.target) == (Severity.WARNING, HEAD)
    assert "never applied" in finding.summary


def test_a_state_without_applied_objects_is_reported(dev: Any) -> None:
    site = dev.applied()
    keys = {one.key for one in site.plan().targets}

    def summaries(held: Any) -> list[str]:
        plan = site._replace(state=site.state._replace(state_objects=held)).plan()
        return [one.summary for one in plan.findings if one.code == "OWN016"]

    assert summaries(None) == summaries(dict.fromkeys(keys, StateObject(managed=False))) == []
    (some,) = summaries({key: StateObject(managed=False) for key in keys if key.name != HEAD})
    assert some.endswith(f"applied to {HEAD}")
    (most,) = summaries({})
    assert most.endswith(" and 2 more")
    assert "OWN016" not in {
        one.code for one in dev._replace(state=dev.state._replace(state_objects={})).plan().findings
    }
    # The text in the state differs but has the same content.
    site = site.having(lambda body: json.loads(json.dumps(body)))
    assert summaries({}) == [most]
    site = site.having(lambda body: json.loads(json.dumps(body).replace(f'"{dev.stack.full_name}"', '"another"')))
    assert summaries({}) == []


def test_an_object_without_its_ledger_is_restored_from_the_state(dev: Any) -> None:
    site = dropping(dev.applied(), "ray-head")
    noted = site.state.objects.reveal()[key_of(HEAD)]["metadata"]["annotations"][LEDGER]

    def bare(body: dict[str, Any]) -> dict[str, Any]:
        kept = {name: text for name, text in body["metadata"]["annotations"].items() if name != LEDGER}
        return {**body, "metadata": {**body["metadata"], "annotations": kept}}

    state = site.having(bare).state._replace(
        state_objects={key_of(HEAD): StateObject(managed=False, ledger=Confidential(noted))}
    )
    head = target(site._replace(state=state).plan(), HEAD)
    assert head.after.reveal()["spec"] == dev.state.objects.reveal()[key_of(HEAD)]["spec"]


def test_a_restored_object_is_not_a_target(dev: Any) -> None:
    held = {key_of(HEAD): StateObject(managed=False)}
    site = dropping(dev, "ray-head")
    plan = site._replace(state=site.state._replace(state_objects=held)).plan()
    assert HEAD not in {one.name for one in plan.targets}


def test_a_patch_of_an_unknown_version_is_not_a_dropped_patch(dev: Any) -> None:
    plan = dev.applied().asking(patches=(PatchChoice("ray-head", version="v9"),)).plan()
    assert plan.blocked
    assert not [one for one in plan.targets if one.dropped]


def managed(dev: Any) -> Any:
    """Returns the applied stack in managed mode."""
    config = dev.stack.config
    changes = {
        section: getattr(config, section)._replace(image="images.example.com/it:1")
        for section in ("model_service", "ray_head", "ray_worker", "celery")
    }
    there = {key: body for key, body in dev.state.objects.reveal().items() if key.name == "deployment-api-server"}
    site = dev._replace(state=dev.state._replace(objects=Confidential(there), pods=()))
    return site.asking(platform=config.platform._replace(mode="managed"), **changes).applied()


def test_objects_that_the_stack_created_are_deleted_pods_first(dev: Any) -> None:
    plan = dropping(managed(dev), "ray-head").plan()
    assert {(one.action, one.after.reveal() == {}, one.changes) for one in plan.changed} == {("delete", True, ())}
    kinds = [one.key.kind for one in plan.changed]
    assert kinds[0] == "Deployment"
    assert sorted(kinds[1:]) == ["PodDisruptionBudget", "Service"]
    assert plan.changed[0].replicas == (1, 0)
    assert plan.changed[1].replicas == (None, None)
    assert [step.phase for step in plan.steps] == ["drain", "down", "down", "down"]
    assert plan_from_json(json.dumps(plan_to_json(plan)), "it") == plan
    document = plan_to_json(plan)["targets"]
    assert [one["after"] for one in document if one["action"] == "delete"] == [None, None, None]


@pytest.mark.parametrize(
    ("why", "said"), [("rights", "may not delete"), ("quota", "rejects the deletion of"), (None, "")]
)
def test_deletions_are_tried_on_the_api_server(dev: Any, why: Any, said: str) -> None:
    site = dropping(managed(dev), "ray-head")
    kinds: list[str] = []

    def ask(questions: Any) -> Any:
        gone = [question for question in questions if isinstance(question, Deletion)]
        kinds.extend(question.key.kind for question in gone)
        assert {question.uid for question in gone} == {
            site.state.objects.reveal()[question.key]["metadata"].get("uid", "") for question in gone
        }
        refusal = Refusal(why, "no") if why else None
        return [
            Answer(Confidential(None), (), refusal) if isinstance(question, Deletion) else None
            for question in questions
        ]

    plan = site.plan(ask)
    assert sorted(kinds) == ["Deployment", "PodDisruptionBudget", "Service"]
    assert {one.action for one in plan.changed} == {"delete"}
    found = [finding for finding in plan.findings if finding.code == "OWN009"]
    assert len(found) == (3 if why else 0)
    assert all(said in finding.summary and finding.blocks for finding in found)


def test_a_forgotten_object_is_deleted_unless_another_manager_recreated_it(dev: Any) -> None:
    site = dropping(managed(dev), "ray-head")
    held = {key: StateObject(managed=True, forgotten=True) for key in site.state.objects.reveal() if key.name == HEAD}
    assert target(site._replace(state=site.state._replace(state_objects=held)).plan(), HEAD).action == "delete"

    def anew(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "metadata": {**body["metadata"], "managedFields": []}}

    site = site.having(anew)
    plan = site._replace(state=site.state._replace(state_objects=held)).plan()
    assert HEAD not in {one.name for one in plan.targets}


def test_a_changed_object_makes_the_plan_of_a_restore_stale(dev: Any) -> None:
    site = dropping(dev.applied(), "ray-head")
    plan = site.plan()
    assert moved(plan, site.plan()) == ()

    def another(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**body["spec"], "minReadySeconds": 7}}

    (told, *_) = [words for words in moved(plan, site.having(another).plan()) if HEAD in words]
    assert "spec.minReadySeconds" in told


@pytest.mark.parametrize("refused", [False, True])
def test_restores_are_tried_on_the_api_server(dev: Any, refused: bool) -> None:
    site = dropping(dev.applied(), "ray-head")
    asked: list[Any] = []

    def ask(bodies: Any) -> Any:
        asked.extend(bodies)
        refusal = Refusal("admission", "no") if refused else None
        return [
            Answer(Confidential(None), (), refusal if body["metadata"]["name"] == HEAD else None) for body in bodies
        ]

    plan = site.plan(ask)
    (sent,) = [body for body in asked if body["metadata"]["name"] == HEAD]
    assert "resourceVersion" not in sent["metadata"]
    assert sent == target(plan, HEAD).applied.reveal()
    assert ("OWN009" in codes(plan, HEAD)) is refused


def test_an_owned_object_may_be_missing_before_its_step_but_not_changed(dev: Any) -> None:
    one = target(managed(dev).plan(), HEAD)
    assert one.managed
    assert moved_object(one, None) is None
    live = one.before.reveal()
    assert moved_object(one, live) is None
    finding = moved_object(one, {**live, "spec": {**live["spec"], "replicas": 9}})
    assert finding is not None
    assert (finding.code, finding.target) == ("OWN011", HEAD)
    assert "spec.replicas 1 → 9" in finding.summary


def test_a_target_with_a_broken_patch_is_not_a_dropped_target(dev: Any, tmp_path: Path) -> None:
    site = dropping(dev, "ray-head")
    applied = site.patched(tmp_path / "right", "{paused: true}").applied()
    broken = site.patched(tmp_path / "wrong", "{paused: [}").library
    plan = applied._replace(library=broken).plan()
    assert plan.blocked
    assert [one.name for one in plan.targets if one.dropped] == []


def test_lists_that_may_not_be_read_are_one_finding_in_each_cluster(dev: Any) -> None:
    assert [*unlisted(dev.stack, ())] == []
    lists = ("resourcequotas of ml-platform", "scaledobjects of ml-platform")
    for cluster, where in (("", "ml-platform, so"), ("far", "in remote cluster far, so")):
        (finding,) = unlisted(dev.stack, lists, cluster)
        assert finding.code == "OWN017"
        assert where in finding.summary


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_the_plan_of_a_destroy_is_what_was_there_before(sites: Any, name: str, golden: Any) -> None:
    site = sites[name]
    before = site.state.objects.reveal()
    applied = site.applied().state
    held = {key: StateObject(managed=key not in before) for key in applied.objects.reveal()}
    plan = destroy_plan(site.stack, site.library, {"": applied._replace(state_objects=held)})
    golden("\n".join(plan_text(plan, next_step=False)))
    assert {one.key for one in plan.targets} == {one.key for one in site.plan().targets}
    assert {
        one.key for one in plan.targets if one.action == "delete"
    } == applied.objects.reveal().keys() - before.keys()
    for one in plan.targets:
        if one.action == "restore":
            was, restored = before[one.key], one.after.reveal()
            assert (restored["spec"], annotations_of(restored)) == (was["spec"], annotations_of(was))
