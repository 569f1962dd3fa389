"""Taking back: what an apply removes because its manager applied it before, and now neither it nor anyone else does.

The rules of structured-merge-diff's ``Updater.prune``: only what was applied last time is removed, never what others
own, and a field that others own keeps the way to it alive.
"""

from typing import Any

from modelyard.merge.fieldset import SELF, FieldSet
from modelyard.merge.typed import item_element
from modelyard.merge.types import DEDUCED, Type


def pruned(schema: Type, merged: dict[str, Any], last: FieldSet, sets: list[FieldSet]) -> dict[str, Any]:
    """``merged`` without what its manager applied last time and what nobody owns by now."""
    return _without(schema, merged, last, sets, False, False) or {}


def _without(kind: Type, value: Any, last: FieldSet, sets: list[FieldSet], covered: bool, dead: bool) -> Any:
    """``value`` without the members of ``last`` that are in none of ``sets``; None when nothing stays.

    ``covered`` says that an ancestor was applied last time, ``dead`` that such an ancestor has no owner by now: what
    was applied below goes with it, even what is still listed by others who never owned the way there.
    """
    if type(value) is dict:
        return _map_without(kind, value, last, sets, covered, dead) if kind.separable else None
    if type(value) is list:
        return _list_without(kind, value, last, sets, covered, dead) if kind.list_kind != "atomic" else None
    return value


def _map_without(
    kind: Type, value: dict[str, Any], last: FieldSet, sets: list[FieldSet], covered: bool, dead: bool
) -> dict[str, Any] | None:
    out = None
    for name, inner in value.items():
        element = "f:" + name
        subset = last.get(element)
        if subset is None:
            continue
        named = kind.declares(name)
        was_mine = named or not subset or SELF in subset
        held = any(element in fields and (named or not fields[element] or SELF in fields[element]) for fields in sets)
        below = covered or was_mine
        gone = dead or (below and not held)
        after = inner
        if not (was_mine and gone):
            if not subset or len(subset) == (SELF in subset):
                continue
            inner_sets = [fields[element] for fields in sets if fields.get(element)]
            after = _without(kind.child[name] or DEDUCED, inner, subset, inner_sets, below, gone)
            if after is inner:
                continue
            out = dict(value) if out is None else out
            out[name] = after
        else:
            out = dict(value) if out is None else out
            del out[name]
    return value if out is None else out or None


def _list_without(
    kind: Type, value: list[Any], last: FieldSet, sets: list[FieldSet], covered: bool, dead: bool
) -> list[Any] | None:
    out = []
    changed = False
    for item in value:
        element = item_element(kind, item)
        subset = last.get(element)
        if subset is None:
            out.append(item)
            continue
        was_mine = not subset or SELF in subset
        held = any(element in fields and (not fields[element] or SELF in fields[element]) for fields in sets)
        below = covered or was_mine
        gone = dead or (below and not held)
        if was_mine and gone:
            changed = True
            continue
        after = item
        if subset and len(subset) > (SELF in subset):
            inner_sets = [fields[element] for fields in sets if fields.get(element)]
            after = _without(kind.item, item, subset, inner_sets, below, gone)
            changed = changed or after is not item
        out.append(after)
    return (out or None) if changed else value
