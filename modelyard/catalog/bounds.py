"""How large what a template's expressions make would be, before they make it, and which values may become text.

One call into C cannot be interrupted, so a time limit does not hold it.
"""

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Undefined

MAX_TEXT = 1024 * 1024
"""Characters of the longest text."""
ITEM = 16
"""What an item of a list or mapping counts, and a value itself, in characters."""
MAKERS = frozenset(
    {
        *("batch", "center", "expandtabs", "format", "format_map", "indent", "join", "ljust", "replace", "rjust"),
        *("slice", "translate", "urlize", "wordwrap", "zfill"),
    }
)
"""Filters of Jinja and methods of texts that can make more than they are given."""
_WIDE = re.compile(r"\d{5}|\*|\{[^{}]*\{")
"""A width in a format such as ``%99999d`` that makes a text of that size, or one that comes from a parameter."""
_ENDLESS = 1 << 62
_HOLDERS = (list, tuple, dict)


class TooLarge(Exception):
    """The template wrote or made more than it may."""


class NotPlain(Exception):
    """A value that is no data was to become text, such as a method: its text is another one in every run."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"a {type(value).__name__} is no text, number, list or mapping, so it cannot be printed")


def weight(value: Any) -> int:
    """Characters of the text of plain data, about.

    Raises:
        NotPlain: it holds something else.
        TooLarge: it is longer than any text may be.
    """
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            total += len(one) + 2
        elif isinstance(one, int):
            total += one.bit_length() // 3 + 2
        elif one is None or isinstance(one, float):
            total += ITEM
        elif isinstance(one, _HOLDERS):
            # A list may hold the same list many times: counted before they are put in line.
            total += 2 * len(one) + 2
            if total <= MAX_TEXT:
                waiting += one
                waiting += one.values() if isinstance(one, dict) else ()
        elif isinstance(one, Undefined):
            str(one)  # raises, with the variable's name
        else:
            raise NotPlain(one)
        if total > MAX_TEXT:
            raise TooLarge
    return total


def room(value: Any) -> int:
    """What a value takes by itself, in characters, without the values that a list or mapping refers to."""
    if isinstance(value, str):
        return len(value) + ITEM
    return ITEM * (len(value) + 1) if isinstance(value, _HOLDERS) else ITEM


def size_of(name: str, value: Any, args: Sequence[Any]) -> int:
    """Characters or items that ``name`` would make of a value at most, 0 where it makes no more than it is given.

    Args:
        name: a filter or method.
        value: what it is applied to.
        args: its other arguments.
    """
    if name not in MAKERS:
        return 0
    numbers = [argument for argument in args if isinstance(argument, int)]
    texts = [len(argument) for argument in args if isinstance(argument, str)]
    widest = max((*numbers, *texts, 1))
    text = value if isinstance(value, str) else "" if name in ("batch", "slice") else str(value)
    match name:
        case "format" | "format_map":
            if _WIDE.search(text):
                return _ENDLESS
            width = max(map(int, re.findall(r"\d+", text)), default=0)
            return len(text) + (text.count("%") + text.count("{")) * (weight(list(args)) + width)
        case "indent":
            return widest * (text.count("\n") + 1)
        case "expandtabs":
            return widest * (text.count("\t") + 1)
        case "replace" if texts:
            old = next(argument for argument in args if isinstance(argument, str))
            return text.count(old) * max(texts)
        case "translate":
            return len(text) * max((weight(argument) for argument in args), default=0)
        case "urlize" | "wordwrap":
            return len(text.split()) * 64 + len(text) * max((1, *texts)) if texts else 0
        case "join":
            items = args[0] if isinstance(value, str) and args else value
            between = len(value) if isinstance(value, str) else max((*texts, 0))
            return weight(items) + len(items) * between if isinstance(items, str | list | tuple | dict) else 0
        case _:
            return widest
