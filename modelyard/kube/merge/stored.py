"""The form in which the API server stores a value and gives it back.

Between what a client sends and what the server returns stand a decoder, defaults, and an encoder. What is done here of
it: quantities in their canonical form, nulls dropped where null is no value, zero values and empty optional maps and
lists of Go types dropped, or filled in where Go always writes them, defaults that the OpenAPI document declares.
Defaults of the server's Go code are filled in where a request takes the earlier value away: in atomic values, for a
zero value, and for a field that goes. Those of new objects and new structs (a new container's pull policy, a new
probe's period) are not.
"""

from collections.abc import Iterator
from itertools import zip_longest
from operator import is_
from typing import Any

from modelyard.kube.merge.canonical import canonical
from modelyard.kube.merge.errors import depth_checked
from modelyard.kube.merge.path import ROOT, Path
from modelyard.kube.merge.typed import same
from modelyard.kube.merge.types import Type

_ZEROS = {"string": "", "quantity": "0", "integer": 0, "number": 0, "boolean": False}
"""What a null becomes where Go has no way to hold it: in a typed map or list."""


@depth_checked
def stored(kind: Type, value: Any, before: Any = None) -> Any:
    """``value`` as the API server gives it back; ``value`` itself when that is the same.

    ``before`` is a value that is in that form already: what the two share is not looked at again.

    Raises:
        MergeError: the value is nested too deeply.
    """
    return _stored(kind, value, before)


def _stored(kind: Type, value: Any, before: Any = None) -> Any:
    if value is before:
        return value
    sort = type(value)
    if sort is dict:
        if not kind.is_map:
            return value
        after = _map(kind, value, before if type(before) is dict else {})
        return after if kind.separable or after is before else filled(kind, after, before)
    if sort is list:
        if not kind.is_list:
            return value
        known = {id(item): item for item in before} if type(before) is list else {}
        items = [
            item if id(item) in known else _item(kind.item, item, _counterpart(kind, item, before)) for item in value
        ]
        result = _unchanged(items, value, before)
        return filled(kind, result, before) if kind.list_kind == "atomic" and result is not before else result
    if kind.scalar == "quantity" and value is not None:
        return canonical(str(value))
    return value


def _item(kind: Type, item: Any, before: Any) -> Any:
    if item is None and kind.native:
        item = {} if kind.is_map else _ZEROS.get(kind.scalar)
    return _stored(kind, item, before)


def _unchanged(items: list[Any], *lists: Any) -> list[Any]:
    """The first of the lists that has exactly these items, or else the items themselves."""
    for known in lists:
        if type(known) is list and len(known) == len(items) and all(map(is_, items, known)):
            return known
    return items


