"""Checks the bytes of a YAML file before parsing, and words the parser's syntax errors."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import CollectionEndEvent, CollectionStartEvent, ScalarEvent, SequenceStartEvent

from modelyard.files import MAX_YAML_BYTES
from modelyard.patterns import regex
from modelyard.stack import codes
from modelyard.stack.words import plain

Position = tuple[int, int]
"""1-based line and column."""

NOT_YAML: Final = "the text is not YAML: "
_CONTROL: Final = bytes({*range(32), 127} - {9, 10, 13})
_AFTER_NO_COLON = ("did not find expected key", "mapping values are not allowed in this context")
_NO_COLON = regex(rb"[A-Za-z_][\w./-]*(:[\w./-]+)*([ \t]+[^\]}]+)?")
"""A line that starts as a key does, without a colon behind the key."""
_NO_SPACE = regex(rb"(?!modelyard:|kubernetes:)([A-Za-z_][\w./-]*):(?!//)\S.*")
"""A key, a colon and a value without a space between them."""
_BREAK = regex(rb"\r\n|\r|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""The line breaks that the parser counts, besides a newline."""
_CONFLICT = (b"<<<<<<< ", b">>>>>>> ")
_BLOCKS = {
    "while parsing a block mapping": ("mapping", "indent it as a key of one of the mappings above"),
    "while parsing a block collection": ("list", "begin the item with `- `, or correct the indentation"),
}
_BRACKETS = ("while parsing a flow mapping", "while parsing a flow sequence", "while parsing a flow node")
_BOMS = (b"\xff\xfe", b"\xfe\xff")


class TextProblem(NamedTuple):
    """What is wrong with a text, before its file is known."""

    code: str
    message: str
    line: int = 0
    """1-based; 0 if there is no line."""
    column: int = 0
    remedy: str = ""
    detail: str = ""
    harmless: bool = False
    """Whether the text could be read anyway."""


class RefusedText(Exception):
    """Carries the problem that stops the parsing of a text."""

    def __init__(self, problem: TextProblem) -> None:
        self.problem = problem


def checked(content: bytes, problems: list[TextProblem]) -> bytes:
    """Returns the bytes if they are small enough, UTF-8, and free of control characters."""
    if len(content) > MAX_YAML_BYTES:
        raise RefusedText(too_large(len(content)))
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
        remedy = "save the file as UTF-8 without a byte-order mark"
        problems.append(
            TextProblem(codes.ENCODING, "the text starts with a byte-order mark", 1, 1, remedy=remedy, harmless=True)
        )
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line, column = _place(content, error.start)
        what = f"the text is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}"
        if content.startswith(_BOMS):
            what = "the text is UTF-16, not UTF-8"
        raise RefusedText(TextProblem(codes.ENCODING, what, line, column, remedy="save the file as UTF-8")) from None
    if len(content.translate(None, _CONTROL)) != len(content):
        at = next(i for i, byte in enumerate(content) if byte in _CONTROL)
        what = f"the text has the control character 0x{content[at]:02x}"
        raise RefusedText(
            TextProblem(codes.ENCODING, what, *_place(content, at), "remove it, or write it as an escape")
        )
    return content


def too_large(size: int) -> TextProblem:
    """Returns the problem for a file of ``size`` bytes."""
    limit = f"the limit is {MAX_YAML_BYTES:,} bytes"
    return TextProblem(
        codes.LIMIT, f"the text has {size:,} bytes; {limit}", remedy="keep only configuration in this file"
    )


def _place(content: bytes, offset: int) -> Position:
    before = content[:offset]
    start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[start:].decode(errors="replace")) + 1


