"""Restoring maps and lists that were empty before: an apply without their only entry leaves null, which a custom
resource rejects, so a second write removes that entry.
"""

from copy import deepcopy
from typing import Any

import pytest

from modelyard.kube import merge
from modelyard.kube.merge import Path, fieldset
from modelyard.kube.merge.managed import entries, with_entries
from modelyard.kube.state import ObjectKey, essence
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE
from modelyard.plan.undo.dropped import Dropped, planned_drop
from modelyard.plan.undo.ledger import ObjectLedger, filled, known_ledger, ledger_of, read_ledger, write_ledger
from modelyard.plan.undo.request import put_back, reversible_request
from modelyard.plan.undo.restore import at, finished, undo, with_earlier_owners
from tests.conformance.steps import update

SCHEMA = merge.MergeSchema.kubernetes("1.35").of("ray.io/v1", "RayCluster")
PARAMS = Path.parse("spec.headGroupSpec.rayStartParams")

Object = dict[str, Any]


def request(head: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "trainer", "namespace": "ml-platform"},
        "spec": {"headGroupSpec": head, **spec},
    }


def container(**fields: Any) -> Object:
    return {"template": {"spec": {"containers": [{"name": "head", **fields}]}}}


@pytest.fixture
def before() -> Object:
    """Returns a RayCluster as Helm creates it."""
    empty = container(image="ray:2", resources={}, env=[])
    return merge.server_side(None, request({"rayStartParams": {}, **empty}), "helm", SCHEMA).object


def applied(live: Object, asked: Object) -> Object:
    """Returns the object after the first write of an apply."""
    kept = reversible_request(live, asked, SCHEMA)
    return merge.server_side(live, kept.request, FIELD_MANAGER, SCHEMA, force=True).object


def fields_of(body: Object) -> dict[str, Any]:
    return {f"{one['manager']} {one['operation']}": one["fieldsV1"] for one in body["metadata"]["managedFields"]}


FIRST: dict[str, Object] = {
    "an entry of a map": {"rayStartParams": {"num-gpus": "1"}},
    "two entries": {"rayStartParams": {"num-gpus": "1", "block": "true"}},
    "a map in a map": container(resources={"limits": {"memory": "4Gi"}}),
    "an item of a list": container(env=[{"name": "A", "value": "1"}]),
    "all of them": {
        "rayStartParams": {"block": "true"},
        **container(resources={"limits": {"cpu": "1"}}, env=[{"name": "A", "value": "1"}], imagePullPolicy="Always"),
    },
}


