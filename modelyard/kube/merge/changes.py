"""What differs between two objects, field by field."""

from typing import Any, NamedTuple

from modelyard.kube.merge.errors import depth_checked
from modelyard.kube.merge.path import ROOT, Path, from_wire
from modelyard.kube.merge.typed import Repeated, UnfitError, by_element, same
from modelyard.kube.merge.types import DEDUCED, Type
from modelyard.kube.merge.values import ABSENT


class Change(NamedTuple):
    """One field that differs. A value that is owned as a whole is one change."""

    path: Path
    before: Any
    """``ABSENT`` when the field was not there, which is not null."""
    after: Any
    """``ABSENT`` when the field is gone."""
    reordered: bool = False
    """The items of this list stand in another order; ``before`` and ``after`` are the path elements both have."""


@depth_checked
def diff(before: dict[str, Any] | None, after: dict[str, Any] | None, schema: Type) -> tuple[Change, ...]:
    """The changed leaves from one object to another, sorted by path; None is an object that is not there.

    Items of associative lists and sets are matched by key and value, whatever their place. A map or list that is
    empty on one side and missing on the other counts as a leaf; else only what is in it does.

    Raises:
        MergeError: the objects are nested too deeply.
    """
    found: list[Change] = []
    if before is not after:
        _values(schema, ROOT, ABSENT if before is None else before, ABSENT if after is None else after, found)
        found.sort(key=lambda change: change.path.sort_key)
    return tuple(found)


def _values(kind: Type, path: Path, before: Any, after: Any, found: list[Change]) -> None:
    if before is after:
        return
    if (before or after) and kind.separable and _both(dict, before, after):
        _maps(kind, path, before or {}, after or {}, found)
        return
    if (before or after) and kind.list_kind in ("set", "map") and _both(list, before, after):
        try:
            _lists(kind, path, before or [], after or [], found)
        except UnfitError:
            found.append(Change(path, before, after))
        return
    if not same(before, after):
        found.append(Change(path, before, after))


def _both(sort: type, before: Any, after: Any) -> bool:
    return (before is ABSENT or type(before) is sort) and (after is ABSENT or type(after) is sort)


def _maps(kind: Type, path: Path, before: dict[str, Any], after: dict[str, Any], found: list[Change]) -> None:
    child = kind.child
    for name, left in before.items():
        right = after.get(name, ABSENT)
        if left is not right:
            _values(child[name] or DEDUCED, path / name, left, right, found)
    for name, right in after.items():
        if name not in before:
            _values(child[name] or DEDUCED, path / name, ABSENT, right, found)


def _lists(kind: Type, path: Path, before: list[Any], after: list[Any], found: list[Change]) -> None:
    lefts, rights = by_element(kind, before), by_element(kind, after)
    item = kind.item
    for element, left in lefts.items():
        right = rights.get(element, ABSENT)
        if left is not right:
            _items(item, path, element, left, right, found)
    for element, right in rights.items():
        if element not in lefts:
            _items(item, path, element, ABSENT, right, found)
    old = [element for element in lefts if element in rights]
    new = [element for element in rights if element in lefts]
    if old != new:
        found.append(Change(path, [*map(from_wire, old)], [*map(from_wire, new)], reordered=True))


def _items(kind: Type, path: Path, element: str, before: Any, after: Any, found: list[Change]) -> None:
    here = path / from_wire(element)
    if type(before) is Repeated or type(after) is Repeated:
        before = list(before) if type(before) is Repeated else before
        after = list(after) if type(after) is Repeated else after
        if not same(before, after):
            found.append(Change(here, before, after))
    else:
        _values(kind, here, before, after, found)
