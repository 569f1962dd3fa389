"""Ledgers in words: what goes back to whom, and what stays."""

from typing import Any

import pytest

from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path
from modelyard.kube.state import ObjectKey
from modelyard.plan.undo.entries import Entry, Noted, entries_of
from modelyard.plan.undo.ledger import Ledger
from modelyard.report.ledger import ledger_document, ledger_text
from modelyard.report.style import Style

KEY = ObjectKey("apps/v1", "Deployment", "ml", "worker")
HELM = Owner("helm", "Apply", time="2026-11-21T08:00:00Z", api_version="apps/v1")
SCALER = Owner("scaler", "Update", "scale", "2026-11-21T09:00:00Z", "apps/v1")
REPLICAS = Path(("spec", "replicas"))
PAUSED = Path(("spec", "paused"))


@pytest.mark.parametrize(
    ("entry", "heading", "row"),
    [
        (Entry(REPLICAS, 2, (HELM,), 3, "held"), "returns to helm (Apply):", "replicas  3 → 2"),
        (Entry(REPLICAS, 1, (), 3, "held"), "is restored; it had no owner:", "replicas  3 → 1"),
        (Entry(PAUSED, merge.ABSENT, (), True, "held"), "did not exist; is removed:", "paused  - true"),
        (
            Entry(REPLICAS, 2, (HELM,), 5, "changed", (SCALER,)),
            "changed since by scaler (Update of scale) at 2026-11-21T09:00:00Z; stays (first value → now):",
            "replicas  2 → 5",
        ),
        (
            Entry(REPLICAS, 2, (HELM,), 0, "changed"),
            "changed since by an unknown owner; stays (first value → now):",
            "replicas  2 → 0",
        ),
        (
            Entry(REPLICAS, 2, (HELM,), 2, "returning"),
            "has its earlier value; the next apply returns it to helm (Apply): replicas",
            "",
        ),
        (Entry(REPLICAS, 2, (HELM,), 2, "returned"), "belongs to helm (Apply) again: replicas", ""),
        (
            Entry(PAUSED, merge.ABSENT, (), merge.ABSENT, "returned"),
            "no longer exists, as before the patch: paused",
            "",
        ),
        (Entry(REPLICAS, 2, (HELM,), 2, "held"), "returns to helm (Apply), value unchanged: replicas", ""),
    ],
)
def test_each_state_is_told(entry: Entry, heading: str, row: str) -> None:
    assert ledger_text("dev", "live", [Noted(KEY, "mine@v1", (entry,))], Style(colour=False)) == [
        "dev: 1 field of 1 object in the cluster, with the value now and after a destroy",
        "~ worker",
        f"  {heading}",
        *([f"    {row}"] if row else []),
    ]


def test_a_ledger_that_cannot_be_read_is_told() -> None:
    shown = ledger_text("dev", "live", [Noted(KEY, "", (), "it is \x1b[31m odd")])
    assert shown[-1] == "  its ledger cannot be read: it is \\x1b[31m odd"


def test_secrets_are_in_neither_form() -> None:
    item = merge.Key((("name", "DB_PASSWORD"),))
    path = Path(("spec", "template", "spec", "containers", merge.Key((("name", "a"),)), "env", item, "value"))
    container = {"name": "a", "env": [{"name": "DB_PASSWORD", "value": "hunter3"}]}
    body = {"apiVersion": "apps/v1", "spec": {"template": {"spec": {"containers": [container]}}}}
    noted = [Noted(KEY, "", entries_of(body, Ledger(((path, "hunter2"),))))]
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
