"""Taking back: what an apply removes because its manager applied it before, and now neither it nor anyone else does.

The rules of structured-merge-diff's ``Updater.prune``: only what was applied last time is removed, never what others
own, and a field that others own keeps the way to it alive. Upstream takes away everything that was applied last time,
adds back what has an owner, then what was never applied; here one walk along the last applied fields decides the same.
"""

from typing import Any, NamedTuple

from modelyard.kube.merge.fieldset import SELF, FieldSet
from modelyard.kube.merge.typed import item_element
from modelyard.kube.merge.types import DEDUCED, Type


class _Fate(NamedTuple):
    """What is known about the way from the root to a value."""

    covered: bool = False
    """An ancestor was applied last time."""
    dead: bool = False
    """Such an ancestor has no owner by now: what was applied below goes with it, even what is still listed by others
    who never owned the way there."""

    def of(self, was_mine: bool, held: bool) -> "_Fate":
        """The same for a child."""
        covered = self.covered or was_mine
        return _Fate(covered, self.dead or (covered and not held))


def pruned(schema: Type, merged: dict[str, Any], last: FieldSet, sets: list[FieldSet]) -> dict[str, Any]:
    """``merged`` without what its manager applied before (``last``) and is in none of ``sets``, who owns what."""
    return _without(schema, merged, last, sets=sets, fate=_Fate(), held=False) or {}


def _without(kind: Type, value: Any, last: FieldSet, *, sets: list[FieldSet], fate: _Fate, held: bool) -> Any:
    """The value without what is taken back; None when nothing stays of a map or list.

    What was applied field by field, and is owned as a whole by now, stays when somebody holds it (``held``).
    """
    if type(value) is dict and kind.separable:
        return _map_without(kind, value, last, sets, fate)
    if type(value) is list and kind.list_kind != "atomic":
        return _list_without(kind, value, last, sets, fate)
    return value if held or type(value) not in (dict, list) else None


def _map_without(
    kind: Type, value: dict[str, Any], last: FieldSet, sets: list[FieldSet], fate: _Fate
) -> dict[str, Any] | None:
    out = None
    for name, inner in value.items():
        element = "f:" + name
        subset = last.get(element)
        named = kind.declares(name)
        type_ = kind.child[name] or DEDUCED
        if subset is None or not _counts(type_, inner, named):
            continue
        was_mine = named or _is_member(subset)
        below = [fields[element] for fields in sets if fields.get(element)]
        here = fate.of(was_mine, _holds(sets, element, named))
        after = inner
        if was_mine and (here.dead or (named and _left_hollow(type_, inner, below))):
            out = dict(value) if out is None else out
            del out[name]
            continue
        if _has_children(subset):
            after = _without(type_, inner, subset, sets=below, fate=here, held=_holds(sets, element, named=False))
        if after is not inner:
            out = dict(value) if out is None else out
            out[name] = after
    return value if out is None else out or None


def _list_without(kind: Type, value: list[Any], last: FieldSet, sets: list[FieldSet], fate: _Fate) -> list[Any] | None:
    out = []
    changed = False
    for item in value:
        element = item_element(kind, item)
        subset = last.get(element)
        after = item
        if subset is not None:
            was_mine = _is_member(subset)
            here = fate.of(was_mine, _holds(sets, element, named=False))
            if was_mine and here.dead:
                changed = True
                continue
            if _has_children(subset):
                below = [fields[element] for fields in sets if fields.get(element)]
                after = _without(
                    kind.item, item, subset, sets=below, fate=here, held=_holds(sets, element, named=False)
                )
                changed = changed or after is not item
        out.append(after)
    return (out or None) if changed else value


def _is_member(subset: FieldSet) -> bool:
    return not subset or SELF in subset


def _has_children(subset: FieldSet) -> bool:
    return len(subset) > (SELF in subset)


def _holds(sets: list[FieldSet], element: str, named: bool) -> bool:
    """Whether anyone owns the element; a struct's field is owned by the owners of what is in it."""
    return any(element in fields and (named or _is_member(fields[element])) for fields in sets)


def _counts(kind: Type, value: Any, named: bool) -> bool:
    """Whether a value has anything to own: an empty list has nothing, nor has a struct of empty lists."""
    if not named or value is None:
        return True
    if type(value) is dict and kind.separable and value:
        return any(_counts(kind.child[name] or DEDUCED, inner, kind.declares(name)) for name, inner in value.items())
    return not (type(value) is list and not value and kind.list_kind != "atomic")


def _left_hollow(kind: Type, value: Any, sets: list[FieldSet]) -> bool:
    """Whether a struct would be left with nothing but empty lists, had it only what has an owner.

    Such a struct counts as gone, and takes with it what has no owner (a default, say).
    """
    if type(value) is not dict or not value or not kind.separable:
        return False
    hollow = False
    for name, inner in value.items():
        type_, named, element = kind.child[name] or DEDUCED, kind.declares(name), "f:" + name
        if not _counts(type_, inner, named):
            hollow = True
        elif _holds(sets, element, named):
            if not (named and _left_hollow(type_, inner, [fields[element] for fields in sets if fields.get(element)])):
                return False
            hollow = True
    return hollow