def syntax(error: YAMLError, content: bytes) -> TextProblem:
    """Words the parser's error for the operator."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return _unreadable(error, content)
    mark, lines = error.problem_mark, _BREAK.sub(b"\n", content).split(b"\n")
    failure = _Failure(error, content, lines, mark.line + 1, mark.column + 1)
    return next(problem for cause in _CAUSES if (problem := cause(failure)) is not None)


def _unreadable(error: YAMLError, content: bytes) -> TextProblem:
    """A character that YAML does not allow: the parser gives its offset in characters."""
    character = getattr(error, "character", None)
    position = getattr(error, "position", 0)
    before = content.decode()[:position] if isinstance(position, int) else ""
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    what = (
        f"the text has the character U+{character:04X}, which YAML does not allow"
        if isinstance(character, int)
        else str(error)
    )
    return TextProblem(codes.ENCODING, plain(what, 200), line, column, remedy="remove it, or write it as an escape")


class _Failure(NamedTuple):
    """Why and where parsing ended."""

    error: MarkedYAMLError
    content: bytes
    lines: list[bytes]
    line: int
    column: int

    @property
    def source(self) -> bytes:
        """The text of the line; empty behind the last one."""
        return self.lines[self.line - 1] if self.line <= len(self.lines) else b""

    @property
    def indent(self) -> bytes:
        """The space before the text of the line."""
        return self.source[: len(self.source) - len(self.source.lstrip())]

    def problem(self, what: str, remedy: str, place: Position | None = None) -> TextProblem:
        """A problem at a place, by default where parsing ended."""
        line, column = place or (self.line, self.column)
        return TextProblem(codes.SYNTAX, f"{NOT_YAML}{what}", line, column, remedy)


def _conflict(failure: _Failure) -> TextProblem | None:
    number = next((number for number, text in enumerate(failure.lines, 1) if text.startswith(_CONFLICT)), 0)
    remedy = "keep one of the two versions, and remove the lines <<<<<<<, ======= and >>>>>>>"
    what = "the text has an unresolved merge conflict"
    return TextProblem(codes.SYNTAX, what, number, 1, remedy) if number else None


def _tab(failure: _Failure) -> TextProblem | None:
    column = failure.indent.find(b"\t") + 1
    remedy = "indent with spaces; YAML does not allow tabs there"
    return (
        TextProblem(codes.SYNTAX, "the line is indented with a tab", failure.line, column, remedy) if column else None
    )


def _unclosed_quote(failure: _Failure) -> TextProblem | None:
    start = _open_quote(failure.error, failure.content)
    remedy = "close it at the end of the value, on the same line"
    return failure.problem("the quote that opens here is not closed", remedy, start) if start is not None else None


def _colon(failure: _Failure) -> TextProblem | None:
    start = _without_colon(failure.error, failure.lines)
    if start is None:
        return None
    found = _NO_SPACE.fullmatch(failure.lines[start[0] - 1].strip())
    if found is None:
        remedy = "write `key: value`; indent further lines of a long text"
        return failure.problem("the line has no colon after its key", remedy, start)
    # The value may be a secret.
    remedy = f"write a space after the colon: {plain(found[1].decode(), 120)}: …"
    return failure.problem("a space is missing after the colon", remedy, start)


def _after_salt(failure: _Failure) -> TextProblem | None:
    """An indented line that follows the keys that Pulumi appends to a stack file."""
    above = reversed(failure.lines[: failure.line - 1])
    before = next((text for text in above if text.strip() and not text.startswith(b"#")), b"")
    if not before.startswith((b"encryptionsalt:", b"encryptedkey:", b"secretsprovider:")):
        return None
    remedy = "move this above the lines that Pulumi adds, such as encryptionsalt"
    return failure.problem("the line above ends config", remedy, (failure.line, len(failure.indent) + 1))


def _brackets(failure: _Failure) -> TextProblem | None:
    if failure.error.context not in _BRACKETS or (opened := _open_bracket(failure.content)) is None:
        return None
    bracket, closing, start = opened
    between = b"\n".join(failure.lines[start[0] - 1 : failure.line])[start[1] :]
    if closing not in between:
        return failure.problem(
            f"the {bracket} that opens here is not closed", f"close it with {closing.decode()}", start
        )
    remedy = "put a comma between items; quote a value with brackets"
    return failure.problem("a comma or a value is missing here", remedy)


def _block(failure: _Failure) -> TextProblem | None:
    begin = failure.error.context_mark
    if failure.error.context not in _BLOCKS or begin is None:
        return None
    if failure.column > len(failure.indent) + 1:
        return failure.problem("the value ends before this", "put quotes around the whole value, or remove this")
    kind, remedy = _BLOCKS[failure.error.context]
    return failure.problem(f"the line is not part of the {kind} that begins on line {begin.line + 1}", remedy)


def _other(failure: _Failure) -> TextProblem:
    """The parser's own words."""
    problem = plain(failure.error.problem or "cannot be read", 200)
    context = f"{plain(failure.error.context, 200)} " if failure.error.context else ""
    return failure.problem(f"{context}{problem}", _hint(problem, failure.source))


_CAUSES: tuple[Callable[[_Failure], TextProblem | None], ...] = (
    _conflict,
    _tab,
    _unclosed_quote,
    _colon,
    _after_salt,
    _brackets,
    _block,
    _other,
)
"""What a syntax error may come from, the most certain first."""


def _open_quote(error: MarkedYAMLError, content: bytes) -> Position | None:
    """Where a quote opens that is not closed, or only by the next quote of the file."""
    if error.context == "while scanning a quoted scalar":
        return _at(error.context_mark)
    if error.problem != "did not find expected key" or error.problem_mark is None:
        return None
    parser, start = CParser(content), None
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, ScalarEvent) and event.style in ("'", '"'):
                begin, end = event.start_mark, event.end_mark
                if begin is not None and end is not None and begin.line < end.line == error.problem_mark.line:
                    start = begin
    except YAMLError:
        pass
    return _at(start)


def _open_bracket(content: bytes) -> tuple[str, bytes, Position] | None:
    """The innermost bracket in which parsing ends: what opens it, what would close it, and where it opens."""
    parser, opened = CParser(content), []
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, CollectionStartEvent):
                opened.append(event)
            elif isinstance(event, CollectionEndEvent):
                opened.pop()
    except YAMLError:
        pass
    start = _at(opened[-1].start_mark) if opened and opened[-1].flow_style else None
    if start is None:
        return None
    return ("[", b"]", start) if isinstance(opened[-1], SequenceStartEvent) else ("{", b"}", start)


def _without_colon(error: MarkedYAMLError, lines: list[bytes]) -> Position | None:
    """Where a key starts that no colon follows."""
    if error.problem == "could not find expected ':'":
        return _at(error.context_mark)
    if error.problem_mark is None or error.problem not in _AFTER_NO_COLON:
        return None
    for number in range(error.problem_mark.line - 1, -1, -1):
        text = lines[number].strip()
        if text and not text.startswith(b"#"):
            start = lines[number].index(text)
            return (number + 1, start + 1) if _NO_COLON.fullmatch(text) else None
    return None


def _at(mark: Any) -> Position | None:
    return None if mark is None else (mark.line + 1, mark.column + 1)


def _hint(problem: str, source: bytes) -> str:
    if "mapping values are not allowed" in problem:
        return "put quotes around a value that holds `: `, or correct the indentation"
    if source.lstrip()[:1] in (b"{", b"[") or "flow" in problem:
        return "close every bracket, and put a comma between items"
    if "cannot start any token" in problem:
        return "put quotes around a value that starts with a special character"
    return "correct the YAML here or just above"
