"""From the bytes of a YAML file to plain values, and where each of them stands.

The C parser's events are read one by one, so nothing recurses and every limit is checked before memory is spent. Text
is refused that two readers would read differently: duplicate keys, several documents, tags.
"""

from typing import Any, Final, NamedTuple

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from modelyard.stack import codes
from modelyard.stack.config import Path
from modelyard.stack.scalars import resolve
from modelyard.stack.words import plain, quoted

MAX_BYTES = 1024 * 1024
"""Size of the largest file that is parsed. A stack file of 40 lines has about 1,000 bytes."""
MAX_DEPTH = 64
MAX_NODES = 50_000
"""Keys, items and values of one file, aliases counted as often as they are used."""

Place = tuple[int, int]
"""1-based line and column."""

_CONTROL: Final = bytes({*range(32), 127} - {9, 10, 13})
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Problem(NamedTuple):
    """What is wrong with a text, before it is known whose text it is."""

    code: str
    message: str
    line: int = 0
    """1-based, 0 where there is none."""
    column: int = 0
    remedy: str = ""
    detail: str = ""
    harmless: bool = False
    """Whether the text was read nevertheless."""


class Document(NamedTuple):
    """One YAML document."""

    value: Any
    keys: dict[Path, Place]
    """Where each key and each list item stands."""
    values: dict[Path, Place]
    """Where the value of each key or item starts."""
    texts: dict[Path, str]
    """Source text of every number: ``23.10`` is the number 23.1 and the text ``23.10``."""
    secrets: tuple[Path, ...]
    """Where Pulumi's encrypted values stand: mappings whose only key is ``secure``."""


class _Refused(Exception):
    """Carries the one problem after which a text cannot be read on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def parse(content: bytes) -> tuple[Document | None, tuple[Problem, ...]]:
    """The document with its positions. Problems do not always stop the reading: a duplicate key's first value holds."""
    problems: list[Problem] = []
    try:
        text = _checked(content, problems)
        builder = _Builder(text, problems)
        value = builder.build()
    except _Refused as refused:
        return None, (*problems, refused.problem)
    return Document(value, builder.keys, builder.values, builder.texts, tuple(builder.secrets)), tuple(problems)


def parse_plain(content: bytes) -> tuple[Any, Problem | None]:
    """The value of a small YAML file alone, None when it is empty, with the first thing that is wrong with it."""
    document, problems = parse(content)
    serious = next((problem for problem in problems if not problem.harmless), None)
    return (None, serious) if document is None or serious is not None else (document.value, None)


def _checked(content: bytes, problems: list[Problem]) -> bytes:
    """The bytes of a text that is small enough, UTF-8, and free of control characters."""
    if len(content) > MAX_BYTES:
        raise _Refused(too_large(len(content)))
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
        remedy = "save the file as UTF-8 without a byte-order mark"
        problems.append(Problem(codes.ENCODING, "starts with a byte-order mark", 1, 1, remedy, harmless=True))
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line, column = _place(content, error.start)
        what = f"is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}"
        if content.startswith(_BOMS):
            what = "is UTF-16 text, not UTF-8"
        raise _Refused(Problem(codes.ENCODING, what, line, column, "save the file as UTF-8")) from None
    if len(content.translate(None, _CONTROL)) != len(content):
        at = next(i for i, byte in enumerate(content) if byte in _CONTROL)
        what = f"has the control character 0x{content[at]:02x}"
        raise _Refused(Problem(codes.ENCODING, what, *_place(content, at), "remove it, or write it as an escape"))
    return content


def too_large(size: int) -> Problem:
    """The problem of a file of ``size`` bytes."""
    limit = f"the limit is {MAX_BYTES:,} bytes"
    return Problem(codes.LIMIT, f"has {size:,} bytes; {limit}", remedy="move what is not configuration elsewhere")


def _place(content: bytes, offset: int) -> Place:
    before = content[:offset]
    start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[start:].decode(errors="replace")) + 1


class _Frame:
    """A mapping or list that is being read."""

    __slots__ = ("anchor", "key", "merges", "nodes", "path", "value")

    def __init__(self, value: dict[str, Any] | list[Any], path: Path, anchor: str | None, nodes: int) -> None:
        self.value = value
        self.path = path
        self.anchor = anchor
        self.nodes = nodes
        """Nodes read before this one."""
        self.key: str | None = None
        """Of a mapping: the key whose value comes next."""
        self.merges = False


