"""Regular expressions and JSON Schemas from a project's files: they fetch nothing, and their running time is bounded.

A stranger may have written those files in a change under review. A schema refers only to its own ``$defs``. Patterns
run on an engine without backtracking (Rust's ``regex``, through ``jsonschema_rs``). A call into it cannot be
interrupted, so its possible cost is computed first.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from modelyard.patterns import regex

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

SchemaPath = tuple[str | int, ...]
MAX_PATTERN = 1000
"""Characters of the longest pattern."""
MAX_TEXT = 64 * 1024
"""Characters of the longest text to match against a single pattern: the slowest pattern takes some seconds."""
MAX_STEPS = 10_000
"""Schemas that one value may be checked against; each use of a reference counts."""
MAX_WORK = 500_000_000
"""Steps of about 10 ns that one check may take: a schema for a value, or a character for a KiB of a pattern."""
NO_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {}
LINEAR = "look-around and back-references are not supported: write the form itself, or two conditions"
"""Remedy for a pattern that needs an engine with backtracking."""
_SIZES = (8, 64, 1024)
"""KiB limits for a compiled pattern: ``(\\w{1000}){1000}`` is short as text. None may be larger than the last."""
_PER_KIB = 7
"""Steps that a character takes for each KiB of a pattern."""
_EXPLAINED = 20_000
"""Most steps for explaining a failed check: explaining costs a thousand times more than checking."""
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_DEFINITION = regex(r"#/(\$defs|definitions)/([A-Za-z0-9._-]+)")
_TO_DEFINITION = "copy what it refers to to $defs and refer to #/$defs/NAME"


class BadSchema(ValueError):
    """A schema that cannot be used."""

    def __init__(self, summary: str, remedy: str, path: SchemaPath = ()) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy
        self.path = path
        """Path in the schema."""


class TooMuch(ValueError):
    """A value that a schema takes too long to check."""


class Cost(NamedTuple):
    """The highest possible cost of checking one value."""

    steps: int
    """Number of schemas that the value may be checked against."""
    kib: int
    """Size of the compiled patterns that its texts may be matched against."""


class Checker:
    """Checks values by a schema from a project's files.

    Raises:
        BadSchema: the schema refers to something outside its ``$defs``, is not a JSON Schema, has a pattern that needs
            backtracking, or may take too long.
    """

    def __init__(self, schema: Any) -> None:
        self._cost = cost_of(schema)
        self._validator = _built(schema, NO_FORMATS)

    def is_valid(self, value: Any) -> bool:
        """Whether a value follows the schema.

        Raises:
            TooMuch: the check would take too long.
        """
        values, characters = _size(value)
        if self._cost.steps * values + self._cost.kib * characters * _PER_KIB > MAX_WORK:
            raise TooMuch
        return self._validator.is_valid(value)

    def errors(self, value: Mapping[str, Any]) -> "tuple[list[ValidationError], bool]":
        """Why a mapping is not valid, and whether that is complete: of long lists, only the beginning is checked."""
        left = [_EXPLAINED // self._cost.steps]
        begun = {name: _beginning(inner, left) for name, inner in value.items()}
        found = list(self._validator.iter_errors(begun))
        whole = left[0] >= 0
        if not found:
            from jsonschema_rs import ValidationError

            try:
                self._validator.validate(value)
            except ValidationError as error:
                found = [error]
        return found, whole


def compiled(schema: Any, formats: Mapping[str, Callable[[str], bool]] = NO_FORMATS) -> "Draft202012Validator":
    """A validator for a schema from a project's files; unlike ``Checker``, without a limit on the checked value.

    Args:
        schema: the schema, as plain JSON values.
        formats: checks of ``format`` by name; without any, ``format`` is ignored.

    Raises:
        BadSchema: as in ``Checker``.
    """
    _ = cost_of(schema)
    return _built(schema, formats)


def cost_of(schema: Any) -> Cost:
    """The highest possible cost of checking one value; rejects references outside the schema's own definitions.

    Raises:
        BadSchema: the schema refers to something else, or may take too long.
    """
    try:
        cost = _Costs(schema).of(schema, ())
    except RecursionError:
        raise BadSchema("has too many definitions that refer to the next one", "write them out") from None
    if cost.steps > MAX_STEPS:
        remedy = "simplify it: fewer definitions that refer to others, no unevaluatedProperties inside another"
        raise BadSchema(f"checks each value against more than {MAX_STEPS:,} schemas", remedy)
    return cost


class _Costs:
    """Walks a schema. Visits each definition once, and counts it at every reference."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[str, Cost | None] = {}
        """Costs by reference; None while the walk is inside its definition."""

    def of(self, schema: Any, path: SchemaPath) -> Cost:
        if isinstance(schema, list):
            return _sum(self.of(inner, path) for inner in schema)
        if not isinstance(schema, dict):
            return Cost(1, 0)
        # To find unevaluated parts, the validator checks everything beside them again.
        times = 3 if any(key in schema for key in _UNEVALUATED) else 1
        below = _sum(self._of_keyword(key, value, (*path, key)) for key, value in schema.items())
        return Cost(times * (1 + below.steps), times * below.kib)

    def _of_keyword(self, key: str, value: Any, here: SchemaPath) -> Cost:
        if key in _DATA:
            return Cost(len(value) if isinstance(value, list | dict) else 1, 0)
        if key == "pattern" and isinstance(value, str):
            return Cost(1, _kib(value, here))
        if key == "$ref" and isinstance(value, str):
            return self._referred(value, here)
        if key in ("$dynamicRef", "$recursiveRef"):
            raise BadSchema(f"refers to {value}, which is outside the schema and is not read", _TO_DEFINITION, here)
        if key == "$id" and len(here) > 1:
            raise BadSchema("has a part with its own $id", "leave it out", here)
        if key not in _NAMED or not isinstance(value, dict):
            return self.of(value, here)
        cost = _sum(self.of(inner, (*here, name)) for name, inner in value.items())
        if key == "patternProperties":
            return Cost(cost.steps, cost.kib + sum(_kib(name, (*here, name)) for name in value))
        # Mere definitions cost nothing, but are checked all the same.
        return Cost(0, 0) if key in ("$defs", "definitions") else cost

    def _referred(self, reference: str, here: SchemaPath) -> Cost:
        if reference not in self._known:
            found = _DEFINITION.fullmatch(reference)
            definitions = self._root.get(found[1]) if found is not None else None
            if found is None or not isinstance(definitions, dict) or found[2] not in definitions:
                where = "is not in its $defs" if reference.startswith("#") else "is outside the schema and is not read"
                raise BadSchema(f"refers to {reference}, which {where}", _TO_DEFINITION, here)
            self._known[reference] = None
            self._known[reference] = self.of(definitions[found[2]], (found[1], found[2]))
        known = self._known[reference]
        if known is None:
            raise BadSchema(f"refers to {reference} inside itself", "write the levels out", here)
        return known


