"""Changes single values in the text of a YAML file. Everything else stays exactly as it is, comments included."""

import json
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from modelyard.stack.config import StackPath


class EditError(Exception):
    """A value cannot be put at a path; the message says why."""


def with_value(text: str, path: StackPath, value: Any) -> str:
    """Sets one value in a text: replaces it if the key exists, else adds it at the end of its mapping or list.

    Args:
        text: a YAML document in block or flow style.
        path: keys and list positions from the top of the document. The position after the last item appends.
        value: text, number, boolean, or a mapping or list of them.

    Raises:
        EditError: the text is not YAML, or ``path`` leads through something that is not a mapping or list.
    """
    try:
        # The pure Python loader: only its marks count characters, which slicing needs.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        # The error quotes the file.
        mark = getattr(error, "problem_mark", None)
        raise EditError(f"line {mark.line + 1} is not YAML" if mark else "the file is not YAML") from None
    if root is None:
        return _block(path, value, 0)
    node, depth = root, 0
    while depth < len(path):
        child = _child(node, path[depth])
        if child is None:
            return _added(text, node, path[depth:], value)
        node, depth = child, depth + 1
    return text[: node.start_mark.index] + _inline(value, node) + text[_end(text, node) :]


def _child(node: Node, key: str | int) -> Node | None:
    if isinstance(node, MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    if isinstance(node, SequenceNode) and isinstance(key, int):
        return node.value[key] if key < len(node.value) else None
    raise EditError(f"{key} would have to go into something that is not a mapping")


def _end(text: str, node: Node) -> int:
    """Returns the end of a node's own text; a block's mark is at the next token, past comments and blank lines."""
    end = node.end_mark.index
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
        return _end(text, last)
    return int(end)


def _added(text: str, node: Node, path: StackPath, value: Any) -> str:
    """Returns the text with a key or item added at the end of a mapping or list."""
    flow = bool(getattr(node, "flow_style", None))
    if flow or not node.value:
        closing = node.end_mark.index - 1
        if not flow:
            raise EditError(f"no key beside which {path[0]} could be added")
        inner = _nested(path[1:], value)
        item = _flow(inner) if isinstance(node, SequenceNode) else f"{_flow(path[0])}: {_flow(inner)}"
        comma = ", " if node.value else ""
        return text[:closing].rstrip(" \t\r\n") + comma + item + text[closing:]
    end = _end(text, node)
    rest = text.find("\n", end)
    # A comment behind the last value belongs to that value.
    place = len(text) if rest < 0 else rest + 1
    before = text[:place] if text[:place].endswith("\n") else text[:place] + "\n"
    column = node.start_mark.column
    if isinstance(node, SequenceNode):
        lines = _block((), _nested(path[1:], value), 0).rstrip("\n").split("\n")
        added = " " * column + "- " + ("\n" + " " * (column + 2)).join(lines) + "\n"
    else:
        added = _block(path, value, column)
    return before + added + text[place:]


def _nested(path: StackPath, value: Any) -> Any:
    for key in reversed(path):
        value = [value] if isinstance(key, int) else {key: value}
    return value


class _Dumper(yaml.SafeDumper):
    """Writes text that would take several lines in double quotes on one line."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _dump(value: Any, flow: bool) -> str:
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=flow, sort_keys=False, allow_unicode=True, width=10_000
    )
    return dumped.removesuffix("...\n").removesuffix("\n")


def _block(path: StackPath, value: Any, column: int) -> str:
    return "".join(f"{' ' * column}{line}\n" for line in _dump(_nested(path, value), False).split("\n"))


def _inline(value: Any, node: Node) -> str:
    """Returns a value in the style of the value that it replaces."""
    if isinstance(value, str) and getattr(node, "style", None) == '"':
        return json.dumps(value, ensure_ascii=False)
    return _flow(value)


def _flow(value: Any) -> str:
    return _dump(value, True)
