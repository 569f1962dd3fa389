"""Single values of typed data, and what differs between two objects, field by field."""

from typing import Any, Final, NamedTuple

from modelyard.kube.merge.errors import depth_checked
from modelyard.kube.merge.path import ROOT, Element, Path, from_wire, to_wire
from modelyard.kube.merge.typed import Repeated, UnfitError, by_element, item_element, same
from modelyard.kube.merge.types import DEDUCED, Type


class Absent:
    """The type of ``ABSENT``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""No value at all, which is not null."""


def value_at(kind: Type, value: Any, path: Path) -> Any:
    """The value at ``path``, ``ABSENT`` where nothing stands there."""
    for element in path:
        value = child_at(kind, value, element)
        if value is ABSENT:
            return ABSENT
        kind = (kind.child[element] or DEDUCED) if isinstance(element, str) else kind.item if kind.is_list else DEDUCED
    return value


def child_at(kind: Type, value: Any, element: Element) -> Any:
    """The value that one element leads to, ``ABSENT`` where nothing stands there."""
    if isinstance(element, str):
        return value.get(element, ABSENT) if type(value) is dict else ABSENT
    if type(value) is not list:
        return ABSENT
    if isinstance(element, int):
        return value[element] if element < len(value) else ABSENT
    wanted = to_wire(element)
    return next((item for item in value if _element(kind, item) == wanted), ABSENT)


def _element(kind: Type, item: Any) -> str | None:
    try:
        return item_element(kind, item) if kind.list_kind in ("set", "map") else None
    except UnfitError:
        return None


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
            _items(item, path, element, before=left, after=right, found=found)
    for element, right in rights.items():
        if element not in lefts:
            _items(item, path, element, before=ABSENT, after=right, found=found)
    old = [element for element in lefts if element in rights]
    new = [element for element in rights if element in lefts]
    if old != new:
        found.append(Change(path, [*map(from_wire, old)], [*map(from_wire, new)], reordered=True))


def _items(kind: Type, path: Path, element: str, *, before: Any, after: Any, found: list[Change]) -> None:
    here = path / from_wire(element)
    if type(before) is Repeated or type(after) is Repeated:
        before = list(before) if type(before) is Repeated else before
        after = list(after) if type(after) is Repeated else after
        if not same(before, after):
            found.append(Change(here, before, after))
    else:
        _values(kind, here, before, after, found)
