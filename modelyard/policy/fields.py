"""Fields in assertions: paths of an object, with ``[*]`` for every item of a list."""

from collections.abc import Iterator, Mapping
from typing import Any

from modelyard.kube.merge import ABSENT, Key, Path, Value

EVERY = Value("*")
"""The element of a path that stands for every item of a list and every value of a map."""
PODS = "pod."
"""Prefix of a field in every pod template of an object, wherever its kind keeps them."""


def parse(text: str) -> Path:
    """The path of a field, in modelyard's usual notation, with ``[*]`` for every item.

    Raises:
        ValueError: what is wrong, with the column.
    """
    return Path.parse(text.replace("[*]", '[="*"]'))


def values_at(body: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Each place that a path leads to, with its value; ABSENT if the object has nothing there.

    ``[*]`` of an empty or missing list leads nowhere: there is nothing to check.
    """
    yield from _walk(body, path, Path())


def _walk(value: Any, rest: Path, at: Path) -> Iterator[tuple[Path, Any]]:
    if not rest:
        yield at, value
        return
    element, left = rest[0], Path(rest[1:])
    if element == EVERY:
        for step, item in _items(value):
            yield from _walk(item, left, at / step)
        return
    found = _one(value, element)
    if found is ABSENT:
        # A later ``[*]`` stands for items that do not exist.
        if EVERY not in left:
            yield Path((*at, *rest)), ABSENT
    else:
        yield from _walk(found, left, at / element)


def _one(value: Any, element: Any) -> Any:
    match element:
        case str():
            return value.get(element, ABSENT) if isinstance(value, Mapping) else ABSENT
        case int():
            return value[element] if isinstance(value, list | tuple) and element < len(value) else ABSENT
        case Key(fields):
            for item in value if isinstance(value, list | tuple) else ():
                if isinstance(item, Mapping) and all(item.get(name) == wanted for name, wanted in fields):
                    return item
            return ABSENT
        case _:
            return element.value if isinstance(value, list | tuple) and element.value in value else ABSENT


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """Steps into a list or map: items by name if they have one, as merge keys would."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield (Key((("name", name),)) if isinstance(name, str) else index), item
