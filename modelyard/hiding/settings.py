"""Secrets in files of settings and in statements of SQL: in directives, continued lines, lists and tags."""

import re
from collections.abc import Iterator
from typing import Final

from modelyard.hiding.names import is_hidden_or_plain, is_secret
from modelyard.patterns import regex

TextSpan = tuple[int, int]
_DOTTED: Final = r"[A-Za-z_][\w-]*(?:\.[\w-]+)+"
"""A name that no variable of a shell can have."""
_WORD: Final = r"(?P<quote>[\"']?)(?P<value>[^\s\"'=:(){}\[\]<>][^\s\"']*)(?P=quote)[ \t]*;?[ \t]*$"
_DIRECTIVE = regex(
    rf"(?m)^[ \t]*(?:requirepass|masterauth|rootpw|bindpw|auth[-_]pass|sentinel[ \t]+auth-pass[ \t]+\S+)[ \t]+{_WORD}"
)
"""Directives that no other text begins with: of Redis, of its sentinel, of OpenLDAP, of keepalived."""
_LINE = regex(rf"(?m)^[ \t]*(?P<name>{_DOTTED}|password|secret)[ \t]+{_WORD}")
"""A name and a value in a line of their own, which spaces separate."""
_USER = regex(r"(?m)^[ \t]*user[ \t]+[^>\n]*[ \t]>(?P<value>\S+)")
"""A user of Redis."""
_PROPERTY = regex(rf"(?m)^[ \t]*(?P<name>{_DOTTED})[ \t]*[=:][ \t]*(?![\s\"'=:\[{{$(`<|>])(?P<value>[^\n]*[^\s\\])")
"""A property, whose value ends with the line."""
_NEXT = regex(r"[ \t;&,]+[A-Za-z_][\w.-]*=")
_CONTINUED = regex(
    rf"(?m)^[ \t]*(?:(?P<name>{_DOTTED})(?:[ \t]*[=:][ \t]*|[ \t]+)|(?P<spaced>[A-Za-z_][\w-]*)[ \t]+=[ \t]*)"
    r"(?![\"'])(?P<value>(?:[^\n]*\\\n)+[^\n]*)"
)
"""A property, whose value goes on behind a backslash at the end of a line."""
_JOINED = regex(r"(?m)(?<![\w$.-])(?P<name>[A-Za-z_]\w*)=(?P<value>(?:[^\s\"'\\;&|]+\\\n[ \t]*)+[^\s\"'\\;&|]+)")
"""The same in a shell, where no space may come between."""
_TRIPLE = regex(
    r"(?ms)^[ \t]*[\"']?(?P<name>[\w.-]+)[\"']?[ \t]*(?::[ \t]*\w+[ \t]*)?[=:][ \t]*"
    r"(?P<quote>\"\"\"|''')\n?(?P<value>.*?)(?P=quote)"
)
"""A text of several lines in TOML or Python."""
_LIST = regex(
    r"(?m)(?<![\w.-])(?P<name>[A-Za-z_][\w.-]*)[\"']?[ \t]*[=:][ \t]*\["
    r"(?P<value>(?:[\s,]|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*|[^\s\"'\[\](){},:=#])*+)\]"
)
_ITEM = regex(r"\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)'|#[^\n]*|(?P<bare>[^\s\"',#]+)")
_TAG = regex(r"<[A-Za-z][^<>]{1,1000}>")
_ATTRIBUTE = regex(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BODY = regex(r"\s*(?:<value>\s*)?(?P<value>[^<>\s][^<>]*?)\s*</")
_NAMING: Final = frozenset({"name", "key", "property", "id"})
_NAMED: Final = frozenset({"value", "default", "content"})
_SQL = regex(
    r"(?:(?:IDENTIFIED|(?i:\b(?:create|alter)\s{1,9}user\s{1,9}\S{1,200}\s{1,9}identified))\s{1,9}(?i:with\s{1,9}\S{1,99}\s{1,9})?"
    r"(?i:by)\s{1,9}(?i:(?:password|values)\s{1,9})?|(?:\bPASSWORD"
    r"|(?i:\b(?:with|encrypted|unencrypted|login|role\s{1,9}\S{1,200}|user\s{1,9}\S{1,200})\s{1,9}password))\s{0,9}\(?\s{0,9}(?=\\?')"
    r"|(?i:\bset\s{1,9}password\s{1,9}for\s{1,9}\S{1,200}\s{0,9}=\s{0,9}(?:password\()?))"
    r"(?:\\?'(?P<single>(?:[^'\n\\]|'')+)\\?'|\\?\"(?P<double>[^\"\n\\]+)\\?\"|(?P<bare>[^\s;\"'\\()]+))"
)
"""The password of a user in SQL."""


def setting_places(text: str) -> list[TextSpan]:
    """Returns the positions of secrets in a text that may be a file of settings, each within a line or over several."""
    found = [*_whole(text, _DIRECTIVE), *_whole(text, _USER)]
    if "identified" in (words := text.lower()) or "password" in words:
        found += (_group(one, "single", "double", "bare") for one in _SQL.finditer(text))
    if "\n" in text or "." in text:
        found += _lines(text)
    if "\n" in text:
        found += _over_lines(text)
    if "</" in text or "/>" in text:
        found += _tags(text)
    return _apart([(start, end) for start, end in found if not _is_plain("secret", text[start:end])])


def _whole(text: str, pattern: re.Pattern[str]) -> Iterator[TextSpan]:
    return (found.span("value") for found in pattern.finditer(text))


def _lines(text: str) -> Iterator[TextSpan]:
    for found in _LINE.finditer(text):
        name, value = found["name"], found["value"]
        # A sentence may end like that.
        sentence = "." not in name and ("\n" not in text or value[-1] in ".,:!?")
        # Words of a message have no digits.
        message = "\n" not in text and not any(letter.isdigit() for letter in value)
        if is_secret(name) and not sentence and not message and not _is_plain(name, value):
            yield found.span("value")
    for found in _PROPERTY.finditer(text):
        name, value = found["name"], found["value"]
        further = _NEXT.search(value)
        end = found.start("value") + (further.start() if further else len(value))
        if is_secret(name) and not _is_plain(name, text[found.start("value") : end].rstrip(",")):
            yield found.start("value"), end


def _over_lines(text: str) -> Iterator[TextSpan]:
    for pattern in (_CONTINUED, _JOINED, _TRIPLE):
        for found in pattern.finditer(text):
            name = found["name"] or found["spaced"]
            if is_secret(name) and not _is_plain(name, found["value"]):
                yield from _each_line(text, *found.span("value"))
    for found in _LIST.finditer(text):
        name = found["name"]
        # Lists under "secrets" contain names or references.
        if "\n" not in found["value"] or not is_secret(name) or name.lower().endswith("secrets"):
            continue
        for item in _ITEM.finditer(text, *found.span("value")):
            start, end = _group(item, "double", "single", "bare")
            if start >= 0 and not _is_plain(name, text[start:end]):
                yield start, end


def _each_line(text: str, start: int, end: int) -> Iterator[TextSpan]:
    """Yields the words of each line of a value, without the backslash at their end."""
    for line in re.finditer(r"[^\n]+", text[start:end]):
        words = line[0].strip().removesuffix("\\").rstrip()
        if words:
            at = start + line.start() + line[0].index(words)
            yield at, at + len(words)


def _tags(text: str) -> Iterator[TextSpan]:
    """Yields values of tags that an attribute names: ``<property name="password" value="x"/>``."""
    for tag in _TAG.finditer(text):
        names = [
            (one[1].rpartition(":")[2].lower(), one[2] if one[2] is not None else one[3], one)
            for one in _ATTRIBUTE.finditer(text, *tag.span())
        ]
        if not any(key in _NAMING and is_secret(value) for key, value, _ in names):
            continue
        values = [_group(one, 2, 3) for key, value, one in names if key in _NAMED]
        if not values and not tag[0].endswith("/>") and (body := _BODY.match(text, tag.end())) is not None:
            values = [body.span("value")]
        yield from values


def _group(found: re.Match[str], *groups: str | int) -> TextSpan:
    """Returns the position of the group that matched; ``(-1, -1)`` if none did."""
    return next((found.span(group) for group in groups if found[group] is not None), (-1, -1))


def _is_plain(name: str, value: str) -> bool:
    return not value or is_hidden_or_plain(name, value) or value.startswith(("{{", "${", "$(", "<"))


def _apart(places: list[TextSpan]) -> list[TextSpan]:
    """Returns the places in order; of two that overlap, the first."""
    apart: list[TextSpan] = []
    for start, end in sorted(places, key=lambda place: (place[0], -place[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart
