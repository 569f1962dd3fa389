"""Lines that a container wrote, fit for a terminal."""

import re

from modelyard.report.style import Style, safe

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def log_line(text: str, style: Style, mark: str = "") -> str:
    """One line: colours where the output has them, of a line that was written over what was written last, tabs as such,
    and escapes for everything else that could steer a terminal or the reader of a CI log.

    Args:
        text: as the container wrote it.
        style: of the output.
        mark: who wrote it, where several do.
    """
    last = text.rstrip("\r").rpartition("\r")[2]
    parts = _COLOUR.split(last)
    shown = "".join(
        (part if style.colour else "") if _COLOUR.fullmatch(part) else "\t".join(map(safe, part.split("\t")))
        for part in parts
    )
    end = "\x1b[0m" if style.colour and len(parts) > 1 else ""
    return (style.dim(f"[{mark}] ") if mark else "") + shown + end
