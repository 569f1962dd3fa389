"""Computes how large the results of template expressions would be, in advance, and which values may become text.

A call into C cannot be interrupted, so a time limit does not stop it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from modelyard.patterns import regex

MAX_TEXT = 1024 * 1024
"""Maximum characters of a text."""
ITEM = 16
"""Size in characters that counts for an item of a list or mapping, and for a value itself."""
MAX_MADE = 16 * MAX_TEXT
"""Maximum characters of everything that one rendering creates, kept or not."""
FEWER = "let jobs share a resource, split the stack, or render less per item"
_MANY = 1000
"""Number of items in a parameter at which even a correct template may become too large."""
MAKERS = frozenset(
    {
        *("batch", "center", "expandtabs", "format", "format_map", "indent", "join", "ljust", "replace", "rjust"),
        *("slice", "translate", "urlize", "wordwrap", "zfill"),
    }
)
"""Jinja filters and text methods whose result can be larger than their input."""
_WIDE = regex(r"\d{5}|\*|\{[^{}]*\{")
"""A width in a format, such as ``%99999d``, that makes a text of that size, or one that comes from a parameter."""
_ENDLESS = 1 << 62
_HOLDERS = (list, tuple, dict)


class TooLarge(Exception):
    """The template wrote or created more than is allowed."""


class NotPlain(Exception):
    """A value that is not data would become text, such as a method: its text differs in every run."""

    def __init__(self, value: Any) -> None:
        kind = "method" if callable(value) else type(value).__name__
        super().__init__(f"a {kind} cannot be printed: it is not text, a number, a list or a mapping")


def weight(value: Any) -> int:
    """Returns the approximate number of characters of plain data as text.

    Raises:
        NotPlain: the value holds something else.
        TooLarge: the value is longer than any text may be.
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
            # A list may hold one list many times: counted before the items are queued.
            total += 2 * len(one) + 2
            if total <= MAX_TEXT:
                waiting += one
                waiting += one.values() if isinstance(one, dict) else ()
        else:
            from jinja2 import Undefined  # takes as long as some plans, and parameters are plain

            if isinstance(one, Undefined):
                str(one)  # raises, with the variable's name
                continue
            raise NotPlain(one)
        if total > MAX_TEXT:
            raise TooLarge
    return total


def longest(params: Mapping[str, Any]) -> str:
    """Describes the longest parameter, if it is so long that the template may be correct."""
    count, name = max(
        ((len(value), name) for name, value in params.items() if isinstance(value, list)), default=(0, "")
    )
    return f": its parameter {name} has {count:,} items" if count >= _MANY else ""


def room(value: Any) -> int:
    """Returns the size of a value in characters, without the values that a list or mapping refers to."""
    if isinstance(value, str):
        return len(value) + ITEM
    return ITEM * (len(value) + 1) if isinstance(value, _HOLDERS) else ITEM


def size_of(name: str, value: Any, args: Sequence[Any]) -> int:
    """Returns the maximum characters or items that ``name`` would create, 0 if no more than its input.

    Args:
        name: a filter or method.
        value: the input.
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
