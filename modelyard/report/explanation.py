"""Explanations of finding codes for the terminal: Markdown with its marks turned into colours.

Without colours, code keeps its backticks: in a sentence, only they show where `or vector(0)` begins and ends.
"""

import re
from collections.abc import Mapping
from itertools import groupby

from modelyard.explanations import Explanation, families
from modelyard.report.style import PLAIN, Style, hanging, safe, wrapped

_MARKED = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`|(?P<plain>.)")
"""A part of Markdown text without its marks."""


def explanation_text(explanation: Explanation, style: Style = PLAIN) -> list[str]:
    """One explanation, its paragraphs filled to the width; code blocks keep their lines and indentation."""
    lines = [style.bold(f"{explanation.code}  {explanation.title}"), ""]
    paragraph: list[str] = []
    fenced = False

    def fill() -> None:
        if paragraph:
            bullet = paragraph[0].startswith("- ")
            text = " ".join(line.strip() for line in paragraph)
            lines.extend(_filled(text[2:], style, "- ") if bullet else _filled(text, style))
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


def _filled(text: str, style: Style, lead: str = "") -> list[str]:
    """A paragraph of Markdown filled to the width, with colours instead of its marks, which have no width."""
    found = ((mark, mark.lastgroup) for mark in _MARKED.finditer(safe(text)))
    parts = [
        (mark[0] if kind == "code" and not style.colour else mark[kind], kind)
        for mark, kind in found
        if kind is not None
    ]
    marks = iter([mark for part, mark in parts for character in part if not character.isspace()])
    paints = {"bold": style.bold, "code": style.link}

    def painted(word: str) -> str:
        runs = groupby([(character, next(marks, "plain")) for character in word], lambda pair: pair[1])
        return "".join(paints.get(mark, str)("".join(character for character, _ in run)) for mark, run in runs)

    filled = wrapped("".join(part for part, _ in parts), len(lead), style.columns, lead)
    return [line[: len(lead)] + " ".join(map(painted, line[len(lead) :].split(" "))) for line in filled]


def list_text(known: Mapping[str, Explanation], style: Style = PLAIN) -> list[str]:
    """All codes with their titles, in groups by what they are about; ``known`` is sorted by code."""
    lines: list[str] = []
    for family, group in groupby(known.items(), lambda item: item[0][:3]):
        about = families().get(family, family)
        lines += ["", style.bold(f"{about[0].upper()}{about[1:]}")]
        for code, one in group:
            lines += hanging(f"  {code}  {one.title}", 10, style.columns)
    return lines[1:]
