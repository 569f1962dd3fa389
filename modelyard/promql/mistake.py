"""Where and why the parser rejects a text, and what to do about it. The parser says what, but not where."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from modelyard.promql.functions import AGGREGATIONS, FUNCTIONS
from modelyard.promql.lexer import PAIRS, WORD_OPERATORS, Token, closing, tokens
from modelyard.promql.parse import NotValid, understood
from modelyard.promql.syntax import Span

_NO_REASON = "invalid promql query"
"""The parser's message if only the grammar rejects a text."""
_COMPLETIONS = ("", " x", " (x)", " (a) (x)", " 5m", " 5", " [5m]", " {}", " == x", " 0 x")
"""Possible continuations of a prefix. If none helps after a word, that word is wrong."""
_LEXICAL = re.compile("unexpected|unterminated|bad number|unknown escape")
"""Messages about a word: the text up to that word gives an equal message."""
_IN_BRACES = ("", '="v"', '"v"', ' a="v"')
_KEYWORDS = (
    *("by", "without", "on", "ignoring", "group_left", "group_right", "offset", "bool", "start", "end"),
    *sorted(WORD_OPERATORS),
    *AGGREGATIONS,
)
_MOST_BEFORE = 6
"""Names before a rejected word that may be misspelled keywords: ``a * onn (b) c`` is rejected at c."""
_MOST_WORDS = 300
"""Words of a rejected query that are tested one by one; a later mistake is placed at the query's start."""

_REMEDIES: tuple[tuple[str, str], ...] = (
    (
        r"in aggregation expression, got matrix",
        "aggregate the result of a function over the window: sum(max_over_time(x[30m])), or look at the sum over time "
        "in a subquery: max_over_time(sum(x)[30m:30s])",
    ),
    (r"ranges only allowed for vector selectors", "write a subquery with a step: max_over_time(sum(x)[30m:30s])"),
    (r"expected type matrix in call", "give it a window: x[5m]"),
    (r"binary expression must contain only", "give the window to a function first: max_over_time(x[5m]) + 1"),
    (r"set operator '(\w+)' not allowed", "turn the number into a series: vector(0)"),
    (r"expected type vector in (call|aggregation).*got scalar", "turn the number into a series: vector(0)"),
    (r"comparisons between scalars", "write bool after the operator: 1 == bool 1"),
    (r"unexpected character: '&'", "write `and`, or add separate queries: a + b"),
    (r"unexpected character: '\|'", 'write `or`; between values of a label: =~"a|b"'),
    (r"'\$'", "write the value: Prometheus has no variables, only Grafana has"),
    (r"left brace '\{' inside braces", "the text is an unrendered template: render it first"),
    (r"unexpected character.*('[“”‘’]'|\\u\{201[89cd]\})", 'write straight quotes: "'),
    (r"illegal regex", "write it in RE2's syntax: no look-around, no references back; https://github.com/google/re2"),
    (r"unknown escape sequence", "write the backslash twice, or the value in backquotes"),
    (r"function with name 'holt_winters'", "Prometheus 3 calls it double_exponential_smoothing, behind a feature flag"),
    (r"bad number or duration|not a valid duration", "write whole numbers with units, longest first: 1h30m"),
    (r"unclosed left parenthesis", "close the bracket"),
    (r"unexpected right (parenthesis|brace|bracket)", "drop the bracket, or open it earlier"),
    (r"inside (braces|brackets)$", "close the bracket"),
    (r"unterminated quoted string", "close the quote"),
    (r"offset modifier must be preceded", "write offset directly after the metric: sum(x offset 5m)"),
    (r"at least one non-empty matcher", "name the metric"),
)


class QueryMistake(NamedTuple):
    """What is wrong, where it starts, and what to do."""

    words: str
    span: Span
    remedy: str


def mistake(text: str, words: str) -> QueryMistake:
    """Returns the mistake in a text that the parser rejected with ``words``."""
    all_words = tokens(text)
    if not all_words:
        return QueryMistake("it is empty", (0, len(text)), "write a query")
    span = _place(text, all_words, words)
    if words == _NO_REASON and (found := _misspelled(text, all_words, span[0])) is not None:
        word, meant = found
        return QueryMistake(f"unexpected {word.text!r}", (word.start, word.end), f"did you mean {meant}?")
    shown = text[slice(*span)]
    message = words if words != _NO_REASON else (f"unexpected {shown!r}" if shown else "it ends too early")
    return QueryMistake(message, span, _remedy(words))


def _remedy(words: str) -> str:
    unknown = re.search(r"unknown function with name '([^']*)'", words)
    if unknown and (close := get_close_matches(unknown[1].lower(), (*FUNCTIONS, *AGGREGATIONS), 1)):
        return f"did you mean {close[0]}?"
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, words)), "")


def _misspelled(text: str, words: tuple[Token, ...], at: int) -> tuple[Token, str] | None:
    """Returns the misspelled keyword at or before a rejected word, and a keyword with which the text is valid there."""
    names = [word for word in words if word.kind == "name" and word.start <= at][-_MOST_BEFORE:]
    for word in reversed(names):
        name = word.text.lower()
        for meant in get_close_matches(name, _KEYWORDS, cutoff=0.5) if name not in _KEYWORDS else ():
            if _refusal(f"{text[: word.start]}{meant}{text[word.end :]}") != _NO_REASON:
                return word, meant
    return None


