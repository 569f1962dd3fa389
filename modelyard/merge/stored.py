"""The form in which the API server stores a value and gives it back.

Between what a client sends and what the server returns stand a decoder, defaults, and an encoder. What of it the
OpenAPI document tells is done here: quantities in their canonical form, nulls dropped where null is no value, empty
optional maps and lists of Go types dropped, defaults that the document declares. Defaults that only the server's Go
code knows (an image's pull policy, a probe's period) are not.
"""

from collections.abc import Iterator
from operator import is_
from typing import Any

from modelyard.merge.canonical import canonical
from modelyard.merge.path import ROOT, Path
from modelyard.merge.types import Type


def stored(kind: Type, value: Any, before: Any = None) -> Any:
    """``value`` as the API server gives it back; ``value`` itself when that is the same.

    ``before`` is a value that is in that form already: what the two share is not looked at again.
    """
    if value is before:
        return value
    sort = type(value)
    if sort is dict:
        return _map(kind, value, before if type(before) is dict else {}) if kind.is_map else value
    if sort is list:
        if not kind.is_list:
            return value
        known = {id(item): item for item in before} if type(before) is list else {}
        items = [
            item if id(item) in known else stored(kind.item, item, _counterpart(kind, item, before)) for item in value
        ]
        return _unchanged(items, value, before)
    if kind.scalar == "quantity" and value is not None:
        return canonical(str(value))
    return value


def _unchanged(items: list[Any], *lists: Any) -> list[Any]:
    """The first of the lists that has exactly these items, or else the items themselves."""
    for known in lists:
        if type(known) is list and len(known) == len(items) and all(map(is_, items, known)):
            return known
    return items


def _counterpart(kind: Type, item: Any, before: Any) -> Any:
    """The item of ``before`` that ``item`` is a later version of."""
    if type(before) is list and kind.keys and type(item) is dict:
        keys = [(key, item.get(key)) for key in kind.keys]
        for other in before:
            if type(other) is dict and all(other.get(key) == value for key, value in keys):
                return other
    return None


def _map(kind: Type, value: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    out = None
    child = kind.child
    for name, inner in value.items():
        earlier = before.get(name)
        if inner is earlier and inner is not None:
            continue
        type_ = child[name]
        if type_ is None:
            if name not in before:
                out = dict(value) if out is None else out
                del out[name]
            continue
        after = stored(type_, inner, earlier)
        if type_.scalar == "quantity" and type(after) is str and not kind.declares(name):
            after = canonical(after, whole_milli=True)
        if after is not inner and type(after) is str and after == earlier:
            after = earlier
        if after is inner and not (_is_nothing(kind, type_, name, after)):
            continue
        if out is None:
            out = dict(value)
        if _is_nothing(kind, type_, name, after):
            del out[name]
        else:
            out[name] = after
    result = value if out is None else out
    missing = [name for name in kind.defaults if name not in result]
    missing += [name for name in kind.zeros if name not in result and (name in before or not before)]
    if missing:
        result = dict(result)
        for name in missing:
            result[name] = stored(child[name] or kind, _copied(kind.defaults.get(name, {})))
    if result is not value and len(result) == len(before) and all(before.get(n, kind) is v for n, v in result.items()):
        return before
    return result


def _is_nothing(kind: Type, type_: Type, name: str, value: Any) -> bool:
    """Whether the server drops the field."""
    if value is None:
        # A custom resource keeps a null that no default replaces, and its validation refuses it.
        return type_.native or (not type_.nullable and name in kind.defaults)
    if value or not type_.native or name in kind.required:
        return False
    if type(value) is list:
        return True
    return (
        type(value) is dict and not type_.child.properties and type_.child.element is not None and not type_.unchecked
    )


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in value.items()}
    if type(value) is list:
        return [_copied(item) for item in value]
    return value


def refused_nulls(kind: Type, value: Any, before: Any, path: Path = ROOT) -> Iterator[Path]:
    """Where a custom resource holds a null that its schema does not allow, among what differs from ``before``."""
    if value is before:
        return
    if type(value) is dict:
        known = before if type(before) is dict else {}
        for name, inner in value.items():
            type_ = kind.child[name]
            if type_ is None or type_.native or inner is known.get(name, kind):
                continue
            if inner is None:
                if not type_.nullable:
                    yield path / name
            else:
                yield from refused_nulls(type_, inner, known.get(name), path / name)
    elif type(value) is list and kind.is_list:
        for index, item in enumerate(value):
            yield from refused_nulls(kind.item, item, _counterpart(kind, item, before), path / index)
