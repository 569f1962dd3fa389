"""Lays out the lines of a YAML document: copies every key and value, and rebuilds only the space between them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import yaml

from modelyard.stack.config import StackPath
from modelyard.stack.schema import PREFIX


# The nodes of a YAML document as they are in its text; aliases are leaves.
class LayoutNode(NamedTuple):
    """A node as it is in the text."""

    kind: str
    """``scalar`` (aliases too), ``mapping`` or ``sequence``."""
    start: Any
    """Mark of the first character, including anchor and tag."""
    end: Any
    flow: bool
    style: str
    children: tuple["LayoutNode", ...] = ()
    """In a mapping: keys and values in turn."""

    @property
    def pairs(self) -> Iterator[tuple["LayoutNode", "LayoutNode"]]:
        """Yields the keys of a mapping with their values."""
        return zip(self.children[::2], self.children[1::2], strict=True)


def composed(text: str) -> tuple[LayoutNode | None, bool]:
    """Returns the root node of a text with one document, None if it is empty, and whether any node has an anchor or is
    an alias.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    # The pure Python parser: only its marks count characters, which slicing needs.
    open_: list[list[LayoutNode]] = [[]]
    begun: list[Any] = []
    anchored = False
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        anchored = anchored or getattr(event, "anchor", None) is not None
        match event:
            case yaml.ScalarEvent() | yaml.AliasEvent():
                style = getattr(event, "style", None) or ""
                open_[-1].append(
                    LayoutNode(kind="scalar", start=event.start_mark, end=event.end_mark, flow=False, style=style)
                )
            case yaml.CollectionStartEvent():
                begun.append(event)
                open_.append([])
            case yaml.CollectionEndEvent():
                first, children = begun.pop(), tuple(open_.pop())
                kind = "mapping" if isinstance(first, yaml.MappingStartEvent) else "sequence"
                open_[-1].append(
                    LayoutNode(
                        kind=kind,
                        start=first.start_mark,
                        end=event.end_mark,
                        flow=bool(first.flow_style),
                        style="",
                        children=children,
                    )
                )
    return open_[0][0] if open_[0] else None, anchored


# Lines of the formatted text.
GAP = 1
"""Minimum number of spaces before a trailing comment, as Pulumi writes it; more spaces stay, so that comments can be
aligned."""


class LayoutLine(NamedTuple):
    """A line of the result. A raw line is part of a value, and its blank lines count."""

    text: str
    raw: bool = False


def note(rest: str) -> str:
    """Returns what follows a key whose value is below it: an anchor, a comment, or nothing."""
    text = rest.strip()
    if not text:
        return ""
    return " " * (max(GAP, len(rest) - len(rest.lstrip())) if text.startswith("#") else 1) + text


def shifted(line: str, by: int) -> str:
    """Returns a continuation line of a value, indented with its key."""
    if by >= 0:
        return " " * by + line if line else line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def joined(lines: Sequence[LayoutLine]) -> str:
    """Joins the lines: no blank line at either end, never two in a row, none at the top of a block."""
    kept: list[LayoutLine] = []
    for line in lines:
        if not line.raw and not line.text and (not kept or (not kept[-1].text and not kept[-1].raw)):
            continue
        kept.append(line)
    while kept and not kept[-1].text and not kept[-1].raw:
        kept.pop()
    return "".join(f"{line.text}\n" for line in kept)


KeyOrder = Callable[[StackPath], Sequence[str]]
"""Returns the wanted key order for the mapping at a path; keys that it does not name follow in file order."""
Part = TypeVar("Part")

INDENT = 2


def in_file_order(_path: StackPath) -> Sequence[str]:
    """Leaves every key where it is."""
    return ()


