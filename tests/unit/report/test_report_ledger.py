"""Ledgers as text: which values are restored, and which stay."""

from typing import Any

from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path
from modelyard.kube.state import ObjectKey
from modelyard.plan.undo.entries import Entry, Noted, entries_of
from modelyard.plan.undo.ledger import ObjectLedger
from modelyard.report.ledger import ledger_document, ledger_text
from modelyard.report.style import Style

KEY = ObjectKey("apps/v1", "Deployment", "ml", "worker")
HELM = Owner("helm", "Apply", time="2026-11-21T08:00:00Z", api_version="apps/v1")
SCALER = Owner("scaler", "Update", "scale", "2026-11-21T09:00:00Z", "apps/v1")
REPLICAS = Path(("spec", "replicas"))
PAUSED = Path(("spec", "paused"))


STATES = (
    Entry(REPLICAS, 2, (HELM,), 3, "held"),
    Entry(REPLICAS, 1, (), 3, "held"),
    Entry(PAUSED, merge.ABSENT, (), True, "held"),
    Entry(REPLICAS, 2, (HELM,), 5, "changed", (SCALER,)),
    Entry(REPLICAS, 2, (HELM,), 0, "changed"),
    Entry(REPLICAS, 2, (HELM,), 2, "returning"),
    Entry(REPLICAS, 2, (HELM,), 2, "returned"),
    Entry(PAUSED, merge.ABSENT, (), merge.ABSENT, "returned"),
    Entry(REPLICAS, 2, (HELM,), 2, "held"),
)


def test_the_text_of_each_state(golden: Any) -> None:
    noted = [
        *(Noted(KEY, "mine@v1", (entry,)) for entry in STATES),
        Noted(KEY, "", (), "unreadable: \x1b[31m"),
    ]
    golden(*(line for one in noted for line in ledger_text("dev", "live", [one], Style(colour=False))), "")


def test_secrets_are_in_neither_form() -> None:
    item = merge.Key((("name", "DB_PASSWORD"),))
    path = Path(("spec", "template", "spec", "containers", merge.Key((("name", "a"),)), "env", item, "value"))
    container = {"name": "a", "env": [{"name": "DB_PASSWORD", "value": "hunter3"}]}
    body = {"apiVersion": "apps/v1", "spec": {"template": {"spec": {"containers": [container]}}}}
    noted = [Noted(KEY, "", entries_of(body, ObjectLedger(((path, "hunter2"),))))]
    text = "\n".join(ledger_text("dev", "live", noted, Style(colour=False)))
    assert "env  DB_PASSWORD (hidden) → (hidden, changed)" in text
    assert "hunter" not in text + str(ledger_document([("dev", "live", noted)]))


def test_missing_fields_have_no_key() -> None:
    entry = Entry(PAUSED, merge.ABSENT, (), True, "held")
    (stack,) = ledger_document([("dev", "live", [Noted(KEY, "a@v1,b@v2", (entry,))])])["stacks"]
    (target,) = stack["targets"]
    assert target["patches"] == ["a@v1", "b@v2"]
    (field,) = target["fields"]
    expected: dict[str, Any] = {"field": "spec.paused", "state": "held", "now": True, "owners": [], "holders": []}
    assert field == expected
