"""The patches of a target are composed into one request."""

from collections.abc import Iterator
from typing import Any

import pytest

from modelyard.catalog import PatchDocument, PatchVersion
from modelyard.catalog.built_in import BUILT_IN
from modelyard.catalog.library import Meta, Phase
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey
from modelyard.plan.compose import compose
from modelyard.plan.conflicts import conflict_findings

KEY = ObjectKey("apps/v1", "Deployment", "ml-platform", "d")
DEPLOYMENT = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")


def version(name: str, folder: str = "patches", **meta: Any) -> PatchVersion:
    files = {"patch.yaml.j2": b"", "schema.json": b"{}", "meta.yaml": b""}
    return PatchVersion(name, "v1", f"{folder}/{name}/v1", files, Meta(**meta))


def part(name: str, spec: dict[str, Any], phase: Phase = "normal", **meta: Any) -> tuple[PatchVersion, PatchDocument]:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return version(name, **meta), PatchDocument("d", phase, Confidential(""), Confidential(body))


def pod(**container: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "worker", **container}]}}}


def test_containers_are_merged_by_name_and_each_field_keeps_its_patch() -> None:
    composed, findings = compose(
        [
            part("a", pod(env=[{"name": "X", "value": "1"}])),
            part("b", {"replicas": 2, **pod(env=[{"name": "Y", "value": "2"}])}),
        ],
        DEPLOYMENT,
        "d",
    )
    assert not findings
    (container,) = composed.body["spec"]["template"]["spec"]["containers"]
    assert {entry["name"]: entry["value"] for entry in container["env"]} == {"X": "1", "Y": "2"}
    origins = {str(path): patch for path, patch in composed.origins.items()}
    assert origins["spec.replicas"] == "b@v1"
    assert origins["spec.template.spec.containers[name=worker].env[name=X].value"] == "a@v1"
    assert composed.patches == ("a@v1", "b@v1")


def test_equal_values_are_no_conflict() -> None:
    composed, findings = compose([part("a", {"replicas": 2}), part("b", {"replicas": 2})], DEPLOYMENT, "d")
    assert not findings
    assert composed.body["spec"]["replicas"] == 2


def test_a_conflict_names_both_patches_and_the_path(dev: Any) -> None:
    composed, findings = compose([part("a", {"replicas": 1}), part("b", {"replicas": 2})], DEPLOYMENT, "d")
    (finding,) = conflict_findings(composed.conflicts, KEY, (), dev.stack)
    assert not findings
    assert (finding.code, finding.field, finding.target) == ("PAT010", "spec.replicas", "d")
    assert finding.summary == "a@v1 and b@v1 set spec.replicas differently: 1 and 2"
    way = "add `overrides: [a]` to the meta.yaml of b, in a new version if it is released"
    assert finding.remedy == f"drop one of the patches, or {way}"


@pytest.mark.parametrize(
    ("first", "second", "file", "more"),
    [
        ("patches", BUILT_IN, "patches/a/v1/patch.yaml.j2", "`overrides: [b]` to the meta.yaml of a,"),
        (BUILT_IN, "patches", "patches/b/v1/patch.yaml.j2", "`overrides: [a]` to the meta.yaml of b,"),
        (BUILT_IN, BUILT_IN, "stacks/Pulumi.dev.yaml", "{name: b, enabled: false}"),
    ],
)
def test_a_conflict_is_reported_at_what_the_user_can_change(
    dev: Any, first: str, second: str, file: str, more: str
) -> None:
    (_, earlier), (_, later) = part("a", {"replicas": 1}), part("b", {"replicas": 2})
    composed, _ = compose([(version("a", first), earlier), (version("b", second), later)], DEPLOYMENT, "d")
    (finding,) = conflict_findings(composed.conflicts, KEY, (), dev.stack)
    assert finding.file == file
    assert more in finding.remedy


def test_a_patch_overrides_the_patch_that_it_names() -> None:
    composed, findings = compose(
        [part("a", {"replicas": 1}), part("b", {"replicas": 2}, overrides=("a",))], DEPLOYMENT, "d"
    )
    assert not findings
    assert composed.body["spec"]["replicas"] == 2
    assert set(composed.origins.values()) >= {"b@v1"}


