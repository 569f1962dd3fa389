"""Reading what was applied from a state that the engine exports."""

import json
from typing import Any

import pytest

from modelyard.engine.applied import AppliedStack, from_state, left_behind
from modelyard.engine.failure import EngineError
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey
from modelyard.names import FIELD_MANAGER

HEAD = ObjectKey("apps/v1", "Deployment", "ml", "head")
WORKER = ObjectKey("apps/v1", "Deployment", "ml", "worker")
STACK = {"type": "pulumi:pulumi:Stack", "outputs": {"cluster": "uid"}}


def body(key: ObjectKey, **spec: Any) -> dict[str, Any]:
    metadata = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": metadata, "spec": spec}


def patch(key: ObjectKey, **more: Any) -> dict[str, Any]:
    return {"type": "kubernetes:apps/v1:DeploymentPatch", "inputs": body(key, replicas=9), **more}


def note(key: ObjectKey, version: int = 1, **more: str) -> dict[str, Any]:
    outputs = {"formatVersion": version, "request": json.dumps(body(key, replicas=3)), **more}
    return {"type": "modelyard:index:Applied", "outputs": outputs}


def test_notes_count_and_not_refreshed_values() -> None:
    found = from_state({"resources": [STACK, patch(HEAD), note(HEAD), {"type": "modelyard:index:Platform"}]})
    assert found.cluster == "uid"
    (one,) = found.targets
    assert (one.key, one.request.reveal(), one.finished) == (HEAD, body(HEAD, replicas=3), True)


def test_the_cluster_comes_from_its_resource_and_not_from_outputs() -> None:
    cluster = {"type": "pulumi-python:dynamic/modelyard:Cluster", "outputs": {"cluster": "first"}}
    assert from_state({"resources": [STACK, cluster]}).cluster == "first"


def test_an_object_without_a_note_was_never_applied_to_the_end() -> None:
    begun = {"type": "modelyard:index:Applied"}
    found = from_state({"resources": [STACK, patch(HEAD), note(HEAD), patch(WORKER), begun]})
    assert {one.key: one.request.reveal() is None for one in found.targets} == {HEAD: False, WORKER: True}


def test_an_object_of_which_an_apply_left_only_the_ledger_was_never_applied_to_the_end() -> None:
    record = json.dumps({"key": WORKER, "ledger": ""})
    ledger = {"type": "pulumi-python:dynamic/modelyard:Ledger", "outputs": {"record": record}}
    found = from_state({"resources": [STACK, patch(HEAD), note(HEAD), ledger]})
    assert {one.key: one.request.reveal() is None for one in found.targets} == {HEAD: False, WORKER: True}


def test_a_step_that_was_begun_is_not_finished() -> None:
    pending = [{"resource": patch(HEAD), "type": "updating"}, {"resource": patch(WORKER), "type": "creating"}]
    found = from_state({"resources": [patch(HEAD), note(HEAD)], "pending_operations": pending})
    assert found.cluster is None
    assert [(one.key, one.request.reveal() is None, one.finished) for one in found.targets] == [
        (HEAD, False, False),
        (WORKER, True, False),
    ]


def test_an_object_that_a_refresh_dropped_is_still_one_that_was_applied() -> None:
    assert [one.key for one in from_state({"resources": [note(HEAD)]}).targets] == [HEAD]


def test_a_whole_object_that_a_refresh_dropped_is_forgotten_unless_it_is_being_made() -> None:
    whole = {**patch(WORKER), "type": "kubernetes:apps/v1:Deployment"}
    managed = {"role": "rayHead", "mode": "managed"}
    resources = [note(HEAD, **managed), whole, note(WORKER, **managed)]
    assert from_state({"resources": resources}).forgotten == (HEAD,)
    begun = [{"resource": patch(HEAD), "type": "creating"}]
    assert from_state({"resources": resources, "pending_operations": begun}).forgotten == ()
    assert from_state({"resources": [note(HEAD, role="rayHead", mode="existing")]}).forgotten == ()


def test_a_destroy_would_leave_behind_what_the_state_lacks_and_modelyard_owns() -> None:
    applied = AppliedStack(None, (), forgotten=(HEAD, WORKER))
    mine = {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    theirs = {**mine, "manager": "helm"}
    live = {key: body(key) for key in (HEAD, WORKER)}
    live[HEAD]["metadata"]["managedFields"] = [mine, theirs]
    live[WORKER]["metadata"]["managedFields"] = [theirs]
    assert left_behind(applied, Confidential(live)) == (HEAD,)
    assert left_behind(applied, Confidential({})) == ()


def test_an_object_pending_deletion_is_not_applied() -> None:
    assert from_state({"resources": [patch(HEAD, delete=True)]}).targets == ()


@pytest.mark.parametrize("state", [{}, {"resources": None}, {"resources": [{"type": "pulumi:pulumi:Stack"}]}])
def test_a_state_without_objects_has_none(state: dict[str, Any]) -> None:
    assert from_state(state) == AppliedStack(None, ())


def test_a_note_of_another_form_is_refused() -> None:
    with pytest.raises(EngineError, match="formatVersion 2"):
        from_state({"resources": [note(HEAD, version=2)]})
