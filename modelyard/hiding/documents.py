"""YAML documents whose texts know their positions."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_TRIES = 12
"""Maximum number of lines that are not YAML before a text is given up."""
_LONGEST_DAMAGED = 64 * 1024
"""Maximum length of a text that is parsed again without such a line."""
_MOST = 4
"""Maximum factor by which repeated aliases may enlarge a document beyond its text."""
_TEMPLATE = re.compile(r"(?m)^[ \t]*(?:\{\{[^\n]*?\}\}|\{%[^\n]*?%\}|\{#[^\n]*?#\})[ \t]*$")
"""A line that only the template uses."""
_PROGRAM = re.compile(r"(?m)^[A-Za-z.$(/][^:\n]*$")
"""A line without indentation that is neither a field of a mapping nor an item of a list."""
_SPACES = 3
"""Maximum number of spaces in a field's name."""
_EXPRESSION = re.compile(r"\{\{[^\n]*?\}\}|\{%[^\n]*?%\}")


class Placed(str):
    """A text of a document, and its position."""

    __slots__ = ("end", "start")
    start: int
    end: int


class _Builder:
    """Builds the values of nodes. The target of an alias is built again, because it has another name there."""

    def __init__(self, size: int) -> None:
        self.left = _MOST * size + 1000
        self.within: set[int] = set()
        """Nodes that are being built: an alias may lead into its own node."""
        self.made: set[int] = set()

    def value(self, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            text = Placed(node.value)
            text.start, text.end = node.start_mark.index, node.end_mark.index
            return text
        again = id(node) in self.made
        if id(node) in self.within or (again and self.left <= 0):
            return {}
        self.left -= len(node.value) + 1
        self.within.add(id(node))
        self.made.add(id(node))
        value = [self.value(item) for item in node.value] if isinstance(node, yaml.SequenceNode) else self.mapping(node)
        self.within.discard(id(node))
        return value

    def mapping(self, node: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: list[Any] = []
        for key, inner in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            # A sentence, or a line of a program.
            if name.count(" ") > _SPACES or "(" in name or " '" in name or ' "' in name:
                name = "?"
            value = self.value(inner)
            if name == "<<":
                merged += value if isinstance(value, list) else [value]
            # If a name has two values, both are in the text.
            while name in out:
                name += "\0"
            out[name] = value
            if not isinstance(key, yaml.ScalarNode):
                out[f"{name}\0"] = self.value(key)
        for one in merged:
            out |= {name: value for name, value in one.items() if name not in out} if isinstance(one, dict) else {}
        return out


def placed(text: str) -> list[Any]:
    """Returns the documents of a text, which may be a template of them; lines that are not YAML are left out.

    Raises:
        ValueError: the text is not YAML.
    """
    # To YAML, a template expression is a word of equal length.
    if "{{" in text or "{%" in text:
        text = _TEMPLATE.sub(lambda found: "#" * len(found[0]), text)
        text = _EXPRESSION.sub(lambda found: "x" * len(found[0]), text)
    nodes: list[Any] = []
    for tried in range(_TRIES):
        nodes = []
        try:
            for node in _nodes(text):
                nodes.append(node)
            break
        except (yaml.YAMLError, TypeError) as error:
            if len(text) > _LONGEST_DAMAGED or (damaged := _without_line(text, error)) is None:
                raise ValueError(type(error).__name__) from None
            # A document may be between the lines of a program, which come first.
            other = text if tried else _PROGRAM.sub(lambda found: "#" * len(found[0]), text)
            text = damaged if other == text else other
    else:
        raise ValueError("too many lines are no YAML")
    builder = _Builder(len(text))
    return [builder.value(node) for node in nodes if node is not None]


def _without_line(text: str, error: Exception) -> str | None:
    """Replaces the line that is not YAML by a comment of equal length; None if that line is not known."""
    mark = getattr(error, "problem_mark", None)
    if str(getattr(error, "context", "")).endswith(("simple key", "quoted scalar")):
        mark = getattr(error, "context_mark", None)
    if mark is None:
        return None
    end = _line_end(text, mark.index)
    start = text.rfind("\n", 0, mark.index) + 1
    if getattr(error, "problem", "") == "mapping values are not allowed in this context" and start:
        # Words of the line before continue on this one: they are not YAML.
        before = text.rfind("\n", 0, start - 1) + 1
        words = text[before : start - 1].strip()
        if words and ":" not in words and words[0] not in "-#":
            start, end = before, start - 1
    if start == end or text[start] == "#":
        return None
    return f"{text[:start]}{'#' * (end - start)}{text[end:]}"


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _nodes(text: str) -> Iterator[Any]:
    loader = yaml.CBaseLoader(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()