class _Anchored(NamedTuple):
    value: Any
    path: Path
    nodes: int


class _Builder:
    """Values and positions from parser events."""

    def __init__(self, content: bytes, problems: list[Problem]) -> None:
        self._content = content
        self._parser = CParser(content)
        self._problems = problems
        self._anchors: dict[str, _Anchored] = {}
        self._frames: list[_Frame] = []
        self._nodes = 0
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self.texts: dict[Path, str] = {}
        self.secrets: list[Path] = []

    def build(self) -> Any:
        """The value of the only document, None when there is none."""
        try:
            self._parser.get_event()
            event = self._parser.get_event()
            if isinstance(event, StreamEndEvent):
                return None
            value = self._node()
            self._parser.get_event()
            event = self._parser.get_event()
        except YAMLError as error:
            raise _Refused(_syntax(error, self._content)) from None
        if isinstance(event, DocumentStartEvent):
            raise _at(event, codes.FEATURE, "starts a second document", "keep one document: a file is one stack")
        return value

    def _node(self) -> Any:
        """One node with everything in it: the walk. What an event means is decided in the methods below."""
        frames, next_event = self._frames, self._parser.get_event
        frame: _Frame | None = None
        while True:
            event = next_event()
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
                value, path = self._close(frame, event), frame.path
                frames.pop()
                frame = frames[-1] if frames else None
            else:
                path = self._enter(frame, event)
                value = self._alias(event, path)
            if frame is None:
                return value
            if frame.value.__class__ is dict:
                frame.value[frame.key] = value  # type: ignore[call-overload]
                frame.key = None
            else:
                frame.value.append(value)  # type: ignore[union-attr]

    def _enter(self, frame: _Frame | None, event: NodeEvent) -> Path:
        """Counts the node and notes where it starts."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _at(event, codes.LIMIT, f"has more than {MAX_NODES:,} keys and values", "make the file smaller")
        mark = event.start_mark
        place = (mark.line + 1, mark.column + 1)
        if frame is None:
            path: Path = ()
        elif frame.value.__class__ is dict:
            if frame.key is None:
                what = "has an alias as a key" if isinstance(event, AliasEvent) else "has a list or mapping as a key"
                raise _at(event, codes.FEATURE, what, "write keys as plain text")
            path = (*frame.path, frame.key)
        else:
            path = (*frame.path, len(frame.value))
            self.keys[path] = place
        self.values[path] = place
        return path

    def _key(self, frame: _Frame, event: ScalarEvent) -> None:
        key: str = event.value
        mark = event.start_mark
        path = (*frame.path, key)
        if key == "<<" and event.implicit[0]:
            frame.merges = True
        frame.key = key
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(key, path, 1)
        first = self.keys.get(path)
        if first is None:
            self.keys[path] = (mark.line + 1, mark.column + 1)
            return
        what = f"{quoted(key)} is given twice, first on line {first[0]}"
        self._problems.append(
            Problem(
                codes.DUPLICATE_KEY, what, mark.line + 1, mark.column + 1, "keep one of them; readers disagree which counts"
            )
        )

    def _scalar(self, event: ScalarEvent, path: Path) -> Any:
        text: str = event.value
        value: Any = text
        if event.implicit[0]:
            value = resolve(text)
            if value.__class__ is int or value.__class__ is float:
                self.texts[path] = text
        elif event.tag is not None and event.tag not in _TEXT_TAGS:
            raise _tagged(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, path, 1)
        return value

    def _open(self, event: CollectionStartEvent, path: Path) -> _Frame:
        if event.tag is not None and not event.implicit:
            raise _tagged(event)
        if len(self._frames) >= MAX_DEPTH:
            what = f"is nested deeper than {MAX_DEPTH} levels"
            raise _at(event, codes.LIMIT, what, "flatten it: stack files need six levels")
        value: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        # Until it is closed, an alias to this anchor would be an alias to itself.
        self._anchors.pop(event.anchor, None) if event.anchor is not None else None
        return _Frame(value, path, event.anchor, self._nodes - 1)

    def _close(self, frame: _Frame, event: Event) -> Any:
        value = frame.value
        if isinstance(value, dict):
            if frame.merges:
                self._merge(value, frame.path, event)
            if len(value) == 1 and isinstance(value.get("secure"), str):
                self.secrets.append(frame.path)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(value, frame.path, self._nodes - frame.nodes)
        return value

    def _alias(self, event: NodeEvent, path: Path) -> Any:
        anchored = self._anchors.get(event.anchor or "")
        if anchored is None:
            what = f"the alias *{plain(event.anchor or '')} has no anchor before it, or stands inside it"
            raise _at(event, codes.FEATURE, what, "anchor the value first, or write it out")
        self._nodes += anchored.nodes
        if self._nodes > MAX_NODES:
            what = f"has aliases that expand to more than {MAX_NODES:,} values"
            raise _at(event, codes.LIMIT, what, "write the values out instead of aliasing aliases")
        if anchored.nodes > 1:
            self._copy_places(anchored.path, path)
        elif anchored.path in self.texts:
            self.texts[path] = self.texts[anchored.path]
        return anchored.value

    def _copy_places(self, source: Path, target: Path) -> None:
        """What stands below ``source`` now also stands below ``target``: errors point at the anchored lines."""
        depth = len(source)
        for table in (self.keys, self.values, self.texts):
            below = [(path, at) for path, at in table.items() if len(path) > depth and path[:depth] == source]
            for path, at in below:
                table[(*target, *path[depth:])] = at  # type: ignore[assignment]
        self.secrets += [(*target, *path[depth:]) for path in self.secrets if path[:depth] == source]

    def _merge(self, value: dict[str, Any], path: Path, event: Event) -> None:
        """``<<``: keys of the merged mappings that this one has not itself; the first of several wins."""
        merged = value.pop("<<")
        place = (*path, "<<")
        several = isinstance(merged, list)
        for index, source in enumerate(merged if several else (merged,)):
            if not isinstance(source, dict):
                line, column = self.values[place]
                what = "merges something other than a mapping"
                raise _Refused(Problem(codes.FEATURE, what, line, column, "merge an alias of a mapping: `<<: *name`"))
            origin = (*place, index) if several else place
            for key, inner in source.items():
                if key in value:
                    continue
                value[key] = inner
                for table in (self.keys, self.values, self.texts):
                    if (*origin, key) in table:
                        table[(*path, key)] = table[(*origin, key)]  # type: ignore[index]
                self._copy_places((*origin, key), (*path, key))


def _at(event: Event, code: str, message: str, remedy: str) -> _Refused:
    mark = event.start_mark
    return _Refused(Problem(code, message, mark.line + 1, mark.column + 1, remedy))


def _tagged(event: NodeEvent) -> _Refused:
    tag = plain(getattr(event, "tag", ""))
    return _at(event, codes.FEATURE, f"has the tag {tag}", "remove the tag; for text, use quotes")


def _syntax(error: YAMLError, content: bytes) -> Problem:
    """The parser's complaint in the operator's words."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        # The reader's own: a character that YAML does not allow, with its offset in characters.
        character = getattr(error, "character", None)
        position = getattr(error, "position", 0)
        before = content.decode()[:position] if isinstance(position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        what = f"has the character U+{character:04X}, which YAML does not allow" if isinstance(character, int) else str(error)
        return Problem(codes.ENCODING, plain(what, 200), line, column, "remove it, or write it as an escape")
    mark = error.problem_mark
    line, column = mark.line + 1, mark.column + 1
    lines = content.split(b"\n")
    source = lines[mark.line] if mark.line < len(lines) else b""
    indent = source[: len(source) - len(source.lstrip())]
    if b"\t" in indent:
        what = "is indented with a tab"
        return Problem(codes.SYNTAX, what, line, indent.index(b"\t") + 1, "indent with spaces; YAML takes no tabs there")
    problem = plain(error.problem or "cannot be read", 200)
    context = f" {plain(error.context, 200)}" if error.context else ""
    return Problem(codes.SYNTAX, f"is not YAML:{context} {problem}", line, column, _hint(problem, source))


def _hint(problem: str, source: bytes) -> str:
    if "mapping values are not allowed" in problem:
        return "put quotes around a value that holds `: `, or correct the indentation"
    if source.lstrip()[:1] in (b"{", b"[") or "flow" in problem:
        return "close every bracket, and put a comma between items"
    if "cannot start any token" in problem:
        return "put quotes around a value that starts with a special character"
    return "correct the YAML here or just above"
