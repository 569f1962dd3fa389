"""What rules print: to standard error, where no reader of a document and no CI system takes it for what it is not."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from threading import RLock
from typing import TextIO

from modelyard.stack.words import plain

MARK = "  policies print: "
"""Before each line: CI systems obey commands such as ``::set-env …`` at the start of one."""
_COMMAND = re.compile(r"##(?=[a-z]*\[)")
"""Commands that they obey anywhere in a line."""
_LONGEST = 1000
_ONE_AT_A_TIME = RLock()
"""Python's streams are the whole process's, and the policy pack serves the engine from several threads."""


@contextmanager
def kept_apart() -> Iterator[None]:
    """Sends what is printed inside, to standard output or error, to standard error line by line, made safe."""
    with _ONE_AT_A_TIME:
        lines = _Lines(sys.stderr)
        with redirect_stdout(lines), redirect_stderr(lines):
            try:
                yield
            finally:
                lines.end()


class _Lines(TextIOBase):
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._rest = stream, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say(line)
        return len(text)

    def end(self) -> None:
        """Says what no line feed came after."""
        if self._rest:
            self._say(self._rest)
            self._rest = ""

    def _say(self, line: str) -> None:
        self._stream.write(f"{MARK}{_COMMAND.sub('# #', plain(line, _LONGEST))}\n")
