"""Findings as SARIF 2.1.0, the format in which code scanning and editors read results of static analysis."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from modelyard import __version__
from modelyard.explanations import Explanation
from modelyard.findings import Finding, Severity, about
from modelyard.hiding import hidden_text
from modelyard.report.ci.checked import Checked, sentences
from modelyard.report.json import json_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""The name that SARIF readers use for the root of the checked-out repository."""

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
_GRAVITY = ("none", "note", "warning", "error")
_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_WHY = re.compile(r"\*\*Why\.\*\*\s*(.+?)(?:\n\n|\Z)", re.DOTALL)
_MARKS = re.compile(r"\*\*|`")
MOST_CHARACTERS = 1000
"""Limit for a rule's description: code scanning accepts at most 1,024."""


def document(checked: Checked) -> str:
    """The document as text, with a final newline."""
    return json_text(sarif_document(checked)) + "\n"


def sarif_document(checked: Checked) -> dict[str, Any]:
    """One run with a result for each given finding, and a rule for each of their codes.

    The same findings give the same document. A waived finding has a suppression with the waiver's reason, and the level
    ``note``, so that a reader that ignores suppressions does not fail a build for it.

    Args:
        checked: the findings; the caller decides whether to include notes and waived findings.
    """
    known = checked.known
    codes = sorted({finding.code for finding in checked.findings})
    worst = {
        code: max((_level(one) for one in checked.findings if one.code == code), key=_GRAVITY.index) for code in codes
    }
    driver = {
        "name": "modelyard",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(code, known.get(code), worst[code], checked.documentation) for code in codes],
    }
    index = {code: number for number, code in enumerate(codes)}
    marks = fingerprints(checked.findings)
    category = "/".join(part for part in ("modelyard", checked.folder) if part)
    run = {
        "tool": {"driver": driver},
        # Code scanning uses the text before the last slash as the category of the results.
        "automationDetails": {"id": f"{category}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, checked, index, mark) for finding, mark in zip(checked.findings, marks, strict=True)
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str, known: Explanation | None, level: str, documentation: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "defaultConfiguration": {"level": level}}
    if known is not None:
        why = _WHY.search(known.body)
        full = _plain(why[1]) if why else known.title
        text = f"{known.title}\n\n{known.body}\n\nmodelyard explain {code}"
        rule["shortDescription"] = {"text": f"{known.title}."}
        rule["fullDescription"] = {"text": full[:MOST_CHARACTERS]}
        rule["help"] = {"text": _plain(text, lines=True), "markdown": f"# {code} {known.title}\n\n{known.body}\n"}
        if documentation:
            rule["helpUri"] = f"{documentation.rstrip('/')}/rules/{code}.html"
    rule["properties"] = {"tags": ["modelyard", code[:3].lower()]}
    return rule


def _plain(markdown: str, *, lines: bool = False) -> str:
    """Markdown without its marks; on one line unless ``lines`` is set."""
    text = _MARKS.sub("", re.sub(r"^```.*\n", "", markdown, flags=re.MULTILINE))
    return text if lines else " ".join(text.split())


def _level(finding: Finding) -> str:
    return "note" if finding.waived else _LEVELS[finding.severity]


def _result(finding: Finding, checked: Checked, index: Mapping[str, int], mark: tuple[str, int]) -> dict[str, Any]:
    digest, number = mark
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _level(finding),
        "message": {"text": _message(" ".join(sentences(finding)))},
        "locations": [_location(finding, checked)],
        "partialFingerprints": {
            "modelyard/v1": f"{digest}:{number}",
            # Code scanning recognizes a result by the value under this name.
            "primaryLocationLineHash": f"{digest[:16]}:{number}",
        },
    }
    if finding.waived:
        result["suppressions"] = [{"kind": "inSource", "status": "accepted", "justification": finding.waived}]
    properties = {"severity": finding.severity.value, "stack": finding.stack, "target": finding.target}
    result["properties"] = {key: value for key, value in {**properties, "field": finding.field}.items() if value}
    return result


def _message(text: str) -> str:
    """Text in which a SARIF reader finds no placeholder ``{0}`` and no link ``[words](address)``."""
    return _PLACEHOLDER.sub(r"{{\1}}", hidden_text(text)).replace("](", "] (")


def _location(finding: Finding, checked: Checked) -> dict[str, Any]:
    place = checked.place(finding)
    region = {"startLine": place.line} | ({"startColumn": place.column} if place.column else {})
    artifact = (
        {"uri": f"file://{quote(place.file)}"}
        if place.file.startswith("/")
        else {"uri": quote(place.file), "uriBaseId": ROOT}
    )
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    names = [name for name in (finding.stack, finding.target, finding.field) if name]
    if names:
        location["logicalLocations"] = [{"name": names[-1], "fullyQualifiedName": "/".join(names)}]
    return location


def fingerprints(findings: Iterable[Finding]) -> list[tuple[str, int]]:
    """What identifies each finding in a later run, even if lines move: a digest and a number from 1.

    The digest covers the finding's subject, not its words, because numbers in them change with the platform. The
    number distinguishes findings about the same subject.
    """
    seen: Counter[str] = Counter()
    marks = []
    for finding in findings:
        digest = hashlib.sha256(json.dumps(about(finding)).encode()).hexdigest()[:32]
        seen[digest] += 1
        marks.append((digest, seen[digest]))
    return marks
