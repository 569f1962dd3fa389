"""Sends the output of rules to standard error, where no document reader and no CI system misreads it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from threading import RLock
from typing import TextIO

from modelyard.patterns import regex
from modelyard.stack.words import plain

MARK = "  policies print: "
"""Prefix of each line: CI systems obey commands such as ``::set-env …`` at the start of a line."""
_COMMAND = regex(r"##(?=[a-z]*\[)")
"""Commands that CI systems obey anywhere in a line."""
_LONGEST = 1000
_ONE_AT_A_TIME = RLock()
"""Python's streams belong to the whole process, and the policy pack serves the engine from several threads."""
_said = False


def said() -> bool:
    """Whether rules have printed anything in this process."""
    return _said


@contextmanager
def kept_apart() -> Iterator[None]:
    """Redirects what is printed inside, to standard output or error, to standard error line by line, made safe."""
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
        """Prints the last line, which has no line feed."""
        if self._rest:
            self._say(self._rest)
            self._rest = ""

    def _say(self, line: str) -> None:
        global _said
        _said = True
        self._stream.write(f"{MARK}{_COMMAND.sub('# #', plain(line, _LONGEST))}\n")
