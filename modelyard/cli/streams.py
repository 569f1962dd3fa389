"""Output streams: their colours and width, and what happens when the reader is gone or the disk is full."""

import os
import re
from argparse import Namespace
from contextlib import suppress
from typing import Any, TextIO

from modelyard.cli.exit import Stop
from modelyard.report.style import LEAST_COLUMNS, MOST_COLUMNS, Style, wrapped


def to_nowhere(stream: TextIO) -> None:
    """Drops buffered and future output of a stream; otherwise Python fails on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Heedless:
    """Standard error that drops output it cannot write, so that the run and its exit code stay the same."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.heard = True
        """Whether every write succeeded so far."""

    def write(self, text: str) -> int:
        """Writes, or drops the text on failure."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flushes, or drops the buffered text on failure."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self.heard = False
        with suppress(OSError):
            to_nowhere(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def stop_text(stop: Stop, style: Style) -> list[str]:
    """Why a run ended: findings, the reason, and what to do next."""
    lines: list[str] = []
    if stop.findings:
        from modelyard.report.finding import findings_text

        lines.extend(findings_text(stop.findings, style))
    for number, line in enumerate(stop.summary.splitlines()):
        first, *rest = wrapped(line, 7, style.columns, "" if number else "error:")
        lines.extend([first.replace("error:", style.error("error") + ":", 1), *rest])
    if stop.remedy:
        lines.extend(wrapped(stop.remedy, 2, style.columns, "→"))
    return lines


def wants_colour(args: Namespace, stream: object) -> bool:
    """Whether to colour output to a stream: as requested, else on a terminal unless NO_COLOR is set."""
    if args.colour is not None and args.colour != "auto":
        return bool(args.colour == "always")
    if os.environ.get("NO_COLOR"):
        return False
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def columns(stream: object) -> int:
    """The width of text for a stream: on a terminal, what ``COLUMNS`` or the terminal says, within limits.

    Pipes and files get the maximum whatever ``COLUMNS`` says, so that their lines are the same everywhere.
    """
    wide = MOST_COLUMNS
    if _is_terminal(stream):
        setting = os.environ.get("COLUMNS", "")
        wide = int(setting) if re.fullmatch(r"[1-9][0-9]{0,3}", setting) else _terminal_columns(stream)
    return max(LEAST_COLUMNS, min(wide, MOST_COLUMNS))


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty is not None and isatty())


def _terminal_columns(stream: object) -> int:
    try:
        # A terminal whose size was never set reports 0.
        return os.get_terminal_size(stream.fileno()).columns or MOST_COLUMNS  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return MOST_COLUMNS


def style_for(args: Namespace, stream: object) -> Style:
    """Colours and width of text for a stream."""
    return Style(wants_colour(args, stream), columns(stream))
