"""Documents of YAML whose texts know their places."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_TRIES = 12
"""How many lines that are no YAML are left out before a text counts as none."""
_LONGEST_DAMAGED = 64 * 1024
"""Letters of the longest text that is read again without such a line."""
_MOST = 4
"""How many times larger than its text a document may get by what its aliases repeat."""
_TEMPLATE = re.compile(r"(?m)^[ \t]*(?:\{\{[^\n]*?\}\}|\{%[^\n]*?%\}|\{#[^\n]*?#\})[ \t]*$")
"""A line that is for the template alone."""
_PROGRAM = re.compile(r"(?m)^[A-Za-z.$(/][^:\n]*$")
"""A line without indentation that is no field of a mapping, and no item of a list."""
_SPACES = 3
"""Most spaces of a field's name."""
_EXPRESSION = re.compile(r"\{\{[^\n]*?\}\}|\{%[^\n]*?%\}")


class Placed(str):
    """A text of a document, and where it stands."""

    __slots__ = ("end", "start")
    start: int
    end: int


class _Builder:
    """Makes the values of nodes. What an alias repeats is made again, as it has a name of its own there."""

    def __init__(self, size: int) -> None:
        self.left = _MOST * size + 1000
        self.within: set[int] = set()
        """Nodes that are being made: an alias may lead into its own node."""
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
            if name.count(" ") > _SPACES or "(" in name:
                name = "?"
            value = self.value(inner)
            if name == "<<":
                merged += value if isinstance(value, list) else [value]
            # Of two values of one name, both stand in the text.
            while name in out:
                name += "\0"
            out[name] = value
            if not isinstance(key, yaml.ScalarNode):
                out[f"{name}\0"] = self.value(key)
        for one in merged:
            out |= {name: value for name, value in one.items() if name not in out} if isinstance(one, dict) else {}
        return out


def placed(text: str) -> list[Any]:
    """The documents of a text, which may be a template of them; lines that are no YAML are left out.

    Raises:
        ValueError: it is no YAML.
    """
    # What a template computes is a word to YAML, and of the same length.
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
            # Between the lines of a program, which come first, a document may stand.
            other = text if tried else _PROGRAM.sub(lambda found: "#" * len(found[0]), text)
            text = damaged if other == text else other
    else:
        raise ValueError("too many lines are no YAML")
    builder = _Builder(len(text))
    return [builder.value(node) for node in nodes if node is not None]


def _without_line(text: str, error: Exception) -> str | None:
    """The text with a comment as long as the line that is no YAML in its place; None where that is not known."""
    mark = getattr(error, "problem_mark", None)
    if str(getattr(error, "context", "")).endswith(("simple key", "quoted scalar")):
        mark = getattr(error, "context_mark", None)
    if mark is None:
        return None
    end = _line_end(text, mark.index)
    start = text.rfind("\n", 0, mark.index) + 1
    if getattr(error, "problem", "") == "mapping values are not allowed in this context" and start:
        # Words of the line before go on in this one: they are what is no YAML.
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
