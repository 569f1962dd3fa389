"""How large a text a template's filters and methods would make, before they make it.

One call into C cannot be interrupted, so a time limit does not hold it.
"""

import re
from collections.abc import Sequence
from typing import Any

MAKERS = frozenset(
    {"batch", "center", "expandtabs", "format", "indent", "join", "ljust", "replace", "rjust", "slice", "zfill"}
)
"""Filters of Jinja and methods of texts that can make more than they are given."""
_WIDE = re.compile(r"\d{5}|\*")
"""A width in a format such as ``%99999d`` that makes a text of that size, or one that comes from a parameter."""
_ENDLESS = 1 << 62


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
    match name:
        case "format":
            return _ENDLESS if isinstance(value, str) and _WIDE.search(value) else 0
        case "indent":
            return widest * (str(value).count("\n") + 1)
        case "expandtabs":
            return widest * (str(value).count("\t") + 1)
        case "replace" if isinstance(value, str) and texts:
            old = next(argument for argument in args if isinstance(argument, str))
            return value.count(old) * max(texts)
        case "join":
            items = args[0] if isinstance(value, str) and args else value
            parts = items if isinstance(items, str | list | tuple) else ()
            between = len(value) if isinstance(value, str) else max((*texts, 0))
            return sum(len(str(part)) + between for part in parts)
        case _:
            return widest
