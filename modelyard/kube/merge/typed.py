"""Walks over typed values: which fields a value has, how two merge, and in which fields two differ.

These are ``ToFieldSet``, ``Merge`` and ``Compare`` of structured-merge-diff. Values are plain data as JSON has it.
Whatever did not change is shared between input and output, never copied, so that "unchanged" is a matter of identity
and a walk costs what changed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from modelyard.kube.merge.fieldset import SELF, FieldSet
from modelyard.kube.merge.path import wire_scalar
from modelyard.kube.merge.types import DEDUCED, Type


class UnfitError(Exception):
    """A value that is not of its type. ``modelyard.kube.merge.validate`` tells what is wrong with it, all at once."""


_NUMBERS = frozenset((int, float))
_SCALARS = frozenset((str, int, float, bool))
_FITS = {
    "string": frozenset((str,)),
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "boolean": frozenset((bool,)),
    "any": _SCALARS,
    "int-or-string": _SCALARS,
    "quantity": _SCALARS,
}
_NONE_FITS: frozenset[type] = frozenset()


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, and true is not 1."""
    if left is right:
        return True
    if left != right:
        return False
    kind = type(left)
    if kind is dict:
        return all(same(value, right[name]) for name, value in left.items())
    if kind is list:
        return all(map(same, left, right))
    return (kind is bool) == (type(right) is bool)


def item_element(kind: Type, item: Any) -> str:
    """The path element of an item of a set or an associative list, in wire form.

    Raises:
        UnfitError: the item has none: no key field, or not a value that such a list may hold.
    """
    if kind.keys:
        if type(item) is not dict:
            raise UnfitError
        if len(kind.keys) == 1:
            # Nearly every list has one key, and its items spell it out.
            (key,) = kind.keys
            value = item.get(key)
            if type(value) is str:
                return f'k:{{"{key}":{wire_scalar(value)}}}'
        fields = []
        for key in kind.keys:
            value = item.get(key)
            if value is None and key not in item:
                value = kind.key_default(key)
                if value is None:
                    continue
            if value is not None and type(value) not in _SCALARS:
                raise UnfitError
            fields.append(f'"{key}":{wire_scalar(value)}')
        if not fields:
            raise UnfitError
        return "k:{" + ",".join(fields) + "}"
    if type(item) not in _SCALARS:
        raise UnfitError
    return "v:" + wire_scalar(item)


def field_set(kind: Type, value: dict[str, Any]) -> FieldSet:
    """Every leaf, map key and list item of ``value``: what its author owns after applying it.

    Raises:
        UnfitError: the value is not of its type, or a list has two items of one key.
    """
    out: FieldSet = {}
    child = kind.child
    for name, inner in value.items():
        type_ = child[name]
        if type_ is None or type(name) is not str:
            raise UnfitError
        subset: FieldSet | None
        sort = type(inner)
        if sort is dict:
            if not type_.is_map:
                raise UnfitError
            subset = field_set(type_, inner)
            if not type_.separable:
                subset = {}
            elif inner and not subset:
                subset = None
        elif sort is list:
            if not type_.is_list:
                raise UnfitError
            subset = _list_set(type_, inner)
        else:
            if inner is not None and sort not in _FITS.get(type_.scalar, _NONE_FITS):
                raise UnfitError
            subset = {}
        if subset is None:
            # Nothing but empty lists is nothing to own, unless it stands as the value of a free key.
            if kind.declares(name):
                continue
            subset = {}
        elif subset and not kind.declares(name):
            subset = {SELF: {}, **subset}
        out["f:" + name] = subset
    return out


def _list_set(kind: Type, items: list[Any]) -> FieldSet | None:
    item_type = kind.item
    if kind.list_kind == "atomic":
        for item in items:
            _check(item_type, item)
        return {}
    if not items:
        return None
    out: FieldSet = {}
    for item in items:
        element = item_element(kind, item)
        if element in out:
            raise UnfitError
        if kind.keys and item_type.separable:
            subset = field_set(item_type, item)
            out[element] = {SELF: {}, **subset} if subset else {}
        else:
            _check(item_type, item)
            out[element] = {}
    return out


