"""Secrets in assignments: ``NAME=value`` and ``name: value``, within quotes, lists and calls."""

import re
from typing import Final

from modelyard.hiding.names import HIDDEN, is_plain, is_secret
from modelyard.patterns import regex

_MORE = r"(?:\n[ \t]*[^\s\"':]+(?=[ \t]*[\n\"']))*\n?[ \t]*"
"""Further lines of a quoted value: one word each, so that a missing quote does not include other lines."""
_QUOTED = rf"(?:\"(?:[^\"\\\n]|\\.)*(?:{_MORE}\")?|'[^'\n]*(?:{_MORE}')?)"
_CLOSED = r"(?:\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_BARE = r"(?:\\.|[^\s;&|\"'\\])+"
VALUE = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n]*\]?|{_QUOTED}|[^\s;&|\"']+)"
_WORD = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n]*\]|\$?(?:{_QUOTED}|{_BARE})(?:{_CLOSED}|(?![,)\]}}>/:]){_BARE})*)"
"""The value behind ``=``, which a shell puts together from quoted and unquoted parts."""
_WITHIN = {
    quote: (
        rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n{quote}]*\]"
        rf"|(?:{other}[^{other}{quote}\n]*{other}|{_BARE})+|{other}?{_BARE})"
    )
    for quote, other in (('"', "'"), ("'", '"'))
}
"""The value behind ``=`` within quotes, which end it."""
_ALONE = rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n\"']*\]|{_QUOTED}|{_BARE})"
"""The value behind ``=`` if quotes open right before the name."""
_HEADER_VALUE = {quote: rf"(?P<value>(?:(?!,[ \t]*[\w-]+:)[^{quote}\n])+)" for quote in ("'", '"')}
"""The value of a header within quotes, which end it."""
_TO_THE_QUOTE = {
    quote: rf"(?P<value>\(hidden[^)]*\)|\[[^\]\n{quote}]*\]|(?:(?![ \t;&,]+[A-Za-z_][\w.-]*=)[^{quote}\n])+)"
    for quote in ("'", '"')
}
"""The value behind ``=`` in an argument within quotes, up to its end or the next parameter."""
_OPENED = regex(
    r"(?P<before>(?:\b(?:env|export|declare|local|readonly)|(?<![\w-])--?[A-Za-z][\w-]*)[ \t=]+)?"
    r"(?P<mark>[\"'])(?P<option>--?[A-Za-z][\w-]*=)?\Z"
)
"""What opens an argument right before the name in it."""
_SCRIPT = regex(r"-[a-z]{0,5}c[a-z]{0,3}[ \t]+\Z|-Command|-(?:command|eval|execute)")
_NEAR_OPTION: Final = 60
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}
_NEAR: Final = 400
"""Characters before a value in which a bracket that ends it may have been opened."""
_NAME = (
    r"(?:(?<![\w$.-])|(?<=\$)(?=\w+[ \t]*=[ \t]*[\"']))(?<!\$[({])"
    r"(?P<quote>\\?[\"']?)(?P<name>-{0,2}[A-Za-z_][\w.-]*)(?P=quote)\]?(?:\[\w*\])?"
    r"(?:[ \t]*(?::[ \t]*(?:str|string|String|bytes|SecretStr)[ \t]*(?==[ \t]*[\"']))?"
    r"(?P<equals>[:+?]=|=>|=(?!=)|==(?=[ \t]*[\"']))[ \t]*|:[ \t]+|(?<=[\"']):[ \t]*"
    r"|(?P<tight>:)(?=\"[^\"\n]+\"|'[^'\n]+'))"
    r"(?P<escaped>\\[\"'])?"
)
_ESCAPED = r"(?P<value>(?:(?!\\[\"']).)*)"
"""A value in escaped quotes: JSON in a text of JSON."""


def shown_value(name: str, value: str) -> str | None:
    """Returns the replacement of a secret's value in a text, in its quotes; None if the value is not a secret."""
    bare = value.removeprefix("$").strip("\"'") if value[:2] in ("$'", '$"') else value.strip("\"'")
    if (
        bare == "["
        or is_plain(name, bare)
        or bare.lstrip("[\"' ").startswith("(hidden")
        or bare.startswith(("(hidden", "{", "$(", "`", "|", ">", "<<"))
    ):
        return None
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{HIDDEN}{quote}"


class _Quotes:
    """Whether a position in a text is within quotes that were opened on its line."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.open = text, 0, ""

    def within(self, end: int) -> str:
        """Returns the open quote at a position; positions must be increasing."""
        for found in re.compile(r"[\"'\\\n]").finditer(self.text, self.at, end):
            letter, at = found[0], found.start()
            if at < self.at:
                continue
            self.at = at + 1
            if letter == "\\":
                self.at += 1
            elif letter == "\n":
                self.open = ""
            elif self.open:
                self.open = "" if letter == self.open else self.open
            elif letter == '"' or not (at and self.text[at - 1].isalnum()):
                self.open = letter
        self.at = max(self.at, end)
        return self.open


def hidden_values(text: str) -> str:
    """Hides the values of secrets in ``NAME=value`` and ``name: value``, however they are nested."""
    names = re.compile(_NAME)
    quotes = _Quotes(text)
    parts: list[str] = []
    start = at = 0
    while (found := names.search(text, at)) is not None:
        at, name = found.end(), found["name"]
        # The login scheme of a header stays.
        if not is_secret(name) or name.lower().endswith(("authorization", "set-cookie")) or name.lower() == "cookie":
            continue
        first = found.start()
        before = text[first - 1 : first]
        if found["tight"] and quotes.within(at) == text[at]:
            # The quotes end here.
            continue
        if found["escaped"]:
            pattern = _ESCAPED
        elif found["equals"]:
            quote = _argument_quote(text, first, name)
            pattern = (
                _TO_THE_QUOTE[quote]
                if quote
                else _ALONE
                if before in ("'", '"')
                else _WITHIN.get(quotes.within(at), _WORD)
            )
        elif "-" in name and not found["quote"] and (quote := _argument_quote(text, first, name)):
            pattern = _HEADER_VALUE[quote]
        else:
            pattern = VALUE
        value = re.compile(pattern).match(text, at)
        if value is None or not value[0]:
            continue
        whole = _ended(text, at, value[0])
        if (shown := shown_value(name, whole)) is not None:
            parts += [text[start:at], shown]
            start = at = at + len(whole)
    return "".join((*parts, text[start:])) if parts else text


def _argument_quote(text: str, first: int, name: str) -> str:
    """Returns the quote that opens an argument with a name at a position, and ends it; none in a script."""
    opened = _OPENED.search(text, max(first - _NEAR_OPTION, 0), first)
    if opened is None:
        return ""
    # A script may begin with a variable, not with an option or a header.
    whole = (
        opened["option"] or name[0] == "-" or "-" in name or (opened["before"] and not _SCRIPT.search(opened["before"]))
    )
    return opened["mark"] if whole else ""


def _ended(text: str, at: int, value: str) -> str:
    """Returns a value without the end of the enclosing list or call: a comma, a bracket that was opened before."""
    if value[0] in "\"'[(" or value.startswith("$"):
        return value
    while len(value) > 1 and value[-1] in ",)]}":
        opened = _CLOSERS.get(value[-1])
        if opened is not None and (
            opened in value or opened not in text[max(text.rfind("\n", 0, at), at - _NEAR, 0) : at]
        ):
            break
        value = value[:-1]
    return value
