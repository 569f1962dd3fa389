"""The ledger keeps earlier values and owners of fields, and an undo restores them, offline by the server's rules."""

import json
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.merge import Path, fieldset
from modelyard.kube.state import StateObject, essence
from modelyard.plan.store import plan_from_json, plan_to_json
from modelyard.plan.undo.entries import entries_of, noted_in
from modelyard.plan.undo.ledger import (
    LedgerError,
    ObjectLedger,
    filled,
    has,
    in_items,
    leaves,
    ledger_of,
    ledger_text,
    ours,
    read_ledger,
    write_ledger,
)
from modelyard.plan.undo.request import put_back
from modelyard.plan.undo.restore import at, finished, foreign, partial, undo, with_earlier_owners
from tests.conformance.steps import update
from tests.support.example_stacks import overwritten

HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
DEPLOYMENT = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
REPLICAS = Path(("spec", "replicas"))


def owners(body: Mapping[str, Any]) -> list[Any]:
    found = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return sorted(found, key=lambda each: json.dumps(each, sort_keys=True))


def named(plan: Any, name: str) -> Any:
    return next(target for target in plan.targets if target.name == name)


def body_of(site: Any, name: str) -> dict[str, Any]:
    return next(body for key, body in site.state.objects.reveal().items() if key.name == name)


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_an_undo_of_the_examples_restores_values_and_owners(sites: Any, name: str) -> None:
    for target in sites[name].plan().targets:
        back, _ = put_back(target.after.reveal(), DEPLOYMENT)
        assert essence(back) == essence(target.before.reveal())
        assert owners(back) == owners(target.before.reveal())


def test_a_ledger_has_the_earlier_value_and_owners_of_each_field(dev: Any) -> None:
    target = named(dev.plan(), SERVICE)
    ledger = ledger_of(target.after.reveal())
    assert (
        dict(ledger.values)[REPLICAS]
        == target.before.reveal()["spec"]["replicas"]
        != target.after.reveal()["spec"]["replicas"]
    )
    assert [owner.manager for owner in ledger.owners_of(REPLICAS)] == ["kubectl-client-side-apply"]
    new = [change.path for change in target.changes if change.before is merge.ABSENT]
    ours_alone = [path for path in new if not str(path).startswith("metadata.annotations")]
    assert ours_alone
    assert all(has(ledger.absent, path) for path in ours_alone)


def test_a_ledger_survives_writing_and_reading(dev: Any) -> None:
    ledger = ledger_of(named(dev.plan(), SERVICE).after.reveal())
    assert read_ledger(write_ledger(ledger)) == ledger
    assert ledger.values
    assert ledger.owners


def test_the_text_of_a_ledger_does_not_depend_on_the_order() -> None:
    one, other = Path.parse("spec.paused"), Path.parse("spec.minReadySeconds")
    texts = {write_ledger(ObjectLedger(absent=fieldset.of(*paths))) for paths in ((one, other), (other, one))}
    assert len(texts) == 1


def test_an_apply_of_a_field_in_a_list_item_owns_the_item_and_its_key() -> None:
    image = Path.parse("spec.containers[name=a].image")
    assert {str(path) for path in fieldset.paths(in_items([image]))} == {
        "spec.containers[name=a]",
        "spec.containers[name=a].image",
        "spec.containers[name=a].name",
    }
    assert list(leaves(in_items([image]))) == [image]
    assert list(leaves(fieldset.of(Path(("immutable",))))) == [Path(("immutable",))]


def test_a_partial_request_keeps_the_order_of_list_items() -> None:
    live = {"containers": [{"name": "c", "image": "x"}, {"name": "b", "image": "y"}]}
    wanted = {Path.parse(f"containers[name={name}].image"): f"{name}:1" for name in ("a", "b", "c")}
    assert partial(wanted, live) == {
        "containers": [{"name": name, "image": f"{name}:1"} for name in ("c", "b", "a")],
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"spec": {}}, "spec.containers[name=a].image"),
        ({"spec": {"containers": {}}}, "spec.containers[name=a].image"),
        ({"spec": {"containers": [{"name": "b"}]}}, "spec.containers[name=a].image"),
        ({"metadata": {"finalizers": ["x"]}}, "metadata.finalizers[=x]"),
    ],
)
def test_a_value_that_a_path_does_not_reach_is_absent(body: dict[str, Any], path: str) -> None:
    assert at(body, Path.parse(path)) is merge.ABSENT


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"formatVersion":1}',
        '{"formatVersion":2,"held":[],"items":{},"absent":{},"owners":[],"returning":{}}',
        '{"formatVersion":1,"held":[["spec[",1]],"items":{},"absent":{},"owners":[],"returning":{}}',
        '{"formatVersion":1,"held":[],"items":{"spec":{}},"absent":{},"owners":[],"returning":{}}',
        '{"formatVersion":1,"held":[],"items":{},"absent":{},"owners":[[{"manager":"x"},{}]],"returning":{}}',
    ],
)
def test_an_invalid_ledger_is_an_error(text: str) -> None:
    with pytest.raises(LedgerError):
        read_ledger(text)


