"""The source of a field's value, as text and as JSON."""

from typing import Any

from modelyard.kube import merge
from modelyard.plan.trace import Trace
from modelyard.report.json import record
from modelyard.report.pods import writer
from modelyard.report.style import PLAIN, Style, safe, shorten, wrapped
from modelyard.report.values import fitted


def trace_text(traced: Trace, stack_file: str, style: Style = PLAIN) -> list[str]:
    """Everything that set a field, the newest first."""
    room, say = style.columns, writer(traced.path)
    lines = [style.bold(shorten(traced.target.name, room)), *wrapped(str(traced.path), 2, room)]
    lines.append(f"  after   {style.added(fitted(traced.after, room - 10, say))}")
    for setting in traced.settings:
        # An empty field is not sent, so its current owner keeps it.
        verb = "left alone by" if setting.value is None else "set by"
        who = f"    {verb} {style.bold(safe(setting.patch))}"
        lines.append(_pair(who, 5 + len(verb) + len(setting.patch), setting.file, style))
        for source in setting.sources:
            if source.line:
                where = f"{stack_file}:{source.line}"
            else:
                where = "default of the stack" if source.path else "default of the patch"
            given = f"      {safe(source.param)} = {fitted(source.value, room * 2 // 5)}"
            lines.append(_pair(given, len(given), where, style))
    if not traced.settings:
        lines.append("    set by no patch")
    lines.append(f"  before  {style.removed(fitted(traced.before, room - 10, say))}")
    for owner in traced.owners:
        what = f"({owner.operation})" + (f" at {owner.time}" if owner.time else "")
        name = shorten(owner.manager, room - 14 - len(safe(what)))
        lines.append(f"    owned by {style.bold(name)} {safe(what)}")
    if not traced.owners and traced.before is not merge.ABSENT:
        lines.append("    no owner: a default of the API server")
    return lines


def _pair(left: str, width: int, where: str, style: Style) -> str:
    """Two texts on one line, or the second below the first if they do not fit."""
    where = shorten(where, style.columns - 8)
    if width + 2 + len(where) <= style.columns:
        return f"{left}  {style.link(where)}"
    return f"{left}\n        {style.link(where)}"


def trace_document(traced: Trace) -> dict[str, Any]:
    """The trace as JSON; a missing key is a missing field."""
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
