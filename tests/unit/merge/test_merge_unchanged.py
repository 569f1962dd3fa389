"""An apply that changes nothing returns the live object with the times of its owners."""

from typing import Any

import pytest

from modelyard.kube.merge import MergeError, server_side, validate
from modelyard.kube.merge.metadata import is_time
from tests.conformance.casefile import schema_of

Object = dict[str, Any]
TIME = "2020-01-01T00:00:00Z"
KINDS: dict[str, Object] = {
    "v1 ConfigMap": {"data": {"a": "b"}},
    "v1 PersistentVolumeClaim": {"spec": {"accessModes": ["Any"], "resources": {"requests": {"storage": "1Gi"}}}},
    "conformance.modelyard.dev/v1 Sample": {"spec": {"text": "x", "items": [{"name": "a"}]}},
}
SYSTEM: dict[str, tuple[Any, ...]] = {
    "creationTimestamp": (None, TIME, "2026-01-31T12:00:00+02:00"),
    "generation": (None, 0, 7),
    "managedFields": (None,),
    "uid": (None, "", "u"),
    "resourceVersion": ("5",),
}
"""What a client may send of what the server alone sets, and changes nothing by it."""


def requested(type_: str) -> tuple[Any, Object, Object]:
    api_version, _, kind = type_.partition(" ")
    schema = schema_of(api_version).of(api_version, kind)
    request = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **KINDS[type_]}
    made = server_side(server_side(None, request, "one", schema).object, request, "two", schema).object
    system = {"uid": "u", "resourceVersion": "5", "generation": 1, "creationTimestamp": TIME}
    entries = [{**entry, "time": TIME} for entry in made["metadata"]["managedFields"]]
    return schema, request, {**made, "metadata": {**made["metadata"], **system, "managedFields": entries}}


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SYSTEM.items() for value in values])
def test_fields_that_only_the_server_sets_change_nothing(type_: str, name: str, value: Any) -> None:
    schema, request, live = requested(type_)
    sent = {**request, "metadata": {"name": "a", name: value}}
    assert server_side(live, sent, "two", schema).object is live


@pytest.mark.parametrize("type_", KINDS)
def test_a_selflink_is_a_change_of_time(type_: str) -> None:
    schema, request, live = requested(type_)
    after = server_side(live, {**request, "metadata": {"name": "a", "selfLink": "/x"}}, "two", schema).object
    assert [entry.get("time") for entry in after["metadata"]["managedFields"]] == [TIME, None]
    assert "selfLink" not in after["metadata"]


def test_an_owned_empty_map_changes_nothing() -> None:
    schema, request, live = requested("v1 PersistentVolumeClaim")
    sent = {**request, "spec": {"resources": {}}}
    live = server_side(live, sent, "three", schema).object
    assert server_side(live, sent, "three", schema).object is live


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"ownerReferences": [{"kind": "Pod", "name": "a"}]}},
        {"spec": {"securityContext": {"sysctls": [{"name": "a"}, {"name": "b", "value": None}]}}},
        {"spec": {"containers": [{"name": "a", "lifecycle": {"preStop": {"sleep": {"seconds": None}}}}]}},
    ],
)
def test_fields_that_go_always_writes_may_be_missing_or_null(fields: Object) -> None:
    schema = schema_of("apps/v1").of("apps/v1", "Deployment")
    request = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": fields}}
    live = server_side(None, request, "one", schema).object
    assert server_side(live, request, "one", schema).object is live


def test_an_empty_namespace_means_that_of_the_object() -> None:
    schema, request, live = requested("v1 ConfigMap")
    live = {**live, "metadata": {**live["metadata"], "namespace": "b"}}
    for empty in ("", None):
        sent = {**request, "metadata": {"name": "a", "namespace": empty}}
        assert server_side(live, sent, "two", schema).object is live
    with pytest.raises(MergeError):
        server_side(live, {**request, "metadata": {"name": "a", "namespace": "c"}}, "two", schema)


@pytest.mark.parametrize(
    "text",
    [
        *(TIME, "2024-02-29T23:59:59Z", "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00,5Z", "2026-01-31T1:00:00Z"),
        *("2026-01-31T12:00:00+02:00", "0000-02-29T00:00:00Z", "2026-01-31T12:00:00+24:00"),
    ],
)
def test_valid_times_are_accepted(text: str) -> None:
    assert is_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "null", 5, True, "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z"),
        *(
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31t12:00:00z",
        ),
        *("2026-01-31T12:60:00Z", "2026-01-31T12:00:60Z", "2026-01-31T12:00:00+2:00", "٢026-01-31T12:00:00Z"),
    ],
)
def test_invalid_times_are_rejected(text: Any) -> None:
    assert not is_time(text)


def test_times_in_all_parts_of_an_object_are_checked() -> None:
    deployment = schema_of("apps/v1").of("apps/v1", "Deployment")
    (error,) = validate({"spec": {"template": {"metadata": {"creationTimestamp": "x"}}}}, deployment)
    assert str(error) == "spec.template.metadata.creationTimestamp: 'x' is not a time such as 2026-01-31T12:00:00Z"
    lease = schema_of("coordination.k8s.io/v1").of("coordination.k8s.io/v1", "Lease")
    assert not validate({"spec": {"renewTime": "2026-01-31T12:00:00.000000Z"}}, lease)
    assert validate({"spec": {"renewTime": "2026-01-31T12:00:00Z"}}, lease)
    sample = schema_of("conformance.modelyard.dev/v1").of("conformance.modelyard.dev/v1", "Sample")
    assert not validate({"metadata": {"creationTimestamp": "x"}}, sample), "the server does not look at it"


def test_an_apply_with_an_invalid_time_is_an_error() -> None:
    schema, request, live = requested("v1 ConfigMap")
    for before in (None, live):
        with pytest.raises(MergeError, match=r"metadata\.creationTimestamp: 'x' is not a time"):
            server_side(before, {**request, "metadata": {"name": "a", "creationTimestamp": "x"}}, "one", schema)
