"""Documents for machines. Each has a ``formatVersion`` and a published schema (``modelyard schema``)."""

from collections.abc import Iterable
from typing import Any

from modelyard.findings import Finding
from modelyard.plan.store import finding_to_json

FINDINGS_FORMAT = 1


def findings_document(findings: Iterable[Finding], *, error: str = "", remedy: str = "") -> dict[str, Any]:
    """Findings, and where a run ended early, why."""
    document: dict[str, Any] = {
        "formatVersion": FINDINGS_FORMAT,
        "findings": [finding_to_json(finding) for finding in findings],
    }
    if error:
        document["error"] = {"summary": error, "remedy": remedy}
    return document
