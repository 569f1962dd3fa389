"""Which resources the components register, with what, and in which order."""

import json
from collections.abc import Callable

import pytest

from modelyard.engine.ledger import Record
from modelyard.plan import Plan
from modelyard.plan.drift import kept
from modelyard.plan.undo.ledger import ledger_text
from modelyard.stack.config import RayHead
from modelyard.stack.pool import Flavor, Team, TeamQuota, WorkerCluster
from tests.support.component_engine import (
    CELERY,
    HEAD,
    RAY,
    ROUTE,
    SERVICE,
    Build,
    again,
    by_name,
    existing,
    managed,
    objects,
    waits_for,
)

APPLIED = "modelyard:index:Applied"


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_an_existing_target_is_one_patch_with_the_plans_request(build: Build, name: str) -> None:
    plan = existing(name)
    found = objects(build(plan))
    assert sorted(one.name for one in found) == sorted(target.name for target in plan.targets)
    requests = {target.name: target.applied.reveal() for target in plan.targets}
    for one in found:
        assert one.type == "kubernetes:apps/v1:DeploymentPatch"
        assert one.inputs == requests[one.name]
        assert one.ignores == ()


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_a_managed_target_is_the_whole_object(build: Build, name: str) -> None:
    plan = managed(name)
    assert not plan.blocked
    found = objects(build(plan))
    kinds = {"Deployment": "apps/v1", "Service": "core/v1", "PodDisruptionBudget": "policy/v1"}
    expected = {
        target.name: f"kubernetes:{kinds[target.key.kind]}:{target.key.kind}{'' if target.managed else 'Patch'}"
        for target in plan.targets
    }
    assert {one.name: one.type for one in found} == expected
    assert [name for name, kind in expected.items() if kind.endswith("Patch")] == [ROUTE]
    requests = {target.name: target.applied.reveal() for target in plan.targets}
    assert {one.name: one.inputs for one in found} == requests


@pytest.mark.parametrize("make", [existing, managed])
def test_every_target_depends_on_the_cluster_of_the_plan(build: Build, make: Callable[[str], Plan]) -> None:
    plan = make("dev")
    engine = build(plan)
    (cluster,) = (one for one in engine.registered if one.name == "cluster")
    assert (cluster.inputs["cluster"], cluster.inputs["stack"]) == (plan.cluster, "dev")
    assert all("cluster" in one.depends_on for one in objects(engine))


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
@pytest.mark.parametrize("make", [existing, managed])
def test_a_patch_is_between_its_ledger_and_its_handover(build: Build, name: str, make: Callable[[str], Plan]) -> None:
    """A delete drops the patch from the state, and the ledger, which it depends on, puts the object back."""
    plan = make(name)
    engine = build(plan)
    found = by_name(engine)
    kinds = {
        kind: {one.name: one for one in engine.registered if one.type.endswith(f"dynamic/modelyard:{kind}")}
        for kind in ("Ledger", "Handover")
    }
    patched = {f"{target.key.kind.lower()}/{target.name}": target for target in plan.targets if not target.managed}
    assert kinds["Ledger"].keys() == kinds["Handover"].keys() == patched.keys()
    assert {name for name, one in found.items() if one.retained} == {target.name for target in patched.values()}
    for name, target in patched.items():
        record = Record.from_text(kinds["Ledger"][name].inputs["record"])
        assert record == (target.key, plan.context, plan.cluster, ledger_text(target.applied.reveal()))
        assert Record.from_text(kinds["Handover"][name].inputs["record"]).ledger == ""
        assert kinds["Ledger"][name].depends_on == ()
        assert name in found[target.name].depends_on
        assert kinds["Handover"][name].depends_on == (target.name,)


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
@pytest.mark.parametrize("make", [existing, managed])
def test_training_targets_depend_on_each_other_in_the_order_of_the_plan(
    build: Build, name: str, make: Callable[[str], Plan]
) -> None:
    plan = make(name)
    found = by_name(build(plan))
    waiting = {name for drain in plan.drains for name in drain.targets}
    chain = [target.name for target in plan.targets if target.phase != "normal" or target.name in waiting]
    assert len(chain) == 3 + (HEAD in waiting)
    assert {name: waits_for(one) for name, one in found.items()} == {
        **{name: () for name in found if name not in chain},
        **{after: (() if before is None else (before,)) for before, after in zip([None, *chain], chain, strict=False)},
    }


def test_a_backend_change_with_spare_gpus_scales_up_before_down(build: Build) -> None:
    found = by_name(build(again("dev", training="celery")))
    assert (waits_for(found[CELERY]), waits_for(found[RAY])) == ((ROUTE,), (CELERY,))


def test_a_changed_head_comes_before_the_route(build: Build) -> None:
    found = by_name(build(again("prod", training="ray", ray_head=RayHead(memory="24Gi"))))
    chain = [HEAD, ROUTE, CELERY, RAY]
    assert [waits_for(found[name]) for name in chain] == [(), (HEAD,), (ROUTE,), (CELERY,)]
    assert f"follows:Deployment/{ROUTE}" in found[ROUTE].before