class UnknownLayout(Exception):
    """The text has a form that this module cannot lay out."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


class Layout:
    """Walks a document in the order of its text and rebuilds its lines."""

    def __init__(self, text: str, order: KeyOrder) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._next = 0
        """The first line that is not consumed yet."""
        self._root, anchored = composed(text)
        # An alias must come after its anchor.
        self._order = in_file_order if anchored else order

    def text(self) -> str:
        """Returns the whole result."""
        lines: list[LayoutLine] = []
        if self._root is not None:
            first = self._root.start.line
            lines += self._between(first)
            if self._lines[first].startswith(("---", "%")):
                raise UnknownLayout(first + 1, "a value follows ---")
            if self._root.flow or self._root.kind == "scalar":
                lines += self._leaf("", self._root, 0, 0, ())
            elif self._root.start.index != self._root.children[0].start.index and self._root.kind == "mapping":
                raise UnknownLayout(first + 1, "an anchor precedes the first key")
            else:
                lines += self._block(self._root, 0, ())
        lines += self._between(len(self._lines))
        return joined(lines)

    # Comments and blank lines

    def _between(self, line: int) -> list[LayoutLine]:
        """Returns the comments, blank lines and document marks from the current line up to ``line``."""
        found = [self._lines[number].strip() for number in range(self._next, line)]
        for number, text in enumerate(found, self._next):
            if text and not text.startswith(("#", "---", "...", "%")):
                raise UnknownLayout(number + 1, "its layout is not known here")
        self._next = max(line, self._next)
        return [LayoutLine(text) for text in found]

    def _foot(self, column: int) -> list[LayoutLine]:
        """Returns the comments below the last line of a block that are indented like it, or deeper."""
        end = self._next
        for number in range(self._next, len(self._lines)):
            stripped = self._lines[number].lstrip()
            if stripped and (not stripped.startswith("#") or len(self._lines[number]) - len(stripped) < column):
                break
            if stripped:
                end = number + 1
        return self._between(end)

    def _behind(self, end: Any) -> str:
        """Returns what follows a value on its last line: a comment with the space before it, or nothing."""
        line = self._lines[end.line]
        rest = line[end.column :]
        comment = rest.strip()
        if comment and not comment.startswith("#"):
            raise UnknownLayout(end.line + 1, "something follows a value")
        self._next = end.line + 1
        gap = max(GAP, len(rest) - len(rest.lstrip()))
        return " " * gap + comment if comment else ""

    # Blocks

    def _block(self, node: LayoutNode, indent: int, path: StackPath) -> list[LayoutLine]:
        """Returns the lines of a block mapping or list, with the comments at its end."""
        column = node.children[0].start.column if node.kind == "mapping" else self._dash(node)
        entries = self._entries if node.kind == "mapping" else self._items
        lines = entries(node, indent, path)
        while lines and not lines[0].text and not lines[0].raw:
            del lines[0]
        foot = [LayoutLine(" " * indent + line.text if line.text else "") for line in self._foot(column)]
        return lines + foot

    def _dash(self, node: LayoutNode) -> int:
        """Returns the column of a block list's dashes."""
        number = self._line_with_dash()
        # A list can begin on the line of the dash before it: `- - one`.
        at = self._lines[number].find("-", node.start.column if node.start.line == number else 0)
        if at < 0:
            raise UnknownLayout(number + 1, "a list's dashes were not found")
        return at

    def _entries(self, node: LayoutNode, indent: int, path: StackPath) -> list[LayoutLine]:
        made: list[tuple[str, list[LayoutLine]]] = []
        pad = " " * indent
        for key, value in node.pairs:
            if key.start.line != key.end.line or key.kind != "scalar" or self._slice(key).startswith("?"):
                raise UnknownLayout(key.start.line + 1, "a key is written over several lines")
            head = [LayoutLine(pad + line.text if line.text else "") for line in self._between(key.start.line)]
            name = self._name(key)
            before = _Before(f"{pad}{self._slice(key)}:", key.end.line, key.end.column, key.start.column)
            made.append((name, head + self._value(before, value, indent, (*path, name))))
        return [line for _, lines in self._sorted(made, path) for line in lines]

    def _items(self, node: LayoutNode, indent: int, path: StackPath) -> list[LayoutLine]:
        lines: list[LayoutLine] = []
        pad = " " * indent
        column = self._dash(node)
        for index, item in enumerate(node.children):
            head = self._between(self._line_with_dash())
            number = self._next
            lines += [LayoutLine(pad + line.text if line.text else "") for line in head]
            if item.flow or item.kind == "scalar":
                before = _Before(f"{pad}-", number, column + 1, column)
                lines += self._value(before, item, indent, (*path, index))
                continue
            rest = self._lines[number][column + 1 : item.start.column if item.start.line == number else None]
            whole = item.kind == "sequence" or item.start.index == item.children[0].start.index
            if item.start.line == number and not rest.strip() and whole:
                below = self._block(item, indent + INDENT, (*path, index))
                # A key that moved to the top may have comments: they go above the dash.
                first = next(at for at, line in enumerate(below) if not line.text.lstrip().startswith("#"))
                lines += [LayoutLine(pad + line.text.lstrip()) for line in below[:first]]
                lines += [LayoutLine(f"{pad}- {below[first].text.lstrip()}"), *below[first + 1 :]]
            elif item.start.line > number:
                self._next = number + 1
                below = self._block(item, indent + INDENT, (*path, index))
                lines += [LayoutLine(f"{pad}-{note(rest)}"), *below]
            else:
                raise UnknownLayout(number + 1, "an item's layout is not known here")
        return lines

    def _line_with_dash(self) -> int:
        for number in range(self._next, len(self._lines)):
            stripped = self._lines[number].strip()
            if stripped and not stripped.startswith("#"):
                return number
        raise UnknownLayout(self._next, "a list's dashes were not found")

    def _value(self, before: "_Before", value: LayoutNode, indent: int, path: StackPath) -> list[LayoutLine]:
        """Returns the lines of a key or dash and its value."""
        if value.flow or value.kind == "scalar":
            self._nothing_between(before, value)
            return self._leaf(before.lead, value, indent, before.indent, path)
        rest = self._lines[before.line][before.column :].lstrip().removeprefix(":")
        self._next = before.line + 1
        if value.start.line == before.line and not rest.lstrip().startswith("&"):
            raise UnknownLayout(before.line + 1, "a block begins on the line of its key")
        return [LayoutLine(before.lead + note(rest)), *self._block(value, indent + INDENT, path)]

    def _nothing_between(self, before: "_Before", value: LayoutNode) -> None:
        """Rejects comments between a key and its value on a later line, which would have no place."""
        if value.start.line == before.line:
            return
        found = [self._lines[before.line][before.column :].strip().removeprefix(":")]
        found += self._lines[before.line + 1 : value.start.line]
        found.append(self._lines[value.start.line][: value.start.column])
        if any(text.strip() for text in found):
            raise UnknownLayout(before.line + 1, "something is between a key and its value")

    def _leaf(self, lead: str, node: LayoutNode, indent: int, old: int, path: StackPath) -> list[LayoutLine]:
        """Returns a copied value behind its key or dash. ``old`` is the old indentation of the key or dash."""
        if node.style in ("|", ">"):
            text, behind = self._block_scalar(node), ""
        else:
            text, behind = self._slice(node), self._behind(node.end)
        if node.flow and "\n" not in text:
            text = self._flow(node, path)
        first, *rest = text.split("\n")
        space = " " if lead and first else ""
        made = LayoutLine(f"{lead}{space}{first}{'' if rest else behind}".rstrip())
        more = [LayoutLine(shifted(line, indent - old), raw=True) for line in rest]
        if more and behind:
            more[-1] = LayoutLine(more[-1].text + behind, raw=True)
        return [made, *more]

    def _block_scalar(self, node: LayoutNode) -> str:
        """Returns a text behind ``|`` or ``>``, without trailing blank lines that are not part of it."""
        text = self._slice(node)
        keeps = "+" in text.partition("\n")[0].partition("#")[0]
        text = text.removesuffix("\n") if keeps else text.rstrip("\n")
        self._next = node.start.line + text.count("\n") + 1
        return text

    # Flow style, and the text itself

    def _flow(self, node: LayoutNode, path: StackPath) -> str:
        """Returns a flow mapping or list on one line; unchanged if it has an anchor, a tag, or a rare form."""
        text = self._slice(node)
        if node.kind == "scalar":
            return text
        if node.kind == "sequence":
            if not text.startswith("["):
                return text
            return "[" + ", ".join(self._flow(item, (*path, at)) for at, item in enumerate(node.children)) + "]"
        if not text.startswith("{"):
            return text
        made: list[tuple[str, str]] = []
        for key, value in node.pairs:
            between = self._text[key.end.index : value.start.index]
            if key.kind != "scalar" or ":" not in between or between.strip() != ":":
                return text
            name = self._name(key)
            made.append((name, f"{self._slice(key)}: {self._flow(value, (*path, name))}".rstrip()))
        return "{" + ", ".join(part for _, part in self._sorted(made, path)) + "}"

    def _slice(self, node: LayoutNode) -> str:
        return self._text[node.start.index : node.end.index]

    def _name(self, key: LayoutNode) -> str:
        value = yaml.safe_load(self._slice(key)) if key.style else self._slice(key)
        return str(value)

    def _sorted(self, entries: list[tuple[str, Part]], path: StackPath) -> list[tuple[str, Part]]:
        """Sorts keys: those of other packages first, then modelyard's in the given order, then all others."""
        rank = {name: number for number, name in enumerate(self._order(path))}
        if not rank:
            return entries
        ours = any(name.startswith(PREFIX) for name in rank)

        def place(entry: tuple[str, Part]) -> tuple[int, int]:
            if ours and not entry[0].startswith(PREFIX):
                return 0, 0
            return (1, rank[entry[0]]) if entry[0] in rank else (2, 0)

        return sorted(entries, key=place)


class _Before(NamedTuple):
    """A key with its colon, or a dash."""

    lead: str
    """As written in the result, indented."""
    line: int
    """The line where it ends in the text, and its indentation there."""
    column: int
    indent: int
