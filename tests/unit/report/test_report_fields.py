"""Short names of changed fields, laid out in rows."""

import re
from typing import Any

import pytest

from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.report.fields import field_names, rows_of, rows_text
from modelyard.report.style import Style

POD = "spec.template.spec.containers[name=worker]"
NODES = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def change(path: str, before: Any, after: Any) -> FieldChange:
    return FieldChange(merge.Path.parse(path), before, after, "p@v1", (), False)


def text(*changes: FieldChange, columns: int = 100, one_container: bool = True) -> list[str]:
    return rows_text(rows_of(changes, one_container=one_container), 2, Style(False, columns))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("spec.replicas", "replicas  1 → 2"),
        (f"{POD}.image", "image  1 → 2"),
        (f"{POD}.env[name=NUM].value", "env  NUM 1 → 2"),
        (f"{POD}.env[name=NUM].valueFrom.fieldRef", "env  NUM.valueFrom.fieldRef 1 → 2"),
        (f"{POD}.resources.limits.memory", "resources  memory limit 1 → 2"),
        (f'{POD}.resources.requests["nvidia.com/gpu"]', "resources  nvidia.com/gpu request 1 → 2"),
        (f"{POD}.resources.claims", "resources  claims 1 → 2"),
        (f"{POD}.volumeMounts[mountPath=/data].name", "volumeMounts /data.name  1 → 2"),
        ('metadata.annotations["a/b"]', "annotations  a/b 1 → 2"),
        ('spec.template.metadata.annotations["a/b"]', "pod annotations  a/b 1 → 2"),
        ("spec.template.spec.terminationGracePeriodSeconds", "terminationGracePeriodSeconds  1 → 2"),
        ("spec.template.spec.volumes[name=v].emptyDir.sizeLimit", "volumes v.emptyDir.sizeLimit  1 → 2"),
        ("spec.strategy.rollingUpdate.maxSurge", "rollingUpdate.maxSurge  1 → 2"),
        ("spec.template.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
         "podAffinity preferred  1 → 2"),
        ("data", "data  1 → 2"),
    ],
)  # fmt: skip
def test_names_leave_out_what_every_deployment_shares(path: str, line: str) -> None:
    assert text(change(path, 1, 2)) == [f"  {line}"]


def test_containers_are_named_if_there_are_several() -> None:
    init = change("spec.template.spec.initContainers[name=a].image", "a", "b")
    both = [change(f"{POD}.image", "a", "b"), init]
    assert text(*both, one_container=False) == ["  worker: image  a → b", "  init a: image  a → b"]
    assert text(*both) == ["  image          a → b", "  init a: image  a → b"]


def test_related_fields_are_one_row_in_the_order_of_the_first() -> None:
    changes = [
        change("spec.strategy.rollingUpdate.maxSurge", "25%", 0),
        change("spec.replicas", 1, 2),
        change("spec.strategy.rollingUpdate.maxUnavailable", "25%", 1),
    ]
    assert text(*changes) == ["  rollingUpdate  maxSurge 25% → 0, maxUnavailable 25% → 1", "  replicas       1 → 2"]


def test_a_request_that_equals_its_limit_is_shown_once() -> None:
    limit, request = (change(f"{POD}.resources.{kind}.memory", "8Gi", "16Gi") for kind in ("limits", "requests"))
    assert text(limit, request) == ["  resources  memory 8Gi → 16Gi"]
    assert text(limit, request._replace(before="4Gi")) == [
        "  resources  memory limit 8Gi → 16Gi, memory request 4Gi → 16Gi"
    ]
    assert text(limit._replace(before=merge.ABSENT), request._replace(before=merge.ABSENT)) == [
        "  resources  memory + 16Gi"
    ]


def test_the_key_of_a_new_list_item_is_not_a_change_of_its_own() -> None:
    new = [
        change(f"{POD}.env[name=X].name", merge.ABSENT, "X"),
        change(f"{POD}.env[name=X].value", merge.ABSENT, "1"),
    ]
    assert text(*new) == ["  env  X + 1"]


def test_added_and_removed_values_have_a_sign() -> None:
    assert text(
        change("spec.a", merge.ABSENT, 1), change("spec.b", 2, merge.ABSENT), change("spec.c", None, False)
    ) == [
        "  a  + 1",
        "  b  - 2",
        "  c  null → false",
    ]


def test_a_row_breaks_between_its_changes() -> None:
    changes = [change(f"{POD}.env[name=NAME_{number}].value", "old", "new") for number in range(5)]
    lines = text(*changes, columns=60)
    assert lines == [
        "  env  NAME_0 old → new, NAME_1 old → new, NAME_2 old → new,",
        "       NAME_3 old → new, NAME_4 old → new",
    ]


def test_a_change_too_long_for_its_row_stands_below_it() -> None:
    changes = [change(f"{POD}.env[name=A].value", "1", "2"), change(f"{POD}.env[name=B].value", merge.ABSENT, "w" * 80)]
    beside, below = text(*changes, columns=60)
    assert beside == "  env  A 1 → 2,"
    assert re.fullmatch(r"    B \+ w+…w+", below)


def test_a_cut_never_hides_what_is_different() -> None:
    before, after = ("x" * 200 + letter + "y" * 200 for letter in "ab")
    old, new = text(change("spec.query", before, after), columns=60)[-2:]
    assert old.startswith("    - …xx")
    assert ("a" in old, "b" in new) == (True, True)
    assert old.replace("a", "b")[6:] == new[6:]
    assert max(len(old), len(new)) <= 60


def test_rows_use_the_width_and_never_exceed_it() -> None:
    changes = [
        change(NODES, merge.ABSENT, {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "nvidia.com/gpu.product", "operator": "In", "values": [f"NVIDIA-A{n}" for n in range(20)]}]}]}),
        change(f"{POD}.args", ["a" * 30] * 9, ["b" * 30] * 9),
    ]  # fmt: skip
    for columns in range(60, 101):
        assert max(map(len, text(*changes, columns=columns))) <= columns
    assert "    + nvidia.com/gpu.product in NVIDIA-A0, … 19 more" in text(*changes, columns=60)


@pytest.mark.parametrize("cluster", ["spec", "spec.rayClusterConfig"])
def test_fields_of_a_ray_cluster_name_its_head_or_group(cluster: str) -> None:
    pod = "template.spec.containers[name=worker].resources.limits.cpu"
    changes = [
        change(f"{cluster}.headGroupSpec.{pod}", "1", "2"),
        change(f"{cluster}.workerGroupSpecs[groupName=a10].replicas", 1, 2),
    ]
    assert text(*changes) == ["  head: resources  cpu limit 1 → 2", "  group a10: replicas  1 → 2"]


def test_short_names_of_fields_come_with_their_number() -> None:
    paths = [
        "spec.replicas",
        f"{POD}.resources.limits.cpu",
        f"{POD}.resources.requests.cpu",
        f"{POD}.resources.limits.memory",
        "spec.strategy.rollingUpdate.maxSurge",
    ]
    assert field_names(map(merge.Path.parse, paths)) == [
        ("replicas", 1),
        ("resources cpu, memory limit", 3),
        ("rollingUpdate.maxSurge", 1),
    ]
