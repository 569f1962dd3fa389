"""Recognizes valid values without a validator: importing one and compiling a schema take as long as a small plan.

Only for modelyard's own schemas. It knows part of JSON Schema, and never accepts a value that a validator rejects.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

_FORMATS: Final = frozenset(
    {"date", "date-time", "time", "duration", "regex", "uri", "email", "hostname", "ipv4", "ipv6"}
)
"""Formats that a validator checks. It ignores modelyard's own, which are for editors."""
_NOTES: Final = frozenset({"$defs", "$id", "$schema", "default", "description", "examples", "title"})


def surely_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value certainly follows a schema; if not, ask a validator.

    Args:
        schema: one of modelyard's schemas; its references end.
        value: plain JSON values.
    """
    return _Walk(schema.get("$defs", {})).valid(schema, value)


class _Walk:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def valid(self, schema: Any, value: Any) -> bool:
        if not isinstance(schema, dict):
            return schema is True
        for key, wanted in schema.items():
            check = _CHECKS.get(key)
            if key not in _NOTES and (check is None or not check(self, schema, wanted, value)):
                return False
        return True

    def referred(self, _: Any, reference: str, value: Any) -> bool:
        _, found, name = reference.partition("#/$defs/")
        return bool(found) and self.valid(self._definitions[name], value)

    def properties(self, schema: Any, _: Any, value: Any) -> bool:
        if type(value) is not dict:
            return True
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        return all(self.valid(known.get(name, other), inner) for name, inner in value.items())

    def names(self, _: Any, wanted: Any, value: Any) -> bool:
        return type(value) is not dict or all(self.valid(wanted, name) for name in value)

    def items(self, _: Any, wanted: Any, value: Any) -> bool:
        return type(value) not in _LISTS or all(self.valid(wanted, inner) for inner in value)

    def then(self, schema: Any, wanted: Any, value: Any) -> bool:
        # If the value follows this part, the condition does not matter.
        return self.valid(wanted, value) or _surely_other(schema["if"], value)


_LISTS: Final = (list, tuple)


def _surely_other(schema: Any, value: Any) -> bool:
    """Whether a value certainly does not match a schema that is only a pattern."""
    return schema.keys() == {"pattern"} and _plain(value) and re.search(schema["pattern"], value) is None


def _plain(value: Any) -> bool:
    """Whether all engines agree about a text: they differ in where a line ends, and which characters are letters."""
    return type(value) is str and value.isascii() and "\n" not in value


def _number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and isfinite(value))


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: type(value) in _LISTS,
    "boolean": lambda value: type(value) is bool,
    "integer": lambda value: type(value) is int,
    "null": lambda value: value is None,
    "number": _number,
    "object": lambda value: type(value) is dict,
    "string": lambda value: type(value) is str,
}


def _type(_: Any, __: Any, wanted: Any, value: Any) -> bool:
    return any(_TYPES[kind](value) for kind in (wanted if isinstance(wanted, list) else (wanted,)))


def _pattern(_: Any, __: Any, wanted: str, value: Any) -> bool:
    return type(value) is not str or (_plain(value) and re.search(wanted, value) is not None)


def _sized(kinds: tuple[type, ...], fits: Callable[[int, int], bool]) -> Callable[[Any, Any, Any, Any], bool]:
    return lambda _, __, wanted, value: type(value) not in kinds or fits(len(value), wanted)


def _compared(fits: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Any, Any], bool]:
    return lambda _, __, wanted, value: not _number(value) or fits(value, wanted)


_CHECKS: Final[Mapping[str, Callable[[Any, Any, Any, Any], bool]]] = {
    "$ref": _Walk.referred,
    "additionalProperties": lambda walk, schema, _, value: (
        "properties" in schema or walk.properties(schema, None, value)
    ),
    "dependentRequired": lambda _, __, wanted, value: (
        type(value) is not dict or all(value.keys() >= set(names) for key, names in wanted.items() if key in value)
    ),
    "enum": lambda _, __, wanted, value: any(type(one) is type(value) and one == value for one in wanted),
    "exclusiveMinimum": _compared(lambda value, limit: value > limit),
    "format": lambda _, __, wanted, value: wanted not in _FORMATS or type(value) is not str,
    "if": lambda *_: True,
    "items": _Walk.items,
    "maxItems": _sized(_LISTS, lambda size, limit: size <= limit),
    "maxLength": _sized((str,), lambda size, limit: size <= limit),
    "maxProperties": _sized((dict,), lambda size, limit: size <= limit),
    "maximum": _compared(lambda value, limit: value <= limit),
    "minItems": _sized(_LISTS, lambda size, limit: size >= limit),
    "minLength": _sized((str,), lambda size, limit: size >= limit),
    "minimum": _compared(lambda value, limit: value >= limit),
    "pattern": _pattern,
    "properties": _Walk.properties,
    "propertyNames": _Walk.names,
    "required": lambda _, __, wanted, value: type(value) is not dict or value.keys() >= set(wanted),
    "then": _Walk.then,
    "type": _type,
}
