"""Patches of single items of a list that the API server accepts only as a whole."""

import json
from collections.abc import Collection
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modelyard.catalog import load_library
from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey
from modelyard.names import FIELD_MANAGER, LEDGER_NOTE
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.drift import AppliedObject, TargetDrift, compare
from modelyard.plan.ownership import PATCHES_ANNOTATION
from modelyard.plan.undo.entries import entries_of
from modelyard.plan.undo.ledger import known_ledger, ours
from modelyard.plan.undo.lists import earlier_ledger, unpatched
from modelyard.plan.undo.request import ListItems, put_back, reversible_request
from modelyard.report.fields import asked_by
from tests.support.example_stacks import ROOT, Site

KEY = ObjectKey("ray.io/v1", "RayCluster", "ml-platform", "trainer")
SCHEMAS = merge.MergeSchema.kubernetes("1.35")
SCHEMA = SCHEMAS.of(*KEY[:2])
GROUPS = merge.Path.parse("spec.workerGroupSpecs")


def pods(name: str, memory: str) -> dict[str, Any]:
    limits = {"cpu": "1", "memory": memory}
    return {"spec": {"containers": [{"name": name, "image": "ray:2", "resources": {"limits": limits}}]}}


def group(name: str) -> dict[str, Any]:
    size = {"replicas": 1, "minReplicas": 0, "maxReplicas": 2, "numOfHosts": 1}
    return {"groupName": name, **size, "rayStartParams": {}, "template": pods("worker", "8Gi")}


def cluster(**spec: Any) -> dict[str, Any]:
    """Returns a RayCluster with two groups as Helm creates it."""
    body = {
        "apiVersion": KEY.api_version,
        "kind": KEY.kind,
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "headGroupSpec": {"rayStartParams": {}, "template": pods("head", "4Gi")},
            "workerGroupSpecs": [group("cpu"), group("gpu")],
            **spec,
        },
    }
    return merge.server_side(None, body, "helm", SCHEMA).object


class Patched:
    """A stack with patches of the RayCluster."""

    def __init__(self, dev: Site, folder: Path) -> None:
        copytree(ROOT / "patches", folder / "patches")
        self.folder = folder
        self.site = dev
        self.live = cluster()

    def add(self, name: str, spec: str, items: str = "{spec.workerGroupSpecs: groupName}", meta: str = "") -> None:
        place = self.folder / "patches" / name / "v1"
        place.mkdir(parents=True)
        (place / "meta.yaml").write_text(f"description: mine\nitems: {items}\n{meta}")
        (place / "schema.json").write_text("{}")
        head = f"# target: {KEY.name}\napiVersion: {KEY.api_version}\nkind: {KEY.kind}\n"
        (place / "patch.yaml.j2").write_text(f"{head}spec: {spec}\n")

    def plan(self) -> Plan:
        objects = Confidential({**self.site.state.objects.reveal(), KEY: self.live})
        state = self.site.state._replace(objects=objects)
        return self.site._replace(state=state, library=load_library(self.folder)).plan()

    def drop(self, name: str) -> None:
        rmtree(self.folder / "patches" / name)

    def apply(self) -> TargetPlan:
        target = self.target()
        self.live = target.after.reveal()
        return target

    def edit(self, manager: str, **fields: Any) -> None:
        """Another manager changes fields of the group gpu, and becomes the owner of the list."""
        groups = [one | fields if one["groupName"] == "gpu" else one for one in self.live["spec"]["workerGroupSpecs"]]
        names = {name: self.live[name] for name in ("apiVersion", "kind")}
        body = {**names, "metadata": {"name": KEY.name}, "spec": {"workerGroupSpecs": groups}}
        self.live = merge.server_side(self.live, body, manager, SCHEMA, force=True).object

    def gpu(self) -> dict[str, Any]:
        return dict(next(one for one in self.live["spec"]["workerGroupSpecs"] if one["groupName"] == "gpu"))

    def target(self) -> TargetPlan:
        return next(one for one in self.plan().targets if one.key == KEY)