def _place(text: str, words: tuple[Token, ...], refusal: str) -> Span:
    if "unclosed" in refusal or "unexpected end of input inside" in refusal:
        return _unclosed(text, words, {"braces": "{", "brackets": "["}.get(refusal.rpartition(" ")[2], "("))
    if refusal != _NO_REASON and not _LEXICAL.match(refusal):
        for start, end in _spans(words):
            if _refusal(text[start:end]) == refusal:
                return _narrowed(text, (start, end), refusal)
    if len(words) > _MOST_WORDS:
        return (0, len(text))
    if refusal == _NO_REASON:
        return _last_word(text, words)
    if _LEXICAL.match(refusal):
        return _span_of(text, words, refusal)
    return _narrowed(text, _part(text, words, refusal), refusal)


def _part(text: str, words: tuple[Token, ...], refusal: str) -> Span:
    """Returns the part about which the parser gives this refusal: the earliest end, and then the latest start."""
    end = next((word.end for word in words if _refusal(text[: word.end]) == refusal), len(text))
    starts = (word.start for word in reversed(words) if word.end <= end)
    return (next((start for start in starts if _refusal(text[start:end]) == refusal), 0), end)


def _span_of(text: str, words: tuple[Token, ...], refusal: str) -> Span:
    """Returns the word after which the parser gives this refusal, or the word before, if the message quotes that."""
    for index, word in enumerate(words):
        if _refusal(text[: word.end]) == refusal:
            quoted = re.search(r"'([^']+)'", refusal)
            before = next((one for one in words[index::-1][:3] if quoted and one.text == quoted[1]), word)
            return (before.start, before.end)
    return (0, len(text))


def _last_word(text: str, words: tuple[Token, ...]) -> Span:
    """Returns the first word after which no continuation makes the text valid; the text's end if there is none."""
    open_brackets: list[str] = []
    for word in words:
        if word.kind == "open":
            open_brackets.append(PAIRS[word.text])
        elif word.kind == "close" and open_brackets:
            open_brackets.pop()
        inside = open_brackets[-1] if open_brackets else ""
        # The parser has its own messages for the content of square brackets.
        if inside != "]":
            completions = _IN_BRACES if inside == "}" else _COMPLETIONS
            if not _can_go_on(text[: word.end], completions, "".join(reversed(open_brackets))):
                return (word.start, word.end)
    return (len(text), len(text))


def _narrowed(text: str, span: Span, refusal: str) -> Span:
    """Returns only the operator, if the message names one."""
    if named := re.search(r"set operator '(\w+)'", refusal):
        for word in reversed(tokens(text[slice(*span)])):
            if word.text.lower() == named[1]:
                return (span[0] + word.start, span[0] + word.end)
    return span


def _can_go_on(beginning: str, completions: tuple[str, ...], closers: str) -> bool:
    # After the labels of by or on, an operand must follow their bracket.
    ends = (closers, f"{closers[0]} (x){closers[1:]}") if closers else ("",)
    return any(_refusal(f"{beginning}{more}{end}") != _NO_REASON for more in completions for end in ends)


def _refusal(text: str) -> str | None:
    try:
        understood(text)
    except NotValid as refused:
        return str(refused)
    return None


def _unclosed(text: str, words: tuple[Token, ...], bracket: str) -> Span:
    """Returns the innermost unclosed bracket of a kind."""
    shut = closing(words)
    for index in range(len(words) - 1, -1, -1):
        if words[index].text == bracket and index not in shut:
            return (words[index].start, words[index].end)
    return (0, len(text))


def _spans(words: tuple[Token, ...]) -> Iterator[Span]:
    """Yields the parts of a text that parse by themselves, shortest first: calls, brackets, selectors."""
    shut = closing(words)
    ends = {opened: words[closed].end for opened, closed in shut.items()}
    found: set[Span] = set()
    for opened, end in ends.items():
        before = words[opened - 1] if opened and words[opened - 1].kind == "name" else words[opened]
        if words[opened].text == "[" and opened:
            start = _operand_start(words, shut, opened)
            found.add((start, end))
        else:
            found.add((before.start, end))
    return iter(sorted(found, key=lambda span: (span[1] - span[0], span))[:_MOST_WORDS])


def _operand_start(words: tuple[Token, ...], shut: dict[int, int], bracket: int) -> int:
    """Returns the start of the operand before a square bracket."""
    opened = {closed: index for index, closed in shut.items()}
    index = bracket - 1
    while index in opened:
        index = opened[index]
        if index and words[index - 1].kind == "name":
            index -= 1
        # A grouping is between an aggregation's name and its brackets, or behind them.
        if index and (words[index].text.lower() in ("by", "without") or words[index].text == "("):
            index -= words[index - 1].kind == "name" or index - 1 in opened
    return words[index].start