@pytest.mark.parametrize(
    ("first", "second", "words"), [(2, None, "2 and left to"), (None, 2, "left to its owner and 2")]
)
def test_setting_a_field_that_another_patch_leaves_to_its_owner_conflicts(first: Any, second: Any, words: str) -> None:
    composed, _ = compose([part("a", {"replicas": first}), part("b", {"replicas": second})], DEPLOYMENT, "d")
    (conflict,) = composed.conflicts
    assert words in " and ".join(conflict.values)


def test_an_overriding_patch_may_leave_a_field_to_its_owner() -> None:
    parts = [part("a", {"replicas": 2, "paused": True}), part("b", {"replicas": None}, overrides=("a",))]
    composed, findings = compose(parts, DEPLOYMENT, "d")
    assert not findings
    assert composed.body["spec"] == {"paused": True}
    assert {str(path) for path in composed.unowned} == {"spec.replicas"}


def test_a_null_field_is_left_to_its_owner_and_not_sent() -> None:
    composed, findings = compose([part("a", {"replicas": None})], DEPLOYMENT, "d")
    assert not findings
    assert "spec" not in composed.body
    assert [str(path) for path in composed.unowned] == ["spec.replicas"]


@pytest.mark.parametrize(
    "spec",
    [
        {"template": {"spec": {"containers": [{"name": "worker", "$patch": "delete"}]}}},
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
    ],
)
def test_a_merge_directive_is_an_error(spec: dict[str, Any]) -> None:
    composed, (finding,) = compose([part("a", spec)], DEPLOYMENT, "d")
    assert finding.code == "PAT015"
    assert not composed.body


def test_an_unknown_field_is_an_error() -> None:
    _, (finding,) = compose([part("a", {"replica": 2})], DEPLOYMENT, "d")
    assert (finding.code, finding.field) == ("PAT008", "spec.replica")
    assert "replicas" in finding.summary


def test_a_target_gets_the_earliest_phase_of_its_patches() -> None:
    composed, _ = compose([part("a", {"minReadySeconds": 1}), part("b", {"replicas": 2}, "down")], DEPLOYMENT, "d")
    assert composed.phase == "down"


SCHEMA = merge.MergeSchema.kubernetes("1.35")


def merging(kind: merge.Type, seen: frozenset[int] = frozenset()) -> Iterator[tuple[tuple[Any, ...], merge.Type]]:
    """Yields the lists of a kind whose items are matched by a key, each with its path of names and list items."""
    if id(kind) in seen:
        return
    if kind.is_list and not kind.unchecked:
        if kind.strategy == "merge" and kind.merge_key:
            yield (), kind
        way: dict[str, Any] = dict.fromkeys((*kind.keys, *filter(None, (kind.merge_key,))), "a")
        for path, found in merging(kind.item, seen | {id(kind)}):
            yield (way, *path), found
    for name in kind.child.properties if kind.is_map else ():
        child = kind.child[name]
        assert child is not None
        for path, found in merging(child, seen | {id(kind)}):
            yield (name, *path), found


def around(path: tuple[Any, ...], value: Any) -> Any:
    """Returns a value inside the maps and lists of a path."""
    for step in reversed(path):
        value = [{**step, **value}] if isinstance(step, dict) else {step: value}
    return value


LISTS = {
    id(found): (version, kind, path, found)
    for version, kind in SCHEMA.kinds
    for path, found in merging(SCHEMA.of(version, kind))
}
"""Each list once, however many kinds have it."""


@pytest.mark.parametrize(
    ("version", "kind", "path", "found"),
    LISTS.values(),
    ids=[f"{kind}-{'.'.join(step for step in path if isinstance(step, str))}" for _, kind, path, _ in LISTS.values()],
)
def test_list_items_with_a_missing_or_wrong_key_do_not_crash(
    version: str, kind: str, path: tuple[Any, ...], found: merge.Type
) -> None:
    """The key by which items are matched is missing, null, empty, or of another type."""
    schema, key = SCHEMA.of(version, kind), found.merge_key
    items = ({}, {key: None}, {key: ""}, {key: {}}, {key: []}, {key: ["a"]}, {key: 5}, {key: True}, None, [], "a")
    for wrong in items:
        parts = [
            (patch, document._replace(body=Confidential({"apiVersion": version, "kind": kind, **around(path, [item])})))
            for item in ({key: "a"}, wrong)
            for patch, document in (part("a", {}), part("b", {}))
        ]
        _, findings = compose(parts, schema, "d")
        if not wrong or wrong == {key: None}:
            assert [finding.code for finding in findings if finding.code == "PAT008"], (wrong, findings)
