"""The owners of fields, and conflicts in the answer to an apply."""

import copy
from typing import Any

import pytest

from modelyard.kube.merge import ABSENT, MergeError, MergeSchema, Owner, Path, owners, server_side
from tests.conformance.casefile import cases, recorded
from tests.conformance.steps import update

DEPLOYMENT = MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
LIVE: dict[str, Any] = recorded(next(case for case in cases("server_side") if "start" in case.spec)) or {}
WORKER = "spec.template.spec.containers[name=worker]"


def names(path: str, schema: Any = None) -> list[str]:
    return [f"{o.manager} {o.operation}" for o in owners(LIVE, Path.parse(path), schema)]


@pytest.mark.parametrize("schema", [None, DEPLOYMENT], ids=["guessed", "by schema"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.replicas", ["scaler Update"]),
        ("metadata.labels.team", ["platform Apply"]),
        (f"{WORKER}.image", ["installer Update"]),
        (f"{WORKER}.env[name=TEAM].value", ["platform Apply"]),
        (f'{WORKER}.resources.limits["nvidia.com/gpu"]', ["installer Update"]),
        # Fields of an atomic map or list belong to the owner of the whole.
        ("spec.template.spec.nodeSelector.pool", ["installer Update"]),
        ("spec.template.spec.tolerations[0].key", ["installer Update"]),
        ("spec.selector.matchLabels.app", ["installer Update"]),
        # A map or list whose parts have different owners belongs to all of them.
        (f"{WORKER}.env", ["installer Update", "platform Apply"]),
        ("metadata.labels", ["installer Update", "platform Apply"]),
        ("spec", ["installer Update", "platform Apply", "scaler Update"]),
        ("spec.paused", []),
        ("metadata.name", []),
        ("spec.template.spec.containers[name=nobody].image", []),
    ],
)
def test_a_field_has_its_owners(path: str, expected: list[str], schema: Any) -> None:
    assert names(path, schema) == expected


def test_an_owner_has_all_values_of_its_entry() -> None:
    (owner,) = owners(LIVE, Path(("spec", "replicas")))
    entry = next(e for e in LIVE["metadata"]["managedFields"] if e["manager"] == "scaler")
    assert owner == Owner("scaler", "Update", "", entry["time"], "apps/v1")
    assert str(owner) == '"scaler" using apps/v1'
    assert str(Owner("a", "Apply")) == '"a"'
    assert str(Owner("a", "Update", "status", "", "v1")) == '"a" with subresource "status" using v1'


def test_an_empty_struct_is_atomic_only_without_a_schema() -> None:
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:resources": {}}}}}}}
    obj = {"metadata": {"managedFields": [{"manager": "a", "operation": "Update", "fieldsV1": fields}]}}
    path = Path.parse("spec.template.spec.containers[name=c].resources.limits.cpu")
    assert [owner.manager for owner in owners(obj, path)] == ["a"]
    assert owners(obj, path, DEPLOYMENT) == ()


def test_an_untracked_field_has_no_owner() -> None:
    assert owners({}, Path(("spec",))) == ()
    assert owners({"metadata": {}}, Path(("spec",)), DEPLOYMENT) == ()


PATCH: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "minReadySeconds": 5}}


def test_a_conflict_names_the_path_the_owners_and_both_values() -> None:
    answer = server_side(LIVE, PATCH, "planner", DEPLOYMENT)
    (conflict,) = answer.conflicts
    assert str(conflict.path) == "spec.replicas"
    assert [owner.manager for owner in conflict.owners] == ["scaler"]
    assert (conflict.live, conflict.applied) == (2, 3)
    assert str(conflict) == 'conflict with "scaler" using apps/v1: .spec.replicas'
    assert answer.object is LIVE


def test_a_conflict_in_a_list_item_has_the_values_of_that_item() -> None:
    containers = [{"name": "worker", "image": "x:2"}]
    patch = {**PATCH, "spec": {"template": {"spec": {"containers": containers}}}}
    (conflict,) = server_side(LIVE, patch, "planner", DEPLOYMENT).conflicts
    assert str(conflict.path) == f"{WORKER}.image"
    assert (conflict.live, conflict.applied) == ("registry.example/worker:23.10", "x:2")


