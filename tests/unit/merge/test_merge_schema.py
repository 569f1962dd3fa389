"""Schemas read from OpenAPI documents, and the shipped schemas."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from modelyard.kube.merge import MergeSchema, Type, server_side, strategic, supported_versions
from modelyard.kube.merge.schema import OPERATORS, SHIPPED, compact, digest
from modelyard.kube.merge.types import STATUS_MARK
from tests.conformance.casefile import HERE, schema_of
from tests.conformance.fuzz import seeds


def test_four_kubernetes_versions_are_supported() -> None:
    assert supported_versions() == ("1.33", "1.34", "1.35", "1.36")


@pytest.mark.parametrize("version", supported_versions())
def test_each_shipped_version_has_its_kinds_and_hash(version: str) -> None:
    schema = MergeSchema.kubernetes(version)
    deployment = schema.of("apps/v1", "Deployment")
    assert deployment.status_subresource
    assert schema.of("v1", "PersistentVolumeClaim").status_subresource
    containers = deployment.child["spec"].child["template"].child["spec"].child["containers"]
    assert (containers.list_kind, containers.keys, containers.merge_key) == ("map", ("name",), "name")
    ports = containers.item.child["ports"]
    assert (ports.keys, ports.merge_key) == (("containerPort", "protocol"), "containerPort")
    assert [ports.key_default(key) for key in ports.keys] == [0, "TCP"]
    assert not schema.of("v1", "ConfigMap").status_subresource
    assert schema.sha256 == digest(compact(schema.definitions))


@pytest.mark.parametrize("version", supported_versions())
def test_each_shipped_version_has_the_defaults_of_the_go_sources(version: str) -> None:
    deployment = MergeSchema.kubernetes(version).of("apps/v1", "Deployment").child["spec"]
    assert deployment is not None
    assert deployment.drops_zero == {"minReadySeconds", "paused"}, "replicas is a pointer"
    assert deployment.code_defaults == {"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10}
    strategy = deployment.child["strategy"]
    assert strategy is not None
    assert strategy.derived == {"rollingUpdate"}, "only some types have it"
    role = MergeSchema.kubernetes(version).of("rbac.authorization.k8s.io/v1", "Role")
    assert (role.required, role.written) == (frozenset(), {"rules"}), "Go prints null for none"


@pytest.mark.parametrize("version", supported_versions())
def test_a_default_holds_only_in_some_places_of_its_type(version: str) -> None:
    schema = MergeSchema.kubernetes(version)

    def at(api_version: str, kind: str, path: str) -> Type:
        found: Type | None = schema.of(api_version, kind)
        for name in path.split("."):
            assert found is not None
            found = found.child[name]
        assert found is not None
        return found

    job, cron_job = at("batch/v1", "Job", "spec"), at("batch/v1", "CronJob", "spec.jobTemplate.spec")
    assert (job.name, job.code_defaults["parallelism"]) == (cron_job.name, 1)
    assert {*job.derived} == {"backoffLimit", "completions", "podReplacementPolicy"}
    assert (cron_job.code_defaults, cron_job.derived) == ({}, frozenset())
    pod, template = at("v1", "Pod", "spec"), at("apps/v1", "Deployment", "spec.template.spec")
    assert pod.code_defaults == {**template.code_defaults, "enableServiceLinks": True}
    behavior = at("autoscaling/v2", "HorizontalPodAutoscaler", "spec.behavior")
    up, down = behavior.child["scaleUp"], behavior.child["scaleDown"]
    assert up is not None
    assert down is not None
    assert up.code_defaults == {**down.code_defaults, "stabilizationWindowSeconds": 0}


def test_shipped_versions_have_different_hashes() -> None:
    hashes = {MergeSchema.kubernetes(version).sha256 for version in supported_versions()}
    assert len(hashes) == len(supported_versions())


@pytest.mark.parametrize("text", ["1.35", "v1.35", "1.35.4", "v1.35.4-eks-1"])
def test_a_version_is_reduced_to_its_minor_version(text: str) -> None:
    assert MergeSchema.kubernetes(text) is MergeSchema.kubernetes("1.35")


def test_an_unknown_version_or_kind_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"no schema for Kubernetes 1\.12; modelyard has 1\.33, 1\.34, 1\.35, 1\.36"):
        MergeSchema.kubernetes("1.12")
    with pytest.raises(LookupError, match="no schema for Deploy of apps/v1"):
        MergeSchema.kubernetes("1.35").of("apps/v1", "Deploy")
    with pytest.raises(LookupError, match="refers to Missing, which it does not define"):
        MergeSchema.kubernetes("1.35").of("Missing")
    with pytest.raises(ValueError, match="not an OpenAPI document"):
        MergeSchema.from_openapi({"kind": "Pod"})


def test_an_object_names_its_type() -> None:
    schema = MergeSchema.kubernetes("1.35")
    assert schema.of_object({"apiVersion": "v1", "kind": "Pod"}) is schema.of("v1", "Pod")
    with pytest.raises(LookupError):
        schema.of_object({})


def test_every_shipped_definition_can_be_read() -> None:
    schema = MergeSchema.kubernetes("1.35")
    for name in schema.definitions:
        type_ = schema.of(name)
        for field in type_.child.properties:
            assert type_.child[field] is not None
            if type_.child[field].is_list:
                assert type_.child[field].item is not None


V2: dict[str, Any] = yaml.safe_load((HERE / "schemas" / "merge-item.yaml").read_text())


def as_v3(value: Any) -> Any:
    """Returns a v2 document as v3: references are in ``allOf`` and have other paths."""
    if isinstance(value, dict):
        if "$ref" in value:
            rest = {k: v for k, v in value.items() if k != "$ref"}
            target = value["$ref"].replace("#/definitions/", "#/components/schemas/")
            return {"allOf": [{"$ref": target}], **rest}
        return {name: as_v3(inner) for name, inner in value.items()}
    return value


def test_v2_and_v3_mean_the_same() -> None:
    v2 = MergeSchema.from_openapi(V2)
    v3 = MergeSchema.from_openapi({"openapi": "3.0.0", "components": {"schemas": as_v3(V2["definitions"])}})
    original = {"mergingList": [{"name": "a", "value": "x"}], "item": {"name": "b"}, "replacingItem": {"name": "c"}}
    patch = {"mergingList": [{"name": "a", "other": "y"}], "item": {"value": "z"}, "replacingItem": {"value": "w"}}
    results = [strategic(original, patch, schema.of("mergeItem")) for schema in (v2, v3)]
    assert results[0] == results[1]
    assert results[0]["replacingItem"] == {"value": "w"}


def test_a_v2_document_gets_the_defaults_that_v2_leaves_out() -> None:
    name = "io.k8s.api.core.v1.ContainerPort"
    properties = {"containerPort": {"type": "integer"}, "protocol": {"type": "string"}, "name": {"type": "string"}}
    schema = MergeSchema.from_openapi({"swagger": "2.0", "definitions": {name: {"properties": properties}}})
    assert schema.of(name).defaults == {"protocol": "TCP"}


def test_several_documents_are_one_schema() -> None:
    texts = [{"components": {"schemas": {name: {"type": "object"}}}} for name in ("a", "b")]
    schema = MergeSchema.from_openapi(*texts)
    assert schema.of("a").is_map
    assert schema.of("b").is_map
    assert schema.sha256 == MergeSchema.from_openapi(*reversed(texts)).sha256


def test_a_status_endpoint_marks_its_kind() -> None:
    gvk = {"group": "g", "version": "v1", "kind": "K"}
    document = {
        "definitions": {"K": {"type": "object", "x-kubernetes-group-version-kind": [gvk]}},
        "paths": {"/apis/g/v1/ks/{name}/status": {"patch": {"x-kubernetes-group-version-kind": gvk}, "parameters": []}},
    }
    assert MergeSchema.from_openapi(document).of("g/v1", "K").status_subresource
    assert STATUS_MARK in MergeSchema.from_openapi(document).definitions["K"]
    del document["paths"]
    assert not MergeSchema.from_openapi(document).of("g/v1", "K").status_subresource


def test_lists_without_a_list_type_use_their_patch_strategy() -> None:
    item = MergeSchema.from_openapi(V2).of("mergeItem")
    kinds = {name: (item.child[name].list_kind, item.child[name].keys) for name in item.child.properties}
    assert kinds["mergingList"] == ("map", ("name",))
    assert kinds["mergingIntList"] == ("set", ())
    assert kinds["nonMergingList"] == ("atomic", ())


def test_an_extension_next_to_a_reference_applies_only_there() -> None:
    document = {
        "definitions": {
            "Point": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "Two": {
                "type": "object",
                "properties": {
                    "a": {"$ref": "#/definitions/Point", "x-kubernetes-map-type": "atomic"},
                    "b": {"$ref": "#/definitions/Point"},
                },
            },
        }
    }
    two = MergeSchema.from_openapi(document).of("Two")
    assert (two.child["a"].separable, two.child["b"].separable) == (False, True)


def test_preserved_unknown_fields_have_no_schema_at_any_depth() -> None:
    sample = schema_of("conformance.modelyard.dev/v1").of("conformance.modelyard.dev/v1", "Sample")
    partly = sample.child["spec"].child["partly"]
    assert partly.child["known"].scalar == "string"
    assert partly.child["anything"].child["below"].scalar == "any"
    assert sample.child["spec"].child["nested"].child["anything"] is None


def test_managed_fields_follow_a_changed_schema() -> None:
    def schema(map_type: str, list_type: str) -> MergeSchema:
        properties = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "map": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": map_type,
            },
            "list": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": list_type},
        }
        return MergeSchema.from_openapi({"definitions": {"T": {"type": "object", "properties": properties}}})

    head = {"apiVersion": "v1", "kind": "T"}
    old = schema("granular", "set").of("T")
    new = schema("atomic", "atomic").of("T")
    free = {**head, "map": {"a": "1"}, "list": ["x"]}
    live = server_side(None, free, "one", old).object
    again = server_side(live, free, "one", new)
    assert again.ownership[0].fields == {"f:map": {}, "f:list": {}}
    refused = server_side(live, {**head, "map": {"a": "2"}}, "two", new)
    assert [str(conflict) for conflict in refused.conflicts] == ['conflict with "one": .map']


def test_shipped_schemas_are_small_and_read_by_kind() -> None:
    assert SHIPPED.stat().st_size < 500_000
    schema = MergeSchema.kubernetes("1.35")
    read: list[str] = []

    class Noted(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            read.append(name)
            return schema.definitions[name]

        def __iter__(self) -> Any:
            return iter(schema.definitions)

        def __len__(self) -> int:
            return len(schema.definitions)

    kind = MergeSchema(Noted(), schema.kinds).of("apps/v1", "Deployment")
    assert kind.child["spec"].child["template"].child["spec"].child["containers"].item.child["env"].item
    assert 0 < len(read) < 20
    assert len(read) == len(set(read))


@pytest.mark.parametrize("version", supported_versions())
def test_kinds_of_operators_are_shipped_with_each_version(version: str) -> None:
    shipped = MergeSchema.kubernetes(version)
    for line in OPERATORS.read_text().splitlines():
        name, gvk, _ = line.split("\t", 2)
        api_version, _, kind = gvk.rpartition("/")
        assert shipped.of(api_version, kind).name == name
    with pytest.raises(LookupError, match="no schema for Nothing of kueue"):
        shipped.of("kueue.x-k8s.io/v1beta2", "Nothing")


def test_kinds_of_kubernetes_do_not_include_operators() -> None:
    schema = MergeSchema.kubernetes("1.35")
    assert "kueue" not in " ".join(name for name in schema.kinds.values())


def test_random_writes_reach_every_kind_of_an_operator() -> None:
    lines = OPERATORS.read_text(encoding="utf-8").splitlines()
    shipped = {" ".join(line.split("\t")[1].rsplit("/", 1)) for line in lines}
    assert shipped <= {seed.type for seed in seeds()}