@pytest.fixture
def patched(dev: Site, tmp_path: Path) -> Patched:
    return Patched(dev, tmp_path)


MEMORY = "template: {spec: {containers: [{name: worker, resources: {limits: {memory: 32Gi}}}]}}"


def findings_of(plan: Plan, code: str) -> list[Any]:
    return [one for one in plan.findings if one.code == code and one.target in (KEY.name, "")]


def test_the_whole_list_is_sent_and_only_the_item_changes(patched: Patched) -> None:
    patched.add("mine", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    target = patched.target()
    wanted = group("gpu")
    wanted["template"] = pods("worker", "32Gi")
    # The API server's defaults of the other items are sent too.
    sent = target.applied.reveal()["spec"]["workerGroupSpecs"]
    assert [one["groupName"] for one in sent] == ["cpu", "gpu"]
    assert sent[0] == patched.live["spec"]["workerGroupSpecs"][0]
    assert sent[1]["template"]["spec"]["containers"][0]["image"] == "ray:2"
    assert sent == target.after.reveal()["spec"]["workerGroupSpecs"]
    (change,) = (one for one in target.changes if one.patch is not None)
    assert str(change.path) == (
        "spec.workerGroupSpecs[groupName=gpu].template.spec.containers[name=worker].resources.limits.memory"
    )
    assert (change.before, change.after, change.patch) == ("8Gi", "32Gi", "mine@v1")


def test_a_note_states_that_the_whole_list_is_sent(patched: Patched) -> None:
    patched.add("mine", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    plan = patched.plan()
    (note,) = findings_of(plan, "OWN018")
    assert note.summary == "spec.workerGroupSpecs of trainer is sent as a whole: 1 of 2 items unchanged"
    assert note.severity is Severity.ADVICE
    (taken,) = findings_of(plan, "OWN001")
    assert taken.field == "spec.workerGroupSpecs"
    assert not findings_of(plan, "OWN007")
    owners = merge.owners(patched.target().after.reveal(), GROUPS, SCHEMA)
    assert {owner.manager for owner in owners} == {"modelyard"}


def test_a_second_plan_changes_nothing(patched: Patched) -> None:
    patched.add("mine", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    patched.live = patched.target().after.reveal()
    plan = patched.plan()
    assert next(one for one in plan.targets if one.key == KEY).action == "none"
    assert not findings_of(plan, "OWN018")
    assert not findings_of(plan, "RES110")


def test_patches_of_different_items_and_containers_are_merged(patched: Patched) -> None:
    patched.add("a", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    env = "template: {spec: {containers: [{name: worker, env: [{name: A, value: b}]}]}}"
    patched.add("b", f"{{workerGroupSpecs: [{{groupName: gpu, {env}}}, {{groupName: cpu, maxReplicas: 5}}]}}")
    cpu, gpu = patched.target().after.reveal()["spec"]["workerGroupSpecs"]
    (container,) = gpu["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "32Gi"
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert (cpu["maxReplicas"], cpu["template"]) == (5, pods("worker", "8Gi"))


def test_two_values_for_one_field_of_an_item_are_a_conflict(patched: Patched) -> None:
    patched.add("a", "{workerGroupSpecs: [{groupName: gpu, maxReplicas: 3}]}")
    patched.add("b", "{workerGroupSpecs: [{groupName: gpu, maxReplicas: 4}]}")
    (finding,) = findings_of(patched.plan(), "PAT010")
    assert finding.field == "spec.workerGroupSpecs[groupName=gpu].maxReplicas"


def test_a_misspelt_item_is_an_error_and_a_complete_one_is_new(patched: Patched) -> None:
    patched.add("mine", "{workerGroupSpecs: [{groupName: gpus, maxReplicas: 3}]}")
    (finding,) = findings_of(patched.plan(), "PAT014")
    assert finding.summary == "trainer has no spec.workerGroupSpecs[groupName=gpus]"
    assert "it has cpu, gpu" in finding.remedy
    (patched.folder / "patches/mine/v1/patch.yaml.j2").unlink()
    template = "{spec: {containers: [{name: worker, image: 'ray:2'}]}}"
    spec = f"{{groupName: more, minReplicas: 0, maxReplicas: 1, template: {template}}}"
    head = f"# target: {KEY.name}\napiVersion: {KEY.api_version}\nkind: {KEY.kind}\n"
    (patched.folder / "patches/mine/v1/patch.yaml.j2").write_text(f"{head}spec: {{workerGroupSpecs: [{spec}]}}\n")
    groups = patched.target().after.reveal()["spec"]["workerGroupSpecs"]
    assert [one["groupName"] for one in groups] == ["cpu", "gpu", "more"]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ("{spec.workerGroups: groupName}", "is not a field of this kind"),
        ("{spec.headGroupSpec: groupName}", "is not a list that is sent as a whole"),
        ("{spec.workerGroupSpecs: name}", "have no field name"),
    ],
)
def test_a_wrong_path_in_items_is_an_error(patched: Patched, items: str, words: str) -> None:
    patched.add("mine", "{rayVersion: 2.9.0}", items)
    (finding,) = findings_of(patched.plan(), "PAT008")
    assert words in finding.summary
    assert finding.file == "patches/mine/v1/meta.yaml"


def test_pods_of_a_ray_cluster_keep_their_template(patched: Patched) -> None:
    patched.add("mine", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    (finding,) = findings_of(patched.plan(), "RES110")
    assert "KubeRay" in finding.detail


def test_a_change_of_maxreplicas_does_not_change_the_template(patched: Patched) -> None:
    patched.add("mine", "{workerGroupSpecs: [{groupName: gpu, maxReplicas: 3}]}")
    assert not findings_of(patched.plan(), "RES110")


LABELS = "template: {metadata: {labels: {a: b}}}"
"""A map that the groups do not have."""


@pytest.fixture
def applied(patched: Patched) -> Patched:
    """Returns the stack with two applied patches of one group."""
    patched.add("size", f"{{workerGroupSpecs: [{{groupName: gpu, {MEMORY}}}]}}")
    patched.add("label", f"{{workerGroupSpecs: [{{groupName: gpu, maxReplicas: 3, {LABELS}}}]}}")
    patched.apply()
    return patched


@pytest.mark.parametrize("ledger", ["new", "of an earlier version"])
def test_dropping_one_of_two_patches_of_a_list_restores_its_fields(applied: Patched, ledger: str) -> None:
    if ledger != "new":
        notes = applied.live["metadata"]["annotations"]
        notes[LEDGER_NOTE] = json.dumps({k: v for k, v in json.loads(notes[LEDGER_NOTE]).items() if k != "lists"})
    applied.drop("label")
    target = applied.apply()
    assert {asked_by(one) for one in target.changes if one.path[:2] == GROUPS} == {"restored"}
    assert applied.gpu() == group("gpu") | {"template": pods("worker", "32Gi")}
    assert applied.target().action == "none"
    applied.drop("size")
    (change,) = (one for one in applied.target().changes if one.path[:2] == GROUPS)
    assert (change.path[-1], change.before, change.after) == ("memory", "32Gi", "8Gi")
    assert [owner.manager for owner in change.back] == ["helm"]
    (finding,) = findings_of(applied.plan(), "RES110")
    assert applied.target().action == "restore"
    assert "--selector ray.io/cluster=trainer,ray.io/group=gpu" in finding.remedy


def test_an_undo_keeps_changes_of_other_managers_in_a_list(applied: Patched) -> None:
    applied.edit("kubectl", minReplicas=1)
    assert applied.target().action == "none"
    # A later apply owns the list again and still does not own the changes of another manager in it.
    applied.drop("label")
    applied.apply()
    assert applied.gpu() == group("gpu") | {"minReplicas": 1, "template": pods("worker", "32Gi")}
    body, back = put_back(applied.live, SCHEMA)
    groups = body["spec"]["workerGroupSpecs"]
    assert groups == [group("cpu"), group("gpu") | {"minReplicas": 1}]
    assert [owner.manager for owner in back[GROUPS]] == ["kubectl"]


def test_a_retaken_field_of_a_list_keeps_its_earliest_value(
    applied: Patched,
) -> None:
    applied.edit("kubectl", template=pods("worker", "9Gi"))
    applied.apply()
    assert applied.gpu()["template"]["spec"] == pods("worker", "32Gi")["spec"]
    applied.drop("size")
    applied.apply()
    assert applied.gpu()["template"]["spec"] == pods("worker", "8Gi")["spec"]


def test_a_field_that_already_had_the_value_belongs_to_the_patch(patched: Patched) -> None:
    patched.add("size", "{workerGroupSpecs: [{groupName: gpu, replicas: 1, maxReplicas: 3}]}")
    target = patched.apply()
    patched.edit("kubectl", replicas=2, template={**pods("worker", "8Gi"), "metadata": {"annotations": {"a": "b"}}})
    (drift,) = compare([AppliedObject(KEY, target.applied, True)], Confidential({KEY: patched.live}), SCHEMAS)
    assert [(one.path[-1], one.applied, one.live) for one in drift.fields] == [("replicas", 1, 2)]
    patched.apply()
    assert patched.gpu()["replicas"] == 1
    body, _ = put_back(patched.live, SCHEMA)
    gpu = body["spec"]["workerGroupSpecs"][1]
    assert (gpu["replicas"], gpu["maxReplicas"]) == (1, 2)
    assert gpu["template"]["metadata"] == {"annotations": {"a": "b"}}


def test_an_undo_restores_fields_of_a_list_that_another_manager_owns(applied: Patched) -> None:
    applied.edit("kubectl", minReplicas=1, maxReplicas=7)
    entries = {str(one.path[-1]): one.state for one in entries_of(applied.live, known_ledger(applied.live))}
    assert {name: entries[name] for name in ("memory", "maxReplicas", "a")} == {
        "memory": "held",
        "maxReplicas": "changed",
        "a": "held",
    }
    body, _ = put_back(applied.live, SCHEMA)
    assert body["spec"]["workerGroupSpecs"] == [group("cpu"), group("gpu") | {"minReplicas": 1, "maxReplicas": 7}]
    assert {owner.manager for owner in merge.owners(body, GROUPS, SCHEMA)} == {"kubectl"}
    assert not any(entry["manager"] == "modelyard" for entry in body["metadata"]["managedFields"])


def test_only_fields_that_patches_set_in_a_list_drift(applied: Patched) -> None:
    request = applied.target().applied

    def drift() -> TargetDrift:
        (found,) = compare([AppliedObject(KEY, request, True)], Confidential({KEY: applied.live}), SCHEMAS)
        return found

    applied.edit("kubectl", minReplicas=1)
    assert drift().state == "same"
    applied.edit("kubectl", template=pods("worker", "9Gi"))
    labels, memory = drift().fields
    assert (memory.path[-1], memory.applied, memory.live) == ("memory", "32Gi", "9Gi")
    assert labels.path[-1] == "a"
    assert [owner.manager for owner in memory.owners] == ["kubectl"]


def test_an_item_whose_key_has_a_default_is_undone_too(patched: Patched) -> None:
    port = "template: {spec: {containers: [{name: worker, ports: [{containerPort: 80, name: web}]}]}}"
    patched.add("mine", f"{{workerGroupSpecs: [{{groupName: gpu, {port}}}]}}")
    before = patched.live["spec"]
    patched.apply()
    (container,) = patched.gpu()["template"]["spec"]["containers"]
    assert container["ports"] == [{"containerPort": 80, "name": "web", "protocol": "TCP"}]
    patched.edit("kubectl", maxReplicas=7)
    body, _ = put_back(patched.live, SCHEMA)
    assert body["spec"]["workerGroupSpecs"] == [group("cpu"), group("gpu") | {"maxReplicas": 7}]
    assert before["workerGroupSpecs"] == [group("cpu"), group("gpu")]


def test_an_undo_removes_a_group_that_the_patch_added(patched: Patched) -> None:
    template = "{spec: {containers: [{name: worker, image: 'ray:2'}]}}"
    spec = f"{{groupName: more, minReplicas: 0, maxReplicas: 1, template: {template}}}"
    patched.add("mine", f"{{workerGroupSpecs: [{spec}]}}")
    before = patched.live["spec"]
    patched.apply()
    assert len(patched.live["spec"]["workerGroupSpecs"]) == 3
    assert put_back(patched.live, SCHEMA)[0]["spec"] == before


KEYED = merge.keyed(SCHEMA, GROUPS, "groupName")
NAMES: dict[str, Any] = {"apiVersion": KEY.api_version, "kind": KEY.kind}
FIELDS = ("minReplicas", "maxReplicas", "replicas", "idleTimeoutSeconds")
"""Fields of a group that are numbers; at first there is no timeout."""
VALUES = st.dictionaries(st.sampled_from(FIELDS), st.integers(0, 2), min_size=1)


def patched_with(live: dict[str, Any], values: dict[str, int]) -> dict[str, Any]:
    """Returns the object after an apply of patches that set these fields of the group gpu."""
    note = {PATCHES_ANNOTATION: json.dumps(values, sort_keys=True)}
    names = {**NAMES, "metadata": {"name": KEY.name, "annotations": note}}
    asked = {**names, "spec": {"workerGroupSpecs": [{"groupName": "gpu", **values}]}}
    base = unpatched(live, earlier_ledger(live, known_ledger(live), [GROUPS], KEYED)) if ours(live) else live
    groups = {"workerGroupSpecs": base["spec"]["workerGroupSpecs"]}
    request = {**names, "spec": merge.overlaid({**names, "spec": groups}, asked, KEYED)["spec"]}
    kept = reversible_request(live, request, SCHEMA, items=ListItems([GROUPS], KEYED, asked))
    return merge.server_side(live, kept.request, FIELD_MANAGER, SCHEMA, force=True).object


def edited(live: dict[str, Any], values: dict[str, int]) -> dict[str, Any]:
    """Returns the object after another manager has set these fields of the group gpu."""
    groups = [one | values if one["groupName"] == "gpu" else one for one in live["spec"]["workerGroupSpecs"]]
    body = {**NAMES, "metadata": {"name": KEY.name}, "spec": {"workerGroupSpecs": groups}}
    return merge.server_side(live, body, "kubectl", SCHEMA, force=True).object


def sizes(body: dict[str, Any]) -> dict[str, int]:
    (found,) = (one for one in body["spec"]["workerGroupSpecs"] if one["groupName"] == "gpu")
    return {name: value for name, value in found.items() if name in FIELDS}


@example(steps=[(True, {"minReplicas": 1}), (False, {"minReplicas": 2}), (True, {"minReplicas": 1})])
@given(steps=st.lists(st.tuples(st.booleans(), VALUES), max_size=6))
def test_an_undo_keeps_fields_that_other_managers_have_set(steps: list[tuple[bool, dict[str, int]]]) -> None:
    """An undo restores the value that a field had before the patches, unless another manager changed it after the last
    apply; a field that the patches do not set (any more) belongs to the other manager.
    """
    live = cluster()
    own, given_by_patches = sizes(live), dict[str, int]()

    def without_patches(now: dict[str, int], asked: Collection[str]) -> dict[str, int]:
        """Returns the fields without the patches, but with the fields in ``asked``."""
        mine = {name for name, value in given_by_patches.items() if now.get(name) == value or name in asked}
        return {name: value for name, value in now.items() if name not in mine} | {
            name: own[name] for name in mine if name in own
        }

    for by_patches, values in steps:
        if by_patches:
            own, given_by_patches = without_patches(sizes(live), values), values
            live = patched_with(live, values)
            assert sizes(live) == own | values
        else:
            live = edited(live, values)
    after, _ = put_back(live, SCHEMA)
    assert sizes(after) == without_patches(sizes(live), ())
    assert after["spec"]["workerGroupSpecs"][0] == group("cpu")