def test_force_lists_the_taken_fields() -> None:
    answer = server_side(LIVE, PATCH, "planner", DEPLOYMENT, force=True)
    assert answer.conflicts == ()
    assert [str(conflict.path) for conflict in answer.taken] == ["spec.replicas"]
    owned = {managed.owner.manager: [*map(str, managed.paths())] for managed in answer.ownership}
    assert owned["planner"] == ["spec.minReadySeconds", "spec.replicas"]
    assert "spec.replicas" not in owned.get("scaler", [])


def test_a_missing_owned_field_has_no_value() -> None:
    live = copy.deepcopy(LIVE)
    del live["spec"]["replicas"]
    (conflict,) = server_side(live, PATCH, "planner", DEPLOYMENT).conflicts
    assert conflict.live is ABSENT


def test_managed_fields_are_in_the_order_of_the_server() -> None:
    entries = server_side(LIVE, PATCH, "aaa", DEPLOYMENT, force=True).object["metadata"]["managedFields"]
    assert [(e["operation"], e["manager"]) for e in entries] == [
        ("Apply", "platform"),
        ("Apply", "aaa"),
        ("Update", "installer"),
        ("Update", "scaler"),
    ]
    assert "time" not in entries[1]
    assert all("time" in entry for entry in entries if entry["manager"] != "aaa")


def test_unchanged_parts_are_not_copied() -> None:
    before = copy.deepcopy(LIVE)
    answer = server_side(LIVE, PATCH, "planner", DEPLOYMENT, force=True)
    assert answer.object["spec"]["template"] is LIVE["spec"]["template"]
    assert before == LIVE


@pytest.mark.parametrize(
    ("applied", "message"),
    [
        ({"kind": "Deployment"}, "apiVersion: apiVersion is missing, and an apply must name it"),
        ({"apiVersion": "apps/v1"}, "kind: kind is missing, and an apply must name it"),
        ({**PATCH, "metadata": {"managedFields": []}}, "metadata.managedFields: managedFields must not be applied"),
        ({**PATCH, "spec": {"replica": 1}}, "spec.replica: unknown field; did you mean replicas?"),
        ({**PATCH, "spec": []}, "spec: expected a map, got a list"),
        ({**PATCH, "metadata": {"labels": {1: "x"}}}, "metadata.labels: the key 1 is not a string; quote it"),
        ({**PATCH, "kind": "Pod"}, "kind: Pod is applied to an object of Deployment"),
        ({**PATCH, "metadata": {"name": "x"}}, "metadata.name: x is applied to the object case"),
        ({**PATCH, "metadata": {"name": "a"}}, "metadata.name: a is applied to the object case"),
    ],
)
def test_an_invalid_apply_is_an_error(applied: dict[str, Any], message: str) -> None:
    with pytest.raises(MergeError) as caught:
        server_side(LIVE, applied, "planner", DEPLOYMENT)
    assert str(caught.value) == message


def test_an_invalid_live_object_is_an_error() -> None:
    live = copy.deepcopy(LIVE)
    live["spec"]["template"]["spec"]["containers"][0] = "x"
    patch = {**PATCH, "spec": {"template": {"spec": {"containers": [{"name": "worker", "image": "y"}]}}}}
    with pytest.raises(MergeError, match="the live object is not of the schema's type"):
        server_side(live, patch, "planner", DEPLOYMENT)


def test_another_form_of_an_owned_quantity_changes_nothing() -> None:
    limits = {"memory": "1024Mi", "cpu": 0.5, "example.com/a": 4}
    spec = {"template": {"spec": {"containers": [{"name": "metrics", "resources": {"limits": limits}}]}}}
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    once = server_side(LIVE, patch, "planner", DEPLOYMENT).object
    assert server_side(once, patch, "planner", DEPLOYMENT).object is once


def test_an_equal_update_changes_no_owners() -> None:
    assert update(LIVE, copy.deepcopy(LIVE), "anyone", DEPLOYMENT) == LIVE


def test_an_update_of_an_untracked_object_leaves_it_untracked() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 1}}
    assert "managedFields" not in update(live, {**live, "spec": {"replicas": 2}}, "anyone", DEPLOYMENT)["metadata"]


def test_a_write_as_the_earlier_owner_restores_a_field() -> None:
    taken = server_side(LIVE, PATCH, "planner", DEPLOYMENT, force=True).object
    back = update(taken, {**taken, "spec": {**taken["spec"], "replicas": 2}}, "scaler", DEPLOYMENT)
    assert [owner.manager for owner in owners(back, Path(("spec", "replicas")))] == ["scaler"]
