"""Shapes: how a mapping of a stack file becomes a frozen value, key by key.

The field of a key is the key in Python's spelling: ``perWorker`` fills ``per_worker``. A missing key fills nothing, so
defaults are only in the types of ``config``.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from modelyard.stack import durations
from modelyard.stack.config import Path
from modelyard.stack.secret import Secret

Convert = Callable[[Any, str | None], Any]
"""Converts a value; the second argument is its source text if it is a number."""


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


class Source(NamedTuple):
    """What a document contains besides its values."""

    texts: Mapping[Path, str]
    """Source text of numbers."""
    secrets: frozenset[Path]
    """Paths of encrypted values."""


def made(given: Mapping[str, Any], shape: Shape, source: Source, path: Path = ()) -> Any:
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


def _held(value: Any, held: Convert | Shape | Each | Named, source: Source, path: Path) -> Any:
    match held:
        case Shape():
            return made(value, held, source, path)
        case Each(shape):
            return tuple(made(item, shape, source, (*path, index)) for index, item in enumerate(value))
        case Named(shape):
            return {name: made(item, shape, source, (*path, name)) for name, item in value.items()}
    sealed = _sealed(value, path, source.secrets) if source.secrets else value
    return sealed if isinstance(sealed, Secret) else held(sealed, source.texts.get(path))


def _sealed(value: Any, path: Path, secrets: frozenset[Path]) -> Any:
    """Returns the value with a ``Secret`` for each encrypted value."""
    if path in secrets:
        return Secret(path)
    if isinstance(value, dict):
        return {key: _sealed(inner, (*path, key), secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_sealed(inner, (*path, index), secrets) for index, inner in enumerate(value)]
    return value


def same(value: Any, _: str | None) -> Any:
    """Returns the value unchanged."""
    return value


def line(value: Any, _: str | None) -> str:
    """Returns text as one line."""
    return " ".join(value.split())


def count(value: Any, _: str | None) -> int:
    """Returns a whole number, even if it is written ``1.0``."""
    return int(value)


def counts(value: Any, _: str | None) -> dict[str, int]:
    """Returns whole numbers by name."""
    return {key: int(number) for key, number in value.items()}


def flag(value: Any, _: str | None) -> bool:
    """Returns a boolean; `pulumi config set` writes it as text."""
    return value is True or value == "true"


def quantity(value: Any, text: str | None) -> str:
    """Returns a Kubernetes quantity as the operator wrote it."""
    if isinstance(value, str):
        return value
    # The source text of a hexadecimal number is not a quantity; its value is.
    return text if text is not None and text[:2] not in ("0x", "0o") else str(value)


def seconds(value: Any, _: str | None) -> int:
    """Returns a duration in seconds."""
    return durations.seconds(value)


def items(value: Any, _: str | None) -> tuple[str, ...]:
    """Returns a list of texts."""
    return tuple(value)


def day(value: Any, _: str | None) -> date:
    """Returns a date."""
    return date.fromisoformat(value)


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