def _check(kind: Type, value: Any) -> None:
    if type(value) is dict:
        if not kind.is_map:
            raise UnfitError
        field_set(kind, value)
    elif type(value) is list:
        if not kind.is_list:
            raise UnfitError
        _list_set(kind, value)
    elif value is not None and type(value) not in _FITS.get(kind.scalar, _NONE_FITS):
        raise UnfitError


def whole_set(kind: Type, value: Any) -> FieldSet:
    """Everything in ``value``: its fields, and the maps and lists that hold them."""
    if type(value) is dict and value and kind.separable:
        out: FieldSet = {SELF: {}}
        for name, inner in value.items():
            out["f:" + name] = whole_set(kind.child[name] or DEDUCED, inner)
        return out
    if type(value) is list and value and kind.list_kind in ("set", "map"):
        out = {SELF: {}}
        for element, item in by_element(kind, value).items():
            out[element] = {} if type(item) is Repeated else whole_set(kind.item, item)
        return out
    return {}


class Repeated(list[Any]):
    """Items of one key, which a live list may hold and an applied one may not."""


def by_element(kind: Type, items: Sequence[Any]) -> dict[str, Any]:
    """Items by path element, in order; those of one key together."""
    out: dict[str, Any] = {}
    for item in items:
        element = item_element(kind, item)
        known = out.get(element)
        if element not in out:
            out[element] = item
        elif type(known) is Repeated:
            known.append(item)
        else:
            out[element] = Repeated((known, item))
    return out


def merge(kind: Type, live: Any, applied: Any) -> Any:
    """``live`` with ``applied`` laid over it. Nothing is removed by a merge; ``live`` itself when nothing changes.

    Raises:
        UnfitError: a list cannot be matched item by item.
    """
    if live is applied:
        return live
    if type(live) is dict and live and kind.separable:
        if type(applied) is dict:
            return _merge_maps(kind, live, applied)
        if applied is None:
            return live
    elif type(live) is list and live and kind.list_kind in ("set", "map"):
        if type(applied) is list:
            return _merge_lists(kind, live, applied)
        if applied is None and not kind.is_map:
            return live
    return live if same(live, applied) else applied


