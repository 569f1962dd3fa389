"""Formats YAML files: order of keys, indentation, space. Values and their spelling stay as they are.

It copies the text of every key and value, so quotes, numbers, encrypted values and long texts stay unchanged. Comments
move with their key: those above it, and the one behind it. (Round-trip libraries attach a comment to the value before
it, so a key that moves leaves its comment behind.)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from modelyard.stack.config import StackPath
from modelyard.stack.schema import schema
from modelyard.stack.yaml.document import Document, parse
from modelyard.stack.yaml.layout import KeyOrder, Layout, UnknownLayout, in_file_order
from modelyard.stack.yaml.source import TextProblem

_LINE_BREAKS = ("\r", "\x85", "\u2028", "\u2029")
"""Characters besides the line feed that end a line in YAML 1.1."""


class Formatted(NamedTuple):
    """A formatted text, or the unchanged text with the reason."""

    text: str
    problem: TextProblem | None = None
    """Why the text is unchanged; harmless if the file is valid and this module only cannot lay it out."""


def formatted(text: str, order: KeyOrder = in_file_order) -> Formatted:
    """Formats a text: blocks indented by two, one space behind a colon, at most one blank line in a row.

    The meaning stays: a text that would parse differently afterwards is left as it is. Formatting twice changes nothing
    more. In a file with anchors, keys do not move, because an alias must come after its anchor.
    """
    content = text.removeprefix("\ufeff").replace("\r\n", "\n")
    before, problems = parse(content.encode(errors="surrogatepass"))
    serious = next((problem for problem in problems if not problem.harmless), None)
    if serious is not None:
        return Formatted(text, serious)
    if any(character in content for character in _LINE_BREAKS):
        return _left(text, 0, "it has line endings that only YAML knows")
    try:
        made = Layout(content, order).text()
    except UnknownLayout as unknown:
        return _left(text, unknown.line, unknown.what)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return _left(text, mark.line + 1 if mark else 0, "not every YAML parser can read it")
    if _meaning(parse(made.encode())[0]) != _meaning(before):
        return _left(text, 0, "a value would change with its layout")
    return Formatted(made)


def _left(text: str, line: int, what: str) -> Formatted:
    return Formatted(text, TextProblem("", what, line, harmless=True))


def _meaning(document: Document | None) -> Any:
    """Everything in a document except positions."""
    return None if document is None else (document.value, document.texts, frozenset(document.secrets))


def stack_order(path: StackPath) -> Sequence[str]:
    """Returns the order of keys in a stack file: that of its schema. Pulumi's own keys stay where they are."""
    found = _schema_at(path)
    return tuple(found.get("properties", ())) if path else ()


def _schema_at(path: StackPath) -> dict[str, Any]:
    root = schema()
    found: dict[str, Any] = root
    for part in path:
        below = found.get("items") if isinstance(part, int) else found.get("properties", {}).get(part)
        if below is None:
            return {}
        found = {**root["$defs"][below["$ref"].rpartition("/")[2]], **below} if "$ref" in below else below
    return found
