"""Shapes: how a mapping of a stack file becomes a frozen value, key by key.

The types of ``config`` define the keys, how each is read, and its default. The field of a key is the key in Python's
spelling: ``perWorker`` fills ``per_worker``. A missing key fills nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

from modelyard.stack.config import Config, StackPath
from modelyard.stack.secret import Secret
from modelyard.stack.units import COMPUTED, Convert


class Shape(NamedTuple):
    """A mapping of known keys."""

    kind: Callable[..., Any]
    """Creates the value; called with its fields by name."""
    keys: Mapping[str, "Convert | Shape | Each | Named"]

    @property
    def plain(self) -> tuple[str, ...]:
        """The keys that hold no nested shape."""
        return tuple(key for key, held in self.keys.items() if not isinstance(held, Shape | Each | Named))


class Each(NamedTuple):
    """A list of mappings of one shape."""

    shape: Shape


class Named(NamedTuple):
    """Mappings of one shape, by names that the operator chose."""

    shape: Shape


class DocumentSource(NamedTuple):
    """What a document contains besides its values."""

    texts: Mapping[StackPath, str]
    """Source text of numbers."""
    secrets: frozenset[StackPath]
    """Paths of encrypted values."""


def made(given: Mapping[str, Any], shape: Shape, source: DocumentSource, path: StackPath = ()) -> Any:
    """Returns the value of a mapping that follows the schema.

    Args:
        given: the mapping.
        shape: its shape.
        source: of the whole document.
        path: the path of the mapping in the document.

    Raises:
        KeyError: the mapping has a key that the shape does not know; the schema rejects such keys.
    """
    return shape.kind(
        **{field_of(key): _held(value, shape.keys[key], source, (*path, key)) for key, value in given.items()}
    )


@cache
def field_of(key: str) -> str:
    """Returns the field that a key fills."""
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key)


def spelled(field: str) -> str:
    """Returns the key that fills a field: ``timeLimit`` for ``time_limit``."""
    return re.sub(r"_(.)", lambda found: found[1].upper(), field)


def _held(value: Any, held: Convert | Shape | Each | Named, source: DocumentSource, path: StackPath) -> Any:
    match held:
        case Shape():
            return made(value, held, source, path)
        case Each(shape):
            return tuple(made(item, shape, source, (*path, index)) for index, item in enumerate(value))
        case Named(shape):
            return {name: made(item, shape, source, (*path, name)) for name, item in value.items()}
    sealed = _sealed(value, path, source.secrets) if source.secrets else value
    return sealed if isinstance(sealed, Secret) else held(sealed, source.texts.get(path))


def leaves(
    value: Any, expected: Convert | Shape | Each | Named, path: StackPath
) -> Iterator[tuple[StackPath, Convert, Any]]:
    """Yields each value with a known key, in the order of the file: its path, how it is read, and the value.

    Args:
        value: plain values. They need not follow the schema; what has another form is left out.
        expected: what the value should be.
        path: its path.
    """
    waiting = [(value, expected, path)]
    while waiting:
        value, expected, path = waiting.pop()
        match expected:
            case Shape(_, keys):
                known = [key for key in value if key in keys] if isinstance(value, dict) else []
                waiting += ((value[key], keys[key], (*path, key)) for key in reversed(known))
            case Each(shape):
                items = [*enumerate(value)] if isinstance(value, list) else []
                waiting += ((item, shape, (*path, index)) for index, item in reversed(items))
            case Named(shape):
                named = [*value.items()] if isinstance(value, dict) else []
                waiting += ((item, shape, (*path, name)) for name, item in reversed(named))
            case _:
                yield path, expected, value


def _sealed(value: Any, path: StackPath, secrets: frozenset[StackPath]) -> Any:
    """Returns the value with a ``Secret`` for each encrypted value."""
    if path in secrets:
        return Secret(path)
    if isinstance(value, dict):
        return {key: _sealed(inner, (*path, key), secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_sealed(inner, (*path, index), secrets) for index, inner in enumerate(value)]
    return value


def _same(value: Any, _: str | None) -> Any:
    return value


def _count(value: Any, _: str | None) -> int:
    """Returns a whole number, even if it is written ``1.0``."""
    return int(value)


def _counts(value: Any, _: str | None) -> dict[str, int]:
    return {key: int(number) for key, number in value.items()}


def _flag(value: Any, _: str | None) -> bool:
    """Returns a boolean; `pulumi config set` writes it as text."""
    return value is True or value == "true"


def _items(value: Any, _: str | None) -> tuple[str, ...]:
    return tuple(value)


def _day(value: Any, _: str | None) -> date:
    return date.fromisoformat(value)


_BY_TYPE: Final[Mapping[Any, Convert]] = {
    int: _count,
    bool: _flag,
    date: _day,
    tuple[str, ...]: _items,
    Mapping[str, int]: _counts,
    Secret: _same,
}


def _shape_of(kind: Any, default: Any = None) -> Shape:
    """Returns the shape with a key for each field of a type, read as the field's type says.

    Args:
        kind: the type.
        default: what the mapping changes, such as the names of one of the platform's Deployments; None: nothing.
    """
    held = {
        spelled(field): _held_by(wanted, kind._field_defaults.get(field))
        for field, wanted in kind.__annotations__.items()
    }
    keys = {key: one for key, one in held.items() if one is not COMPUTED}
    return Shape(kind if default is None else default._replace, keys)


def _held_by(wanted: Any, default: Any) -> Any:
    """Returns how the key of a field is read, by the field's type; ``default`` is its default.

    A type with fields is a mapping, and so is a list or mapping of such types. An annotated type names its reader.
    """
    parts = get_args(wanted)
    if get_origin(wanted) is Annotated:
        return parts[1]
    if NoneType in parts:
        return _held_by(next(part for part in parts if part is not NoneType), default)
    if wanted in _BY_TYPE:
        return _BY_TYPE[wanted]
    if hasattr(wanted, "_fields"):
        return _shape_of(wanted, default)
    match parts:
        case (kind, _) if hasattr(kind, "_fields"):
            return Each(_shape_of(kind))
        case (_, kind) if hasattr(kind, "_fields"):
            return Named(_shape_of(kind))
    if wanted is str or get_origin(wanted) in (Literal, Mapping):
        return _same
    raise TypeError(f"no reader for settings of type {wanted}")


CONFIG: Final = _shape_of(Config)
"""Everything under ``modelyard:``, keys without the prefix."""


def plain(value: Any) -> Any:
    """Returns the value with the keys of the stack file; unset keys have their default, or None.

    Durations are seconds, as in a config; ``[secret]`` replaces an encrypted value.
    """
    if isinstance(value, Secret):
        return repr(value)
    if hasattr(value, "_asdict"):
        return {spelled(name): plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return value.isoformat() if isinstance(value, date) else value
