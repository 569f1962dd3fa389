"""Parses a YAML file into plain values and the position of each value.

It reads the C parser's events one by one, so nothing recurses and every limit is checked before memory is spent. It
rejects text that two parsers could read differently: duplicate keys, several documents, tags.

Plain scalars follow the core schema of YAML 1.2: ``true`` and ``false`` are booleans; ``null``, ``~`` and an empty
scalar are null; the rest is a number or text: ``yes``, ``on`` and ``2027-03-01`` are text. A number that JSON cannot
carry (``.inf``, ``.nan``, 1e400) or that is longer than 30 characters stays text too.
"""

from typing import Any, Final, NamedTuple

from yaml._yaml import CParser
from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from modelyard.findings import MOST_COUNTED
from modelyard.patterns import regex
from modelyard.stack import codes
from modelyard.stack.config import StackPath
from modelyard.stack.words import quoted
from modelyard.stack.yaml.source import Position, RefusedText, TextProblem, checked, syntax

MAX_DEPTH = 64
MAX_NODES = 1_000_000
"""Maximum number of values in one file, scalars and containers. 20,000 jobs have about 200,000."""
MAX_ALIASED = 50_000
"""Maximum number of values that aliases stand for; each use of an alias counts."""


_TAGS = "tag:yaml.org,2002:"
_TEXT_TAG = f"{_TAGS}str"
_OWN_TAGS: Final = frozenset(
    ("binary", "bool", "float", "int", "map", "merge", "null", "omap", "pairs", "seq", "set", "str", "timestamp")
)
"""YAML's own tags, which messages name. Anything else behind ``!`` may be a password without quotes."""
YamlScalar = str | int | float | bool | None

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_NUMBER = regex(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_NUMBER_STARTS = frozenset("0123456789+-.")
_LONGEST_NUMBER = 30


class Document(NamedTuple):
    """One YAML document."""

    value: Any
    keys: dict[StackPath, Position]
    """Position of each key and list item."""
    values: dict[StackPath, Position]
    """Start of the value of each key or item."""
    texts: dict[StackPath, str]
    """Source text of every number: ``23.10`` is the number 23.1 and the text ``23.10``."""
    secrets: tuple[StackPath, ...]
    """Paths of Pulumi's encrypted values: mappings whose only key is ``secure``."""


def parse(content: bytes) -> tuple[Document | None, tuple[TextProblem, ...]]:
    """Returns the document with its positions. Some problems do not stop parsing: of duplicate keys, the last wins."""
    problems: list[TextProblem] = []
    try:
        text = checked(content, problems)
        builder = _Builder(text, problems)
        value = builder.build()
    except RefusedText as refused:
        return None, (*problems, refused.problem)
    secrets = tuple(path for path in builder.secrets if "<<" not in path)
    return Document(value, builder.keys, builder.values, builder.texts, secrets), tuple(problems)


def parse_plain(content: bytes) -> tuple[Any, TextProblem | None]:
    """Returns only the value of a small YAML file, None if the file is empty, and the first problem."""
    document, problems = parse(content)
    serious = next((problem for problem in problems if not problem.harmless), None)
    return (None, serious) if document is None or serious is not None else (document.value, None)


class _Frame:
    """A mapping or list that is being parsed."""

    __slots__ = ("anchor", "key", "merges", "nodes", "path", "value")

    def __init__(self, value: dict[str, Any] | list[Any], path: StackPath, anchor: str | None, nodes: int) -> None:
        self.value: Any = value
        self.path = path
        self.anchor = anchor
        self.nodes = nodes
        """Number of nodes parsed before this frame."""
        self.key: str | None = None
        """In a mapping: the key whose value comes next."""
        self.merges = False


class _Anchored(NamedTuple):
    value: Any
    path: StackPath
    nodes: int


class _Builder:
    """Builds values and positions from parser events."""

    def __init__(self, content: bytes, problems: list[TextProblem]) -> None:
        self._content = content
        self._parser = CParser(content)
        self._problems = problems
        self._anchors: dict[str, _Anchored] = {}
        self._frames: list[_Frame] = []
        self._nodes = 0
        self._aliased = 0
        self.keys: dict[StackPath, Position] = {}
        self.values: dict[StackPath, Position] = {}
        self.texts: dict[StackPath, str] = {}
        self.secrets: list[StackPath] = []
        self._tables: tuple[dict[StackPath, Any], ...] = (self.keys, self.values, self.texts)

    def build(self) -> Any:
        """Returns the value of the only document, or None if the file has no document."""
        try:
            self._parser.get_event()
            event = self._parser.get_event()
            if isinstance(event, StreamEndEvent):
                return None
            value = self._node()
            self._parser.get_event()
            event = self._parser.get_event()
        except YAMLError as error:
            raise RefusedText(syntax(error, self._content)) from None
        if isinstance(event, DocumentStartEvent):
            raise _at(event, codes.FEATURE, "the text has a second document", "keep one document")
        return value

    def _node(self) -> Any:
        """Walks one node with everything in it; the methods below handle each event."""
        frames, next_event = self._frames, self._parser.get_event
        frame: _Frame | None = None
        while True:
            event: Any = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                if frame is not None and frame.key is None and frame.value.__class__ is dict:
                    self._key(frame, event)
                    continue
                path = self._enter(frame, event)
                value = self._scalar(event, path)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                path = self._enter(frame, event)
                frame = self._open(event, path)
                frames.append(frame)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                assert frame is not None
                value, path = self._close(frame), frame.path
                frames.pop()
                frame = frames[-1] if frames else None
            else:
                path = self._enter(frame, event)
                value = self._alias(event, path)
            if frame is None:
                return value
            if frame.value.__class__ is dict:
                frame.value[frame.key or ""] = value
                frame.key = None
            else:
                frame.value.append(value)

    def _enter(self, frame: _Frame | None, event: Any) -> StackPath:
        """Counts the node and records where it starts."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _at(event, codes.LIMIT, f"the text has more than {MAX_NODES:,} values", "make the file smaller")
        mark = event.start_mark
        place = (mark.line + 1, mark.column + 1)
        if frame is None:
            path: StackPath = ()
        elif frame.value.__class__ is dict:
            if frame.key is None:
                what = (
                    "the mapping has an alias as a key"
                    if isinstance(event, AliasEvent)
                    else "the mapping has a list or mapping as a key"
                )
                raise _at(event, codes.FEATURE, what, "write keys as plain text")
            path = (*frame.path, frame.key)
        else:
            path = (*frame.path, len(frame.value))
            self.keys[path] = place
        self.values[path] = place
        return path

    def _key(self, frame: _Frame, event: Any) -> None:
        key: str = event.value
        mark = event.start_mark
        path = (*frame.path, key)
        if key == "<<" and event.implicit[0]:
            frame.merges = True
        frame.key = key
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(key, path, 1)
        place = (mark.line + 1, mark.column + 1)
        if key in frame.value and len(self._problems) <= MOST_COUNTED:
            what = f"{quoted(key)} is given twice, first on line {self.keys[path][0]}"
            remedy = "keep one of them: YAML parsers disagree on which one applies"
            self._problems.append(TextProblem(codes.DUPLICATE_KEY, what, *place, remedy))
        self.keys[path] = place

    def _scalar(self, event: Any, path: StackPath) -> Any:
        text: str = event.value
        value: Any = text
        if event.implicit[0]:
            value = resolve(text)
            if value.__class__ is int or value.__class__ is float:
                self.texts[path] = text
        elif event.tag is not None and event.tag != _TEXT_TAG:
            raise _tagged(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, path, 1)
        return value

    def _open(self, event: Any, path: StackPath) -> _Frame:
        if event.tag is not None and not event.implicit:
            raise _tagged(event)
        if len(self._frames) >= MAX_DEPTH:
            what = f"the text is nested deeper than {MAX_DEPTH} levels"
            raise _at(event, codes.LIMIT, what, "flatten it")
        value: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        # Until this container is closed, an alias to its anchor would refer to itself.
        self._anchors.pop(event.anchor, None) if event.anchor is not None else None
        return _Frame(value, path, event.anchor, self._nodes - 1)

    def _close(self, frame: _Frame) -> Any:
        value = frame.value
        if isinstance(value, dict):
            if frame.merges:
                self._merge(value, frame.path)
            if _is_secret(value):
                self.secrets.append(frame.path)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(value, frame.path, self._nodes - frame.nodes)
        return value

    def _alias(self, event: Any, path: StackPath) -> Any:
        anchored = self._anchors.get(event.anchor or "")
        if anchored is None:
            # Its name may be a password without quotes.
            what = "the value is an alias without an anchor before it, or inside its own anchor"
            raise _at(event, codes.FEATURE, what, "add the anchor first, or write the value out; for text, use quotes")
        self._nodes += anchored.nodes
        self._aliased += anchored.nodes
        if self._aliased > MAX_ALIASED:
            what = f"the text has aliases that expand to more than {MAX_ALIASED:,} values"
            raise _at(event, codes.LIMIT, what, "write the values out instead of aliasing aliases")
        if anchored.nodes > 1:
            self._copy_places(anchored.value, anchored.path, path)
        elif anchored.path in self.texts:
            self.texts[path] = self.texts[anchored.path]
        return anchored.value

    def _copy_places(self, value: Any, source: StackPath, target: StackPath) -> None:
        """Copies the positions below ``source`` to ``target``, so that errors point at the anchored lines."""
        waiting: list[tuple[Any, StackPath]] = [(value, ())]
        while waiting:
            outer, inside = waiting.pop()
            if _is_secret(outer):
                self.secrets.append((*target, *inside))
            items = outer.items() if isinstance(outer, dict) else enumerate(outer) if isinstance(outer, list) else ()
            for key, inner in items:
                path = (*inside, key)
                waiting.append((inner, path))
                for table in self._tables:
                    if (at := table.get((*source, *path))) is not None:
                        table[(*target, *path)] = at

    def _merge(self, value: dict[str, Any], path: StackPath) -> None:
        """Applies ``<<``: adds keys that the mapping does not set itself; the first of several mappings wins."""
        merged = value.pop("<<")
        place = (*path, "<<")
        several = isinstance(merged, list)
        for index, source in enumerate(merged if several else (merged,)):
            if not isinstance(source, dict):
                line, column = self.values[place]
                what = "`<<` merges something other than a mapping"
                raise RefusedText(
                    TextProblem(codes.FEATURE, what, line, column, remedy="merge an alias of a mapping: `<<: *name`")
                )
            origin = (*place, index) if several else place
            for key, inner in source.items():
                if key in value:
                    continue
                value[key] = inner
                for table in self._tables:
                    if (*origin, key) in table:
                        table[(*path, key)] = table[(*origin, key)]
                self._copy_places(inner, (*origin, key), (*path, key))


def _at(event: Any, code: str, message: str, remedy: str) -> RefusedText:
    mark = event.start_mark
    return RefusedText(TextProblem(code, message, mark.line + 1, mark.column + 1, remedy=remedy))


def _is_secret(value: Any) -> bool:
    """Whether Pulumi has encrypted a value."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("secure"), str)


def _tagged(event: Any) -> RefusedText:
    name = (event.tag or "").removeprefix(_TAGS)
    what = f"the value has the tag !!{name}" if name in _OWN_TAGS else "the value has a tag"
    return _at(event, codes.FEATURE, what, "remove the tag; for text, use quotes")


def resolve(text: str) -> YamlScalar:
    """Returns the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or len(text) > _LONGEST_NUMBER:
        return text
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    match found.lastgroup:
        case "int":
            return int(text)
        case "oct":
            return int(found["oct"], 8)
        case "hex":
            return int(found["hex"], 16)
        case _:
            value = float(text)
            return text if value in (float("inf"), float("-inf")) else value