def test_an_applied_field_keeps_its_first_entry(dev: Any) -> None:
    first = named(dev.plan(), SERVICE).after.reveal()
    bigger = dev.applied().asking(model_service=dev.stack.config.model_service._replace(replicas=4))
    second = named(bigger.plan(), SERVICE).after.reveal()
    assert second["spec"]["replicas"] == 4
    assert ledger_of(second) == ledger_of(first)


def test_a_field_that_a_patch_version_drops_is_restored_at_once(dev: Any, tmp_path: File) -> None:
    before = body_of(dev, HEAD)
    mine = dev.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99, dnsPolicy: Default}}}")
    applied = mine.applied()
    assert body_of(applied, HEAD)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 99
    target = named(applied._replace(library=dev.library).plan(), HEAD)
    for field in ("terminationGracePeriodSeconds", "dnsPolicy"):
        path = Path(("spec", "template", "spec", field))
        (change,) = [change for change in target.changes if change.path == path]
        assert change.after == before["spec"]["template"]["spec"][field]
        assert [owner.manager for owner in change.back] == ["kubectl-client-side-apply"]
        # One request has the earlier value: the field never has its default, and there is one rollout.
        assert target.applied.reveal()["spec"]["template"]["spec"][field] == change.after
        assert not has(ours(target.after.reveal()), path)
        assert [owner.manager for owner in merge.owners(target.after.reveal(), path, DEPLOYMENT)] == [
            "kubectl-client-side-apply"
        ]


def test_a_restored_field_changes_nothing(dev: Any, tmp_path: File) -> None:
    mine = dev.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99}}}")
    back = mine.applied()._replace(library=dev.library).applied()
    plan = back.plan()
    assert plan.changed == ()
    assert ledger_of(body_of(back, HEAD)).to_hand_over
    assert "terminationGracePeriodSeconds" not in named(plan, HEAD).applied.reveal()["spec"]["template"]["spec"]
    # The next change removes the entry.
    next_change = back.asking(ray_head=dev.stack.config.ray_head._replace(memory="24Gi"))
    assert ledger_of(named(next_change.plan(), HEAD).after.reveal()).to_hand_over == {}


