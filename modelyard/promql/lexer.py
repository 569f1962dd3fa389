"""The words of a query and their positions. The parser reports neither positions nor its limits.

Nothing here decides whether a query is valid: this module finds words, matching brackets, and the ``&`` at which the
platform's autoscaler splits.
"""

import re
from typing import NamedTuple

LONGEST = 16_384
"""Characters. A longer query does not fit into a request's URL, which autoscalers use."""
DEEPEST = 250
"""Levels of brackets and operators. Some thousand levels further down, the parser's recursion ends the process."""
LONGEST_SECONDS = 1e10
"""317 years. The parser panics on a duration that does not fit into milliseconds."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\r\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:ms|[smhdwy]))+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
    |(?P<operator>==|!=|=~|!~|<=|>=|[-+*/%^=<>@,])
    |(?P<open>[(\[{])|(?P<close>[)\]}])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\b(?:inf|nan)\b", re.IGNORECASE)
_DEPTH = {"open": 1, "close": -1}
PAIRS = {"(": ")", "[": "]", "{": "}"}
WORD_OPERATORS = frozenset({"and", "or", "unless", "atan2"})


class Token(NamedTuple):
    """One word of a query."""

    kind: str
    text: str
    start: int
    end: int


class JoinedQuery(NamedTuple):
    """One of the queries that are joined with ``&``."""

    text: str
    offset: int
    """Start in the whole text."""


def tokens(text: str) -> tuple[Token, ...]:
    """Returns the words of a text without spaces and comments. Every character is in one; strange ones: ``other``."""
    return tuple(
        Token(found.lastgroup or "other", found[0], found.start(), found.end())
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "space"
    )


def closing(words: tuple[Token, ...]) -> dict[int, int]:
    """Maps the index of each opening bracket to that of its closing one. Unmatched brackets are left out."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, word in enumerate(words):
        if word.kind == "open":
            waiting.append(index)
        elif word.kind == "close":
            if not waiting or PAIRS[words[waiting[-1]].text] != word.text:
                return found
            found[waiting.pop()] = index
    return found


def parts(text: str) -> tuple[JoinedQuery, ...]:
    """Returns the queries that a text joins with ``&``, split outside of brackets, texts and comments; else the text.

    ``&&`` does not join: it is another language's "and", and the parser says so.
    """
    cuts, depth = [], 0
    for word in tokens(text):
        depth += _DEPTH.get(word.kind, 0)
        alone = text[word.start - 1 : word.start] != "&" != text[word.end : word.end + 1]
        if word.text == "&" and depth == 0 and alone:
            cuts.append(word.start)
    starts = [0, *(cut + 1 for cut in cuts)]
    return tuple(JoinedQuery(text[start:end], start) for start, end in zip(starts, [*cuts, len(text)], strict=True))


def too_much(text: str) -> str:
    """Returns why the parser cannot safely take a text, or an empty text."""
    if len(text) > LONGEST:
        return f"its {len(text)} characters are more than the {LONGEST} that fit into a request"
    depth = deepest = operators = 0
    for word in tokens(text):
        depth += _DEPTH.get(word.kind, 0)
        deepest = max(deepest, depth)
        operators += (word.kind == "operator" and word.text != ",") or word.text.lower() in WORD_OPERATORS
    if deepest + operators > DEEPEST:
        return f"its {deepest + operators} levels of brackets and operators are more than {DEEPEST}"
    return ""


def endless(text: str) -> Token | None:
    """Returns the first bare number that is used as a duration and is too large for the parser."""
    words = tokens(text)
    for index, word in enumerate(words):
        if word.text == "[":
            shut = text.find("]", word.end)
            inside = _NUMBER.finditer(text, word.end, shut if shut >= 0 else len(text))
        elif word.text.lower() == "offset":
            inside = _NUMBER.finditer(text, word.end, words[min(index + 2, len(words) - 1)].end)
        else:
            continue
        for number in inside:
            if not float(number[0]) < LONGEST_SECONDS:
                return Token("number", number[0], *number.span())
    return None
