"""Regular expressions and JSON Schemas from a project's files: they fetch nothing and match in linear time.

Whoever may write those files may be a stranger whose change is only being judged. So a schema refers to nothing
outside itself, and patterns run on an engine without backtracking (Rust's ``regex``, by way of ``jsonschema_rs``).
"""

import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MAX_PATTERN = 1000
"""Characters of the longest pattern."""
MAX_TEXT = 1024 * 1024
"""Characters of the longest text that a pattern is held against."""
NO_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {}
_MAX_COMPILED = 4 * 1024 * 1024
"""Bytes of a compiled pattern: ``(\\w{1000}){1000}`` is short as text."""
LINEAR = "look-around and back-references are not supported: write the form itself, or two conditions"
"""What to do about a pattern that only an engine with backtracking can match."""


class BadSchema(ValueError):
    """A schema that cannot be used."""

    def __init__(self, summary: str, remedy: str, path: tuple[str | int, ...] = (), refused: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy
        self.path = path
        """Where in the schema; empty where only ``refused`` says it."""
        self.refused = refused
        """The address outside the schema that it refers to."""


def compiled(schema: Any, formats: Mapping[str, Callable[[str], bool]] = NO_FORMATS) -> "Draft202012Validator":
    """A validator for a schema from a project's files.

    Args:
        schema: the schema, as plain JSON values.
        formats: checks of ``format`` by name; without any, formats say nothing about a value.

    Raises:
        BadSchema: it refers to something outside itself, is no JSON Schema, or has a pattern that needs backtracking.
    """
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    asked: list[str] = []

    def refuse(uri: str) -> Any:
        asked.append(uri)
        raise ValueError("nothing outside the schema is read")

    patterns = RegexOptions(size_limit=_MAX_COMPILED)
    try:
        return Draft202012Validator(
            schema,
            retriever=refuse,
            pattern_options=patterns,
            formats=dict(formats),
            validate_formats=bool(formats),
        )
    except ValidationError as error:
        path, words = tuple(error.instance_path), " ".join(error.message.split())
        if (path and path[-1] in ("pattern", "patternProperties")) or words.endswith('is not a "regex"'):
            raise BadSchema(f"has a pattern that is not supported: {words}", LINEAR, path) from None
        outside = re.match(r"Resource '([^']*)' is not present", words)
        if asked or outside:
            address = asked[0] if asked else outside[1] if outside else ""
            summary = f"refers to {address}, which is outside the schema and is not read"
            raise BadSchema(summary, "copy it to $defs and refer to #/$defs/NAME", (), address) from None
        raise BadSchema(f"is no JSON Schema: {words}", "correct the schema", path) from None


def pattern_problem(pattern: Any) -> str:
    """What is wrong with a regular expression, empty where it can be used."""
    if not isinstance(pattern, str):
        return "is not a regular expression: it is not text"
    if len(pattern) > MAX_PATTERN:
        return f"is a regular expression with more than {MAX_PATTERN:,} characters"
    try:
        with warnings.catch_warnings():
            # What the two engines would read differently, such as [[:alpha:]], Python warns about.
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        return f"is not a regular expression: {error}"
    try:
        # Each by itself: "a)|(b" is no pattern, and would be one with what makes it match the whole.
        _ = searcher(pattern), searcher(_whole(pattern))
    except BadSchema:
        return f"is a regular expression that is not supported: {LINEAR}"
    return ""


def fullmatch(pattern: str, text: str) -> bool:
    """Whether the whole of a text matches a pattern that ``pattern_problem`` has nothing against.

    Raises:
        ValueError: the text is longer than ``MAX_TEXT``.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"the text has more than {MAX_TEXT:,} characters")
    return searcher(_whole(pattern)).is_valid(text)


@lru_cache(maxsize=256)
def searcher(pattern: str) -> "Draft202012Validator":
    """What finds a pattern anywhere in a text, as ``pattern`` of a schema does: by ``is_valid``.

    Raises:
        BadSchema: the pattern needs an engine with backtracking, or is too large.
    """
    return compiled({"pattern": pattern})


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"