def test_a_field_that_is_set_again_gets_a_new_entry(dev: Any, tmp_path: File) -> None:
    path = Path(("spec", "template", "spec", "terminationGracePeriodSeconds"))
    mine = dev.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99}}}")
    back = mine.applied()._replace(library=dev.library).applied()

    def installer(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != HEAD:
            return body
        new = merge.strategic(body, {"spec": {"template": {"spec": {path[-1]: 33}}}}, DEPLOYMENT)
        return update(body, new, "installer", DEPLOYMENT)

    again = back.having(installer)._replace(library=mine.library).plan()
    ledger = ledger_of(named(again, HEAD).after.reveal())
    assert dict(ledger.values)[path] == 33
    assert [owner.manager for owner in ledger.owners_of(path)] == ["installer"]


def set_by(name: str, manager: str, replicas: int) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != name:
            return body
        return update(body, {**body, "spec": {**body["spec"], "replicas": replicas}}, manager, DEPLOYMENT)

    return change


def test_a_field_that_another_manager_set_is_kept_and_reported(dev: Any) -> None:
    body = body_of(dev.applied().having(set_by(SERVICE, "somebody", 7)), SERVICE)
    plan = undo(body, ledger_of(body))
    assert plan is not None
    assert [(path, [owner.manager for owner in holders]) for path, holders in plan.left.items()] == [
        (REPLICAS, ["somebody"])
    ]
    back, _ = put_back(body, DEPLOYMENT)
    assert back["spec"]["replicas"] == 7
    assert [owner.manager for owner in merge.owners(back, REPLICAS, DEPLOYMENT)] == ["somebody"]
    assert ours(back) == {}


def test_a_field_that_is_retaken_after_drift_keeps_its_first_entry(dev: Any) -> None:
    drifted = dev.applied().having(set_by(SERVICE, "somebody", 7))
    target = named(drifted.plan(), SERVICE)
    assert dict(ledger_of(target.after.reveal()).values)[REPLICAS] == body_of(dev, SERVICE)["spec"]["replicas"]
    back, _ = put_back(target.after.reveal(), DEPLOYMENT)
    assert essence(back) == essence(body_of(dev, SERVICE))


def test_a_ledger_field_is_held_then_returning_then_returned(dev: Any) -> None:
    target = named(dev.plan(), SERVICE)
    ledger = ledger_of(target.after.reveal())

    assert {one.state for one in entries_of(target.after.reveal(), ledger)} == {"held"}
    plan = undo(target.after.reveal(), ledger)
    assert plan is not None
    half = merge.server_side(target.after.reveal(), plan.request, "modelyard", DEPLOYMENT, force=True).object
    states = {one.path: one.state for one in entries_of(half, plan.ledger)}
    assert states[REPLICAS] == "returning"
    # A field that did not exist before is removed at once.
    assert {states[path] for path in leaves(ledger.absent)} == {"returned"}
    assert {one.state for one in entries_of(finished(half, plan.ledger), plan.ledger)} == {"returned"}


def test_a_field_changed_by_an_unknown_manager_is_kept(dev: Any) -> None:
    target = named(dev.plan(), SERVICE)
    ledger = ledger_of(target.after.reveal())
    untracked = {**target.before.reveal(), "metadata": {**target.before.reveal()["metadata"], "managedFields": []}}
    asleep = {**untracked, "spec": {**untracked["spec"], "replicas": 0}}
    assert foreign(untracked, ledger) == {}
    assert foreign(asleep, ledger) == {REPLICAS: ()}
    (entry,) = [one for one in entries_of(asleep, ledger) if one.path == REPLICAS]
    assert (entry.state, entry.before, entry.now, entry.holders) == ("changed", 1, 0, ())
    gone = {**untracked, "spec": {name: value for name, value in untracked["spec"].items() if name != "replicas"}}
    assert foreign(gone, ledger) == {}
    assert [one.state for one in entries_of(gone, ledger) if one.path == REPLICAS] == ["changed"]


@pytest.mark.parametrize(
    ("before", "spec"),
    [
        ({"nodeSelector": {"pool": "cpu", "zone": "a"}}, "{nodeSelector: {pool: gpu}}"),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, "{tolerations: [{key: b, operator: Exists}]}"),
    ],
)
def test_an_atomic_field_is_restored_as_a_whole(dev: Any, tmp_path: File, before: dict[str, Any], spec: str) -> None:
    def installed(body: dict[str, Any]) -> dict[str, Any]:
        new = merge.strategic(body, {"spec": {"template": {"spec": before}}}, DEPLOYMENT)
        return update(body, new, "installer", DEPLOYMENT) if body["metadata"]["name"] == HEAD else body

    target = named(dev.having(installed).patched(tmp_path, f"{{template: {{spec: {spec}}}}}").plan(), HEAD)
    (field,) = before
    assert target.after.reveal()["spec"]["template"]["spec"][field] != before[field]
    back, _ = put_back(target.after.reveal(), DEPLOYMENT)
    assert back["spec"]["template"]["spec"][field] == before[field]


def test_a_request_that_restores_a_field_may_add_a_map(dev: Any, tmp_path: File) -> None:
    old = dev.patched(tmp_path / "old", "{template: {spec: {terminationGracePeriodSeconds: 99}}}")
    new = dev.patched(tmp_path / "new", "{template: {spec: {dnsConfig: {nameservers: [192.0.2.1]}}}}")
    spec = named(old.applied()._replace(library=new.library).plan(), HEAD).applied.reveal()["spec"]["template"]["spec"]
    assert spec["dnsConfig"] == {"nameservers": ["192.0.2.1"]}
    before = body_of(dev, HEAD)["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] == before["terminationGracePeriodSeconds"]


def test_an_undo_works_with_an_overwritten_ledger(dev: Any) -> None:
    target = named(dev.plan(), SERVICE)
    alone = [path for path in leaves(ledger_of(target.after.reveal()).absent) if path[0] == "spec"]
    assert alone
    back, _ = put_back(overwritten(target.after.reveal()), DEPLOYMENT)
    assert [at(back, path) for path in alone] == [merge.ABSENT] * len(alone)


def test_an_interrupted_undo_continues(dev: Any) -> None:
    target = named(dev.plan(), SERVICE)
    first = undo(target.after.reveal(), ledger_of(target.after.reveal()))
    assert first is not None
    half = merge.server_side(target.after.reveal(), first.request, "modelyard", DEPLOYMENT, force=True).object
    assert foreign(half, ledger_of(half)) == {}
    second = undo(half, ledger_of(half))
    assert second is not None
    whole = merge.server_side(half, second.request, "modelyard", DEPLOYMENT, force=True).object
    assert whole == half
    assert owners(finished(whole, second.ledger)) == owners(target.before.reveal())
    assert undo(finished(whole, second.ledger), ObjectLedger()) is None


def test_a_handover_changes_only_owners_and_only_once(dev: Any, tmp_path: File) -> None:
    mine = dev.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99}}}").applied()
    target = named(mine._replace(library=dev.library).plan(), HEAD)
    sent = merge.server_side(
        target.before.reveal(), target.applied.reveal(), "modelyard", DEPLOYMENT, force=True
    ).object
    after = with_earlier_owners(sent, ledger_of(sent))
    assert essence(after) == essence(sent)
    assert owners(after) != owners(sent)
    assert with_earlier_owners(after, ledger_of(after)) is after


