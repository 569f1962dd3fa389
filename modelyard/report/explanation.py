"""Explanations of finding codes for the terminal: Markdown with its marks turned into colours."""

import re
from collections.abc import Callable, Mapping
from itertools import groupby

from modelyard.explanations import Explanation, families
from modelyard.report.style import PLAIN, Style, hanging, wrapped

_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")


def explanation_text(explanation: Explanation, style: Style = PLAIN) -> list[str]:
    """One explanation, its paragraphs filled to the width; code blocks keep their lines and indentation."""
    lines = [style.bold(f"{explanation.code}  {explanation.title}"), ""]
    paragraph: list[str] = []
    fenced = False

    def fill() -> None:
        if paragraph:
            bullet = paragraph[0].startswith("- ")
            text = " ".join(line.strip() for line in paragraph)
            filled = wrapped(text[2:] if bullet else text, 2 if bullet else 0, style.columns, "- " if bullet else "")
            lines.extend(_painted("\n".join(filled), style).split("\n"))
            paragraph.clear()

    for line in explanation.body.split("\n"):
        if line.startswith("```"):
            fill()
            fenced = not fenced
        elif fenced:
            # A line that is too long goes on at its own indentation.
            code = wrapped(line.strip(), 4 + len(line) - len(line.lstrip()), style.columns)
            lines.extend(style.link(part) if line else "" for part in code)
        elif not line.strip():
            fill()
            lines.append("")
        else:
            if line.startswith("- "):
                fill()
            paragraph.append(line)
    fill()
    return lines


def _painted(text: str, style: Style) -> str:
    """Filled lines with colours for Markdown's marks; marked text may go on in the next line."""

    def each(paint: Callable[[str], str], marked: str) -> str:
        return re.sub(r"[^\n ](?:[^\n]*[^\n ])?", lambda part: paint(part[0]), marked)

    text = _BOLD.sub(lambda found: each(style.bold, found[1]), text)
    return _CODE.sub(lambda found: each(style.link, found[1]), text)


def list_text(known: Mapping[str, Explanation], style: Style = PLAIN) -> list[str]:
    """All codes with their titles, in groups by what they are about; ``known`` is sorted by code."""
    lines: list[str] = []
    for family, group in groupby(known.items(), lambda item: item[0][:3]):
        about = families().get(family, family)
        lines += ["", style.bold(f"{about[0].upper()}{about[1:]}")]
        for code, one in group:
            lines += hanging(f"  {code}  {one.title}", 10, style.columns)
    return lines[1:]