def _merge_maps(kind: Type, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    out = None
    for name, value in applied.items():
        if name in live:
            before = live[name]
            merged = merge(kind.child[name] or DEDUCED, before, value)
            if merged is before:
                continue
        else:
            merged = value
        if out is None:
            out = dict(live)
        out[name] = merged
    return live if out is None else out


def _merge_lists(kind: Type, live: list[Any], applied: list[Any]) -> list[Any]:
    mine = by_element(kind, applied)
    order = [item_element(kind, item) for item in live]
    theirs = by_element(kind, live)

    def merged(element: str) -> Any:
        before = theirs.get(element, theirs)
        value = mine[element]
        if before is theirs or type(before) is Repeated:
            return value
        return merge(kind.item, before, value)

    out = []
    changed = False
    shared = [element for element in mine if element in theirs]
    if shared == [element for element in order if element in mine] and len(shared) == len(mine):
        # The common case: what is applied is there already, in this order.
        for element, item in zip(order, live, strict=True):
            after = merged(element) if element in mine else item
            changed = changed or after is not item
            out.append(after)
        return out if changed else live
    out = [
        item if element is None else merged(element) for element, item in _interleave(order, live, list(mine), shared)
    ]
    return live if len(out) == len(live) and all(a is b for a, b in zip(out, live, strict=True)) else out


def _interleave(order: list[str], live: list[Any], mine: list[str], shared: list[str]) -> list[tuple[str | None, Any]]:
    """Where each item goes: live ones as they stand, applied ones in their own order, anchored at those both have.

    An entry is ``(element, None)`` for an applied item and ``(None, item)`` for one that only the live list has.
    """
    out: list[tuple[str | None, Any]] = []
    wanted, present, done = set(mine), set(order), set[str]()
    anchors = iter(shared)
    anchor = next(anchors, None)
    left = right = 0
    while left < len(order) or right < len(mine):
        if left < len(order) and right < len(mine):
            element = order[left]
            if element == mine[right]:
                done.add(element)
                out.append((element, None))
                left, right, anchor = left + 1, right + 1, next(anchors, None)
                continue
            if element in wanted and anchor is not None and anchor != element:
                left += 1
                continue
        if left < len(order):
            element = order[left]
            if element not in wanted:
                out.append((None, live[left]))
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(mine):
            element = mine[right]
            done.add(element)
            out.append((element, None))
            right += 1
            if anchor == element and element in present:
                anchor = next(anchors, None)
    return out


class Comparison(NamedTuple):
    """In which fields one value differs from an earlier one."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


def compare(kind: Type, before: dict[str, Any], after: dict[str, Any]) -> Comparison:
    """The fields that ``after`` removes from ``before``, changes, and adds.

    Raises:
        UnfitError: a list cannot be matched item by item.
    """
    found = Comparison({}, {}, {})
    _compare_maps(kind, before, after, found)
    return found


def _compare_maps(kind: Type, before: dict[str, Any], after: dict[str, Any], found: Comparison) -> None:
    for name, left in before.items():
        if name in after:
            right = after[name]
            if left is not right:
                _compare_values(kind.child[name] or DEDUCED, "f:" + name, left, right, found)
        else:
            found.removed["f:" + name] = whole_set(kind.child[name] or DEDUCED, left)
    for name, right in after.items():
        if name not in before:
            found.added["f:" + name] = whole_set(kind.child[name] or DEDUCED, right)


def _compare_lists(kind: Type, before: list[Any], after: list[Any], found: Comparison) -> None:
    lefts, rights = by_element(kind, before), by_element(kind, after)
    item = kind.item
    for element, left in lefts.items():
        if element not in rights:
            found.removed[element] = {} if type(left) is Repeated else whole_set(item, left)
            continue
        right = rights[element]
        if left is right:
            continue
        if type(left) is Repeated and type(right) is Repeated:
            if not same(list(left), list(right)):
                found.modified[element] = {}
        elif type(left) is Repeated:
            found.added[element] = whole_set(item, right)
            found.removed[element] = {}
        elif type(right) is Repeated:
            found.removed[element] = whole_set(item, left)
            found.added[element] = {}
        else:
            _compare_values(item, element, left, right, found)
    for element, right in rights.items():
        if element not in lefts:
            found.added[element] = {} if type(right) is Repeated else whole_set(item, right)


def _compare_values(kind: Type, element: str, left: Any, right: Any, found: Comparison) -> None:
    inner = Comparison({}, {}, {})
    left_map = type(left) is dict and bool(left) and kind.separable
    right_map = type(right) is dict and bool(right) and kind.separable
    left_list = type(left) is list and bool(left) and kind.list_kind in ("set", "map")
    right_list = type(right) is list and bool(right) and kind.list_kind in ("set", "map")
    if left_map or right_map:
        _compare_maps(kind, left if left_map else {}, right if right_map else {}, inner)
    if left_list or right_list:
        _compare_lists(kind, left if left_list else [], right if right_list else [], inner)
    if not (left_map or left_list or right_map or right_list):
        if not same(left, right):
            found.modified[element] = {}
        return
    for whole, part in zip(found, inner, strict=True):
        if part:
            whole[element] = part
    # A scalar in place of a map or list is a change of the field itself, beside what it added or removed.
    if (left_map or left_list) != (right_map or right_list):
        leaf, other = (right, left) if left_map or left_list else (left, right)
        if leaf is not None and type(leaf) is not type(other):
            found.modified[element] = {SELF: {}, **inner.modified} if inner.modified else {}
    elif left_map != right_map:
        found.modified[element] = {}