def test_an_apply_interrupted_before_its_handover_is_reported(dev: Any, tmp_path: File) -> None:
    mine = dev.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99}}}").applied()
    again = mine._replace(library=dev.library)
    target = named(again.plan(), HEAD)
    sent = merge.server_side(
        target.before.reveal(), target.applied.reveal(), "modelyard", DEPLOYMENT, force=True
    ).object
    objects = {**again.state.objects.reveal(), target.key: sent}
    plan = again._replace(state=again.state._replace(objects=Confidential(objects))).plan()
    (finding,) = [finding for finding in plan.findings if finding.code == "OWN013"]
    assert finding.target == HEAD
    assert (plan.changed, plan.pending) == ((), {HEAD})
    assert [target.name for target in plan.targets if target.hands_over] == [HEAD]
    read = plan_from_json(json.dumps(plan_to_json(plan._replace(findings=()))), "saved.json")
    assert (read.changed, read.pending) == ((), {HEAD})
    assert ledger_of(named(plan, HEAD).applied.reveal()).to_hand_over


def test_a_removed_ledger_is_reported(dev: Any) -> None:
    def without(body: dict[str, Any]) -> dict[str, Any]:
        notes = dict(body["metadata"].get("annotations", {}))
        notes.pop("modelyard.dev/ledger", None)
        return {**body, "metadata": {**body["metadata"], "annotations": notes}}

    plan = dev.applied().having(without).plan()
    # The installer also owns the fields of the route.
    assert {finding.target for finding in plan.findings if finding.code == "OWN012"} == {
        target.name for target in plan.targets if target.name != "deployment-api-server"
    }
    assert not [finding for finding in dev.applied().plan().findings if finding.code in ("OWN012", "OWN013")]
    assert dev.applied().plan().pending == frozenset()


def replaced(site: Any, adopting: bool) -> Any:
    """Returns the stack after the installer has replaced each object, with its own values or with the applied sizes."""
    first = site.state.objects.reveal()

    def written(key: Any, live: dict[str, Any]) -> dict[str, Any]:
        if key.kind != "Deployment" or key not in first:
            return live
        new = json.loads(json.dumps(first[key]))
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"]
        if adopting:
            new["spec"]["replicas"] = live["spec"]["replicas"]
            theirs, ours_ = (body["spec"]["template"]["spec"]["containers"][0] for body in (new, live))
            theirs["resources"] = ours_.get("resources", {})
        return update(live, new, "installer", DEPLOYMENT)

    applied = site.applied()
    objects = {key: written(key, body) for key, body in applied.state.objects.reveal().items()}
    return applied._replace(state=applied.state._replace(objects=Confidential(objects)))


def copies(site: Any) -> dict[Any, str]:
    """Returns the ledgers in Pulumi's state after the apply."""
    return {target.key: ledger_text(target.applied.reveal()) for target in site.plan().targets}


def held(ledgers: Mapping[Any, str]) -> dict[Any, StateObject]:
    """Returns ledgers as state objects."""
    return {key: StateObject(managed=False, ledger=Confidential(text)) for key, text in ledgers.items()}


def codes(plan: Any) -> set[str]:
    return {finding.code for finding in plan.findings}


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_ledger_in_the_state_counts_after_an_installer_overwrites_it(sites: Any, name: str) -> None:
    site = sites[name]
    adopted = replaced(site, adopting=True)
    assert "OWN012" in codes(adopted.plan())
    known = adopted._replace(state=adopted.state._replace(state_objects=held(copies(site))))
    plan = known.plan()
    assert "OWN012" not in codes(plan)
    for target in plan.targets:
        first, again = ledger_of(named(site.plan(), target.name).applied.reveal()), ledger_of(target.applied.reveal())
        assert dict(again.values).items() >= dict(first.values).items()
        back, _ = put_back(target.after.reveal(), DEPLOYMENT)
        assert back["spec"]["replicas"] == target_spec(site, target.name)["replicas"]
        assert resources(back["spec"]) == resources(target_spec(site, target.name))