def _sum(costs: Iterable[Cost]) -> Cost:
    steps = kib = 0
    for cost in costs:
        steps, kib = steps + cost.steps, kib + cost.kib
    return Cost(steps, kib)


def _kib(pattern: str, here: SchemaPath) -> int:
    """Size of a compiled pattern in KiB."""
    if len(pattern) > MAX_PATTERN:
        raise BadSchema(f"has a pattern of more than {MAX_PATTERN:,} characters", "make it shorter", here)
    for kib in _SIZES:
        with suppress(BadSchema):
            _built({"pattern": pattern}, NO_FORMATS, kib)
            return kib
    raise BadSchema(f"has a pattern that is not supported: {pattern[:60]}", LINEAR, here)


def _size(value: Any) -> tuple[int, int]:
    """The number of values inside a value, and of characters."""
    values = characters = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        values += 1
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, Mapping):
            waiting += one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return values, characters


def _beginning(value: Any, left: list[int]) -> Any:
    """The beginning of a value that fits the remaining count; each part uses one."""
    left[0] -= 1
    if isinstance(value, Mapping):
        return {key: _beginning(inner, left) for key, inner in value.items() if left[0] > 0 or _passed(left)}
    if isinstance(value, list | tuple):
        return [_beginning(inner, left) for inner in value if left[0] > 0 or _passed(left)]
    return value


def _passed(left: list[int]) -> bool:
    left[0] = -1
    return False


def _built(schema: Any, formats: Mapping[str, Callable[[str], bool]], kib: int = _SIZES[-1]) -> "Draft202012Validator":
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    def refuse(_uri: str) -> Any:
        raise ValueError("nothing outside the schema is read")

    try:
        return Draft202012Validator(
            schema,
            retriever=refuse,
            pattern_options=RegexOptions(size_limit=kib * 1024),
            formats=dict(formats),
            validate_formats=bool(formats),
        )
    except ValidationError as error:
        path, words = tuple(error.instance_path), " ".join(error.message.split())
        raise BadSchema(f"is not a JSON Schema: {words}", "correct the schema", path) from None


def pattern_problem(pattern: Any) -> str:
    """Why a regular expression cannot be used; empty if it can."""
    if not isinstance(pattern, str):
        return "is not a regular expression: it is not text"
    if len(pattern) > MAX_PATTERN:
        return f"is a regular expression with more than {MAX_PATTERN:,} characters"
    try:
        with warnings.catch_warnings():
            # Python warns about syntax that the two engines read differently, such as [[:alpha:]].
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        why = str(error) if isinstance(error, re.error | Warning) else "it is too large"
        return f"is not a regular expression: {why}"
    try:
        # Compile both: "a)|(b" alone is invalid, but would be valid inside the group that makes it match the whole.
        _ = searcher(pattern), searcher(_whole(pattern))
    except BadSchema:
        return f"is a regular expression that is not supported: {LINEAR}"
    return ""


def fullmatch(pattern: str, text: str) -> bool:
    """Whether the whole of a text matches a pattern that ``pattern_problem`` accepts.

    Raises:
        ValueError: the text is longer than ``MAX_TEXT``.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"the text has more than {MAX_TEXT:,} characters")
    return searcher(_whole(pattern)).is_valid(text)


@lru_cache(maxsize=256)
def searcher(pattern: str) -> "Draft202012Validator":
    """A validator that finds a pattern anywhere in a text, as a schema's ``pattern`` does; call ``is_valid``.

    Raises:
        BadSchema: the pattern needs an engine with backtracking, or is too large.
    """
    return _built({"pattern": pattern}, NO_FORMATS)


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"
