"""The nodes of a YAML document as they stand in its text, aliases as the leaves that they are there."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml


class Node(NamedTuple):
    """A node as it stands in the text."""

    kind: str
    """``scalar`` (aliases too), ``mapping`` or ``sequence``."""
    start: Any
    """Mark of its first character, anchor and tag included."""
    end: Any
    flow: bool
    style: str
    children: tuple["Node", ...] = ()
    """Of a mapping: keys and values in turn."""

    @property
    def pairs(self) -> Iterator[tuple["Node", "Node"]]:
        """The keys of a mapping with their values."""
        return zip(self.children[::2], self.children[1::2], strict=True)


class Composed(NamedTuple):
    """A document's root node, None where it is empty, and whether any node has an anchor or is an alias."""

    root: Node | None
    anchored: bool


def composed(text: str) -> Composed:
    """The nodes of a text of one document.

    Raises:
        yaml.YAMLError: the text is no YAML.
    """
    # The pure Python parser: only its marks count characters, which is what slicing needs.
    open_: list[list[Node]] = [[]]
    begun: list[Any] = []
    anchored = False
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        anchored = anchored or getattr(event, "anchor", None) is not None
        match event:
            case yaml.ScalarEvent() | yaml.AliasEvent():
                style = getattr(event, "style", None) or ""
                open_[-1].append(Node("scalar", event.start_mark, event.end_mark, False, style))
            case yaml.CollectionStartEvent():
                begun.append(event)
                open_.append([])
            case yaml.CollectionEndEvent():
                first, children = begun.pop(), tuple(open_.pop())
                kind = "mapping" if isinstance(first, yaml.MappingStartEvent) else "sequence"
                open_[-1].append(Node(kind, first.start_mark, event.end_mark, bool(first.flow_style), "", children))
    return Composed(open_[0][0] if open_[0] else None, anchored)
