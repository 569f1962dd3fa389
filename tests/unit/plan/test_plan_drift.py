"""Drift: changes since an apply with their owner and time, without those that the API server makes itself."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.merge import ABSENT, Path, fieldset
from modelyard.kube.state import ObjectKey
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE
from modelyard.plan import TargetPlan
from modelyard.plan.drift import AppliedObject, FieldDrift, TargetDrift, compare, kept
from modelyard.plan.undo.ledger import ObjectLedger, write_ledger
from tests.conformance.steps import update

CPU = Path.parse("spec.template.spec.containers[name=model-service].resources.limits.cpu")
REPLICAS = Path.parse("spec.replicas")
SERVICE = "deployment-model-service"
SCHEMAS = merge.MergeSchema.kubernetes("1.35")
DEPLOYMENT = SCHEMAS.of("apps/v1", "Deployment")
LATER = "2026-11-22T03:04:05Z"
Object = dict[str, Any]


def target_of(site: Any, name: str = SERVICE) -> TargetPlan:
    found: TargetPlan = next(target for target in site.plan().targets if target.name == name)
    return found


def drift(target: TargetPlan, live: Object | None, **applied: Any) -> TargetDrift:
    noted = AppliedObject(target.key, Confidential(kept(target)), True)._replace(**applied)
    (found,) = compare([noted], Confidential({} if live is None else {target.key: live}), SCHEMAS)
    return found


def edited(target: TargetPlan, manager: str = "kubectl-edit", **values: Any) -> Object:
    """Returns the object after another manager has updated ``spec`` with these values."""
    new = copy.deepcopy(target.after.reveal())
    new["spec"] |= values
    return timed(update(target.after.reveal(), new, manager, DEPLOYMENT), manager)


def timed(body: Object, manager: str) -> Object:
    for entry in body["metadata"]["managedFields"]:
        if entry["manager"] == manager:
            entry["time"] = LATER
    return body


def without(target: TargetPlan, path: Path) -> Object:
    """Returns the object after another manager has removed the value at a path."""
    new = copy.deepcopy(target.after.reveal())
    above = merge.value_at(DEPLOYMENT, new, path.parent)
    if isinstance(above, list):
        above.remove(merge.value_at(DEPLOYMENT, new, path))
    else:
        del above[path[-1]]
    return update(target.after.reveal(), new, "kubectl-edit", DEPLOYMENT)


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_an_applied_plan_has_no_drift(sites: Mapping[str, Any], name: str) -> None:
    plan = sites[name].plan()
    applied = [AppliedObject(target.key, Confidential(kept(target)), True) for target in plan.targets]
    found = compare(applied, Confidential({target.key: target.after.reveal() for target in plan.targets}), SCHEMAS)
    assert [one.state for one in found] == ["same"] * len(plan.targets)
    assert [one.key for one in found] == sorted(target.key for target in plan.targets)


def test_a_changed_field_has_its_owner_and_time(dev: Any) -> None:
    target = target_of(dev)
    found = drift(target, edited(target, replicas=7))
    assert found.state == "changed"
    (field,) = found.fields
    assert (field.path, field.applied, field.live) == (REPLICAS, target.after.reveal()["spec"]["replicas"], 7)
    assert [(owner.manager, owner.operation, owner.time) for owner in field.owners] == [
        ("kubectl-edit", "Update", LATER)
    ]


def test_a_field_that_another_apply_took_by_force_has_drifted(dev: Any) -> None:
    target = target_of(dev)
    request = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": target.name, "namespace": target.key.namespace},
        "spec": {"replicas": 9},
    }
    live = merge.server_side(target.after.reveal(), request, "helm", DEPLOYMENT, force=True).object
    (field,) = drift(target, live).fields
    assert (field.path, field.live, [owner.manager for owner in field.owners]) == (REPLICAS, 9, ["helm"])


def test_a_field_that_was_changed_and_changed_back_has_not_drifted(dev: Any) -> None:
    target = target_of(dev)
    there = edited(target, replicas=7)
    back = copy.deepcopy(there)
    back["spec"]["replicas"] = target.after.reveal()["spec"]["replicas"]
    assert drift(target, update(there, back, "kubectl-edit", DEPLOYMENT)).state == "same"


def test_a_field_of_another_owner_has_not_drifted(dev: Any) -> None:
    target = target_of(dev)
    assert drift(target, edited(target, progressDeadlineSeconds=7)).state == "same"


def test_an_owned_field_in_another_form_has_not_drifted(dev: Any) -> None:
    target = target_of(dev)
    live = copy.deepcopy(target.after.reveal())
    limits = merge.value_at(DEPLOYMENT, live, CPU.parent)
    limits["cpu"] = "9"
    assert drift(target, live).state == "same"


def test_a_removed_field_has_no_owner(dev: Any) -> None:
    target = target_of(dev)
    found = drift(target, without(target, CPU))
    assert found.fields == (FieldDrift(CPU, merge.value_at(DEPLOYMENT, target.after.reveal(), CPU), ABSENT, ()),)


def test_a_removed_container_is_reported_once(dev: Any) -> None:
    target = target_of(dev)
    container = Path(CPU[:5])
    found = drift(target, without(target, container))
    (field,) = found.fields
    assert (field.path, field.live) == (container, ABSENT)
    assert field.applied == merge.value_at(DEPLOYMENT, kept(target), container)


def test_secrets_are_compared_and_hidden(dev: Any, tmp_path: Any) -> None:
    env = "{template: {spec: {containers: [{name: ray-head, env: [{name: API_TOKEN, value: hunter2}]}]}}}"
    target = target_of(dev.patched(tmp_path, env), "deployment-ray-head")
    template = copy.deepcopy(target.after.reveal()["spec"]["template"])
    (token,) = (one for one in template["spec"]["containers"][0]["env"] if one["name"] == "API_TOKEN")
    token["value"] = "hunter3"
    (field,) = drift(target, edited(target, template=template)).fields
    assert (str(field.path).rpartition(".")[2], field.applied, field.live) == ("value", "(hidden)", "(hidden, changed)")


def test_a_restored_field_belongs_to_its_earlier_owner(dev: Any) -> None:
    target = target_of(dev)
    ledger = ObjectLedger(to_hand_over=fieldset.of(REPLICAS))
    metadata = target.applied.reveal()["metadata"]
    notes = {**metadata["annotations"], LEDGER_NOTE: write_ledger(ledger)}
    back = target._replace(
        applied=Confidential({**target.applied.reveal(), "metadata": {**metadata, "annotations": notes}})
    )
    live = edited(target, replicas=7)
    live["metadata"]["annotations"] = notes
    assert drift(back, live).state == "same"
    assert drift(target, edited(target, replicas=7)).state == "changed"


def test_a_deleted_object_is_reported(dev: Any) -> None:
    assert drift(target_of(dev), None).state == "gone"
    assert drift(target_of(dev), None).fields == ()


def test_an_object_that_another_manager_recreated_has_drifted(dev: Any) -> None:
    target = target_of(dev)
    found = drift(target, target.before.reveal())
    assert {field.path for field in found.fields} >= {CPU}


def test_replicas_left_to_an_autoscaler_are_not_compared(staging: Any) -> None:
    ours = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    fields = [{**ours, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
    held = staging.having(lambda body: {**body, "metadata": {**body["metadata"], "managedFields": fields}})
    target = target_of(held, "deployment-ray-model-training-worker")
    assert target.replicas[1] is None
    assert "replicas" in target.applied.reveal()["spec"]
    assert "replicas" not in kept(target)["spec"]
    assert drift(target, edited(target, "keda-operator", replicas=2)).state == "same"


def test_an_unfinished_apply_is_reported_unless_a_field_changed(dev: Any) -> None:
    target = target_of(dev)
    assert drift(target, target.after.reveal(), finished=False).state == "unfinished"
    assert drift(target, target.before.reveal(), request=Confidential(None)).state == "unfinished"
    assert drift(target, edited(target, replicas=7), finished=False).state == "changed"


def test_an_applied_change_that_is_not_recorded_yet_has_not_drifted(dev: Any) -> None:
    """A run that ends early has sent changes that are not recorded in the state yet."""
    target = target_of(dev)
    newer = {**target.applied.reveal(), "spec": {**target.applied.reveal()["spec"], "replicas": 4}}
    live = merge.server_side(target.after.reveal(), newer, FIELD_MANAGER, DEPLOYMENT, force=True).object
    assert live["spec"]["replicas"] == 4
    assert drift(target, live).state == "same"


def test_the_drift_of_an_owned_object_is_marked_as_managed(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    target = target_of(managed)
    assert drift(target, None).managed
    assert not drift(target_of(dev), None).managed


def test_a_kind_without_a_schema_is_an_error() -> None:
    key, body = ObjectKey("apps/v9", "Deployment", "a", "b"), {"metadata": {"name": "b"}}
    with pytest.raises(LookupError):
        compare([AppliedObject(key, Confidential(body), True)], Confidential({key: body}), SCHEMAS)
