"""Reading single values out of typed data."""

from typing import Any, Final

from modelyard.kube.merge.path import Element, Path, to_wire
from modelyard.kube.merge.typed import UnfitError, item_element
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
