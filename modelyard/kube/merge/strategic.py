"""Strategic merge patch: partial objects with directives, laid over an object as ``kubectl`` and the API server do it.

The algorithm is that of apimachinery's ``strategicpatch``. Which lists merge, and by which key, the schema tells
(``x-kubernetes-patch-strategy``, ``x-kubernetes-patch-merge-key``); a type that says nothing gives a JSON merge patch.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from modelyard.kube.merge import ordering
from modelyard.kube.merge.errors import MergeError, SchemaError, depth_checked
from modelyard.kube.merge.path import ROOT, Path
from modelyard.kube.merge.types import Type

PATCH, RETAIN_KEYS = "$patch", "$retainKeys"
DELETE_FROM, SET_ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"

Object = dict[str, Any]


@depth_checked
def strategic(original: Mapping[str, Any], patch: Mapping[str, Any], schema: Type) -> Object:
    """``original`` with a strategic merge patch applied.

    Directives: ``$patch: replace | delete | merge`` in a map or a list's item, ``$deleteFromPrimitiveList/<list>``,
    ``$setElementOrder/<list>``, ``$retainKeys``; null deletes a field. The result shares what did not change with
    its inputs.

    Raises:
        MergeError: a directive is malformed, a list's item lacks the merge key, or items of a list differ in type.
    """
    return _maps(schema, ROOT, original, patch)


def _maps(kind: Type, path: Path, original: Mapping[str, Any] | None, patch: Mapping[str, Any]) -> Object:
    """The merge of two maps."""
    if PATCH in patch:
        return _replaced(path, patch)
    out = dict(original or {})
    rest = dict(patch)
    _retain_keys(path, out, rest)
    for directive in [name for name in rest if name.startswith(SET_ORDER)]:
        _in_set_order(kind, path, out, rest, directive)
    for name in sorted(rest, key=lambda name: not name.startswith(DELETE_FROM)):
        value = rest[name]
        if name.startswith(DELETE_FROM):
            before = out.get(name.removeprefix(DELETE_FROM))
            if value is not None and not isinstance(value, list):
                _fail(path / name, "expected a list")
            _item_sort(path / name, before if type(before) is list else [], value or [])
            _delete_from(out, name, value)
        elif value is None:
            out.pop(name, None)
        else:
            before = out.get(name)
            if type(before) is dict and type(value) is dict:
                type_ = _field_type(kind, path, name)
                replace = type_.strategy == "replace"
                out[name] = dict(value) if replace else _maps(type_, path / name, before, value)
            elif type(before) is list and type(value) is list:
                out[name] = _lists(_field_type(kind, path, name), path / name, before, value)
            else:
                out[name], kept = _added(value)
                if not kept:
                    del out[name]
    return out


def _lists(kind: Type, path: Path, original: list[Any], patch: list[Any]) -> list[Any]:
    """The merge of two lists, or the patch's where the type does not merge."""
    if kind.strategy != "merge":
        return patch
    if not original and not patch:
        return original
    if _item_sort(path, original, patch) is not dict:
        merged, key = ordering.unique([*original, *patch]), ""
    else:
        key = kind.merge_key
        if not key:
            _fail(path, "the list merges, but the schema names no merge key")
        original, patch = _special_items(path, original, patch, key)
        merged = _items(kind, path, original, patch, key)
    _require_key(path, key, merged, patch, original)
    inside, outside = ordering.split(merged, patch, key)
    return ordering.arrange(inside, outside, patch, original, key)


