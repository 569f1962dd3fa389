"""The sources of the values of one field or of several, as text and as JSON."""

from collections.abc import Sequence
from typing import Any

from modelyard.kube import merge
from modelyard.plan.trace import Trace
from modelyard.report.json import record, without_absent
from modelyard.report.style import PLAIN, Style, safe, shorten, table, wrapped
from modelyard.report.values import fitted, writer
from modelyard.stack.words import plural


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
            if source.written:
                where = f"{stack_file}:{source.line}"
            else:
                where = "default of the stack" if source.path else "default of the patch"
            given = f"      {safe(source.param)} = {fitted(source.value, room * 2 // 5)}"
            lines.append(_pair(given, len(given), where, style))
    if not traced.settings:
        lines.append(f"    set by {_unset(traced)}")
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
    return {
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
                    {
                        "param": source.param,
                        "value": source.value,
                        "path": list(source.path),
                        "line": source.line if source.written else 0,
                    }
                    for source in setting.sources
                ],
            }
            for setting in traced.settings
        ],
        **without_absent(before=traced.before, after=traced.after),
    }


SHORT = 24
"""Up to this many fields are all shown; of more, only those that a patch sets."""
_VALUE = 36
"""The most columns of a value."""


def _unset(traced: Trace) -> str:
    """What sets a field that is in no patch: modelyard adds annotations of its own, and of the engine."""
    own = ("modelyard.dev/", "pulumi.com/patch")
    ours = traced.path[:2] == ("metadata", "annotations") and str(traced.path[-1]).startswith(own)
    return "modelyard itself" if ours and traced.after is not merge.ABSENT else "no patch"


def subtree_text(path: merge.Path, traces: Sequence[Trace], style: Style = PLAIN) -> list[str]:
    """A table of the fields below a path."""
    shown = traces if len(traces) <= SHORT else [one for one in traces if one.settings] or traces[:SHORT]
    shared = _shared([one.path for one in shown], len(path))
    rows = [
        (
            str(merge.Path(one.path[shared:])),
            _value(one),
            ", ".join(setting.patch for setting in one.settings if setting.value is not None) or _unset(one),
        )
        for one in shown
    ]
    lines = [
        style.bold(shorten(traces[0].target.name, style.columns)),
        *wrapped(str(merge.Path(shown[0].path[:shared])), 2, style.columns),
        *table(rows, ("FIELD", "VALUE", "SET BY"), style, indent=2),
    ]
    if len(shown) < len(traces):
        rest = f"{plural(len(traces) - len(shown), 'more field')} below {path}"
        lines.extend(wrapped(rest + (" that no patch sets" if shown[0].settings else ""), 2, style.columns))
    return lines


def _shared(paths: list[merge.Path], least: int) -> int:
    """How many elements all paths share at the start, before the last element of each."""
    most = min(len(path) for path in paths) - 1
    return next((at for at in range(least, most) if len({path[at] for path in paths}) > 1), max(most, least))


def _value(one: Trace) -> str:
    say = writer(one.path)
    if one.before is merge.ABSENT:
        return f"+ {fitted(one.after, _VALUE - 2, say)}"
    if one.before == one.after:
        return fitted(one.after, _VALUE, say)
    half = (_VALUE - 3) // 2
    return f"{fitted(one.before, half, say)} → {fitted(one.after, half, say)}"


def subtree_document(path: merge.Path, traces: Sequence[Trace]) -> dict[str, Any]:
    """The fields as JSON, all of them; a missing key is a missing field."""
    return {
        "formatVersion": 1,
        "target": traces[0].target.name,
        "field": str(path),
        "fields": [_field(one) for one in traces],
    }


def _field(one: Trace) -> dict[str, Any]:
    return {
        "field": str(one.path),
        "patches": [setting.patch for setting in one.settings],
        **without_absent(before=one.before, after=one.after),
    }