def target_spec(site: Any, name: str) -> Any:
    return body_of(site, name)["spec"]


def resources(spec: Any) -> Any:
    return [container.get("resources") for container in spec["template"]["spec"]["containers"]]


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_an_installer_that_writes_its_own_values_is_not_reported(sites: Any, name: str) -> None:
    """The installer owns the values that it wrote, so no restored value is missing."""
    assert "OWN012" not in codes(replaced(sites[name], adopting=False).plan())


def test_an_incomplete_copy_of_a_ledger_is_reported(dev: Any) -> None:
    adopted = replaced(dev, adopting=True)
    less = {key: write_ledger(ObjectLedger()) for key in copies(dev)}
    assert "OWN012" in codes(adopted._replace(state=adopted.state._replace(state_objects=held(less))).plan())


def test_a_ledger_gets_lost_entries_from_an_older_one(dev: Any) -> None:
    older = ledger_of(named(dev.plan(), SERVICE).applied.reveal())
    assert filled(ObjectLedger(), older) == older
    assert filled(older, older) == older
    lost = older._replace(values=tuple(pair for pair in older.values if pair[0] != REPLICAS), owners=())
    assert filled(lost, older).values == older.values
    assert filled(lost, older).owners_of(REPLICAS) == older.owners_of(REPLICAS)
    assert filled(lost, older, {}) == lost
    newer = lost._replace(values=(*lost.values, (REPLICAS, 7)))
    assert dict(filled(newer, older).values)[REPLICAS] == 7
    # The newer ledger knows that the field did not exist.
    absent = lost._replace(absent=fieldset.union(lost.absent, fieldset.of(REPLICAS)))
    assert filled(absent, older).values == lost.values
    # A restored field needs no entry.
    assert filled(lost, older._replace(to_hand_over=fieldset.of(REPLICAS))).values == lost.values


def test_a_ledger_of_an_object_without_owned_fields_does_not_count(dev: Any) -> None:
    def copied(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body["metadata"]["managedFields"]).replace('"modelyard"', '"backup"')
        return {**body, "metadata": {**body["metadata"], "managedFields": json.loads(text)}}

    copy = dev.applied().having(copied)
    ledger = ledger_of(named(copy.plan(), SERVICE).after.reveal())
    assert dict(ledger.values)[REPLICAS] == body_of(copy, SERVICE)["spec"]["replicas"] == 2
    assert [owner.manager for owner in ledger.owners_of(REPLICAS)] == ["backup"]


def test_objects_that_the_stack_owns_have_no_ledger(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    plan = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed")).plan()
    assert plan.targets
    assert all(
        "modelyard.dev/ledger" not in target.applied.reveal()["metadata"]["annotations"]
        for target in plan.targets
        if target.managed
    )


def without_ledgers(body: dict[str, Any]) -> dict[str, Any]:
    notes = {k: v for k, v in body["metadata"].get("annotations", {}).items() if k != "modelyard.dev/ledger"}
    return {**body, "metadata": {**body["metadata"], "annotations": notes}}


def ledgers_in_state(site: Any, copied: Mapping[Any, str]) -> dict[str, tuple[int, str]]:
    state = site.state._replace(state_objects=held(copied))
    return {one.key.name: (len(one.entries), one.problem) for one in noted_in(state)}


def test_the_ledger_in_the_state_replaces_a_lost_one(dev: Any) -> None:
    whole = ledgers_in_state(dev.applied(), {})
    lost = dev.applied().having(without_ledgers)
    assert ledgers_in_state(lost, {}) == {}
    assert ledgers_in_state(lost, copies(dev)) == whole
    patches = {one.key.name: one.patches for one in noted_in(dev.applied().state)}
    assert patches == {one.name: ",".join(one.patches) for one in dev.plan().targets}
    assert ledgers_in_state(lost, dict.fromkeys(copies(dev), "{")) == dict.fromkeys(whole, (0, ""))


def test_a_recorded_platform_older_than_the_apply_is_reported(dev: Any) -> None:
    before = ledgers_in_state(dev, copies(dev))
    assert {problem for _, problem in before.values()} == {
        "the recorded platform is older than the last apply; use --live, or record again"
    }
    assert len(before) == 5
    assert ledgers_in_state(dev._replace(state=dev.state._replace(source="live")), copies(dev)) == {}
