"""Formats a patch's files: YAML, the JSON of its schema, and only the line endings of templates."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from modelyard.catalog.library import META, META_KEYS
from modelyard.files import parse_json
from modelyard.stack.config import StackPath
from modelyard.stack.yaml.formatting import Formatted, formatted
from modelyard.stack.yaml.source import TextProblem

WIDTH = 120
"""Maximum columns of a line with a whole object or list."""
INDENT = 2

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_BLOCK_TEXT = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#.*)?$", re.MULTILINE)


def formatted_file(name: str, text: str) -> Formatted:
    """Formats a file of a patch version, by its name. Files other than YAML, JSON and templates stay unchanged."""
    if name.endswith(".j2"):
        return Formatted(_template(text))
    if name.endswith(".json"):
        return formatted_json(text)
    if name.endswith((".yaml", ".yml")):
        return formatted(text, _meta_order) if name == META else formatted(text)
    return Formatted(text)


def _meta_order(path: StackPath) -> Sequence[str]:
    return () if path else META_KEYS


def _template(text: str) -> str:
    """Returns a template with one line feed at its end, and no space at the end of lines.

    Everything else stays, because its rendered form is unknown. Spaces stay where a block of text may hold them (behind
    ``|`` or ``>``), because there they are content.
    """
    text = text.replace("\r\n", "\n")
    if not _BLOCK_TEXT.search(text):
        text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return text.rstrip("\n") + "\n" if text.strip() else text


class _Tree(NamedTuple):
    """An object or list: its brackets, and the texts or trees in it, keys with their colon before their value."""

    open: str
    close: str
    items: list[tuple[str, "str | _Tree"]]
    """Key with colon and space, empty in a list, and value."""


def formatted_json(text: str) -> Formatted:
    """Formats JSON: a value that fits on a line is on one; the document itself has a line for each key.

    Texts and numbers are copied as written, and keys keep their order, because parameters are shown in it.
    """
    content = text.removeprefix("\ufeff")
    try:
        before = parse_json(content)
    except json.JSONDecodeError as error:
        message = f"the text is not JSON: {error.msg[0].lower()}{error.msg[1:]}"
        return Formatted(
            text, TextProblem("PAT009", message, error.lineno, error.colno, remedy="correct it here or just above")
        )
    except ValueError as error:
        return Formatted(text, TextProblem("PAT009", f"the text cannot be read: {error}", remedy="correct the value"))
    root = _read(iter(_TOKEN.findall(content)))
    made = "\n".join(_lines(root, "", "", 0, top=True)) + "\n"
    if parse_json(made) != before:
        return Formatted(text, TextProblem("", "a value would change with its layout", harmless=True))
    return Formatted(made)


def _read(tokens: Iterator[str]) -> "str | _Tree":
    token = next(tokens)
    return _tree(token, tokens) if token in "{[" else token


def _tree(opening: str, tokens: Iterator[str]) -> _Tree:
    closing = "}" if opening == "{" else "]"
    items: list[tuple[str, str | _Tree]] = []
    key = ""
    for token in tokens:
        if token == closing:
            break
        if token in ",:":
            continue
        if opening == "{" and not key:
            key = f"{token}: "
            continue
        items.append((key, _tree(token, tokens) if token in "{[" else token))
        key = ""
    return _Tree(opening, closing, items)


def _inline(value: "str | _Tree") -> str:
    if isinstance(value, str):
        return value
    return value.open + ", ".join(key + _inline(item) for key, item in value.items) + value.close


def _lines(value: "str | _Tree", key: str, comma: str, depth: int, *, top: bool = False) -> Iterator[str]:
    pad = " " * (INDENT * depth)
    line = f"{pad}{key}{_inline(value)}{comma}"
    if isinstance(value, str) or not value.items or (len(line) <= WIDTH and not top):
        yield line
        return
    yield f"{pad}{key}{value.open}"
    for number, (name, item) in enumerate(value.items, 1):
        yield from _lines(item, name, "," if number < len(value.items) else "", depth + 1)
    yield f"{pad}{value.close}{comma}"