def _counterpart(kind: Type, item: Any, before: Any) -> Any:
    """The item of ``before`` that ``item`` is a later version of."""
    if type(before) is list and kind.keys and type(item) is dict:
        keys = [(key, item.get(key, kind.key_default(key))) for key in kind.keys]
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
        if type_ is None or (kind.prunes and not kind.declares(name)):
            if name not in before:
                out = dict(value) if out is None else out
                del out[name]
            continue
        after = _stored(type_, inner, earlier)
        if type_.scalar == "quantity" and type(after) is str and not kind.declares(name):
            after = canonical(after, whole_milli=True)
        if after is None and type_.native and not (kind.native and kind.declares(name)):
            # Also the metadata of an object within a custom resource.
            after = _item(type_, None, earlier)
        if after is not inner and type(after) is str and after == earlier:
            after = earlier
        if type_.native and name in kind.written and after == []:
            # Go prints null for an empty list that must be there.
            after = None
        nothing = _is_nothing(kind, type_, name, after)
        if after is inner and not nothing:
            continue
        if out is None:
            out = dict(value)
        if nothing:
            del out[name]
        else:
            out[name] = after
    result = value if out is None else out
    missing = [name for name in kind.defaults if name not in result]
    missing += [n for n in kind.zeros if n not in result and (n in before or n in value or not before)]
    missing += [name for name in kind.code_defaults if name not in result and (name in before or name in value)]
    if kind.native:
        # A list that must be there is null when nothing is in it.
        missing += [n for n in kind.written if n in before and n not in result and (child[n] or kind).is_list]
    if missing:
        result = dict(result)
        for name in missing:
            type_ = child[name] or kind
            default = kind.code_defaults.get(name, kind.defaults.get(name, kind.zeros.get(name)))
            result[name] = _stored(type_, _copied(default), before.get(name))
            if name in before and same(result[name], before[name]):
                result[name] = before[name]
    for name, sources in kind.copied.get("fill", {}).items():
        type_ = child[name]
        # Maps are filled with the atomic list that they stand in.
        if (name in value or name in before) and not result.get(name) and not (type_ and type_.is_map):
            copy = result.get(sources[0])
            if copy is None:
                # Nothing to copy from. The server refuses such an item: the field that it takes from is required.
                continue
            result = {**result, name: before[name] if same(copy, before.get(name)) else copy}
    derived = [name for name in kind.derived if name in value and name in before and name not in result]
    if derived:
        result = {**result, **{name: before[name] for name in derived}}
    if result is not value and len(result) == len(before) and all(before.get(n, kind) is v for n, v in result.items()):
        return before
    return result


def _is_nothing(kind: Type, type_: Type, name: str, value: Any) -> bool:
    """Whether the server drops the field."""
    if value is None:
        # A custom resource keeps a null that no default replaces, and its validation refuses it.
        if type_.native:
            return name not in kind.written or name in kind.zeros or name in kind.code_defaults
        if not type_.nullable and name in kind.defaults:
            return True
        # A declared field of any type accepts a null, which is not stored.
        return type_.scalar == "any" and kind.declares(name) and not kind.child.properties[name].get("nullable")
    if value or not type_.native:
        return False
    if name in kind.drops_zero or type(value) is list:
        return True
    if name in kind.written or type(value) is not dict:
        return False
    return not type_.child.properties and type_.child.element is not None and not type_.unchecked


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


# The defaults of the API server's code inside atomic values.
#
# Elsewhere a field that a default once filled stays when a request leaves it out. An atomic list or map is replaced
# as a whole, so the server fills its defaults in again each time.
def filled(kind: Type, value: Any, before: Any) -> Any:
    """``value`` with the defaults that the API server gives to it; ``before`` itself when that is the same.

    A field whose default depends on the fields beside it keeps its value of ``before`` where those are equal.
    """
    after = _filled(kind, value, before)
    return before if same(after, before) else after


def _filled(kind: Type, value: Any, before: Any) -> Any:
    if not kind.native:
        return value
    if type(value) is list and kind.is_list:
        earlier = before[: len(value)] if type(before) is list else []
        return [_filled(kind.item, *pair) for pair in zip_longest(value, earlier)]
    if type(value) is not dict or not kind.is_map:
        return value
    known = before if type(before) is dict else {}
    out = {}
    for name, inner in value.items():
        type_ = kind.child[name]
        out[name] = inner if type_ is None else _filled(type_, inner, known.get(name))
    out.update((name, default) for name, default in kind.code_defaults.items() if name not in out)
    if kind.copied and all(out.get(name) == wanted for name, wanted in kind.copied["when"].items()):
        for name, sources in kind.copied["fill"].items():
            # What comes first stays; the name itself is the first of all.
            parts = [part for one in (*reversed(sources), name) if type(part := out.get(one)) is dict]
            if whole := {key: amount for part in parts for key, amount in part.items()}:
                out[name] = whole
    # Some versions print null where nothing is.
    kept = {n: v for n, v in known.items() if n not in out and (v is None or n in kind.derived)}
    return {**out, **kept} if kept and same({**out, **kept}, known) else out
