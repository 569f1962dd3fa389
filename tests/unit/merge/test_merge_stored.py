"""The form in which the API server stores objects."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.kube.merge import MergeSchema, stored
from modelyard.kube.merge.canonical import canonical, is_quantity
from modelyard.quantity import parse
from tests.conformance.casefile import quantities, schema_of

DEPLOYMENT = MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
SAMPLE = schema_of("conformance.modelyard.dev/v1").of("conformance.modelyard.dev/v1", "Sample")


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "a", **fields}]}}}}


def stored_container(**fields: Any) -> dict[str, Any]:
    (found,) = stored(DEPLOYMENT, container(**fields))["spec"]["template"]["spec"]["containers"]
    return {name: value for name, value in found.items() if name != "name"}


@pytest.mark.parametrize(("text", "spelled"), quantities().items())
def test_a_quantity_is_stored_in_canonical_form(text: str, spelled: str) -> None:
    assert is_quantity(text)
    assert canonical(text, whole_milli=True) == spelled


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "Gi", ".", "1e", "0x10", "1ki", "--1", "1.2.3"])
def test_text_that_is_not_a_quantity_stays(text: str) -> None:
    assert not is_quantity(text)
    assert canonical(text) == text


amounts = st.one_of(
    st.tuples(st.integers(-(10**9), 10**9), st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"])),
    st.tuples(st.decimals(0, 10**6, places=3), st.sampled_from(["", "m", "k", "Mi", "Gi"])),
).map(lambda pair: f"{pair[0]}{pair[1]}")


@given(amounts)
def test_a_canonical_quantity_keeps_its_amount(text: str) -> None:
    once = canonical(text)
    assert parse(once) >= parse(text) or parse(text) < 0
    assert abs(parse(once) - parse(text)) < parse("1n")
    assert canonical(once) == once


def test_numbers_are_stored_as_quantities() -> None:
    limits = {"cpu": 4, "memory": 0.5, "x": "4000m"}
    assert stored_container(resources={"limits": limits}) == {
        "resources": {"limits": {"cpu": "4", "memory": "500m", "x": "4"}}
    }


def test_a_volume_limit_is_finer_than_a_resource_amount() -> None:
    spec = {"spec": {"template": {"spec": {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "0.1n"}}]}}}}
    (volume,) = stored(DEPLOYMENT, spec)["spec"]["template"]["spec"]["volumes"]
    assert volume["emptyDir"] == {"sizeLimit": "1n"}


def test_empty_maps_and_lists_of_go_types_are_dropped() -> None:
    assert stored_container(env=[], resources={"limits": {}}, securityContext={}, lifecycle=None) == {
        "resources": {},
        "securityContext": {},
    }


def test_a_struct_that_go_never_omits_is_stored_empty() -> None:
    before = container(resources={"limits": {"cpu": "1"}})
    after = stored(DEPLOYMENT, container(image="x"), before)
    assert after == container(image="x", resources={})


def test_list_keys_get_their_defaults() -> None:
    assert stored_container(ports=[{"containerPort": 80}])["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_custom_resources_get_defaults_and_keep_empty_values() -> None:
    sent = {"spec": {"groups": {"a": {}}, "labels": {}, "steps": [], "ports": [{"port": 1}], "number": 4}}
    assert stored(SAMPLE, sent) == {
        "spec": {
            "groups": {"a": {"weight": 1}},
            "labels": {},
            "steps": [],
            "ports": [{"port": 1, "protocol": "TCP"}],
            "number": 4,
            "level": "low",
        }
    }


def test_defaults_are_copies() -> None:
    queue = schema_of("kueue.x-k8s.io/v1beta2").of("kueue.x-k8s.io/v1beta2", "ClusterQueue")
    first, second = stored(queue, {"spec": {}}), stored(queue, {"spec": {}})
    assert first == second
    assert first["spec"]["preemption"] is not second["spec"]["preemption"]


def test_unchanged_values_are_not_copied() -> None:
    obj = container(image="x", resources={"limits": {"cpu": "1"}})
    before = copy.deepcopy(obj)
    assert stored(DEPLOYMENT, obj, obj) is obj
    sent = {"metadata": {"labels": {"a": "b"}}, "spec": obj["spec"]}
    after = stored(DEPLOYMENT, sent, obj)
    assert after["spec"] is obj["spec"]
    assert obj == before


def test_new_unknown_fields_are_dropped() -> None:
    assert stored(DEPLOYMENT, {"novel": 1, "kind": "Deployment"}, {"novel": 2}) == {"novel": 1, "kind": "Deployment"}
    assert "novel" not in stored(DEPLOYMENT, {"novel": 1, "kind": "Deployment"})


def test_a_null_of_an_older_server_does_not_change_an_atomic_list() -> None:
    kind = MergeSchema.kubernetes("1.35").of("apps/v1", "StatefulSet")
    request = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": request}
    first = stored(kind, {"spec": {"volumeClaimTemplates": [claim]}})
    (filled,) = first["spec"]["volumeClaimTemplates"]
    printed = {**filled, "metadata": {**filled["metadata"], "creationTimestamp": None}}
    before = {"spec": {"volumeClaimTemplates": [printed]}}
    after = stored(kind, {"spec": {"volumeClaimTemplates": [claim]}}, before)
    assert after["spec"]["volumeClaimTemplates"] == [printed]