def test_an_atomic_list_keeps_the_requested_order(before: Object) -> None:
    size = {"resources": {"limits": {"memory": "4Gi"}}}
    after = applied(before, request(container(args=["--one", "--two"], **size)))
    # The same request restores the memory.
    kept = reversible_request(after, request(container(args=["--two", "--one"])), SCHEMA)
    assert kept.request["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["args"] == ["--two", "--one"]


@pytest.mark.parametrize("head", FIRST.values(), ids=FIRST)
@pytest.mark.parametrize("tracked", [True, False])
def test_an_undo_restores_empty_maps_and_lists(before: Object, head: Object, tracked: bool) -> None:
    if not tracked:
        # The owners were cleared, so the empty maps have no owner.
        (entry,) = before["metadata"]["managedFields"]
        before["metadata"]["managedFields"] = [{**entry, "fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    after = applied(before, request(head))
    assert essence(after)["spec"] != essence(before)["spec"]
    back, _ = put_back(after, SCHEMA)
    assert essence(back) == essence(before)
    assert fields_of(back) == fields_of(before)


def test_the_second_write_adds_no_owner(before: Object) -> None:
    """The write is done as the API server does it."""
    after = applied(before, request(FIRST["all of them"]))
    plan = undo(after, known_ledger(after))
    assert plan is not None
    released = merge.server_side(after, plan.request, FIELD_MANAGER, SCHEMA, force=True).object
    # An undo that is interrupted here starts over.
    again = undo(released, known_ledger(released))
    assert again is not None
    assert essence(again.request) == essence(plan.request)
    end = finished(released, plan.ledger)
    # The API server takes the owners as they are sent, and then adds the owner of the changed fields.
    stored = update(with_entries(released, entries(end)), end, FIELD_MANAGER, SCHEMA)
    assert essence(stored) == essence(before)
    assert fields_of(stored) == fields_of(before)


def test_an_apply_that_drops_the_last_entry_restores_it(before: Object) -> None:
    both, less = request(FIRST["an entry of a map"], suspend=True), request({}, suspend=True)
    after = applied(before, both)
    kept = reversible_request(after, less, SCHEMA)
    live = merge.server_side(after, kept.request, FIELD_MANAGER, SCHEMA, force=True).object
    assert at(live, PARAMS) == {"num-gpus": "1"}
    restored = with_earlier_owners(live, ledger_of(live))
    assert at(restored, PARAMS) == {}
    assert restored["spec"] == {**before["spec"], "suspend": True}
    # The same request then changes nothing, and the ledger stays.
    settled = applied(restored, less)
    assert settled["spec"] == restored["spec"]
    assert ledger_of(settled) == ledger_of(live)
    assert with_earlier_owners(settled, ledger_of(settled)) is settled
    assert essence(put_back(settled, SCHEMA)[0]) == essence(before)


def test_an_entry_that_is_set_again_gets_a_new_ledger_entry(before: Object) -> None:
    both, less = request(FIRST["an entry of a map"], suspend=True), request({}, suspend=True)
    live = applied(applied(before, both), less)
    # Before the handover, the entry was never removed.
    again = applied(live, both)
    assert essence(put_back(again, SCHEMA)[0]) == essence(before)
    # After the handover, another manager has set the entry.
    restored = with_earlier_owners(live, ledger_of(live))
    theirs = deepcopy(restored)
    theirs["spec"]["headGroupSpec"]["rayStartParams"] = {"num-gpus": "7"}
    theirs = update(restored, theirs, "ada", SCHEMA)
    back, _ = put_back(applied(theirs, both), SCHEMA)
    assert at(back, PARAMS) == {"num-gpus": "7"}
    assert fields_of(back)["ada Update"] == fields_of(theirs)["ada Update"]


def test_entries_of_other_managers_stay(before: Object) -> None:
    after = applied(before, request(FIRST["an entry of a map"]))
    more = deepcopy(after)
    more["spec"]["headGroupSpec"]["rayStartParams"]["block"] = "true"
    back, _ = put_back(update(after, more, "ada", SCHEMA), SCHEMA)
    assert at(back, PARAMS) == {"block": "true"}


def test_a_ledger_lists_only_maps_that_were_empty(before: Object) -> None:
    full = ledger_of(applied(before, request({}, suspend=True)))
    assert (full.empty, '"empty"' in write_ledger(full)) == ({}, False)
    ledger = ledger_of(applied(before, request(FIRST["an entry of a map"])))
    assert ledger.empty == fieldset.of(PARAMS)
    assert read_ledger(write_ledger(ledger)) == ledger
    # The copy in the state fills in entries that the ledger has lost.
    assert filled(ObjectLedger(), ledger).empty == ledger.empty
    assert filled(ledger._replace(empty={}), ledger).empty == {}


def test_an_undo_that_the_api_server_would_reject_is_a_finding(before: Object) -> None:
    """A ledger of an earlier modelyard does not list empty maps."""
    after = applied(before, request(FIRST["an entry of a map"]))
    after["metadata"]["annotations"][LEDGER_NOTE] = write_ledger(ledger_of(after)._replace(empty={}))
    back = undo(after, known_ledger(after))
    assert back is not None
    key = ObjectKey("ray.io/v1", "RayCluster", "ml-platform", "trainer")
    target, (wrong, note) = planned_drop(Dropped(key, after, SCHEMA, back, "", in_earlier_namespace=False), None)
    assert (wrong.code, wrong.blocks, note.code) == ("OWN009", True, "OWN006")
    assert str(PARAMS) in wrong.detail
    assert (target.after.reveal(), target.changes) == (after, ())
    assert put_back(after, SCHEMA) == (after, {})


def test_a_native_object_has_no_empty_maps_in_its_ledger() -> None:
    schema = merge.MergeSchema.kubernetes("1.35").of("v1", "ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"b": "c"}}
    live = merge.server_side(None, {**body, "data": {}}, "helm", schema).object
    after = merge.server_side(live, reversible_request(live, body, schema).request, FIELD_MANAGER, schema).object
    assert ledger_of(after).empty == {}
    assert essence(put_back(after, schema)[0]) == essence(live)
