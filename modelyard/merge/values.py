"""Reading single values out of typed data."""

from typing import Any, Final

from modelyard.merge.path import Key, Path, Value, to_wire
from modelyard.merge.typed import UnfitError, item_element
from modelyard.merge.types import DEDUCED, Type


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
        if isinstance(element, str):
            if type(value) is not dict or element not in value:
                return ABSENT
            value, kind = value[element], kind.child[element] or DEDUCED
            continue
        if type(value) is not list:
            return ABSENT
        if isinstance(element, Key | Value):
            wanted = to_wire(element)
            found = next((item for item in value if _element(kind, item) == wanted), ABSENT)
            if found is ABSENT:
                return ABSENT
            value = found
        elif element < len(value):
            value = value[element]
        else:
            return ABSENT
        kind = kind.item if kind.is_list else DEDUCED
    return value


def _element(kind: Type, item: Any) -> str | None:
    try:
        return item_element(kind, item) if kind.is_list else None
    except UnfitError:
        return None
