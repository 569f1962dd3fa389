"""Whether a value is of its type, with everything that is wrong told at once."""

from typing import Any

from modelyard.kube.merge.canonical import is_quantity
from modelyard.kube.merge.errors import TOO_DEEP, MergeError, SchemaError
from modelyard.kube.merge.metadata import NO_TIME, is_time
from modelyard.kube.merge.path import ROOT, Path, from_wire
from modelyard.kube.merge.typed import UnfitError, item_element
from modelyard.kube.merge.types import MICRO_TIME, TIME, Type

_DIRECTIVES = ("$patch", "$retainKeys", "$deleteFromPrimitiveList/", "$setElementOrder/")
_IGNORED = (Path(("metadata", "creationTimestamp")), Path(("metadata", "deletionTimestamp")))
"""What the API server does not look at in a custom resource where it is no time."""
_ARTICLE = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}


def validate(obj: Any, schema: Type, partial: bool = True) -> tuple[SchemaError, ...]:
    """What in ``obj`` does not fit ``schema``, sorted by path; nothing when it fits.

    Args:
        obj: An object or a patch.
        schema: Its type.
        partial: Whether this is a patch: required fields may be missing and directives of strategic merge patch are
            fine.
    """
    return tuple(_problems(_Check(partial, partial), obj, schema))


def misfits(applied: Any, schema: Type) -> list[SchemaError]:
    """Why ``applied`` cannot be sent by server-side apply."""
    return _problems(_Check(True, False), applied, schema)


def unfit(sent: Any, schema: Type) -> MergeError:
    """The error for a merge that met a value of the wrong type: what is wrong with ``sent``, or the live one."""
    live = SchemaError(ROOT, f"the live object is not of the schema's type {schema.name}")
    return MergeError(misfits(sent, schema) or [live])


def _problems(check: "_Check", value: Any, schema: Type) -> list[SchemaError]:
    try:
        errors = check.value(schema, ROOT, value)
    except RecursionError:
        return [TOO_DEEP]
    if not schema.native:
        errors = [error for error in errors if error.path not in _IGNORED]
    return sorted(errors, key=lambda error: (error.path.sort_key, error.message))


class _Check:
    def __init__(self, partial: bool, directives: bool) -> None:
        self.partial = partial
        self.directives = directives

    def value(self, kind: Type, path: Path, value: Any) -> list[SchemaError]:
        if value is None:
            return []
        if type(value) is dict:
            return self.map(kind, path, value) if kind.is_map else [_wrong(kind, path, value)]
        if type(value) is list:
            return self.list(kind, path, value) if kind.is_list else [_wrong(kind, path, value)]
        return _scalar(kind, path, value)

    def map(self, kind: Type, path: Path, value: dict[str, Any]) -> list[SchemaError]:
        errors = []
        for name, inner in value.items():
            if not isinstance(name, str):
                errors.append(SchemaError(path, f"the key {name!r} is not a string; quote it"))
            elif name.startswith(_DIRECTIVES):
                if not self.directives:
                    errors.append(
                        SchemaError(
                            path / name, "server-side apply does not support directives of strategic merge patch"
                        )
                    )
            else:
                type_ = kind.child[name]
                if type_ is None:
                    errors.append(SchemaError(path / name, _unknown(kind, name)))
                else:
                    errors += self.value(type_, path / name, inner)
        if not self.partial:
            errors += [
                SchemaError(path / name, "required, but missing") for name in kind.required if value.get(name) is None
            ]
        return errors

    def list(self, kind: Type, path: Path, items: list[Any]) -> list[SchemaError]:
        errors = []
        seen: set[str] = set()
        for index, item in enumerate(items):
            here = path / index
            if item is None:
                errors.append(SchemaError(here, "an item must not be null"))
                continue
            if kind.list_kind != "atomic":
                missing = _missing_keys(kind, item)
                if missing and not (self.directives and "$patch" in item):
                    keys = " and ".join(missing)
                    errors.append(SchemaError(here, f"the item needs {keys}, by which items of this list are matched"))
                elif not missing and (element := _element(kind, item)):
                    here = path / from_wire(element)
                    if element in seen:
                        errors.append(SchemaError(here, "the list has two items of this key"))
                    seen.add(element)
            errors += self.value(kind.item, here, item)
        return errors


def _missing_keys(kind: Type, item: Any) -> list[str]:
    """The keys that an item lacks and must have: those without a default that means something, unless optional."""
    if type(item) is not dict:
        return []
    lacking = [key for key in kind.keys if item.get(key) is None and not _has_default(kind, key)]
    return lacking if len(lacking) == len(kind.keys) else [key for key in lacking if key in kind.item.required]


def _has_default(kind: Type, key: str) -> bool:
    default = kind.key_default(key)
    return bool(default) or (default is not None and not kind.native)


def _element(kind: Type, item: Any) -> str | None:
    try:
        return item_element(kind, item)
    except UnfitError:
        return None


def _unknown(kind: Type, name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, kind.child.properties, 1)
    if not close:
        close = [known for known in kind.child.properties if known.lower() == name.lower()]
    return f"unknown field; did you mean {close[0]}?" if close else "unknown field"


def _scalar(kind: Type, path: Path, value: Any) -> list[SchemaError]:
    sort = type(value)
    if kind.name in (TIME, MICRO_TIME) and sort is str and not is_time(value, kind.name == MICRO_TIME):
        return [SchemaError(path, f"{value!r} {NO_TIME}")]
    match kind.scalar:
        case "any":
            fits = sort in (str, int, float, bool)
        case "string":
            fits = sort is str
        case "boolean":
            fits = sort is bool
        case "integer":
            fits = sort is int
        case "number":
            fits = sort in (int, float)
        case "int-or-string":
            fits = sort in (int, str)
        case "quantity":
            if sort is str and not is_quantity(value):
                return [SchemaError(path, f"{value!r} is not a quantity such as 16Gi, 500m or 4")]
            fits = sort in (str, int, float)
        case _:
            fits = False
    return [] if fits else [_wrong(kind, path, value)]


def _wrong(kind: Type, path: Path, value: Any) -> SchemaError:
    expected = [_ARTICLE.get(kind.scalar, "")]
    if kind.scalar == "int-or-string":
        expected = ["a whole number or a string"]
    elif kind.scalar == "quantity":
        expected = ["a quantity such as 16Gi, 500m or 4"]
    elif kind.scalar == "any":
        expected = ["a string, a number, true or false"]
    if kind.is_map:
        expected.append("a map")
    if kind.is_list:
        expected.append("a list")
    hint = "; quote it" if kind.scalar == "string" and type(value) in (int, float, bool) else ""
    return SchemaError(path, f"expected {' or '.join(filter(None, expected))}, got {_shown(value)}{hint}")


def _shown(value: Any) -> str:
    if type(value) is dict:
        return "a map"
    if type(value) is list:
        return "a list"
    if type(value) is bool:
        return str(value).lower()
    if type(value) is str:
        return f"the string {value!r}"
    if type(value) in (int, float):
        return f"the number {value}"
    return f"a {type(value).__name__}"
