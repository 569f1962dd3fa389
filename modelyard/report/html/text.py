"""Prepares texts of a document for display in the page."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup
from markupsafe import escape as quoted

from modelyard.hiding import hidden_text
from modelyard.report.style import INVISIBLE, escape
from modelyard.report.unified import yaml_text
from modelyard.report.values import text_of

_HIDDEN = re.compile(rf"[\x00-\x08\x0b-\x1f{INVISIBLE}\ud800-\udfff]")
_JOINT = re.compile(r"(?<=\.)|(?=\[)")
_MARK = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`")
_CODE = re.compile(r"`(?P<code>[^`]+)`")


def visible(value: Any) -> Any:
    """A document without credentials, and with escapes for characters that are invisible or change the direction."""
    match value:
        case str():
            return _HIDDEN.sub(escape, hidden_text(value))
        case Mapping():
            return {visible(key): visible(item) for key, item in value.items()}
        case list() | tuple():
            return [visible(item) for item in value]
    return value


def value_text(value: Any) -> str:
    """A field's value: one line, or YAML if it has parts."""
    if isinstance(value, dict | list) and value:
        return yaml_text(value).rstrip("\n")
    if isinstance(value, str) and "\n" in value:
        return value
    return text_of(value)


def breakable(path: str) -> Markup:
    """A field's path that can break between its parts."""
    return Markup("<wbr>").join(part for part in _JOINT.split(path) if part)


def markdown(text: str) -> Markup:
    """The few marks that explanations use: paragraphs, lists, fenced code, bold and code."""
    return Markup("\n").join(_blocks(text))


def _blocks(text: str) -> Iterator[Markup]:
    for number, part in enumerate(re.split(r"^```.*$", text, flags=re.MULTILINE)):
        if number % 2:
            yield Markup("<pre><code>{}</code></pre>").format(part.strip("\n"))
            continue
        for block in re.split(r"\n\s*\n", part.strip()):
            items = re.split(r"^- ", block, flags=re.MULTILINE)
            if items[0].strip():
                yield Markup("<p>{}</p>").format(_marked(items[0].strip()))
            if len(items) > 1:
                rows = Markup("").join(Markup("<li>{}</li>").format(_marked(item.strip())) for item in items[1:])
                yield Markup("<ul>{}</ul>").format(rows)


def inline(text: str) -> Markup:
    """One line of a finding, with backquotes around commands and settings."""
    return _marked(text, _CODE)


def _marked(text: str, marks: re.Pattern[str] = _MARK) -> Markup:
    parts, at = [], 0
    for found in marks.finditer(text):
        name = found.lastgroup or ""
        parts += [quoted(text[at : found.start()]), Markup("<{0}>{1}</{0}>").format(name, found[name])]
        at = found.end()
    return Markup("").join([*parts, quoted(text[at:])])
