"""Where the operands of a query stand, in the order in which the parser's tree meets them.

An operand is what the tree has a node for and the text a word: a selector, a number, a text, a call or aggregation,
a pair of brackets. Words of clauses (``by (…)``, ``on (…)``, ``offset 5m``, what stands in ``[…]`` and ``{…}``) are
none. So walking the tree from left to right and taking one operand after the other gives every node its place.
"""

from collections.abc import Iterator
from typing import NamedTuple

from modelyard.promql.lexer import WORD_OPERATORS, Token, closing, tokens
from modelyard.promql.syntax import Span

_GROUPINGS = frozenset({"by", "without"})
_MATCHINGS = frozenset({"on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right"})
_NUMBERS = frozenset({"inf", "nan"})


class Operand(NamedTuple):
    """One operand: ``selector``, ``number``, ``text``, ``call`` or ``group``."""

    kind: str
    span: Span


class Places:
    """Hands out the places of operands, first to last.

    Where tree and text do not agree, which no valid query should cause, every place from there on is the whole text.
    """

    def __init__(self, text: str) -> None:
        self._whole = (0, len(text))
        self._waiting = list(operands(text))
        self._waiting.reverse()
        words = tokens(text)
        shut = closing(words)
        self._brackets = {
            words[index - 1].end: words[shut[index]].end for index in shut if index and words[index].text == "["
        }

    def take(self, kind: str) -> Span:
        """The place of the next operand, which should be of this kind."""
        if self._waiting and self._waiting[-1].kind == kind:
            return self._waiting.pop().span
        self._waiting.clear()
        return self._whole

    def windowed(self, span: Span) -> Span:
        """The place of an operand together with the square brackets behind it."""
        return (span[0], self._brackets.get(span[1], span[1]))


def operands(text: str) -> Iterator[Operand]:
    """The operands of a valid query from left to right."""
    words = tokens(text)
    shut = closing(words)
    index, wanted = 0, True
    while index < len(words):
        word = words[index]
        following = words[index + 1].text if index + 1 < len(words) else ""
        if wanted and _is_clause(word, following):
            index, wanted = _between(words, shut, index)
        elif wanted:
            last = _operand_end(words, shut, index, following)
            if word.text == "(":
                yield Operand("group", (word.start, words[shut.get(index, index)].end))
            elif word.kind == "string":
                yield Operand("text", (word.start, word.end))
            elif word.kind == "number" or (word.text.lower() in _NUMBERS and following not in ("{", "(")):
                yield Operand("number", (word.start, word.end))
            elif word.kind == "name" and _called(following):
                yield Operand("call", (word.start, words[_call_end(words, shut, index)].end))
            elif word.kind == "name" or word.text == "{":
                yield Operand("selector", (word.start, words[last].end))
            # Inside brackets and after a function's name the next operand follows; after the others an operator.
            wanted = word.kind == "operator" or word.text == "(" or (word.kind == "name" and _called(following))
            index = _arguments(words, shut, index) if word.kind == "name" and _called(following) else last + 1
        else:
            index, wanted = _between(words, shut, index)


def _called(following: str) -> bool:
    return following == "(" or following.lower() in _GROUPINGS


def _is_clause(word: Token, following: str) -> bool:
    """Whether a word right after an operator says how its sides match. ``fill`` alone may be a metric."""
    name = word.text.lower()
    return name == "bool" or (name in _MATCHINGS and (following == "(" or not name.startswith("fill")))


def _operand_end(words: tuple[Token, ...], shut: dict[int, int], index: int, following: str) -> int:
    """The last word of the operand that starts here: a selector ends with its braces."""
    if words[index].text == "{":
        return shut.get(index, index)
    if words[index].kind == "name" and following == "{":
        return shut.get(index + 1, index)
    return index


def _arguments(words: tuple[Token, ...], shut: dict[int, int], index: int) -> int:
    """The first word inside the brackets of the call whose name stands at ``index``."""
    index += 1
    while index < len(words) and words[index].text.lower() in _GROUPINGS:
        index = shut.get(index + 1, index) + 1
    return index + 1


def _call_end(words: tuple[Token, ...], shut: dict[int, int], index: int) -> int:
    """The last word of a call, with a clause ``by (…)`` behind it."""
    start = _arguments(words, shut, index) - 1
    end = shut.get(start, min(start, len(words) - 1))
    if end + 1 < len(words) and words[end + 1].text.lower() in _GROUPINGS:
        end = shut.get(end + 2, end)
    return end


def _between(words: tuple[Token, ...], shut: dict[int, int], index: int) -> tuple[int, bool]:
    """The next word to look at after an operand, and whether an operand is wanted there."""
    word = words[index]
    name = word.text.lower()
    if word.kind == "open":
        return shut.get(index, index) + 1, False
    if name in _GROUPINGS:
        return shut.get(index + 1, index) + 1, False
    if word.text == "@" or name == "offset":
        return _moment_end(words, index), False
    if name == "bool":
        return index + 1, True
    if name in _MATCHINGS:
        return (shut[index + 1] + 1 if index + 1 in shut else index + 1), True
    return index + 1, word.kind == "operator" or name in WORD_OPERATORS


def _moment_end(words: tuple[Token, ...], index: int) -> int:
    """The word after a moment or a duration: signs, then one number, or ``start()``."""
    index += 1
    while index < len(words) and words[index].text in ("+", "-"):
        index += 1
    if [word.text for word in words[index + 1 : index + 3]] == ["(", ")"]:
        return index + 3
    return index + 1
