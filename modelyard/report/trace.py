"""Where a field's value comes from, as text and as JSON."""

from typing import Any

from modelyard import merge
from modelyard.plan.trace import Trace
from modelyard.report.json import record
from modelyard.report.style import PLAIN, WIDTH, Style, safe, shorten, wrapped
from modelyard.report.values import text_of


def trace_text(traced: Trace, stack_file: str, style: Style = PLAIN) -> list[str]:
    """The story of a field, the newest first."""
    lines = [style.bold(shorten(traced.target.name, WIDTH)), *wrapped(str(traced.path), 2)]
    lines.append(f"  after   {style.added(shorten(text_of(traced.after), 86))}")
    for setting in traced.settings:
        lines.append(f"    set by {style.bold(safe(setting.patch))}  {style.link(safe(setting.file))}")
        for source in setting.sources:
            if source.line:
                where = f"{stack_file}:{source.line}"
            else:
                where = "default of the stack" if source.path else "default of the patch"
            value = shorten(text_of(source.value), 40)
            lines.append(f"      {source.param} = {value}  {style.link(safe(where))}")
    if not traced.settings:
        lines.append("    set by no patch")
    lines.append(f"  before  {style.removed(shorten(text_of(traced.before), 86))}")
    for owner in traced.owners:
        when = safe(f" at {owner.time}") if owner.time else ""
        lines.append(f"    held by {style.bold(safe(owner.manager))} ({safe(owner.operation)}){when}")
    if not traced.owners and traced.before is not merge.ABSENT:
        lines.append("    held by nobody: a default of the API server")
    return lines


def trace_document(traced: Trace) -> dict[str, Any]:
    """The same for machines; a missing key is a missing field."""
    document: dict[str, Any] = {
        "formatVersion": 1,
        "target": traced.target.name,
        "field": str(traced.path),
        "owners": [record(owner) for owner in traced.owners],
        "settings": [
            {
                "patch": setting.patch,
                "file": setting.file,
                "value": setting.value,
                "sources": [
                    {"param": source.param, "value": source.value, "path": list(source.path), "line": source.line}
                    for source in setting.sources
                ],
            }
            for setting in traced.settings
        ],
    }
    if traced.before is not merge.ABSENT:
        document["before"] = traced.before
    if traced.after is not merge.ABSENT:
        document["after"] = traced.after
    return document
