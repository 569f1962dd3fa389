"""Several fields of a target at once, with the new value of each and the patch that asks for it."""

from collections.abc import Iterable
from typing import Any

from modelyard.kube import merge
from modelyard.plan.trace import Trace
from modelyard.report.pods import writer
from modelyard.report.style import PLAIN, Style, shorten, table, wrapped
from modelyard.report.values import fitted
from modelyard.stack.words import plural

SHORT = 24
"""Up to this many fields are all shown; of more, only those that a patch sets."""
_VALUE = 36
"""The most columns of a value."""


def subtree_text(path: merge.Path, traces: Iterable[Trace], style: Style = PLAIN) -> list[str]:
    """A table of the fields below a path."""
    found = list(traces)
    shown = found if len(found) <= SHORT else [one for one in found if one.settings] or found[:SHORT]
    shared = _shared([one.path for one in shown], len(path))
    rows = [
        (
            str(merge.Path(one.path[shared:])),
            _value(one),
            ", ".join(setting.patch for setting in one.settings if setting.value is not None) or "no patch",
        )
        for one in shown
    ]
    lines = [
        style.bold(shorten(found[0].target.name, style.columns)),
        *wrapped(str(merge.Path(shown[0].path[:shared])), 2, style.columns),
        *table(rows, ("FIELD", "VALUE", "SET BY"), style, indent=2),
    ]
    if len(shown) < len(found):
        rest = f"{plural(len(found) - len(shown), 'more field')} below {path}"
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


def subtree_document(path: merge.Path, traces: Iterable[Trace]) -> dict[str, Any]:
    """The fields as JSON, all of them; a missing key is a missing field."""
    found = list(traces)
    return {
        "formatVersion": 1,
        "target": found[0].target.name,
        "field": str(path),
        "fields": [_field(one) for one in found],
    }


def _field(one: Trace) -> dict[str, Any]:
    document: dict[str, Any] = {"field": str(one.path), "patches": [setting.patch for setting in one.settings]}
    if one.before is not merge.ABSENT:
        document["before"] = one.before
    if one.after is not merge.ABSENT:
        document["after"] = one.after
    return document
