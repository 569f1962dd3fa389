"""JSON documents. Each has a ``formatVersion`` and a published schema (``modelyard schema``)."""

import json
import re
from collections.abc import Iterable
from typing import Any

from modelyard.findings import Finding
from modelyard.hiding import hidden_text, without_credentials
from modelyard.kube import merge
from modelyard.plan.store import finding_to_json
from modelyard.report.style import INVISIBLE, LOG_COMMAND
from modelyard.stack.shape import spelled

FINDINGS_FORMAT = 1
_UNSAFE = re.compile(rf"[{INVISIBLE}]|{LOG_COMMAND}")


def json_text(document: Any, *, applied: bool = False) -> str:
    """A document as indented JSON without a final newline, with escapes for what a terminal or a CI log would obey.

    Args:
        document: the document, of plain values.
        applied: whether the document will be applied; then it keeps what looks like a credential.
    """
    text = json.dumps(document if applied else without_credentials(document), indent=2, ensure_ascii=False)
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return f"\\u{ord(character):04x}" if character.isascii() else json.dumps(character)[1:-1]


def record(value: Any) -> dict[str, Any]:
    """A named tuple as a JSON object, names in camel case as everywhere in JSON."""
    return {spelled(name): part for name, part in value._asdict().items()}


def without_absent(**values: Any) -> dict[str, Any]:
    """The values that are not ``merge.ABSENT``: a missing key is a missing field, null is the value null."""
    return {name: value for name, value in values.items() if value is not merge.ABSENT}


def findings_document(findings: Iterable[Finding], *, error: str = "", remedy: str = "") -> dict[str, Any]:
    """Findings, and if a run ended early, why."""
    document: dict[str, Any] = {
        "formatVersion": FINDINGS_FORMAT,
        "findings": [finding_to_json(finding) for finding in findings],
    }
    if error:
        document["error"] = {"summary": hidden_text(error), "remedy": hidden_text(remedy)}
    return document
