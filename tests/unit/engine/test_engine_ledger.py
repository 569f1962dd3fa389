"""The ledger in the engine's state: what is kept there, and when it is another resource."""

import pickle
from typing import Any

import dill
import pytest

from modelyard.cluster import ObjectKey
from modelyard.engine.ledger import HandoverProvider, LedgerFailure, LedgerProvider, Record, left_text
from modelyard.engine.progress import LEFT
from modelyard.merge import Owner, Path

RECORD = Record(ObjectKey("apps/v1", "Deployment", "ml", "worker"), "dev", "1234", "{}")


def props(record: Record) -> dict[str, Any]:
    return {"record": record.to_text()}


@pytest.mark.parametrize("record", [RECORD, RECORD._replace(context=None, ledger="")])
def test_a_record_is_read_back_exactly(record: Record) -> None:
    assert Record.from_text(record.to_text()) == record


def test_a_record_of_another_form_is_refused_in_words() -> None:
    with pytest.raises(LedgerFailure, match="written by another modelyard"):
        Record.from_text(RECORD.to_text().replace('"formatVersion": 1', '"formatVersion": 2'))


@pytest.mark.parametrize("provider", [LedgerProvider(), HandoverProvider()])
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
def test_only_another_object_is_another_resource(provider: Any, other: Record, changes: bool, replaces: Any) -> None:
    found = provider.diff("id", props(RECORD), props(other))
    assert (found.changes, found.replaces) == (changes, replaces)


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
    assert LedgerProvider().create(props(nowhere)).outs == props(nowhere)
    assert LedgerProvider().update("id", props(RECORD), props(nowhere)).outs == props(nowhere)


def test_without_anything_to_hand_over_nobody_is_asked() -> None:
    nothing = RECORD._replace(context="there is no such context", ledger="")
    assert HandoverProvider().create(props(nothing)).outs == props(nothing)


def test_a_cluster_out_of_reach_is_told_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(LedgerFailure, match=r"no kubeconfig.*; set KUBECONFIG"):
        LedgerProvider().delete("id", props(RECORD))


def test_what_is_left_is_told_with_its_holders() -> None:
    left = {Path(("spec", "replicas")): (Owner("human", "Update"),), Path(("spec", "paused")): ()}
    assert left_text(left) == f"{LEFT}spec.replicas (human), spec.paused (nobody)"
