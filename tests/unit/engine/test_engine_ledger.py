"""The ledger in the engine's state: what is kept there, and when it is another resource."""

import pickle
from typing import Any

import dill
import pytest

from modelyard.cluster.connection import ClusterError
from modelyard.engine.ledger import (
    LEFT,
    HandoverProvider,
    LedgerFailure,
    LedgerProvider,
    Record,
    handover_props,
    left_text,
)
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path, fieldset
from modelyard.kube.state import ObjectKey
from modelyard.names import FIELD_MANAGER
from modelyard.plan import TargetPlan
from modelyard.plan.undo.ledger import ObjectLedger, write_ledger
from tests.support.example_stacks import Site, environments

HEAD = "deployment-ray-head"
RECORD = Record(ObjectKey("apps/v1", "Deployment", "ml", "worker"), "dev", "1234", "{}")


def props(record: Record, due: str = "") -> dict[str, Any]:
    return {"record": record.to_text(), "due": due}


def noted(record: Record) -> dict[str, Any]:
    return {"record": record.to_text()}


@pytest.mark.parametrize("record", [RECORD, RECORD._replace(context=None, ledger="")])
def test_a_record_is_read_back_exactly(record: Record) -> None:
    assert Record.from_text(record.to_text()) == record


def test_a_malformed_record_is_refused() -> None:
    with pytest.raises(LedgerFailure, match="another modelyard version wrote the state"):
        Record.from_text(RECORD.to_text().replace('"formatVersion": 1', '"formatVersion": 2'))


@pytest.mark.parametrize(
    ("other", "changes", "replaces"),
    [
        (RECORD, False, []),
        (RECORD._replace(ledger='{"held":[]}'), True, []),
        # The kubeconfig's context may be renamed; it is the cluster that counts.
        (RECORD._replace(context="renamed"), True, []),
        (RECORD._replace(cluster="5678"), True, ["record"]),
        (RECORD._replace(key=RECORD.key._replace(namespace="other")), True, ["record"]),
    ],
)
def test_only_another_object_is_another_resource(other: Record, changes: bool, replaces: Any) -> None:
    found = LedgerProvider().diff("id", noted(RECORD), noted(other))
    assert (found.changes, found.replaces) == (changes, replaces)
    found = HandoverProvider().diff("id", props(RECORD), props(other))
    assert (found.changes, found.replaces) == (bool(replaces), replaces)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [("", "7", True), ("7", "7", False), ("7", "8", True), ("7", "", False), ("", "", False)],
)
def test_fields_of_another_version_of_the_object_are_restored(old: str, new: str, changes: bool) -> None:
    """The record is the same each time, as it is when a patch is dropped, taken again by a killed run, and dropped."""
    assert HandoverProvider().diff("id", props(RECORD, old), props(RECORD, new)).changes is changes
    # States of earlier versions have no such mark.
    assert HandoverProvider().diff("id", noted(RECORD), props(RECORD, new)).changes is bool(new)


def head(site: Site, version: str) -> TargetPlan:
    """The plan of the Ray head, with the version that its object has."""
    (target,) = (target for target in site.plan().targets if target.name == HEAD)
    body = target.before.reveal()
    assert body is not None
    return target._replace(before=Confidential({**body, "metadata": {**body["metadata"], "resourceVersion": version}}))


def with_head(site: Site, body: dict[str, Any]) -> Site:
    objects = {key: body if key.name == HEAD else found for key, found in site.state.objects.reveal().items()}
    return site._replace(state=site.state._replace(objects=Confidential(objects)))


def test_fields_that_a_killed_run_took_again_are_restored_again(tmp_path: Any) -> None:
    plain = Site(*environments()["dev"])
    mine = plain.patched(tmp_path, "{template: {spec: {terminationGracePeriodSeconds: 99}}}")
    schema = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
    plan = plain.plan()
    applied = mine.applied()._replace(library=plain.library)
    first = handover_props(plan, head(applied, "1"))
    assert first["due"] == "1"
    back = applied.applied()
    assert handover_props(plan, head(back, "2"))["due"] == ""
    # The patch again: its request is through, and the run ends before the handover.
    taken = head(back._replace(library=mine.library), "2").after.reveal()
    third = handover_props(plan, head(with_head(applied, taken), "3"))
    assert third["record"] == first["record"]
    assert HandoverProvider().diff("id", first, third).changes
    # The same again, now with the request through that gives the field back, and without a change besides.
    asked = head(with_head(applied, taken), "3").applied.reveal()
    half = merge.server_side(taken, asked, FIELD_MANAGER, schema, force=True).object
    target = head(with_head(applied, half), "4")
    assert target.changes == ()
    assert HandoverProvider().diff("id", first, handover_props(plan, target)).changes


@pytest.mark.parametrize("provider", [LedgerProvider, HandoverProvider])
def test_the_state_names_the_code_and_does_not_hold_it(provider: Any) -> None:
    """So the modelyard that is there undoes what an earlier one applied."""
    text = dill.dumps(provider(), protocol=pickle.DEFAULT_PROTOCOL, recurse=True)
    assert b"modelyard.engine.ledger" in text
    assert b"__code__" not in text
    assert len(text) < 200
    assert type(pickle.loads(text)) is provider


@pytest.mark.parametrize("provider", [LedgerProvider(), HandoverProvider()])
def test_the_state_keeps_no_secret_of_it(provider: Any) -> None:
    assert provider.serialize_as_secret_always is False


def test_a_ledger_does_nothing_until_it_is_deleted() -> None:
    """There is no cluster here that could be asked."""
    nowhere = RECORD._replace(context="there is no such context")
    assert LedgerProvider().create(noted(nowhere)).outs == noted(nowhere)
    assert LedgerProvider().update("id", noted(RECORD), noted(nowhere)).outs == noted(nowhere)


def test_a_ledger_without_fields_asks_no_cluster() -> None:
    nothing = RECORD._replace(context="there is no such context", ledger="")
    assert HandoverProvider().create(props(nothing)).outs == props(nothing)


def test_an_unreachable_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(LedgerFailure) as failed:
        LedgerProvider().delete("id", noted(RECORD))
    assert isinstance(cause := failed.value.__cause__, ClusterError)
    assert str(failed.value) == f"{cause.summary}; {cause.remedy}"


def test_fields_left_to_others_are_listed_with_their_holders() -> None:
    left = {Path(("spec", "replicas")): (Owner("human", "Update"),), Path(("spec", "paused")): ()}
    assert left_text(left) == f"{LEFT}spec.replicas (human), spec.paused (no owner)"


def test_the_state_keeps_what_a_new_record_has_lost() -> None:
    replicas = Path(("spec", "replicas"))
    known = RECORD._replace(ledger=write_ledger(ObjectLedger(values=((replicas, 3),))))
    lost = RECORD._replace(ledger=write_ledger(ObjectLedger()), context="renamed")
    kept = LedgerProvider().update("id", noted(known), noted(lost)).outs
    assert kept == noted(known._replace(context="renamed"))
    # So the next run with the same record has nothing to do.
    assert not LedgerProvider().diff("id", kept, noted(lost)).changes
    # What has gone back is forgotten.
    back = known._replace(
        ledger=write_ledger(ObjectLedger(values=((replicas, 3),), to_hand_over=fieldset.of(replicas)))
    )
    assert LedgerProvider().update("id", noted(back), noted(lost)).outs == noted(lost)