def test_a_backend_change_without_spare_gpus_scales_down_before_up(build: Build) -> None:
    found = by_name(build(existing("prod", training="ray")))
    assert (waits_for(found[CELERY]), waits_for(found[RAY])) == ((ROUTE,), (CELERY,))


def test_unchanged_fields_are_ignored_by_the_engine(build: Build) -> None:
    plan = again("dev")
    assert plan.changed == ()
    for one in objects(build(plan)):
        assert one.ignores == ("metadata", "spec")


def test_a_timeout_covers_running_jobs_and_ten_minutes(build: Build) -> None:
    """The recorded worker may take 60 seconds to stop; those behind it may have to wait for its GPU."""
    plan = existing("dev")
    grace = next(target for target in plan.targets if target.name == RAY).before.reveal()
    assert grace is not None
    assert grace["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 60
    found = by_name(build(plan))
    assert {name: one.patience for name, one in found.items()} == {
        ROUTE: "600s",
        SERVICE: "660s",
        HEAD: "660s",
        RAY: "660s",
        CELERY: "660s",
    }


def test_a_timeout_covers_long_jobs(build: Build) -> None:
    """After the first update the pods have six hours and five minutes, and the flip gives them that time."""
    found = by_name(build(again("prod", training="ray")))
    assert {name: found[name].patience for name in (ROUTE, CELERY, RAY)} == {
        ROUTE: "660s",
        CELERY: "22500s",
        RAY: "22500s",
    }


@pytest.mark.parametrize("make", [existing, managed])
def test_every_component_has_its_own_targets(build: Build, make: Callable[[str], Plan]) -> None:
    plan = make("dev")
    engine = build(plan)
    parts = {one.name: one.parent for one in objects(engine)}
    assert parts[ROUTE] == "modelyard:index:TrainingSwitch::training-switch"
    assert parts[SERVICE] == "modelyard:index:ModelService::model-service"
    assert parts[HEAD] == parts[RAY] == "modelyard:index:RayCluster::ray-cluster"
    assert parts[CELERY] == "modelyard:index:CeleryTraining::celery-training"
    ours = [one for one in engine.registered if one.type.startswith("modelyard:")]
    components = {one.type: one.parent for one in ours if one.type != APPLIED}
    platform = "modelyard:index:Platform::platform"
    assert {parent for kind, parent in components.items() if not kind.endswith("Platform")} == {platform}
    assert "modelyard:index:Autoscaling" in components


@pytest.mark.parametrize("make", [existing, managed])
def test_each_target_has_a_note_of_the_applied_request(build: Build, make: Callable[[str], Plan]) -> None:
    plan = make("dev")
    engine = build(plan)
    parents = {(one.inputs["kind"].lower(), one.name): one.parent for one in objects(engine)}
    notes = {one.name: one.parent for one in engine.registered if one.type == APPLIED}
    assert notes == {f"{kind}/{name}": parent for (kind, name), parent in parents.items()}
    for target in plan.targets:
        noted = engine.outputs[f"{target.key.kind.lower()}/{target.name}"]
        assert (noted["formatVersion"], json.loads(noted["request"])) == (1, kept(target))


def test_the_outputs_describe_the_platform(build: Build) -> None:
    plan = existing("dev")
    found = build(plan).outputs["platform"]
    assert found == {
        "headline": plan.headline,
        "training": "ray",
        "namespace": "ml-platform",
        "cluster": plan.cluster,
        "gpus": 1,
        "replicas": {ROUTE: 1, SERVICE: 2, HEAD: 1, RAY: 1, CELERY: 0},
        "maxReplicas": {},
        "patches": {target.name: list(target.patches) for target in plan.targets},
    }
    assert build(again("dev")).outputs["platform"] == found


def test_the_outputs_describe_autoscaling(build: Build) -> None:
    engine = build(existing("staging"))
    found = engine.outputs["platform"]
    assert found["replicas"][RAY] == "autoscaled"
    assert found["maxReplicas"] == {RAY: "2", CELERY: "0"}
    assert found["gpus"] == 0
    assert engine.outputs["autoscaling"] == {"maxReplicas": {RAY: "2", CELERY: "0"}}


def test_objects_of_worker_clusters_are_deleted_after_those_that_use_them(build: Build) -> None:
    plan = existing(
        "dev",
        flavors=(Flavor("a10", "A10"),),
        worker_clusters=(WorkerCluster("farm", "farm-kubeconfig"),),
        teams=(Team("vision", (TeamQuota("a10", gpus=1),), clusters=("farm",)),),
    )
    found = {name: waits_for(one) for name, one in by_name(build(plan)).items()}
    assert found["clusters-vision"] == ("cluster-farm",)
    assert found["dispatch-vision"] == ("clusters-vision",)
    assert found["team-vision"] == ("dispatch-vision",)
    assert found["cluster-farm"] == found["a10"] == found["vision"] == ()