def _items(kind: Type, path: Path, original: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Each item of the patch merged into the original's of the same key, or appended."""
    out = list(original)
    _require_key(path, key, patch)
    for item in patch:
        at = ordering.place(out, item, key)
        if at >= 0:
            out[at] = _maps(_item_type(kind), path / at, out[at], item)
        else:
            out.append(_plain(item))
    return out


def _in_set_order(kind: Type, path: Path, out: Object, rest: Object, directive: str) -> None:
    """Merges the list that a ``$setElementOrder`` belongs to, and puts it in that order."""
    wanted = rest.pop(directive)
    name = directive.removeprefix(SET_ORDER)
    if not isinstance(wanted, list):
        _fail(path / directive, "expected a list")
    original, patch = out.get(name), rest.get(name)
    for side in (original, patch):
        if side is not None and not isinstance(side, list):
            _fail(path / name, f"expected a list, because {directive} is next to it")
    type_ = _field_type(kind, path, name)
    key = type_.merge_key
    _check_order(path / directive, patch or [], wanted, key)
    if name in out and name in rest:
        merged = _lists(type_, path / name, original or [], patch or [])
    elif name in out:
        merged = original or []
    elif name in rest:
        merged = _added(patch)[0]
    else:
        return
    if not original and not patch:
        _fail(path / directive, "the list has no items to order")
    _item_sort(path / name, original or [], patch or [])
    _require_key(path / name, key, merged, wanted, original or [])
    inside, outside = ordering.split(merged, wanted, key)
    live_order = ordering.after_in_place_merge(original or [], patch or [], key)
    out[name] = ordering.arrange(inside, outside, wanted, live_order, key)
    rest.pop(name, None)


def _retain_keys(path: Path, out: Object, rest: Object) -> None:
    if RETAIN_KEYS not in rest:
        return
    kept = rest.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        _fail(path / RETAIN_KEYS, "expected a list of field names")
    for name, value in rest.items():
        if value is not None and not name.startswith((DELETE_FROM, SET_ORDER)) and name not in kept:
            _fail(path / name, f"set by the patch, but not among its {RETAIN_KEYS}: {', '.join(map(str, kept))}")
    for name in [name for name in out if name not in kept]:
        del out[name]


def _delete_from(out: Object, directive: str, value: list[Any] | None) -> None:
    name = directive.removeprefix(DELETE_FROM)
    before = out.get(name)
    if value is None:
        out.pop(name, None)
    elif type(before) is list:
        out[name] = [item for item in before if ordering.place(value, item, "") < 0]


def _added(value: Any) -> tuple[Any, bool]:
    left, kept = _without_marked(value)
    return _plain(left), kept


def _replaced(path: Path, patch: Mapping[str, Any]) -> Object:
    match patch[PATCH]:
        case "replace":
            plain: Object = _plain({name: value for name, value in patch.items() if name != PATCH})
            return plain
        case "delete":
            return {}
    return _fail(path / PATCH, f"{patch[PATCH]!r} is neither replace nor delete")


def _special_items(path: Path, original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """What ``$patch`` items leave of the original list, and the patch without them."""
    plain = []
    replace = False
    for at, item in enumerate(patch):
        if PATCH not in item:
            plain.append(item)
            continue
        match item[PATCH]:
            case "delete":
                _require_key(path, key, [item])
                original = [other for other in original if ordering.place([item], other, key) < 0]
            case "replace":
                replace = True
            case "merge":
                _fail(path / at / PATCH, "merging is what a list's items do anyway; leave the directive out")
            case other:
                _fail(path / at / PATCH, f"{other!r} is neither replace nor delete")
    return ([_plain(item) for item in plain], []) if replace else (original, plain)


def _check_order(path: Path, patch: list[Any], wanted: list[Any], key: str) -> None:
    """Whether the patch's items stand in the wanted order; as upstream, a last item may not be a ``replace``."""
    items = [item for item in patch if not (isinstance(item, dict) and item.get(PATCH) == "delete")]
    if not patch or not wanted:
        return
    _require_key(path, key, [item for item in items if not _is_marked(item)], wanted)
    at = step = 0
    while at < len(items) and step < len(wanted):
        if _is_marked(items[at]):
            at += 1
            continue
        if ordering.place([wanted[step]], items[at], key) >= 0:
            at += 1
        step += 1
    if at < len(items):
        _fail(path, "the items of the patch are not among these, or not in this order")


def _is_marked(item: Any) -> bool:
    return isinstance(item, dict) and PATCH in item


def _field_type(kind: Type, path: Path, name: str) -> Type:
    """The type of a field that both sides have."""
    found = kind.child[name]
    if found is None:
        _fail(path / name, "unknown field")
    return found


def _item_type(kind: Type) -> Type:
    """The type of a list's items; a list where the schema has a single one is a list of those."""
    return kind if kind.child.properties or not kind.is_list else kind.item


def _item_sort(path: Path, *lists: list[Any]) -> type:
    """The one type that all items have."""
    sorts = {type(item) for items in lists for item in items}
    if len(sorts) > 1:
        _fail(path, "the items of the list are not all of one type")
    if list in sorts:
        _fail(path, "lists of lists cannot be merged")
    return sorts.pop() if sorts else str


def _require_key(path: Path, key: str, *lists: list[Any]) -> None:
    """Fails unless every item has the merge key."""
    if not key:
        return
    for items in lists:
        for at, item in enumerate(items):
            if not isinstance(item, dict):
                _fail(path / at, "expected a map")
            if key not in item:
                _fail(path / at, f"the item needs {key}, by which items of this list are matched")


def _without_marked(value: Any) -> tuple[Any, bool]:
    """The value without its maps that hold ``$patch``, and whether it is none itself."""
    if type(value) is dict:
        if PATCH in value:
            return None, False
        parts = {name: _without_marked(inner) for name, inner in value.items()}
        return {name: inner for name, (inner, kept) in parts.items() if kept}, True
    if type(value) is list:
        return [inner for inner, kept in map(_without_marked, value) if kept], True
    return value, True


def _plain(value: Any) -> Any:
    """The value without nulls and directives, where those are not acted upon: what is beside them stays."""
    if type(value) is dict:
        return {name: _plain(inner) for name, inner in value.items() if inner is not None and not _is_directive(name)}
    if type(value) is list:
        return [_plain(item) for item in value]
    return value


def _is_directive(name: str) -> bool:
    return name.startswith(("$patch", "$retainKeys", DELETE_FROM, SET_ORDER))


def _fail(path: Path, message: str) -> NoReturn:
    """Raises the error of one place."""
    raise MergeError([SchemaError(path, message)])
